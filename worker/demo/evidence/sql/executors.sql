-- purpose: every process life of this database's application. locks: none. called by: evidence.ReadLeases
select e.executor_id::text, e.state, e.registered_at, e.heartbeat_at, e.expires_at, e.revoked_at, coalesce(e.revoked_by::text, '')
  from workflow_coordination.executor e
 order by e.registered_at
