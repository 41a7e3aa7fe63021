-- purpose: the observation of business queues (D5, D12): what could be claimed now, and when something last was.
-- locks: none. Reads active rows and rows started in the last ten minutes through partial indexes; never finished history.
-- called by: the migrator, after journal.sql.

-- observe_queues: one row for each named queue that exists, the internal queue included.
-- backlog: claimable rows of this application and version, in partitions that have room. capacity: how many of them the
-- limits would let through now (null = unlimited). Limits: global, per worker, rate, and the same per partition; a
-- partitioned queue without partition limits applies its queue-wide limits to each partition, as the SDK does.
create or replace function workflow_coordination.observe_queues(p_executor uuid, p_queues text[])
returns table (queue_name text, backlog bigint, capacity bigint, last_claim_ms bigint, poll_ms bigint)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
with own as (
    select e.application_name as app, e.application_version as version,
           floor(extract(epoch from now()) * 1000)::bigint as now_ms
      from workflow_coordination.executor e where e.executor_id = p_executor
), latest as (
    select coalesce((select v.version_name from dbos.application_versions v, own
                      where v.application_name = own.app or v.application_name is null
                      order by v.version_timestamp desc limit 1), own.version) = own.version as is_latest
      from own
), queue as (
    select q.name, q.polling_interval_sec, q.partition_queue,
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
     where q.name = any (p_queues)
    union all
    select '_dbos_internal_queue', 1.0, false, null, null, null, 0, null, null, null, 0
     where '_dbos_internal_queue' = any (p_queues)
), active as (
    select w.queue_name, w.queue_partition_key as part, w.status, w.executor_id,
           w.application_version is not distinct from own.version
               or (w.application_version is null and latest.is_latest) as compatible,
           count(*) as n, max(w.started_at_epoch_ms) as last_started
      from dbos.workflow_status w, own, latest
     where w.status in ('ENQUEUED', 'PENDING') and w.queue_name = any (p_queues)
       and (w.application_name = own.app or w.application_name is null)
     group by 1, 2, 3, 4, 5
), recent as (
    -- rows of any state that were started within the longest rate window: rate use, and claims that finished already
    select w.queue_name, w.queue_partition_key as part, w.rate_limited, w.status, w.started_at_epoch_ms as started
      from dbos.workflow_status w, own
     where w.started_at_epoch_ms > own.now_ms - greatest(600000, (select coalesce(max(greatest(q.rate_period, q.part_rate_period)) * 1000, 0) from queue q)::bigint)
       and w.queue_name = any (p_queues)
       and (w.application_name = own.app or w.application_name is null)
), live as (
    select e.executor_id::text as id from workflow_coordination.executor e, own
     where e.state = 'active' and e.expires_at > now()
       and e.application_name = own.app and e.application_version = own.version
), room as (
    -- how many rows each partition of each queue would let through, before the queue-wide limits
    select q.name, a.part, sum(a.n) filter (where a.status = 'ENQUEUED' and a.compatible) as waiting,
           q.part_limit - coalesce(sum(a.n) filter (where a.status = 'PENDING'), 0) as by_limit,
           q.part_rate_max - (select count(*) from recent r, own where r.queue_name = q.name and r.part is not distinct from a.part
                                 and r.rate_limited and r.status not in ('ENQUEUED', 'DELAYED')
                                 and r.started > own.now_ms - q.part_rate_period * 1000) as by_rate,
           case when q.part_worker_limit is not null then
               (select coalesce(max(q.part_worker_limit - coalesce((select sum(b.n) from active b
                       where b.queue_name = q.name and b.part is not distinct from a.part and b.status = 'PENDING'
                         and b.executor_id = l.id), 0)), 0) from live l) end as by_worker
      from queue q join active a on a.queue_name = q.name
     where not q.partition_queue or a.part is not null
     group by q.name, a.part, q.part_limit, q.part_rate_max, q.part_rate_period, q.part_worker_limit
), claimable as (
    -- least() ignores nulls: a limit that is not set does not bound
    select r.name, sum(least(r.waiting, r.by_limit, r.by_rate, r.by_worker)) as n from room r
     where r.waiting > 0 and coalesce(least(r.by_limit, r.by_rate, r.by_worker), 1) > 0 group by r.name
)
select q.name, coalesce(c.n, 0)::bigint,
       greatest(0, least(
           q.global_limit - (select coalesce(sum(a.n), 0) from active a where a.queue_name = q.name and a.status = 'PENDING'),
           q.rate_max - (select count(*) from recent r, own where r.queue_name = q.name and r.rate_limited
                            and r.status not in ('ENQUEUED', 'DELAYED') and r.started > own.now_ms - q.rate_period * 1000),
           case when q.worker_limit is not null then
               (select coalesce(max(q.worker_limit - coalesce((select sum(b.n) from active b where b.queue_name = q.name
                       and b.status = 'PENDING' and b.executor_id = l.id), 0)), 0) from live l) end)),
       coalesce(greatest((select max(a.last_started) from active a where a.queue_name = q.name),
                         (select max(r.started) from recent r where r.queue_name = q.name)), 0),
       (q.polling_interval_sec * 1000)::bigint
  from queue q left join claimable c on c.name = q.name
$$;

revoke all on function workflow_coordination.observe_queues(uuid, text[]) from public;
