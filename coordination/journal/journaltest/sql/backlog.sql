-- purpose: many claimed workflows of one executor. locks: none. called by: journaltest.Backlog
with added as (
    insert into dbos.workflow_status (workflow_uuid, status, name, executor_id, application_name, application_version,
           queue_name, recovery_attempts, started_at_epoch_ms, created_at)
    select $4::text || '-' || n, 'PENDING', 'shop.order', $1::uuid::text, $2::text, $3::text,
           case when n % 2 = 0 then 'orders' end, 1, 1700000001000, 1700000000000 + n
      from generate_series(1, $5::integer) n
    returning 1
) select count(*) from added
