-- purpose: what the server knows of this session. locks: none. called by: lease.Verify
select session_login, is_worker, executor_id, application_name, schema_version from workflow_coordination.identity()
