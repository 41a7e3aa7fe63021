-- purpose: executors whose lease expired and that nobody revoked. An error when a living peer should have: after
-- @overdue leases. locks: none. called by: journal.Symptoms
with expired as (
    select e.executor_id, e.lease_ms, floor(extract(epoch from clock_timestamp() - e.expires_at) * 1000)::bigint as age_ms, exists (
               select from workflow_coordination.executor l
                where l.state = 'active' and l.expires_at > clock_timestamp()
                  and l.application_name = e.application_name and l.application_version = e.application_version) as peer
      from workflow_coordination.executor e where e.state = 'active' and e.expires_at <= clock_timestamp()
)
select case when e.peer and e.age_ms > e.lease_ms * @overdue::float8 then 'error' else 'warning' end as severity,
       e.executor_id::text as object, coalesce(t.transactions, 0) as count, e.age_ms,
       case when not e.peer then 'no living peer could revoke it'
            when coalesce(t.transactions, 0) > 0 then 'transactions of it that are still open: ' || t.transactions || ', the oldest for ' || t.oldest_ms / 1000 || ' s'
            when e.age_ms > e.lease_ms * @overdue::float8 then 'its revocation is overdue'
            else 'its revocation is due' end as detail,
       count(*) over () as total
  from expired e left join workflow_coordination.open_transactions() t on t.executor_id = e.executor_id
 order by 1, e.age_ms desc limit @limit
