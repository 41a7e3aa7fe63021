-- purpose: one workflow row, every column. locks: none. called by: journaltest.Read
select (select to_jsonb(w) from dbos.workflow_status w where w.workflow_uuid = $1)
