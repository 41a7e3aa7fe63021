-- purpose: a workflow without an ID: no recovery touches it. locks: none. called by: journal.Symptoms
select 'error' as severity, 'the workflow with the empty ID' as object, 1::bigint as count,
       floor(extract(epoch from clock_timestamp()) * 1000)::bigint - w.created_at as age_ms,
       'state ' || w.status || ', owner ' || coalesce(nullif(w.executor_id, ''), '(none)') as detail, 1::bigint as total
  from dbos.workflow_status w
 where w.workflow_uuid = '' and w.status in ('ENQUEUED', 'PENDING', 'DELAYED')
