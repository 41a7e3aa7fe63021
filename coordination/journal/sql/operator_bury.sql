-- purpose: write the tombstone of an unregistered executor. locks: inserts one row. called by: package journal
select workflow_coordination.operator_bury($1)
