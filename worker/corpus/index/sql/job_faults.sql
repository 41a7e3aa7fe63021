-- purpose: the documents that a job refused, in the order of the source.
-- locks: none.
-- called by: Faults.
select uri, failure_code, coalesce(failure_detail, '') from corpus.fault where job_id = $1 order by ordinal limit $2
