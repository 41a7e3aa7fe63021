-- purpose: put a parked workflow back. locks: one workflow row. called by: package journal
select workflow_coordination.operator_unpark($1)
