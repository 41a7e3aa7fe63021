-- purpose: begin an attempt of a job that is not finished; whatever an earlier attempt still writes is refused from now on.
-- locks: updates one row; waits for the transactions of the earlier attempt.
-- called by: Begin.
update corpus.job
   set attempt = attempt + 1, state = 'running', started_at = coalesce(started_at, clock_timestamp())
 where job_id = $1 and state in ('queued', 'running')
returning attempt
