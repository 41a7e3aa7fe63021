-- purpose: the workflows that wait for an operator or for their turn as a suspect, the longest first. locks: none. called by: journal.Waiters
select * from (
    select 'quarantined' as kind, q.workflow_id, coalesce(q.workflow_name, '') as name, coalesce(q.queue_name, '') as queue,
           q.attempts, q.reason, q.lost_executor::text as executor_id, q.quarantined_at as since, q.settled_at, q.settle_failures
      from workflow_coordination.quarantine q
    union all
    select 'parked', p.workflow_id, coalesce(p.workflow_name, ''), coalesce(p.queue_name, ''), coalesce(w.recovery_attempts, 0),
           'unknown_workflow', p.parked_by::text, p.parked_at, null, 0
      from workflow_coordination.parked p left join dbos.workflow_status w on w.workflow_uuid = p.workflow_id
    union all
    select 'held', s.workflow_id, coalesce(w.name, ''), coalesce(w.queue_name, ''), coalesce(w.recovery_attempts, 0),
           'lost_workers', coalesce(w.executor_id, ''), s.held_at, null, 0
      from workflow_coordination.suspect s join dbos.workflow_status w on w.workflow_uuid = s.workflow_id
     where s.released_at is null and w.status = 'PENDING') waits
 order by since, workflow_id limit $1
