-- purpose: the observation of business queues (D5, D12): what could be claimed now, and when something last was.
-- locks: none. Reads active rows, rate-limited rows of the longest rate window and rows started within p_lookback_ms, all
-- through partial indexes; never finished history.
-- called by: the migrator, after journal.sql.

-- observe_queues: one row for each name in p_queues, as this executor's own dequeue would see the queue.
-- backlog: rows that it could claim now - own application and version, enqueued, in partitions that have room.
-- capacity: how many of them the queue-wide limits would let through; null = nothing limits it.
-- Limits: global and rate count every executor's rows, the worker's limit its own; the same again for each partition. A
-- partitioned queue without partition limits applies its queue-wide limits to each partition, as the SDK does. A name
-- that the journal does not know counts as a queue without limits: nobody serves it until a worker registers it again.
-- last_claim_ms: when a row of this version was last claimed, by anybody; 0 = not within p_lookback_ms.
create or replace function workflow_coordination.observe_queues(p_executor uuid, p_queues text[], p_lookback_ms bigint)
returns table (queue_name text, backlog bigint, capacity bigint, last_claim_ms bigint, poll_ms bigint)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set max_parallel_workers_per_gather = 0 set jit = off as $$
#variable_conflict use_column
declare
    own workflow_coordination.executor;
    now_ms bigint := floor(extract(epoch from clock_timestamp()) * 1000);
    is_latest boolean;
begin
    select * into own from workflow_coordination.executor e where e.executor_id = p_executor and e.worker_login = session_user;
    if own.executor_id is null then
        perform workflow_coordination.refuse(p_executor);
    end if;
    select v.version_name = own.application_version into is_latest from dbos.application_versions v
     where v.application_name = own.application_name or v.application_name is null
     order by v.version_timestamp desc limit 1;
    is_latest := coalesce(is_latest, true);
    return query
    with config as (
        select c.*, c.partition_queue and not c.limits_partitions as legacy,
               c.partition_queue or c.limits_partitions as partitioned
          from (select q.*, q.partition_concurrency is not null or q.partition_worker_concurrency is not null
                            or q.partition_rate_limit_max is not null as limits_partitions
                  from dbos.queues q
                 where q.name = any (p_queues) and q.name <> '_dbos_internal_queue'
                   and (q.application_name = own.application_name or q.application_name is null)) c
    ), queue as materialized (
        select n.name, coalesce(c.partitioned, false) as partitioned,
               (case when c.polling_interval_sec > 0 then c.polling_interval_sec else 1 end * 1000)::bigint as poll_ms,
               case when not c.legacy then c.concurrency end as global_limit,
               case when not c.legacy then c.worker_concurrency end as worker_limit,
               case when not c.legacy then c.rate_limit_max end as rate_limit,
               case when c.legacy then c.concurrency else c.partition_concurrency end as part_limit,
               case when c.legacy then c.worker_concurrency else c.partition_worker_concurrency end as part_worker_limit,
               case when c.legacy then c.rate_limit_max else c.partition_rate_limit_max end as part_rate_limit,
               coalesce(c.rate_limit_period_sec * 1000, 0) as rate_ms,
               coalesce(case when c.legacy then c.rate_limit_period_sec else c.partition_rate_limit_period_sec end * 1000, 0) as part_rate_ms
          from (select distinct u.name from unnest(p_queues) u (name)) n left join config c on c.name = n.name
    ), active as materialized (
        select w.queue_name as name, w.queue_partition_key as part,
               count(*) filter (where w.status = 'ENQUEUED' and (w.application_version = own.application_version
                                      or w.application_version is null and is_latest)) as waiting,
               count(*) filter (where w.status = 'PENDING') as running,
               count(*) filter (where w.status = 'PENDING' and w.executor_id = p_executor::text) as own_running,
               max(w.started_at_epoch_ms) filter (where w.application_version = own.application_version) as claimed
          from dbos.workflow_status w
         where w.status in ('ENQUEUED', 'PENDING') and w.queue_name = any (p_queues)
           and (w.application_name = own.application_name or w.application_name is null)
         group by 1, 2
    ), rated as materialized (
        -- grouped inside: the planner must not turn the queues and their windows around
        select q.name, w.part, w.in_queue, w.in_part
          from queue q cross join lateral (
               select r.queue_partition_key as part, count(*) filter (where r.started_at_epoch_ms > now_ms - q.rate_ms) as in_queue,
                      count(*) filter (where r.started_at_epoch_ms > now_ms - q.part_rate_ms) as in_part
                 from dbos.workflow_status r
                where r.queue_name = q.name and r.rate_limited = true and r.status not in ('ENQUEUED', 'DELAYED')
                  and r.started_at_epoch_ms > now_ms - greatest(q.rate_ms, q.part_rate_ms)::bigint
                  and (r.application_name = own.application_name or r.application_name is null)
                group by 1) w
         where q.rate_limit is not null or q.part_rate_limit is not null
    ), recent as materialized (
        select w.queue_name as name, max(w.started_at_epoch_ms) as claimed from dbos.workflow_status w
         where w.started_at_epoch_ms > now_ms - p_lookback_ms and w.queue_name = any (p_queues)
           and w.application_name = own.application_name and w.application_version = own.application_version
         group by 1
    ), used as materialized (
        -- one stream instead of joins: every partition of every queue, what waits in it and what it takes up
        select a.name, a.part, a.waiting, a.running, a.own_running, 0 as in_queue, 0 as in_part, a.claimed from active a
        union all
        select r.name, r.part, 0, 0, 0, r.in_queue, r.in_part, null from rated r
        union all
        select r.name, null, 0, 0, 0, 0, 0, r.claimed from recent r
    ), part as materialized (
        -- least() ignores nulls: a limit that is not set does not bound
        select q.name, greatest(0, least(sum(u.waiting), q.part_limit - sum(u.running),
                   q.part_worker_limit - sum(u.own_running), q.part_rate_limit - sum(u.in_part))) as claimable
          from used u join queue q on q.name = u.name
         where not q.partitioned or u.part is not null
         group by q.name, case when q.partitioned then u.part end, q.part_limit, q.part_worker_limit, q.part_rate_limit
        having sum(u.waiting) > 0
    ), backlogged as materialized (
        select p.name, sum(p.claimable) as claimable from part p group by 1
    ), total as materialized (
        select u.name, sum(u.running) as running, sum(u.own_running) as own_running, sum(u.in_queue) as in_queue, max(u.claimed) as claimed
          from used u group by 1
    )
    select q.name, coalesce(b.claimable, 0)::bigint,
           greatest(least(q.global_limit - coalesce(t.running, 0), q.worker_limit - coalesce(t.own_running, 0),
                          q.rate_limit - coalesce(t.in_queue, 0)),
                    case when q.global_limit is not null or q.worker_limit is not null or q.rate_limit is not null then 0 end)::bigint,
           coalesce(t.claimed, 0)::bigint, q.poll_ms
      from queue q left join backlogged b on b.name = q.name left join total t on t.name = q.name
     order by q.name;
end
$$;

revoke all on function workflow_coordination.observe_queues(uuid, text[], bigint) from public;
