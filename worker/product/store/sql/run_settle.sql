-- purpose: end a run that has not ended. failure_code is null for a success.
-- locks: updates one row; the task is held already.
-- called by: Settle.
update product.run
   set state = case when $4::text is null then 'done' else 'failed' end, failure_code = $4, finished_at = clock_timestamp()
 where tenant_id = $1 and task_id = $2 and generation = $3 and state = 'running'
