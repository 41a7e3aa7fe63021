-- purpose: the run of one generation of a task.
-- locks: none; the task is held when this decides anything.
-- called by: Publish, Settle.
select run_id, state, base_revision, published_revision, coalesce(failure_code, '') from product.run
 where tenant_id = $1 and task_id = $2 and generation = $3
