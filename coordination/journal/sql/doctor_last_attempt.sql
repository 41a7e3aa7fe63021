-- purpose: workflows that one more lost worker quarantines (P2): those that run for the last time, and those that will at
-- their next claim. locks: none. called by: journal.Symptoms
select 'warning' as severity, w.workflow_uuid as object, w.recovery_attempts as count,
       floor(extract(epoch from clock_timestamp()) * 1000)::bigint - w.created_at as age_ms,
       coalesce(w.name, '') || ': ' || w.recovery_attempts || ' of ' || @max_attempts::bigint || ' attempts used, ' || case when w.status = 'PENDING' then 'the last one runs' else 'the next one is the last' end as detail,
       count(*) over () as total
  from dbos.workflow_status w
 where w.status in ('ENQUEUED', 'PENDING') and w.workflow_uuid <> ''
   and w.recovery_attempts >= @max_attempts::bigint - case when w.status = 'ENQUEUED' then 1 else 0 end
 order by w.created_at limit @limit
