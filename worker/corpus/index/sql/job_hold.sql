-- purpose: the attempt fence. A row comes back only while the attempt is the current one, and it stays so until the
-- transaction ends: a new attempt waits. Writes of the same attempt do not wait for each other.
-- locks: FOR SHARE on the job's row, which conflicts with job_begin and job_settle.
-- called by: hold, first statement of every write of a job.
select clock_timestamp() from corpus.job where job_id = $1 and attempt = $2 and state = 'running' for share
