-- purpose: pending workflows of a living owner in which no step ended for longer than @stuck_ms: a step over its budget,
-- or a durable wait. locks: none. called by: journal.Symptoms
with old as (
    select w.workflow_uuid as id, w.name, w.executor_id, coalesce(w.started_at_epoch_ms, w.created_at) as since
      from dbos.workflow_status w join workflow_coordination.executor e on e.executor_id = case
           when w.executor_id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then w.executor_id::uuid end
     where w.status = 'PENDING' and w.workflow_uuid <> '' and w.workflow_uuid not like 'kesita-probe-%'
       and e.state = 'active' and e.expires_at > clock_timestamp()
       and coalesce(w.started_at_epoch_ms, w.created_at) < floor(extract(epoch from clock_timestamp()) * 1000) - @stuck_ms::bigint
), slow as (
    select o.*, greatest(o.since, (select max(s.completed_at_epoch_ms) from dbos.operation_outputs s where s.workflow_uuid = o.id)) as last
      from old o
)
select 'warning' as severity, s.id as object, 1::bigint as count,
       floor(extract(epoch from clock_timestamp()) * 1000)::bigint - s.last as age_ms,
       coalesce(s.name, '') || ' under living executor ' || s.executor_id || ': no step ended since' as detail,
       count(*) over () as total
  from slow s where s.last < floor(extract(epoch from clock_timestamp()) * 1000) - @stuck_ms::bigint
 order by s.last limit @limit
