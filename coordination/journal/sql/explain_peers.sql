-- purpose: the living executors of one application ($1) and version ($2; empty stands for any). locks: none. called by: journal.Explain
select count(*) as live, coalesce(max(e.lease_ms), 0) as lease_ms
  from workflow_coordination.executor e
 where e.state = 'active' and e.expires_at > clock_timestamp() and e.application_name = $1
   and (e.application_version = $2 or $2 = '')
