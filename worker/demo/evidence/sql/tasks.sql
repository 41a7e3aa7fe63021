-- purpose: every task with its runs and what they published. locks: none. called by: evidence.Tasks
select t.task_id::text, t.state, coalesce(t.failure_code, ''), t.state in ('done', 'failed'), t.failure_code = 'provider_refused',
       (select count(*) from product.run r where r.task_id = t.task_id),
       (select count(*) from product.revision v join product.run r on r.tenant_id = v.tenant_id and r.run_id = v.author_run
         where r.task_id = t.task_id), 0, 0, 0
  from product.task t
