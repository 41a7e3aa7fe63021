-- purpose: unfinished work of an application and version of which no executor lives (O4). Parked and private queues
-- left out: they wait for something else. locks: none. called by: journal.Symptoms
with unfinished as (
    select w.application_name, w.application_version, w.created_at from dbos.workflow_status w
     where w.status in ('ENQUEUED', 'PENDING') and w.workflow_uuid <> ''
       and coalesce(w.queue_name, '') <> 'kesita-parked' and coalesce(w.queue_name, '') not like 'kesita-probe-%'
    union all
    select w.application_name, w.application_version, w.created_at from dbos.workflow_status w where w.status = 'DELAYED'
), kind as (
    select u.application_name, u.application_version, count(*) as n, min(u.created_at) as since from unfinished u group by 1, 2
)
select 'error' as severity, coalesce(k.application_name, '(any application)') || ' ' || coalesce(k.application_version, '(any version)') as object,
       k.n as count, floor(extract(epoch from clock_timestamp()) * 1000)::bigint - k.since as age_ms,
       'unfinished workflows: ' || k.n || '; no executor of this application and version is alive' as detail,
       count(*) over () as total
  from kind k
 where not exists (select from workflow_coordination.executor e
                    where e.state = 'active' and e.expires_at > clock_timestamp()
                      and (e.application_name = k.application_name or k.application_name is null)
                      and (e.application_version = k.application_version or k.application_version is null))
 order by k.since limit @limit
