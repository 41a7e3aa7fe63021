-- purpose: private queues and probes of executors that are not alive: a scan removes them with the executor's work (D13).
-- An error when the registry does not know the executor: then no scan does. locks: none. called by: journal.Symptoms
with private as (
    select substr(q.name, 14) as executor from dbos.queues q where q.name like 'kesita-probe-%'
    union
    select substr(w.queue_name, 14) from dbos.workflow_status w
     where w.status in ('ENQUEUED', 'PENDING') and w.queue_name like 'kesita-probe-%'
), judged as (
    select p.executor, e.executor_id is not null as known,
           floor(extract(epoch from clock_timestamp() - coalesce(e.revoked_at, e.released_at, e.expires_at)) * 1000)::bigint as age_ms
      from private p left join workflow_coordination.executor e on e.executor_id = case
           when p.executor ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then p.executor::uuid end
     where e.executor_id is null or e.state <> 'active' or e.expires_at <= clock_timestamp()
)
select case when j.known then 'warning' else 'error' end as severity, 'kesita-probe-' || j.executor as object, 1::bigint as count,
       coalesce(j.age_ms, 0) as age_ms,
       case when j.known then 'its executor is over; every scan of a peer removes such a queue'
            else 'the registry does not know its executor' end as detail,
       count(*) over () as total
  from judged j order by 1, 2 limit @limit
