-- purpose: the counts that must agree at the end of a scenario: nothing lost, nothing published twice.
-- locks: none.
-- called by: CountTasks.
select count(*) filter (where t.state = 'queued'), count(*) filter (where t.state = 'running'),
       count(*) filter (where t.state = 'done'), count(*) filter (where t.state = 'failed'),
       coalesce(sum(v.revisions), 0)::bigint, count(*) filter (where v.revisions > 1),
       count(*) filter (where t.state = 'done' and v.revisions = 0)
  from product.task t
  cross join lateral (
    select count(*) as revisions
      from product.run r join product.revision v on v.tenant_id = r.tenant_id and v.author_run = r.run_id
     where r.tenant_id = t.tenant_id and r.task_id = t.task_id and r.generation = t.generation) v
 where t.tenant_id = $1
