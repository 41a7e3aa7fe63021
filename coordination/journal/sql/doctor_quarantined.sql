-- purpose: quarantined workflows whose business state is settled: they wait for an operator (P2). locks: none. called by: journal.Symptoms
select 'warning' as severity, q.workflow_id as object, q.attempts as count,
       floor(extract(epoch from clock_timestamp() - q.quarantined_at) * 1000)::bigint as age_ms,
       coalesce(q.workflow_name, '') || ' lost ' || q.attempts || ' workers (' || q.reason || '), settled as failed' as detail,
       count(*) over () as total
  from workflow_coordination.quarantine q where q.settled_at is not null
 order by q.quarantined_at limit @limit
