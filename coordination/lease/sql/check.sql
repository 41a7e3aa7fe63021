-- purpose: milliseconds left of a valid lease. locks: none. called by: lease.Lease.Check
select workflow_coordination.check_lease($1)
