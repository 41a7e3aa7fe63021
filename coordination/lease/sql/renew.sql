-- purpose: extend a valid lease; null when it is lost. locks: FOR NO KEY UPDATE on the own row. called by: lease.Lease
select workflow_coordination.renew_executor($1)
