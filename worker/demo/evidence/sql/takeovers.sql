-- purpose: every workflow that recovery moved, the first first. locks: none. called by: evidence.ReadLeases
select t.workflow_id, t.lost_executor::text, coalesce(t.scanner_executor::text, ''), t.cause, t.action, t.attempts, t.checkpoints, t.happened_at
  from workflow_coordination.takeover t
 order by t.takeover_id
