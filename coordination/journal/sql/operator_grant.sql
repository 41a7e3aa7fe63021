-- purpose: give one workflow its attempts back. locks: one workflow row. called by: package journal
select workflow_coordination.operator_grant($1)
