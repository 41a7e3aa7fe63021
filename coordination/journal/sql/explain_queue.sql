-- purpose: what a queue ($1) and a partition ($2) of it would let through now, and how much waits before a workflow of
-- the given priority ($3) and age ($4). Limits are resolved as the SDK does; see observe_queues.
-- locks: none. called by: journal.Explain
with queue as (
    select q.polling_interval_sec, q.partition_queue,
           case when not legacy then q.concurrency end as global_limit,
           case when not legacy then q.worker_concurrency end as worker_limit,
           case when not legacy then q.rate_limit_max end as rate_max,
           coalesce(q.rate_limit_period_sec, 0) as rate_period,
           case when legacy then q.concurrency else q.partition_concurrency end as part_limit,
           case when legacy then q.worker_concurrency else q.partition_worker_concurrency end as part_worker_limit,
           case when legacy then q.rate_limit_max else q.partition_rate_limit_max end as part_rate_max,
           coalesce(case when legacy then q.rate_limit_period_sec else q.partition_rate_limit_period_sec end, 0) as part_rate_period
      from (select *, partition_queue and partition_concurrency is null and partition_worker_concurrency is null
                      and partition_rate_limit_max is null as legacy from dbos.queues) q
     where q.name = $1
    union all
    select 1.0, false, null, null, null, 0, null, null, null, 0 where $1 = '_dbos_internal_queue'
), pending as (
    select w.executor_id, w.queue_partition_key is not distinct from nullif($2, '') as same_part, count(*) as n
      from dbos.workflow_status w where w.status = 'PENDING' and w.queue_name = $1 group by 1, 2
), live as (
    select e.executor_id::text as id, coalesce(sum(p.n), 0) as used, coalesce(sum(p.n) filter (where p.same_part), 0) as part_used
      from workflow_coordination.executor e left join pending p on p.executor_id = e.executor_id::text
     where e.state = 'active' and e.expires_at > clock_timestamp() group by e.executor_id
), started as (
    select w.queue_partition_key is not distinct from nullif($2, '') as same_part, w.started_at_epoch_ms as at
      from dbos.workflow_status w
     where w.rate_limited and w.queue_name = $1 and w.status not in ('ENQUEUED', 'DELAYED')
       and w.started_at_epoch_ms > floor(extract(epoch from now()) * 1000) - greatest((select max(greatest(q.rate_period, q.part_rate_period)) from queue q), 0) * 1000
), rate as (
    select count(s.at) as used, min(s.at) + q.rate_period * 1000 as free_ms from queue q left join started s
        on s.at > floor(extract(epoch from now()) * 1000) - q.rate_period * 1000 group by q.rate_period
), part_rate as (
    select count(s.at) as used, min(s.at) + q.part_rate_period * 1000 as free_ms from queue q left join started s
        on s.same_part and s.at > floor(extract(epoch from now()) * 1000) - q.part_rate_period * 1000 group by q.part_rate_period
)
select (q.polling_interval_sec * 1000)::bigint as poll_ms, q.partition_queue as partitioned,
       q.global_limit, (select coalesce(sum(p.n), 0) from pending p)::bigint as global_used,
       q.worker_limit * (select count(*) from live) as worker_limit, (select coalesce(sum(least(l.used, q.worker_limit)), 0) from live l)::bigint as worker_used,
       q.rate_max as rate_limit, (select r.used from rate r) as rate_used,
       to_timestamp((select r.free_ms from rate r) / 1000.0) as rate_free_at,
       q.part_limit, (select coalesce(sum(p.n), 0) from pending p where p.same_part)::bigint as part_used,
       q.part_worker_limit * (select count(*) from live) as part_worker_limit,
       (select coalesce(sum(least(l.part_used, q.part_worker_limit)), 0) from live l)::bigint as part_worker_used,
       q.part_rate_max as part_rate_limit,
       (select r.used from part_rate r) as part_rate_used,
       to_timestamp((select r.free_ms from part_rate r) / 1000.0) as part_rate_free_at,
       (select count(*) from dbos.workflow_status w where w.status = 'ENQUEUED' and w.queue_name = $1
           and (w.priority, w.created_at) < ($3::integer, $4::bigint)) as ahead,
       to_timestamp((select max(w.started_at_epoch_ms) from dbos.workflow_status w
         where w.queue_name = $1 and w.started_at_epoch_ms > floor(extract(epoch from now()) * 1000) - 600000) / 1000.0) as last_claim_at
  from queue q
