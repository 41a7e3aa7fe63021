-- purpose: what the server knows of the worker's session. locks: none. called by: package doctor
select session_login::text, is_worker, executor_id from workflow_coordination.identity()
