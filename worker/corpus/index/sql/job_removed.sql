-- purpose: count the documents that Sweep removed.
-- locks: updates one row.
-- called by: Sweep.
update corpus.job set removed = removed + $3 where job_id = $1 and attempt = $2
