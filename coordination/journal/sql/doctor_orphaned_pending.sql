-- purpose: executors that are over and still hold pending workflows; held suspects left out. An error when a living peer
-- should have taken them over: after @overdue leases. locks: none. called by: journal.Symptoms
with pending as (
    select w.executor_id, count(*) as n, min(coalesce(w.started_at_epoch_ms, w.created_at)) as since
      from dbos.workflow_status w
     where w.status = 'PENDING' and w.workflow_uuid <> ''
       and not exists (select from workflow_coordination.suspect s where s.workflow_id = w.workflow_uuid and s.released_at is null)
     group by 1
), orphaned as (
    select p.n, e.executor_id, e.state, e.lease_ms, exists (
               select from workflow_coordination.executor l
                where l.state = 'active' and l.expires_at > clock_timestamp()
                  and l.application_name = e.application_name and l.application_version = e.application_version) as peer,
           floor(extract(epoch from clock_timestamp()) * 1000)::bigint - greatest(p.since,
               floor(extract(epoch from coalesce(e.revoked_at, e.released_at, e.expires_at)) * 1000)::bigint) as age_ms
      from pending p join workflow_coordination.executor e on e.executor_id = case
           when p.executor_id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then p.executor_id::uuid end
     where e.state <> 'active' or e.expires_at <= clock_timestamp()
)
select case when o.peer and o.age_ms > o.lease_ms * @overdue::float8 then 'error' else 'warning' end as severity,
       o.executor_id::text as object, o.n as count, o.age_ms,
       'pending workflows: ' || o.n || '; their executor is ' || case when o.state = 'active' then 'expired' else o.state end
           || case when not o.peer then '; no living peer could take them over'
                   when coalesce(t.transactions, 0) > 0 then '; open transactions of it hold the takeover off: ' || t.transactions
                   when o.age_ms > o.lease_ms * @overdue::float8 then '; the takeover is overdue'
                   else '; the takeover is due' end as detail,
       count(*) over () as total
  from orphaned o left join workflow_coordination.open_transactions() t on t.executor_id = o.executor_id
 order by 1, o.age_ms desc limit @limit
