-- purpose: one task of a tenant, held for this transaction: the fence by generation stands on this lock.
-- locks: FOR NO KEY UPDATE on the task, before any other row. Lock order everywhere: task, run, receipt, document.
-- called by: StartRun, Publish, Settle.
select document_id, state, generation, sentence_limit, coalesce(failure_code, '') from product.task
 where tenant_id = $1 and task_id = $2
   for no key update
