-- purpose: a workflow's records outside the workflow table. locks: none. called by: journaltest.Records
with i as (insert into dbos.workflow_input (workflow_uuid, inputs) values ($1, '"in"') returning 1),
     o as (insert into dbos.workflow_output (workflow_uuid, output) values ($1, '"out"') returning 1),
     s as (insert into dbos.operation_outputs (workflow_uuid, function_id, function_name, output) values ($1, 0, 'reserve', '"step"') returning 1)
select (select count(*) from i) + (select count(*) from o) + (select count(*) from s)
