-- purpose: what a user may know of a task: its state and, of the current generation, run and receipt.
-- locks: none.
-- called by: TaskStatus.
select t.document_id, t.kind, t.state, t.generation, coalesce(t.failure_code, ''), t.created_at, t.updated_at, t.finished_at,
       r.run_id, coalesce(r.attempts, 0), coalesce(r.base_revision, 0), coalesce(r.published_revision, 0),
       coalesce(p.state, ''), coalesce(p.provider_receipt_id, ''), coalesce(p.sends, 0), coalesce(p.reason, '')
  from product.task t
  left join product.run r on r.tenant_id = t.tenant_id and r.task_id = t.task_id and r.generation = t.generation
  left join product.receipt p on p.tenant_id = r.tenant_id and p.run_id = r.run_id
 where t.tenant_id = $1 and t.task_id = $2
