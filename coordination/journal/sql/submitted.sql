-- purpose: whether a workflow of this ID and name exists. locks: none, on purpose. called by: journal.Submitted
select exists (select from dbos.workflow_status w where w.workflow_uuid = $1 and w.name = $2)
