-- purpose: fail a job whose workflow will not run again; the attempt is raised, so that no straggler writes.
-- locks: updates one row; waits for writes of the current attempt.
-- called by: Abandon.
update corpus.job
   set state = 'failed', attempt = attempt + 1, failure_code = $2, finished_at = clock_timestamp()
 where job_id = $1 and state in ('queued', 'running')
