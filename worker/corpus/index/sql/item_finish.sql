-- purpose: note what became of a document.
-- locks: updates one row; the job is held already.
-- called by: Publish, Refuse.
update corpus.item
   set state = $3, failure_code = $4, failure_detail = $5, passages = $6, finished_at = clock_timestamp()
 where job_id = $1 and ordinal = $2
