-- purpose: the run of a generation on the document's current revision. A generation that already started keeps its
-- base revision and counts one attempt more.
-- locks: inserts or updates one row; the task is held already.
-- called by: StartRun.
insert into product.run as r (tenant_id, run_id, task_id, generation, base_revision)
select t.tenant_id, $4, t.task_id, t.generation, d.current_revision
  from product.task t join product.document d on d.tenant_id = t.tenant_id and d.document_id = t.document_id
 where t.tenant_id = $1 and t.task_id = $2 and t.generation = $3
on conflict (task_id, generation) do update set attempts = r.attempts + 1 where r.tenant_id = $1
returning r.run_id, r.base_revision
