-- purpose: end the sessions of an executor that is not valid any more (K4). locks: none. called by: lease.EndSessions
select workflow_coordination.end_sessions($1)
