-- purpose: raise when a write could pass the fence. locks: none. called by: lease.Verify
select workflow_coordination.verify_guards()
