-- purpose: what operators look at and do beyond the recovery: open transactions of executors, and executors that the
-- registry does not know.
-- locks: stated at each function.
-- called by: the migrator, after journal.sql.

-- open_transactions: executors with an open transaction, as the server's session list shows them. Definer: a reader
-- does not see the sessions of workers otherwise. Locks: none.
create or replace function workflow_coordination.open_transactions()
returns table (executor_id uuid, transactions bigint, oldest_ms bigint)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select substr(s.application_name, 8)::uuid, count(*),
           floor(extract(epoch from clock_timestamp() - min(s.xact_start)) * 1000)::bigint
      from pg_stat_activity s
     where s.datname = current_database() and s.xact_start is not null
       and s.application_name ~ '^kesita:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
     group by s.application_name
$$;

-- operator_bury: writes the tombstone of an executor that the registry does not know, from the pending workflows that
-- name it, so that scans recover them and the fence refuses it by name. Owner only. Returns how many workflows name it.
-- Writes nothing when none does (0), or when they are of several applications or versions (-1). Locks: inserts one row.
create or replace function workflow_coordination.operator_bury(p_executor uuid) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    found_rows bigint;
    kinds bigint;
    application text;
    version text;
begin
    select count(*), count(distinct (w.application_name, w.application_version)), min(w.application_name), min(w.application_version)
      into found_rows, kinds, application, version
      from dbos.workflow_status w
     where w.status = 'PENDING' and w.executor_id = p_executor::text and w.workflow_uuid <> '';
    if found_rows = 0 then
        return 0;
    elsif kinds > 1 or application is null or version is null then
        return -1;
    end if;
    insert into workflow_coordination.executor (executor_id, application_name, application_version, state, worker_login,
           lease_ms, transaction_ms, heartbeat_at, expires_at, revoked_at)
    values (p_executor, application, version, 'revoked', 'nobody', 75000, 20000, clock_timestamp(), clock_timestamp(), clock_timestamp())
    on conflict (executor_id) do nothing;
    return found_rows;
end
$$;

revoke all on function workflow_coordination.open_transactions(), workflow_coordination.operator_bury(uuid) from public;
