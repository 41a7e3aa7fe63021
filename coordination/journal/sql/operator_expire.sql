-- purpose: end a lease by hand. locks: one lease row. called by: package journal
select workflow_coordination.operator_expire($1, $2)
