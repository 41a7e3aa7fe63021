-- purpose: where workflows stand: state, owner, claims, times. locks: none. called by: journal.Histories
select w.workflow_uuid, coalesce(w.name, ''), w.status, coalesce(w.queue_name, ''), coalesce(w.executor_id, ''),
       coalesce(w.recovery_attempts, 0), to_timestamp(w.created_at / 1000.0),
       to_timestamp(w.started_at_epoch_ms / 1000.0), to_timestamp(w.completed_at / 1000.0)
  from dbos.workflow_status w
 where w.workflow_uuid = any ($1)
 order by w.created_at, w.workflow_uuid
