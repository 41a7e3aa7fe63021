-- purpose: the lease table, the write guard and everything that decides who may write. One source for every service (C6).
-- locks: DDL locks on its own schema only; guard_table takes SHARE ROW EXCLUSIVE on one business table, and only when the guard is missing.
-- called by: the migrator, at every migration, in one transaction. Safe to apply again; running workers keep working.
--
-- Refusals (SQLSTATE):
--   KF001 lease expired          KF002 lease revoked or released     KF003 no identity, or an unknown one
--   KF004 transaction too long   KF005 login is not a worker         KF006 database of another application
--   KF007 guards incomplete      KF008 journal catalog not supported

create schema if not exists workflow_coordination;
revoke all on schema workflow_coordination from public;

create table if not exists workflow_coordination.application (
    only_row boolean primary key default true check (only_row),
    application_name text not null,
    schema_version integer not null,
    applied_at timestamptz not null default clock_timestamp()
);

-- Logins whose sessions are workers (K2). Written by the owner only.
create table if not exists workflow_coordination.worker_login (
    login name primary key
);

-- One row for each process life of a replica. Rows are never deleted: a tombstone refuses a late incarnation (K10).
-- (executor_id, state) is unique so that a change of state is a KEY update: it conflicts with the guard's
-- FOR KEY SHARE at every isolation level, while a renewal (no key column) never does.
create table if not exists workflow_coordination.executor (
    executor_id uuid primary key,
    application_name text not null,
    application_version text not null,
    state text not null default 'active' check (state in ('active', 'released', 'revoked')),
    worker_login name not null,
    build_version text not null default '',
    build_revision text not null default '',
    lease_ms bigint not null check (lease_ms between 100 and 3600000),
    transaction_ms bigint not null check (transaction_ms > 0 and transaction_ms < lease_ms),
    registered_at timestamptz not null default clock_timestamp(),
    heartbeat_at timestamptz not null,
    expires_at timestamptz not null,
    released_at timestamptz,
    revoked_at timestamptz,
    revoked_by uuid,
    constraint executor_state_is_key unique (executor_id, state)
) with (fillfactor = 50);

-- What recovery did with a workflow, one row a move: the history behind every explanation.
create table if not exists workflow_coordination.takeover (
    takeover_id bigint generated always as identity primary key,
    workflow_id text not null,
    lost_executor uuid not null,
    scanner_executor uuid,
    cause text not null check (cause in ('expired', 'revoked', 'released', 'suspect', 'stray', 'operator')),
    action text not null check (action in ('reenqueued', 'quarantined', 'held', 'returned', 'parked', 'retried', 'granted')),
    queue_name text,
    attempts bigint not null,
    checkpoints bigint not null,
    happened_at timestamptz not null default clock_timestamp()
);

-- Claims taken back because a worker stopped in an orderly way (K3). attempts + refunds = claims ever made.
create table if not exists workflow_coordination.claim_refund (
    workflow_id text primary key,
    refunds integer not null check (refunds > 0)
);

-- One row for each workflow that lost its last allowed worker. Kept until an operator decides (P2, P3).
create table if not exists workflow_coordination.quarantine (
    workflow_id text primary key,
    workflow_name text,
    queue_name text,
    deduplication_id text,
    attempts bigint not null,
    reason text not null check (reason in ('attempts_exhausted', 'claim_ceiling')),
    lost_executor uuid not null,
    quarantined_at timestamptz not null default clock_timestamp(),
    signalled_at timestamptz,
    settled_at timestamptz,
    settle_failures integer not null default 0,
    settle_after timestamptz not null default clock_timestamp()
);

-- Workflows that lost two workers or more. Each may be the one that kills them, so they are released one at a time (X3):
-- released_at null = held (pending under the lost owner, K8), else on probation.
create table if not exists workflow_coordination.suspect (
    workflow_id text primary key,
    application_name text not null,
    application_version text not null,
    losses bigint not null,
    held_at timestamptz not null default clock_timestamp(),
    released_at timestamptz
);

-- Claimed workflows whose name no worker knows, taken out of their queue until an operator decides (X2).
create table if not exists workflow_coordination.parked (
    workflow_id text primary key,
    workflow_name text,
    queue_name text,
    parked_by uuid not null,
    parked_at timestamptz not null default clock_timestamp()
);

-- Indexes. Looked for first: "if not exists" takes its lock on the table before it looks, and would wait for renewals.
do $$
begin
    -- The scan's way to live and expired executors; no renewed column is indexed, so renewals stay heap-only.
    if to_regclass('workflow_coordination.executor_active') is null then
        create index executor_active on workflow_coordination.executor (application_name, application_version) where state = 'active';
    end if;
    if to_regclass('workflow_coordination.takeover_workflow') is null then
        create index takeover_workflow on workflow_coordination.takeover (workflow_id);
    end if;
    if to_regclass('workflow_coordination.quarantine_open') is null then
        create index quarantine_open on workflow_coordination.quarantine (settle_after)
         where signalled_at is null or settled_at is null;
    end if;
end
$$;

-- guard_write: the fence. Fires before every write statement on a guarded table (F2).
-- Takes FOR KEY SHARE on the executor's row until the transaction ends, so a revocation (key update) waits for
-- every admitted transaction and no write commits after it. The conditions stand in the locking query itself: a
-- stale executor takes no lock at all, so however busy it is it cannot hold the revocation off.
create or replace function workflow_coordination.guard_write() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    claimed text;
    until timestamptz;
    bound_ms bigint;
    conflict text;
begin
    if not exists (select from workflow_coordination.worker_login w where w.login = session_user) then
        return null;
    end if;
    claimed := current_setting('kesita.executor_id', true);
    if claimed is null or claimed !~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then
        raise exception 'write refused: session of worker login % carries no executor identity', session_user
            using errcode = 'KF003', hint = 'connect directly, not through a connection pooler; use Runtime.ConfigurePool';
    end if;
    if current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
        -- Only a change of state can raise 40001 at this row. Without the translation the caller would take a
        -- revocation for queue contention and try again. Conflicts between serializable transactions carry a detail
        -- and stay what they are.
        begin
            select e.expires_at, e.transaction_ms into until, bound_ms from workflow_coordination.executor e
             where e.executor_id = claimed::uuid and e.worker_login = session_user
               and e.state = 'active' and e.expires_at > clock_timestamp()
               for key share;
        exception when serialization_failure then
            get stacked diagnostics conflict = pg_exception_detail;
            if conflict <> '' then
                raise;
            end if;
            raise exception 'write refused: lease of executor % was revoked', claimed using errcode = 'KF002';
        end;
    else
        select e.expires_at, e.transaction_ms into until, bound_ms from workflow_coordination.executor e
         where e.executor_id = claimed::uuid and e.worker_login = session_user
           and e.state = 'active' and e.expires_at > clock_timestamp()
           for key share;
    end if;
    if until is null then
        perform workflow_coordination.refuse(claimed::uuid);
    end if;
    -- The lock may have been waited for: time is read again behind it.
    if until <= clock_timestamp() then
        raise exception 'write refused: lease of executor % expired', claimed using errcode = 'KF001';
    end if;
    if clock_timestamp() - transaction_timestamp() > make_interval(secs => bound_ms / 1000.0) then
        raise exception 'write refused: transaction of executor % is older than % ms', claimed, bound_ms using errcode = 'KF004';
    end if;
    return null;
end
$$;

-- refuse: raises the precise reason why an executor may not write. Reads one row, takes no lock.
create or replace function workflow_coordination.refuse(p_executor uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    held workflow_coordination.executor;
begin
    select * into held from workflow_coordination.executor e
     where e.executor_id = p_executor and e.worker_login = session_user;
    if held.executor_id is null then
        raise exception 'write refused: executor % is not registered', p_executor using errcode = 'KF003';
    elsif held.state <> 'active' then
        raise exception 'write refused: lease of executor % was %', p_executor, held.state using errcode = 'KF002';
    end if;
    raise exception 'write refused: lease of executor % expired', p_executor using errcode = 'KF001';
end
$$;

-- guard_table: puts the guard on one table; does nothing when an intact one is there. Called by migrations.
-- ENABLE ALWAYS: session_replication_role must not switch the fence off.
create or replace function workflow_coordination.guard_table(p_table regclass) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if workflow_coordination.is_guarded(p_table) then
        return false;
    end if;
    execute format('create or replace trigger workflow_lease_guard before insert or update or delete or truncate on %s'
        ' for each statement execute function workflow_coordination.guard_write()', p_table);
    execute format('alter table %s enable always trigger workflow_lease_guard', p_table);
    return true;
end
$$;

-- is_guarded: true when the table carries the whole guard: every kind of write, every session, no condition.
-- 62 = BEFORE | INSERT | DELETE | UPDATE | TRUNCATE, statement level.
create or replace function workflow_coordination.is_guarded(p_table regclass) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
    select exists (
        select from pg_trigger t
         where t.tgrelid = p_table and not t.tgisinternal
           and t.tgfoid = 'workflow_coordination.guard_write()'::regprocedure
           and t.tgtype = 62 and t.tgenabled = 'A' and t.tgqual is null and t.tgattr = ''::int2vector)
$$;

-- faults: everything that would let a worker's write past the fence. Empty means safe (F6, K1).
-- A table needs the guard when a worker login can write it: directly, as a partition, through a view or a rule, or
-- with the help of any role that the login may become. Not seen: a SECURITY DEFINER function that writes a table to
-- which no worker has a privilege.
create or replace function workflow_coordination.faults() returns table (kind text, object text, detail text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    with recursive login as (
        select r.* from workflow_coordination.worker_login w join pg_roles r on r.rolname = w.login
    ), persona as (
        select l.rolname as login, m.oid, m.rolname, m.rolsuper or m.rolreplication or m.rolcreaterole as privileged,
               m.oid = n.nspowner as is_owner
          from login l join pg_roles m on m.oid = l.oid or not l.rolsuper and pg_has_role(l.oid, m.oid, 'MEMBER'),
               pg_namespace n
         where n.nspname = 'workflow_coordination'
    ), ordinary as (
        select * from persona p where not p.privileged and not p.is_owner -- those two are faults by themselves
    ), reached (oid, login) as (
        select c.oid, p.login from pg_class c join ordinary p
            on has_table_privilege(p.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
            or has_any_column_privilege(p.oid, c.oid, 'INSERT, UPDATE')
         where c.relkind in ('r', 'p', 'f') or c.relkind = 'v' and pg_relation_is_updatable(c.oid, false) & 28 <> 0
        union
        select c.oid, r.login from reached r join pg_rewrite w on w.ev_class = r.oid
          join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass
          join pg_class c on c.oid = d.refobjid and c.relkind in ('r', 'p', 'f', 'v')
    ), relation as (
        select c.oid, c.oid::regclass::text as name, c.relowner, n.nspname
          from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where c.relkind in ('r', 'p', 'f') and n.nspname not like 'pg\_%' and n.nspname <> 'information_schema'
    )
    select 'unguarded_table', r.name, 'worker login ' || w.login || ' can write it without the lease guard'
      from relation r join reached w on w.oid = r.oid
     where r.nspname <> 'workflow_coordination' and not workflow_coordination.is_guarded(r.oid)
    union
    select 'lease_table_writable', r.name, 'worker login ' || w.login || ' has write privileges'
      from relation r join reached w on w.oid = r.oid
     where r.nspname = 'workflow_coordination'
    union
    select 'trigger_privilege', r.name, 'worker login ' || p.login || ' could replace the guard'
      from relation r join ordinary p on has_table_privilege(p.oid, r.oid, 'TRIGGER')
    union
    select 'owned_by_worker', r.name, 'owned by ' || p.rolname || ', which worker login ' || p.login || ' is or may become'
      from relation r join ordinary p on p.oid = r.relowner
    union
    select 'worker_can_create', n.nspname, 'worker login ' || p.login || ' may create objects in this schema'
      from pg_namespace n join ordinary p on has_schema_privilege(p.oid, n.oid, 'CREATE')
     where n.nspname not like 'pg\_%' and n.nspname <> 'information_schema'
    union
    select 'worker_can_create', current_database(), 'worker login ' || p.login || ' may create schemas in this database'
      from ordinary p where has_database_privilege(p.oid, current_database(), 'CREATE')
    union
    select 'worker_privileged', p.login, p.rolname || ' is a superuser, a replication role or may create roles'
      from persona p where p.privileged
    union
    select 'worker_is_owner', p.login, 'is or may become the owner of workflow_coordination'
      from persona p where p.is_owner
    union
    select 'worker_missing', w.login, 'listed as a worker but no such role'
      from workflow_coordination.worker_login w
     where not exists (select from pg_roles r where r.rolname = w.login)
    union
    select 'prepared_transaction', t.gid, 'left by ' || t.owner || ' at ' || t.prepared || '; it can hold a lease row for ever'
      from pg_prepared_xacts t join persona p on p.rolname = t.owner
     where t.database = current_database()
$$;

-- verify_guards: raises when faults() is not empty. Last statement of every migration, first check of every worker.
create or replace function workflow_coordination.verify_guards() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    list text;
begin
    select string_agg(f.kind || ' ' || f.object || ' (' || f.detail || ')', '; ' order by f.kind, f.object) into list
      from workflow_coordination.faults() f;
    if list is not null then
        raise exception 'guards incomplete: %', list
            using errcode = 'KF007', hint = 'call workflow_coordination.guard_table(''schema.table'') in the migration that makes the table writable';
    end if;
end
$$;

-- identity: what the server knows of this session. Lets a worker see that its identity arrived.
create or replace function workflow_coordination.identity()
returns table (session_login name, is_worker boolean, executor_id text, application_name text, schema_version integer)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select session_user, exists (select from workflow_coordination.worker_login w where w.login = session_user),
           coalesce(current_setting('kesita.executor_id', true), ''), a.application_name, a.schema_version
      from workflow_coordination.application a
$$;

-- register_executor: starts a lease (C2, C4). Locks: inserts one row.
create or replace function workflow_coordination.register_executor(
    p_executor uuid, p_application text, p_version text, p_lease_ms bigint, p_transaction_ms bigint,
    p_build_version text, p_build_revision text) returns timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    owner_application text;
    at timestamptz := clock_timestamp();
begin
    if not exists (select from workflow_coordination.worker_login w where w.login = session_user) then
        raise exception 'login % is not a worker login of this database', session_user using errcode = 'KF005';
    end if;
    select a.application_name into owner_application from workflow_coordination.application a;
    if owner_application is distinct from p_application then
        raise exception 'this database belongs to application %, not to %', coalesce(owner_application, '(none)'), p_application
            using errcode = 'KF006';
    end if;
    insert into workflow_coordination.executor (executor_id, application_name, application_version, worker_login,
        build_version, build_revision, lease_ms, transaction_ms, registered_at, heartbeat_at, expires_at)
    values (p_executor, p_application, p_version, session_user, p_build_version, p_build_revision,
        p_lease_ms, p_transaction_ms, at, at, at + make_interval(secs => p_lease_ms / 1000.0));
    return at + make_interval(secs => p_lease_ms / 1000.0);
end
$$;

-- renew_executor: extends a lease that is still active and unexpired, else null (D11).
-- Locks: FOR NO KEY UPDATE on the own row, taken before the clock is read: a renewal that waited for a lock past
-- the expiry must not bring the lease back. Never conflicts with the guard.
create or replace function workflow_coordination.renew_executor(p_executor uuid) returns timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    renewed timestamptz;
    at timestamptz;
begin
    perform from workflow_coordination.executor e where e.executor_id = p_executor for no key update;
    at := clock_timestamp();
    update workflow_coordination.executor e
       set heartbeat_at = at, expires_at = at + make_interval(secs => e.lease_ms / 1000.0)
     where e.executor_id = p_executor and e.worker_login = session_user
       and e.state = 'active' and e.expires_at > at
    returning e.expires_at into renewed;
    return renewed;
end
$$;

-- release_executor: ends a lease in an orderly way; false when it was not held any more (H2).
-- Locks: FOR UPDATE on the own row; waits for the executor's own admitted transactions.
create or replace function workflow_coordination.release_executor(p_executor uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    at timestamptz;
begin
    perform from workflow_coordination.executor e where e.executor_id = p_executor for update;
    at := clock_timestamp();
    update workflow_coordination.executor e set state = 'released', released_at = at
     where e.executor_id = p_executor and e.worker_login = session_user
       and e.state = 'active' and e.expires_at > at;
    return found;
end
$$;

-- check_lease: milliseconds that are left of a valid lease; raises KF001, KF002 or KF003 otherwise (K5). Locks: none.
create or replace function workflow_coordination.check_lease(p_executor uuid) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    until timestamptz;
begin
    select e.expires_at into until from workflow_coordination.executor e
     where e.executor_id = p_executor and e.worker_login = session_user
       and e.state = 'active' and e.expires_at > clock_timestamp();
    if until is null then
        perform workflow_coordination.refuse(p_executor);
    end if;
    return greatest(0, floor(extract(epoch from until - clock_timestamp()) * 1000))::bigint;
end
$$;

-- end_sessions: terminates the sessions of an executor that is expired or no longer active (K4): a transaction that
-- was admitted and then frozen would hold the takeover off. Locks: none. Returns how many were told to end.
create or replace function workflow_coordination.end_sessions(p_executor uuid) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    ended integer;
begin
    select count(*) filter (where pg_terminate_backend(s.pid)) into ended
      from pg_stat_activity s join workflow_coordination.executor e
        on s.application_name = 'kesita:' || e.executor_id and s.usename = e.worker_login
     where e.executor_id = p_executor and s.datname = current_database()
       and (e.state <> 'active' or e.expires_at <= clock_timestamp());
    return ended;
end
$$;

-- Functions are executable by PUBLIC by default: only logins that a migration names may use these.
revoke all on all functions in schema workflow_coordination from public;
