-- purpose: pending workflows of this executor. locks: none. called by: package journal
select workflow_id, coalesce(workflow_name, ''), coalesce(config_name, ''), claimed_ms, age_ms from workflow_coordination.own_claims($1)
