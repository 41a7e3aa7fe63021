-- purpose: the coordination functions that touch the journal (the DBOS tables of catalog 113). The only SQL that names them.
-- locks: stated at each function. Order everywhere: own lease, then the other executor's lease, then workflow rows.
-- called by: the migrator, directly after coordination.sql, in the same transaction; the functions by workers.

-- journal_catalog: the catalog number that the SDK recorded; null when there is no journal. Locks: none.
create or replace function workflow_coordination.journal_catalog() returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    number bigint;
begin
    if to_regclass('dbos.dbos_migrations') is null then
        return null;
    end if;
    execute 'select max(version) from dbos.dbos_migrations' into number;
    return number;
end
$$;

-- journal_tables: every journal table that a worker writes.
create or replace function workflow_coordination.journal_tables() returns setof text
language sql immutable set search_path = pg_catalog, pg_temp as $$
    select 'dbos.' || unnest(array['workflow_status', 'workflow_input', 'workflow_output', 'operation_outputs',
        'notifications', 'workflow_events', 'workflow_events_history', 'streams', 'queues', 'workflow_schedules',
        'application_versions'])
$$;

-- install_journal_guards: puts the guard on the journal (C7, K1). Touches nothing at a foreign catalog number.
-- Locks: an advisory lock; SHARE ROW EXCLUSIVE on a table only where its guard is missing, both no longer than the
-- session's lock_timeout. Returns how many it added.
create or replace function workflow_coordination.install_journal_guards() returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    number bigint;
    added integer := 0;
    name text;
begin
    perform pg_advisory_xact_lock(hashtextextended('workflow_coordination.journal', 0));
    number := workflow_coordination.journal_catalog();
    if number is distinct from 113 then
        raise exception 'journal catalog is %, this platform needs 113', coalesce(number::text, 'missing') using errcode = 'KF008';
    end if;
    for name in select * from workflow_coordination.journal_tables() loop
        if workflow_coordination.guard_table(name::regclass) then
            added := added + 1;
        end if;
    end loop;
    return added;
end
$$;

-- probe_queue: the name of an executor's private queue; its one probe workflow has the same ID.
create or replace function workflow_coordination.probe_queue(p_executor uuid) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
    select 'kesita-probe-' || p_executor
$$;

-- remove_probe: deletes an executor's private queue and its probe's records (D13). Locks: those rows.
create or replace function workflow_coordination.remove_probe(p_executor uuid) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    probe text := workflow_coordination.probe_queue(p_executor);
    removed integer;
begin
    delete from dbos.workflow_status w where w.workflow_uuid = probe;
    get diagnostics removed = row_count;
    delete from dbos.workflow_input i where i.workflow_uuid = probe;
    delete from dbos.workflow_output o where o.workflow_uuid = probe;
    delete from dbos.operation_outputs p where p.workflow_uuid = probe;
    delete from dbos.queues q where q.name = probe;
    return removed;
end
$$;

-- Planning, here and below: enable_seqscan, enable_hashjoin and enable_mergejoin are off. What is looked for is always a
-- few rows behind an index (unfinished workflows, active executors, a primary key); a plan that reads finished history
-- or tombstones instead must not be chosen, however wrong the statistics are.

-- recovery_candidates: executors whose work waits for a takeover, at most p_limit (D3, T5): expired ones, and ended ones
-- that still own unfinished work or a private queue. p_deferred come last, in its order. The conditions on a workflow
-- are those of recover_executor: nobody is listed for rows that it would leave alone (T3, O4).
-- Locks: FOR UPDATE SKIP LOCKED on the rows returned, until the statement's transaction ends: one that a frozen
-- transaction still holds does not use up the limit.
create or replace function workflow_coordination.recovery_candidates(p_scanner uuid, p_limit integer, p_deferred uuid[])
returns table (executor_id uuid, state text)
language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    own workflow_coordination.executor;
begin
    select * into own from workflow_coordination.executor e
     where e.executor_id = p_scanner and e.worker_login = session_user
       and e.state = 'active' and e.expires_at > clock_timestamp();
    if own.executor_id is null then
        perform workflow_coordination.refuse(p_scanner);
    end if;
    return query
    with owner as materialized (
        select distinct w.executor_id as id from dbos.workflow_status w
         where w.status = 'PENDING' and w.workflow_uuid <> ''
           and w.application_name = own.application_name and w.application_version = own.application_version
           and not exists (select from workflow_coordination.suspect s where s.workflow_id = w.workflow_uuid and s.released_at is null)
        union
        select substr(q.name, 14) from dbos.queues q where q.name like 'kesita-probe-%'
    ), ended as (
        select e.executor_id from owner o join workflow_coordination.executor e
            on e.executor_id = case when o.id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then o.id::uuid end
         where e.state <> 'active'
           and e.application_name = own.application_name and e.application_version = own.application_version
    ), expired as (
        select e.executor_id from workflow_coordination.executor e
         where e.state = 'active' and e.expires_at <= clock_timestamp()
           and e.application_name = own.application_name and e.application_version = own.application_version
    )
    select e.executor_id, e.state from workflow_coordination.executor e
     where e.executor_id in (select x.executor_id from ended x union select x.executor_id from expired x)
     order by array_position(p_deferred, e.executor_id) nulls first, e.expires_at
     limit p_limit for update skip locked;
end
$$;

-- locked_candidates: expired executors whose row a transaction still holds (K4). Reads only; used to find whose
-- sessions must be ended. Locks: FOR UPDATE SKIP LOCKED on the free ones, until the statement's transaction ends.
create or replace function workflow_coordination.locked_candidates(p_scanner uuid) returns setof uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    own workflow_coordination.executor;
begin
    select * into own from workflow_coordination.executor e where e.executor_id = p_scanner and e.worker_login = session_user;
    return query
    with expired as (
        select e.executor_id from workflow_coordination.executor e
         where e.state = 'active' and e.expires_at <= clock_timestamp()
           and e.application_name = own.application_name and e.application_version = own.application_version
    ), free as (
        select e.executor_id from workflow_coordination.executor e
         where e.executor_id in (select x.executor_id from expired x) for update skip locked
    )
    select x.executor_id from expired x except select f.executor_id from free f;
end
$$;

-- recover_executor: revokes one executor and moves its pending workflows, in one transaction (T1-T5, P1, P2, K3, K6).
-- Locks, in this order: FOR KEY SHARE on the scanner's lease, FOR UPDATE SKIP LOCKED on the lost executor's lease,
-- then the workflow rows.
-- outcome: recovered | busy (another scanner, or an admitted transaction, has the lease row) | alive.
create or replace function workflow_coordination.recover_executor(
    p_scanner uuid, p_lost uuid, p_max_attempts integer, p_claim_ceiling integer)
returns table (outcome text, cause text, reenqueued integer, held integer, quarantined text[], last_chance text[], probes_removed integer)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    own workflow_coordination.executor;
begin
    select * into own from workflow_coordination.executor e
     where e.executor_id = p_scanner and e.worker_login = session_user
       and e.state = 'active' and e.expires_at > clock_timestamp() for key share;
    if own.executor_id is null then
        perform workflow_coordination.refuse(p_scanner);
    end if;
    if not exists (select from workflow_coordination.executor e where e.executor_id = p_lost
                      and e.application_name = own.application_name and e.application_version = own.application_version) then
        -- not a peer: what it left is for workers of its own application and version (C5)
        return query select 'busy', null::text, 0, 0, '{}'::text[], '{}'::text[], 0; return;
    end if;
    return query select * from workflow_coordination.move_work(p_scanner, p_lost, p_max_attempts, p_claim_ceiling);
end
$$;

-- move_work: the body of a recovery, for a scanner or (p_scanner null) for an operator. Owner only.
-- Attempts are never counted here; a claim of a released executor is taken back (K3). A workflow that lost two workers
-- is held, not moved: release_suspect lets one go at a time (X3, K8). last_chance: one more loss quarantines it.
create or replace function workflow_coordination.move_work(
    p_scanner uuid, p_lost uuid, p_max_attempts integer, p_claim_ceiling integer)
returns table (outcome text, cause text, reenqueued integer, held integer, quarantined text[], last_chance text[], probes_removed integer)
language plpgsql set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    lost workflow_coordination.executor;
    now_ms bigint;
begin
    select * into lost from workflow_coordination.executor e where e.executor_id = p_lost for update skip locked;
    reenqueued := 0; held := 0; quarantined := '{}'; last_chance := '{}'; probes_removed := 0; outcome := 'busy';
    if lost.executor_id is null then
        return next; return;
    end if;
    cause := lost.state;
    if lost.state = 'active' then
        if lost.expires_at > clock_timestamp() then
            outcome := 'alive'; return next; return;
        end if;
        cause := 'expired';
        update workflow_coordination.executor e set state = 'revoked', revoked_at = clock_timestamp(), revoked_by = p_scanner
         where e.executor_id = p_lost;
    end if;
    probes_removed := workflow_coordination.remove_probe(p_lost);
    now_ms := floor(extract(epoch from clock_timestamp()) * 1000);
    with locked as (
        -- FOR UPDATE reads the state again behind the row lock: one that finished meanwhile is left alone (T3).
        select w.workflow_uuid, w.name, w.queue_name, w.deduplication_id,
               coalesce(w.recovery_attempts, 0) - r.refund as attempts, r.refund,
               coalesce(w.recovery_attempts, 0) + coalesce(f.refunds, 0) as claims,
               (select count(*) from dbos.operation_outputs o where o.workflow_uuid = w.workflow_uuid) as checkpoints
          from dbos.workflow_status w left join workflow_coordination.claim_refund f on f.workflow_id = w.workflow_uuid
         cross join lateral (select case when cause = 'released' and w.recovery_attempts > 0 then 1 else 0 end as refund) r
         where w.status = 'PENDING' and w.executor_id = lost.executor_id::text and w.workflow_uuid <> ''
           and w.application_name = lost.application_name and w.application_version = lost.application_version
           and not exists (select from workflow_coordination.suspect s where s.workflow_id = w.workflow_uuid and s.released_at is null)
           for update of w
    ), judged as (
        select l.*, case when l.attempts >= p_max_attempts or l.claims >= p_claim_ceiling then 'quarantined'
                         when cause <> 'released' and l.attempts >= 2 then 'held'
                         else 'reenqueued' end as action
          from locked l
    ), moved as (
        update dbos.workflow_status w set
               status = case when j.action = 'quarantined' then 'MAX_RECOVERY_ATTEMPTS_EXCEEDED' else 'ENQUEUED' end,
               recovery_attempts = j.attempts,
               started_at_epoch_ms = null, updated_at = now_ms,
               queue_name = case when j.action = 'quarantined' then null else coalesce(nullif(w.queue_name, ''), '_dbos_internal_queue') end,
               deduplication_id = case when j.action = 'quarantined' then null else w.deduplication_id end,
               completed_at = case when j.action = 'quarantined' then now_ms end
          from judged j
         where w.workflow_uuid = j.workflow_uuid and j.action <> 'held'
    ), noted as (
        insert into workflow_coordination.takeover (workflow_id, lost_executor, scanner_executor, cause, action, queue_name, attempts, checkpoints)
        select j.workflow_uuid, p_lost, p_scanner, cause, j.action, j.queue_name, j.attempts, j.checkpoints from judged j
    ), refunded as (
        insert into workflow_coordination.claim_refund as f (workflow_id, refunds)
        select j.workflow_uuid, 1 from judged j where j.refund > 0
        on conflict (workflow_id) do update set refunds = f.refunds + 1
    ), suspected as (
        insert into workflow_coordination.suspect as s (workflow_id, application_name, application_version, losses)
        select j.workflow_uuid, lost.application_name, lost.application_version, j.attempts from judged j where j.action = 'held'
        on conflict (workflow_id) do update set losses = excluded.losses, held_at = clock_timestamp(), released_at = null
    ), marked as (
        insert into workflow_coordination.quarantine as q
               (workflow_id, workflow_name, queue_name, deduplication_id, attempts, reason, lost_executor)
        select j.workflow_uuid, j.name, j.queue_name, j.deduplication_id, j.attempts,
               case when j.attempts >= p_max_attempts then 'attempts_exhausted' else 'claim_ceiling' end, p_lost
          from judged j where j.action = 'quarantined'
        on conflict (workflow_id) do update set queue_name = excluded.queue_name, deduplication_id = excluded.deduplication_id,
               attempts = excluded.attempts, reason = excluded.reason, lost_executor = excluded.lost_executor,
               quarantined_at = clock_timestamp(), signalled_at = null, settled_at = null, settle_failures = 0, settle_after = clock_timestamp()
    )
    select count(*) filter (where j.action = 'reenqueued'), count(*) filter (where j.action = 'held'),
           coalesce(array_agg(j.workflow_uuid) filter (where j.action = 'quarantined'), '{}'),
           coalesce(array_agg(j.workflow_uuid) filter (where j.action <> 'quarantined' and j.attempts = p_max_attempts - 1), '{}')
      into reenqueued, held, quarantined, last_chance from judged j;
    outcome := 'recovered';
    return next;
end
$$;

-- release_suspect: lets the next held workflow of the scanner's application and version go, when none is on probation
-- (X3). Probation ends when the workflow ends or has run for p_probation_ms without taking its worker down. Fewest
-- losses first: the innocent are through before the guilty returns. Returns the workflow's ID, or null.
-- Locks: an advisory lock (tried, not waited for), FOR KEY SHARE on the scanner's lease, the workflow row.
create or replace function workflow_coordination.release_suspect(p_scanner uuid, p_probation_ms bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    own workflow_coordination.executor;
    now_ms bigint := floor(extract(epoch from clock_timestamp()) * 1000);
    chosen record;
begin
    select * into own from workflow_coordination.executor e
     where e.executor_id = p_scanner and e.worker_login = session_user
       and e.state = 'active' and e.expires_at > clock_timestamp() for key share;
    if own.executor_id is null then
        perform workflow_coordination.refuse(p_scanner);
    end if;
    if not pg_try_advisory_xact_lock(hashtextextended('workflow_coordination.suspect ' || own.application_name || ' ' || own.application_version, 0)) then
        return null;
    end if;
    delete from workflow_coordination.suspect s
     where s.application_name = own.application_name and s.application_version = own.application_version
       and not exists (select from dbos.workflow_status w where w.workflow_uuid = s.workflow_id
             and (s.released_at is null and w.status = 'PENDING'
                  or s.released_at is not null and (w.status in ('ENQUEUED', 'DELAYED')
                        or w.status = 'PENDING' and w.started_at_epoch_ms > now_ms - p_probation_ms)));
    if exists (select from workflow_coordination.suspect s where s.released_at is not null
                  and s.application_name = own.application_name and s.application_version = own.application_version) then
        return null;
    end if;
    select w.workflow_uuid, w.executor_id, w.queue_name, w.recovery_attempts into chosen
      from workflow_coordination.suspect s join dbos.workflow_status w on w.workflow_uuid = s.workflow_id
     where s.released_at is null and w.status = 'PENDING'
       and s.application_name = own.application_name and s.application_version = own.application_version
     order by s.losses, s.held_at, s.workflow_id limit 1 for update of w;
    if chosen.workflow_uuid is null then
        return null;
    end if;
    update dbos.workflow_status w set status = 'ENQUEUED', started_at_epoch_ms = null, updated_at = now_ms,
           queue_name = coalesce(nullif(w.queue_name, ''), '_dbos_internal_queue')
     where w.workflow_uuid = chosen.workflow_uuid;
    update workflow_coordination.suspect s set released_at = clock_timestamp() where s.workflow_id = chosen.workflow_uuid;
    insert into workflow_coordination.takeover (workflow_id, lost_executor, scanner_executor, cause, action, queue_name, attempts, checkpoints)
    values (chosen.workflow_uuid, chosen.executor_id::uuid, p_scanner, 'suspect', 'reenqueued', chosen.queue_name, chosen.recovery_attempts,
            (select count(*) from dbos.operation_outputs o where o.workflow_uuid = chosen.workflow_uuid));
    return chosen.workflow_uuid;
end
$$;

-- operator_expire: ends a lease by hand, as the first half of a revocation (the second is move_work). A live lease needs
-- p_force. No key column changes: a busy executor cannot hold it off, and is refused from the commit on. Owner only.
-- Returns expired | ended | live | unknown.
create or replace function workflow_coordination.operator_expire(p_executor uuid, p_force boolean) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    held workflow_coordination.executor;
begin
    select * into held from workflow_coordination.executor e where e.executor_id = p_executor for no key update;
    if held.executor_id is null then
        return 'unknown';
    elsif held.state <> 'active' then
        return 'ended';
    elsif held.expires_at > clock_timestamp() then
        if not p_force then
            return 'live';
        end if;
        update workflow_coordination.executor e set expires_at = clock_timestamp() where e.executor_id = p_executor;
    end if;
    return 'expired';
end
$$;

-- own_claims: PENDING workflows of an executor, its probe left out: what it must be able to account for (X2). Locks: none.
create or replace function workflow_coordination.own_claims(p_executor uuid)
returns table (workflow_id text, workflow_name text, config_name text, claimed_ms bigint, age_ms bigint)
language sql stable security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set jit = off as $$
    select w.workflow_uuid, w.name, w.config_name, w.started_at_epoch_ms,
           floor(extract(epoch from now()) * 1000)::bigint - w.started_at_epoch_ms
      from dbos.workflow_status w
     where w.status = 'PENDING' and w.executor_id = p_executor::text and w.started_at_epoch_ms is not null
       and w.workflow_uuid <> workflow_coordination.probe_queue(p_executor)
$$;

-- return_claim: puts a workflow that this executor claimed and does not run back into its queue, if it is still that
-- claim (X2). p_refund: the claim never ran, so it is taken back; the ceiling counts it. p_park: nobody knows its name;
-- it leaves the queue and waits for an operator. A workflow that has no attempt or no claim left is quarantined.
-- Locks: FOR KEY SHARE on the own lease, the workflow row. Returns returned | parked | quarantined; null: it moved on.
create or replace function workflow_coordination.return_claim(p_executor uuid, p_workflow text, p_claimed_ms bigint,
    p_refund boolean, p_park boolean, p_max_attempts integer, p_claim_ceiling integer) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    own workflow_coordination.executor;
    claim record;
    claims bigint;
    now_ms bigint := floor(extract(epoch from clock_timestamp()) * 1000);
    action text;
begin
    select * into own from workflow_coordination.executor e
     where e.executor_id = p_executor and e.worker_login = session_user
       and e.state = 'active' and e.expires_at > clock_timestamp() for key share;
    if own.executor_id is null then
        perform workflow_coordination.refuse(p_executor);
    end if;
    select w.name, w.queue_name, w.deduplication_id, coalesce(w.recovery_attempts, 0) as attempts,
           case when p_refund and w.recovery_attempts > 0 then 1 else 0 end as refund into claim
      from dbos.workflow_status w
     where w.workflow_uuid = p_workflow and w.status = 'PENDING' and w.executor_id = p_executor::text
       and w.started_at_epoch_ms = p_claimed_ms for update;
    if not found then
        return null;
    end if;
    if claim.refund > 0 then
        insert into workflow_coordination.claim_refund as f (workflow_id, refunds) values (p_workflow, 1)
        on conflict (workflow_id) do update set refunds = f.refunds + 1;
    end if;
    claims := claim.attempts - claim.refund
        + coalesce((select f.refunds from workflow_coordination.claim_refund f where f.workflow_id = p_workflow), 0);
    claim.attempts := claim.attempts - claim.refund;
    action := case when p_park then 'parked'
                   when claim.attempts >= p_max_attempts or claims >= p_claim_ceiling then 'quarantined'
                   else 'returned' end;
    update dbos.workflow_status w set
           status = case when action = 'quarantined' then 'MAX_RECOVERY_ATTEMPTS_EXCEEDED' else 'ENQUEUED' end,
           recovery_attempts = claim.attempts, started_at_epoch_ms = null, updated_at = now_ms,
           queue_name = case action when 'parked' then 'kesita-parked'
                                    when 'returned' then coalesce(nullif(w.queue_name, ''), '_dbos_internal_queue') end,
           deduplication_id = case when action <> 'quarantined' then w.deduplication_id end,
           completed_at = case when action = 'quarantined' then now_ms end
     where w.workflow_uuid = p_workflow;
    if action = 'parked' then
        insert into workflow_coordination.parked (workflow_id, workflow_name, queue_name, parked_by)
        values (p_workflow, claim.name, claim.queue_name, p_executor) on conflict (workflow_id) do nothing;
    elsif action = 'quarantined' then
        insert into workflow_coordination.quarantine as q
               (workflow_id, workflow_name, queue_name, deduplication_id, attempts, reason, lost_executor)
        values (p_workflow, claim.name, claim.queue_name, claim.deduplication_id, claim.attempts,
               case when claim.attempts >= p_max_attempts then 'attempts_exhausted' else 'claim_ceiling' end, p_executor)
        on conflict (workflow_id) do update set queue_name = excluded.queue_name, deduplication_id = excluded.deduplication_id,
               attempts = excluded.attempts, reason = excluded.reason, lost_executor = excluded.lost_executor,
               quarantined_at = clock_timestamp(), signalled_at = null, settled_at = null, settle_failures = 0, settle_after = clock_timestamp();
    end if;
    insert into workflow_coordination.takeover (workflow_id, lost_executor, scanner_executor, cause, action, queue_name, attempts, checkpoints)
    values (p_workflow, p_executor, p_executor, 'stray', action, claim.queue_name, claim.attempts,
            (select count(*) from dbos.operation_outputs o where o.workflow_uuid = p_workflow));
    return action;
end
$$;

-- operator_unpark: puts a parked workflow back into its queue, after a worker that knows its name was deployed. Owner only.
create or replace function workflow_coordination.operator_unpark(p_workflow text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    update dbos.workflow_status w set queue_name = coalesce(nullif(p.queue_name, ''), '_dbos_internal_queue'),
           updated_at = floor(extract(epoch from clock_timestamp()) * 1000)
      from workflow_coordination.parked p
     where p.workflow_id = p_workflow and w.workflow_uuid = p_workflow and w.status = 'ENQUEUED' and w.queue_name = 'kesita-parked';
    if not found then
        return false;
    end if;
    delete from workflow_coordination.parked p where p.workflow_id = p_workflow;
    return true;
end
$$;

revoke all on all functions in schema workflow_coordination from public;
