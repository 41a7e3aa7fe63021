-- purpose: how many of a workflow's records outside the workflow table exist. locks: none. called by: journaltest.CountRecords
select (select count(*) from dbos.workflow_input where workflow_uuid = $1)
     + (select count(*) from dbos.workflow_output where workflow_uuid = $1)
     + (select count(*) from dbos.operation_outputs where workflow_uuid = $1)
