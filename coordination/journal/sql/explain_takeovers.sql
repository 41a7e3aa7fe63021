-- purpose: what was done with one workflow besides executing it, the newest first. locks: none. called by: journal.Explain
select t.happened_at, t.cause, t.action, t.lost_executor, t.scanner_executor, coalesce(t.queue_name, '') as queue, t.attempts, t.checkpoints
  from workflow_coordination.takeover t where t.workflow_id = $1
 order by t.takeover_id desc limit 20
