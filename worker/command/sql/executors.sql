-- purpose: the leases of one database and the server's clock, the last renewed first. locks: none. called by: kesita executors
select application_name, application_version, executor_id, state, heartbeat_at, expires_at, released_at, revoked_at,
       build_version, clock_timestamp()
  from workflow_coordination.executor
 order by heartbeat_at desc
 limit $1
