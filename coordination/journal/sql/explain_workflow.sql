-- purpose: where one workflow stands, with what the platform noted about it. Never its input or its output.
-- locks: none. called by: journal.Explain
select coalesce(w.name, '') as name, w.status, coalesce(w.queue_name, '') as queue,
       coalesce(w.queue_partition_key, '') as partition, w.priority, coalesce(w.executor_id, '') as executor_id,
       coalesce(w.application_name, '') as application, coalesce(w.application_version, '') as version,
       coalesce(w.recovery_attempts, 0) as attempts, coalesce(f.refunds, 0) as refunds,
       coalesce(w.parent_workflow_id, '') as parent_id,
       to_timestamp(w.created_at / 1000.0) as submitted_at, to_timestamp(w.updated_at / 1000.0) as updated_at,
       to_timestamp(w.started_at_epoch_ms / 1000.0) as claimed_at, to_timestamp(w.completed_at / 1000.0) as finished_at,
       to_timestamp(w.delay_until_epoch_ms / 1000.0) as delayed_until,
       to_timestamp(w.workflow_deadline_epoch_ms / 1000.0) as deadline,
       s.losses as losses, s.released_at as released_at,
       coalesce(p.queue_name, q.queue_name, '') as home_queue, p.parked_at as parked_at,
       coalesce(q.reason, '') as quarantine_reason, q.quarantined_at as quarantined_at, q.settled_at as settled_at,
       coalesce(q.settle_failures, 0) as settle_failures, a.application_name as database_application, clock_timestamp() as now
  from dbos.workflow_status w
 cross join workflow_coordination.application a
  left join workflow_coordination.claim_refund f on f.workflow_id = w.workflow_uuid
  left join workflow_coordination.suspect s on s.workflow_id = w.workflow_uuid
  left join workflow_coordination.parked p on p.workflow_id = w.workflow_uuid
  left join workflow_coordination.quarantine q on q.workflow_id = w.workflow_uuid
 where w.workflow_uuid = $1
