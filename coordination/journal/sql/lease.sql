-- purpose: one executor: its lease, the work that it holds and its open transactions, by the database's clock.
-- locks: none. called by: journal.Lease
select e.executor_id, e.application_name, e.application_version, e.state, e.worker_login::text, e.build_version, e.lease_ms,
       e.registered_at, e.heartbeat_at, e.expires_at, coalesce(e.revoked_at, e.released_at, e.expires_at) as ended_at,
       e.state = 'active' and e.expires_at > clock_timestamp() as live, clock_timestamp() as now,
       (select count(*) from dbos.workflow_status w
         where w.status = 'PENDING' and w.executor_id = e.executor_id::text
           and w.workflow_uuid <> 'kesita-probe-' || e.executor_id) as pending,
       coalesce(t.transactions, 0) as transactions, coalesce(t.oldest_ms, 0) as oldest_ms
  from workflow_coordination.executor e
  left join workflow_coordination.open_transactions() t on t.executor_id = e.executor_id
 where e.executor_id = $1
