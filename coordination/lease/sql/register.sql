-- purpose: start a lease. locks: inserts one row. called by: lease.Acquire
select workflow_coordination.register_executor($1, $2, $3, $4, $5, $6, $7)
