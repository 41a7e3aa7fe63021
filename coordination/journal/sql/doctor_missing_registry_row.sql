-- purpose: executors that pending workflows name and the registry does not know, or knows for another application or
-- version: no scan touches that work (O4). locks: none. called by: journal.Symptoms
with pending as (
    select w.executor_id, w.application_name, w.application_version, count(*) as n, min(coalesce(w.started_at_epoch_ms, w.created_at)) as since
      from dbos.workflow_status w where w.status = 'PENDING' and w.workflow_uuid <> '' group by 1, 2, 3
), strange as (
    select p.*, e.executor_id is not null as known, e.application_version as owner_version
      from pending p left join workflow_coordination.executor e on e.executor_id = case
           when p.executor_id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then p.executor_id::uuid end
     where e.executor_id is null or e.application_name is distinct from p.application_name
        or e.application_version is distinct from p.application_version
)
select 'error' as severity, coalesce(nullif(s.executor_id, ''), '(none)') as object, s.n as count,
       floor(extract(epoch from clock_timestamp()) * 1000)::bigint - s.since as age_ms,
       'pending workflows of ' || coalesce(s.application_name, '(no application)') || ' ' || coalesce(s.application_version, '(no version)')
           || ': ' || s.n || case when s.known then '; their owner is registered for ' || s.owner_version
                                  else '; their owner is not in the registry' end as detail,
       count(*) over () as total
  from strange s order by s.since limit @limit
