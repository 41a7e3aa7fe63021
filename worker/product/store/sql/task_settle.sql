-- purpose: end a task in the generation that ran. failure_code is null for a success.
-- locks: the task is held already.
-- called by: Settle.
update product.task
   set state = case when $4::text is null then 'done' else 'failed' end, failure_code = $4,
       updated_at = clock_timestamp(), finished_at = clock_timestamp()
 where tenant_id = $1 and task_id = $2 and generation = $3 and state in ('queued', 'running')
