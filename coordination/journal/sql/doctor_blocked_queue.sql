-- purpose: queues, or partitions of one, with waiting work whose places are taken by executors that are not alive or by
-- held suspects. An error when nobody alive holds one. locks: none. called by: journal.Symptoms
with limited as (
    select q.name, case when q.partition_queue and q.partition_concurrency is null and q.partition_worker_concurrency is null
                             and q.partition_rate_limit_max is null then null else q.concurrency end as global_limit,
           case when q.partition_queue and q.partition_concurrency is null and q.partition_worker_concurrency is null
                     and q.partition_rate_limit_max is null then q.concurrency else q.partition_concurrency end as part_limit
      from dbos.queues q where q.name not like 'kesita-probe-%'
), active as (
    select w.queue_name, w.queue_partition_key as part, w.status,
           w.status = 'PENDING' and e.state = 'active' and e.expires_at > clock_timestamp() as alive,
           w.status = 'PENDING' and s.workflow_id is not null as held, w.updated_at
      from dbos.workflow_status w
      left join workflow_coordination.executor e on e.executor_id = case
           when w.executor_id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then w.executor_id::uuid end
      left join workflow_coordination.suspect s on s.workflow_id = w.workflow_uuid and s.released_at is null
     where w.status in ('ENQUEUED', 'PENDING')
), use as (
    select a.queue_name, null::text as part, l.global_limit as places, count(*) filter (where a.status = 'PENDING') as taken,
           count(*) filter (where a.alive) as alive, count(*) filter (where a.held) as held,
           count(*) filter (where a.status = 'ENQUEUED') as waiting, min(a.updated_at) filter (where a.status = 'ENQUEUED') as since
      from active a join limited l on l.name = a.queue_name where l.global_limit is not null group by 1, 3
    union all
    select a.queue_name, a.part, l.part_limit, count(*) filter (where a.status = 'PENDING'), count(*) filter (where a.alive),
           count(*) filter (where a.held), count(*) filter (where a.status = 'ENQUEUED'), min(a.updated_at) filter (where a.status = 'ENQUEUED')
      from active a join limited l on l.name = a.queue_name where l.part_limit is not null and a.part is not null group by 1, 2, 3
)
select case when u.alive = 0 then 'error' else 'warning' end as severity,
       u.queue_name || coalesce(', partition ' || u.part, '') as object, u.waiting as count,
       floor(extract(epoch from clock_timestamp()) * 1000)::bigint - u.since as age_ms,
       'waiting workflows: ' || u.waiting || '; places taken: ' || u.taken || ' of ' || u.places || ', by living executors: ' || u.alive
           || ', by held work: ' || u.held || ', by executors that are over: ' || (u.taken - u.alive - u.held) as detail,
       count(*) over () as total
  from use u where u.waiting > 0 and u.taken >= u.places and u.alive < u.taken
 order by 1, u.since limit @limit
