-- purpose: quarantined workflows whose business state is not settled, and workflows that the SDK gave up and no scan
-- took notice of (P3). An error after a failure or after @unsettled_ms. locks: none. called by: journal.Symptoms
with open as (
    select q.workflow_id as id, coalesce(q.workflow_name, '') as name, q.settle_failures as failures,
           floor(extract(epoch from clock_timestamp() - q.quarantined_at) * 1000)::bigint as age_ms,
           case when q.settle_failures > 0 then 'settling it failed ' || q.settle_failures || ' times'
                when q.signalled_at is null then 'not signalled and not settled' else 'not settled' end as detail
      from workflow_coordination.quarantine q where q.settled_at is null
    union all
    select w.workflow_uuid, coalesce(w.name, ''), 0, floor(extract(epoch from clock_timestamp()) * 1000)::bigint - coalesce(w.completed_at, w.updated_at),
           'given up by the SDK, and no scan has taken notice'
      from dbos.workflow_status w
     where w.status = 'MAX_RECOVERY_ATTEMPTS_EXCEEDED'
       and not exists (select from workflow_coordination.quarantine q where q.workflow_id = w.workflow_uuid)
)
select case when o.failures > 0 or o.age_ms > @unsettled_ms::bigint then 'error' else 'warning' end as severity,
       o.id as object, o.failures::bigint as count, o.age_ms, trim(o.name || ' ' || o.detail) as detail, count(*) over () as total
  from open o order by 1, o.age_ms desc limit @limit
