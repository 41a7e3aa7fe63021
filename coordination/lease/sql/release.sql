-- purpose: end a lease in an orderly way. locks: FOR UPDATE on the own row. called by: lease.Lease.Release
select workflow_coordination.release_executor($1)
