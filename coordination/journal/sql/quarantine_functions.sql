-- purpose: what happens to a workflow after it lost its last allowed worker: signal once, settle, retry by hand (P2, P3).
-- locks: rows of workflow_coordination.quarantine, FOR UPDATE SKIP LOCKED; the operator's functions lock one workflow row.
-- called by: the migrator, after journal.sql. Worker functions are fenced by the guard's own check of the lease.

-- adopt_exhausted: takes over workflows that the SDK itself gave up, so that none is terminal without a signal. The SDK
-- forgets the queue; the history of takeovers may still know it.
create or replace function workflow_coordination.adopt_exhausted(p_executor uuid) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set jit = off as $$
declare
    own workflow_coordination.executor;
    adopted integer;
begin
    perform workflow_coordination.check_lease(p_executor);
    select * into own from workflow_coordination.executor e where e.executor_id = p_executor;
    insert into workflow_coordination.quarantine (workflow_id, workflow_name, queue_name, attempts, reason, lost_executor)
    select w.workflow_uuid, w.name,
           (select t.queue_name from workflow_coordination.takeover t
             where t.workflow_id = w.workflow_uuid and t.queue_name is not null order by t.takeover_id desc limit 1),
           coalesce(w.recovery_attempts, 0), 'attempts_exhausted',
           case when w.executor_id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then w.executor_id::uuid else p_executor end
      from dbos.workflow_status w
     where w.status = 'MAX_RECOVERY_ATTEMPTS_EXCEEDED'
       and (w.application_name = own.application_name or w.application_name is null)
       and not exists (select from workflow_coordination.quarantine q where q.workflow_id = w.workflow_uuid)
     limit 100
    on conflict (workflow_id) do nothing;
    get diagnostics adopted = row_count;
    return adopted;
end
$$;

-- take_unsignalled: marks quarantined workflows as signalled and returns them; the caller writes the signal before it
-- commits. A crash in between repeats the line rather than losing it; scanners side by side never do.
create or replace function workflow_coordination.take_unsignalled(p_executor uuid)
returns table (workflow_id text, workflow_name text, attempts bigint, reason text, lost_executor uuid)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    perform workflow_coordination.check_lease(p_executor);
    return query
    update workflow_coordination.quarantine q set signalled_at = clock_timestamp()
     where q.workflow_id in (select u.workflow_id from workflow_coordination.quarantine u
                              where u.signalled_at is null order by u.quarantined_at limit 100 for update skip locked)
    returning q.workflow_id, coalesce(q.workflow_name, ''), q.attempts, q.reason, q.lost_executor;
end
$$;

-- take_unsettled: locks one workflow whose business state still has to be settled; no row when there is none that is
-- due. A worker of the workflow's own version knows best what that state is: one of another version takes it only when
-- none of those is left.
create or replace function workflow_coordination.take_unsettled(p_executor uuid)
returns table (workflow_id text, workflow_name text, failures integer)
language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    own workflow_coordination.executor;
begin
    perform workflow_coordination.check_lease(p_executor);
    select * into own from workflow_coordination.executor e where e.executor_id = p_executor;
    return query
    select q.workflow_id, coalesce(q.workflow_name, ''), q.settle_failures from workflow_coordination.quarantine q
     where q.settled_at is null and q.settle_after <= clock_timestamp()
       and not exists (select from dbos.workflow_status w join workflow_coordination.executor e
                           on e.application_name = own.application_name and e.application_version = w.application_version
                        where w.workflow_uuid = q.workflow_id and w.application_version <> own.application_version
                          and e.state = 'active' and e.expires_at > clock_timestamp())
     order by q.settle_after, q.workflow_id limit 1 for update of q skip locked;
end
$$;

-- note_settled: writes down that a workflow was settled, or that it failed and when to try again.
create or replace function workflow_coordination.note_settled(p_executor uuid, p_workflow text, p_retry_ms bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform workflow_coordination.check_lease(p_executor);
    update workflow_coordination.quarantine q set
           settled_at = case when p_retry_ms is null then clock_timestamp() end,
           settle_failures = q.settle_failures + case when p_retry_ms is null then 0 else 1 end,
           settle_after = clock_timestamp() + make_interval(secs => coalesce(p_retry_ms, 0) / 1000.0)
     where q.workflow_id = p_workflow and q.settled_at is null;
end
$$;

-- operator_retry: puts a quarantined workflow back into its queue. Resets the protection: it gets all its attempts
-- again. Deadline, input, checkpoints and deduplication ID are kept (P3). Owner only. False: not quarantined.
create or replace function workflow_coordination.operator_retry(p_workflow text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    held workflow_coordination.quarantine;
begin
    select * into held from workflow_coordination.quarantine q where q.workflow_id = p_workflow for update;
    if held.workflow_id is null then
        return false;
    end if;
    update dbos.workflow_status w set status = 'ENQUEUED', recovery_attempts = 0, started_at_epoch_ms = null, completed_at = null,
           queue_name = coalesce(nullif(held.queue_name, ''), '_dbos_internal_queue'), deduplication_id = held.deduplication_id,
           updated_at = floor(extract(epoch from clock_timestamp()) * 1000)
     where w.workflow_uuid = p_workflow and w.status = 'MAX_RECOVERY_ATTEMPTS_EXCEEDED';
    if not found then
        return false;
    end if;
    insert into workflow_coordination.takeover (workflow_id, lost_executor, cause, action, queue_name, attempts, checkpoints)
    values (p_workflow, held.lost_executor, 'operator', 'retried', held.queue_name, 0,
            (select count(*) from dbos.operation_outputs o where o.workflow_uuid = p_workflow));
    delete from workflow_coordination.claim_refund f where f.workflow_id = p_workflow;
    delete from workflow_coordination.quarantine q where q.workflow_id = p_workflow;
    return true;
end
$$;

-- operator_grant: gives one workflow that is not finished its attempts back, after an outage that it did not cause.
-- A running claim stays counted. Owner only. Null: no such unfinished workflow; else the attempts it had.
create or replace function workflow_coordination.operator_grant(p_workflow text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    before bigint;
begin
    select w.recovery_attempts into before from dbos.workflow_status w
     where w.workflow_uuid = p_workflow and w.status in ('ENQUEUED', 'PENDING', 'DELAYED') for update;
    if before is null then
        return null;
    end if;
    update dbos.workflow_status w set recovery_attempts = case when w.status = 'PENDING' then least(1, before) else 0 end
     where w.workflow_uuid = p_workflow;
    insert into workflow_coordination.takeover (workflow_id, lost_executor, cause, action, attempts, checkpoints)
    select w.workflow_uuid, '00000000-0000-0000-0000-000000000000', 'operator', 'granted', before,
           (select count(*) from dbos.operation_outputs o where o.workflow_uuid = p_workflow)
      from dbos.workflow_status w where w.workflow_uuid = p_workflow;
    return before;
end
$$;

revoke all on all functions in schema workflow_coordination from public;
