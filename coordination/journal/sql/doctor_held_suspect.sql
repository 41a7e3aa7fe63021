-- purpose: workflows that lost two workers or more and wait for their turn, by application and version (X3). locks: none. called by: journal.Symptoms
with held as (
    select s.application_name || ' ' || s.application_version as kind, s.*, s.released_at is null and w.status = 'PENDING' as waits
      from workflow_coordination.suspect s join dbos.workflow_status w on w.workflow_uuid = s.workflow_id
)
select 'warning' as severity, h.kind as object, count(*) filter (where h.waits) as count,
       floor(extract(epoch from clock_timestamp() - min(h.held_at) filter (where h.waits)) * 1000)::bigint as age_ms,
       'workflows held back: ' || count(*) filter (where h.waits) || '; on probation: '
           || coalesce(min(h.workflow_id) filter (where h.released_at is not null), 'none') as detail,
       count(*) over () as total
  from held h group by h.kind having count(*) filter (where h.waits) > 0
 order by 4 desc limit @limit
