-- purpose: how many pending workflows name an executor. locks: none. called by: journal.CountPending
select count(*) from dbos.workflow_status w where w.status = 'PENDING' and w.executor_id = $1::uuid::text and w.workflow_uuid <> ''
