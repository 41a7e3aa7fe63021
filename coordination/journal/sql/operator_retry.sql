-- purpose: retry one quarantined workflow. locks: one workflow row. called by: package journal
select workflow_coordination.operator_retry($1)
