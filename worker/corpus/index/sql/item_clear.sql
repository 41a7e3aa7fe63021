-- purpose: forget what an earlier attempt found.
-- locks: deletes the job's items.
-- called by: Plan.
delete from corpus.item where job_id = $1
