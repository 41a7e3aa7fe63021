-- purpose: the revision that a task published, and its text. locks: none. called by: evidence.Published
select v.number, v.body
  from product.revision v join product.run r on r.tenant_id = v.tenant_id and r.run_id = v.author_run
 where r.task_id = $1::uuid
 order by v.number desc
 limit 1
