-- purpose: whether another workflow took the deduplication ID of a quarantined one meanwhile. locks: none. called by: journal.Operator.Retry
select exists (select from workflow_coordination.quarantine q join dbos.workflow_status w
                  on w.queue_name = coalesce(nullif(q.queue_name, ''), '_dbos_internal_queue') and w.deduplication_id = q.deduplication_id
                where q.workflow_id = $1 and w.workflow_uuid <> q.workflow_id)
