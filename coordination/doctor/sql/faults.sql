-- purpose: everything that would let a worker's write past the fence. locks: none. called by: package doctor
select f.kind, f.object, f.detail from workflow_coordination.faults() f order by f.kind, f.object, f.detail
