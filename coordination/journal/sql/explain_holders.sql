-- purpose: who takes the places of a queue ($1; $2 a partition of it, null for all): executors, what their leases are,
-- and how many of the workflows are held back. locks: none. called by: journal.Explain
select coalesce(w.executor_id, '') as executor_id,
       case when e.executor_id is null then 'unregistered' when e.state <> 'active' then e.state
            when e.expires_at > clock_timestamp() then 'live' else 'expired' end as lease,
       count(*) as workflows, count(s.workflow_id) as held
  from dbos.workflow_status w
  left join workflow_coordination.executor e on e.executor_id = case
       when w.executor_id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then w.executor_id::uuid end
  left join workflow_coordination.suspect s on s.workflow_id = w.workflow_uuid and s.released_at is null
 where w.status = 'PENDING' and w.queue_name = $1 and ($2::text is null or w.queue_partition_key = $2)
 group by 1, 2 order by 3 desc, 1 limit 20
