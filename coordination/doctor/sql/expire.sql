-- purpose: return when the lease is over by the database's clock. locks: none. called by: package doctor
select pg_sleep_until(e.expires_at), e.expires_at < clock_timestamp() from workflow_coordination.executor e where e.executor_id = $1
