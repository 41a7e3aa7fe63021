-- purpose: workflows whose name no worker knew (X2). locks: none. called by: journal.Symptoms
select 'warning' as severity, p.workflow_id as object, 1::bigint as count,
       floor(extract(epoch from clock_timestamp() - p.parked_at) * 1000)::bigint as age_ms,
       'no worker knew the name ' || coalesce(p.workflow_name, '(none)') || '; taken out of queue ' || coalesce(nullif(p.queue_name, ''), '(none)') as detail,
       count(*) over () as total
  from workflow_coordination.parked p order by p.parked_at limit @limit
