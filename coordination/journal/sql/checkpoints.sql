-- purpose: the recorded steps of workflows, in order. locks: none. called by: journal.Histories
select o.workflow_uuid, o.function_id, o.function_name,
       coalesce(to_timestamp(o.started_at_epoch_ms / 1000.0), 'epoch'), coalesce(to_timestamp(o.completed_at_epoch_ms / 1000.0), 'epoch')
  from dbos.operation_outputs o
 where o.workflow_uuid = any ($1)
 order by o.workflow_uuid, o.function_id
