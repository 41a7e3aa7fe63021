-- purpose: a queued task runs.
-- locks: the task is held already.
-- called by: StartRun.
update product.task set state = 'running', updated_at = clock_timestamp()
 where tenant_id = $1 and task_id = $2 and generation = $3 and state = 'queued'
