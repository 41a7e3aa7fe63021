-- purpose: queues with waiting work that nobody polls: not registered, or with room and a living executor but without a
-- claim for @stall_ms. locks: none. called by: journal.Symptoms
with waiting as (
    select coalesce(w.queue_name, '') as queue_name, count(*) as n, min(w.updated_at) as since from dbos.workflow_status w
     where w.status = 'ENQUEUED' and coalesce(w.queue_name, '') <> 'kesita-parked' and coalesce(w.queue_name, '') not like 'kesita-probe-%'
       and exists (select from workflow_coordination.executor e
                    where e.state = 'active' and e.expires_at > clock_timestamp()
                      and (e.application_name = w.application_name or w.application_name is null)
                      and (e.application_version = w.application_version or w.application_version is null))
     group by 1
), judged as (
    select w.*, q.name is not null or w.queue_name = '_dbos_internal_queue' as registered,
           q.rate_limit_max is null and q.partition_rate_limit_max is null and not coalesce(q.partition_queue, false)
               and coalesce(q.concurrency > (select count(*) from dbos.workflow_status p where p.status = 'PENDING' and p.queue_name = w.queue_name), true) as room,
           (select max(r.started_at_epoch_ms) from dbos.workflow_status r
             where r.started_at_epoch_ms > floor(extract(epoch from now()) * 1000) - @stall_ms::bigint and r.queue_name = w.queue_name) as last_claim,
           floor(extract(epoch from clock_timestamp()) * 1000)::bigint - w.since as age_ms
      from waiting w left join dbos.queues q on q.name = w.queue_name
)
select case when j.registered then 'warning' else 'error' end as severity, coalesce(nullif(j.queue_name, ''), '(none)') as object, j.n as count, j.age_ms,
       'waiting workflows: ' || j.n || case when j.registered then '; there is room, and nobody claims' else '; the queue is not registered' end as detail,
       count(*) over () as total
  from judged j
 where not j.registered or j.room and j.last_claim is null and j.age_ms > @stall_ms::bigint
 order by 1, j.age_ms desc limit @limit
