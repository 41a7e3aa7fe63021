-- purpose: the end of finished workflows. The SDK never deletes any, so this is the only way that history shrinks.
-- locks: FOR KEY SHARE on the own lease, then the rows that are deleted, FOR UPDATE SKIP LOCKED.
-- called by: the migrator, after journal.sql.

-- retire_workflows: looks at the next p_limit workflows in the order of their end, after (p_after_ms, p_after_id), and
-- deletes those that ended more than p_age_ms ago, with all their records. Left alone: what is not finished, what was
-- quarantined or parked, and what has an unfinished parent or child; a quarantined one counts as unfinished. Executors
-- are never deleted (K10). next_ms is null when nothing old enough follows: what was left alone costs one look a round,
-- however much of it there is.
create or replace function workflow_coordination.retire_workflows(
    p_executor uuid, p_age_ms bigint, p_limit integer, p_after_ms bigint, p_after_id text)
returns table (examined integer, deleted integer, next_ms bigint, next_id text)
language plpgsql security definer set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set enable_sort = off set jit = off as $$
#variable_conflict use_column
declare
    own workflow_coordination.executor;
    before_ms bigint := floor(extract(epoch from now()) * 1000) - p_age_ms;
    ids text[];
begin
    select * into own from workflow_coordination.executor e
     where e.executor_id = p_executor and e.worker_login = session_user
       and e.state = 'active' and e.expires_at > clock_timestamp() for key share;
    if own.executor_id is null then
        perform workflow_coordination.refuse(p_executor);
    end if;
    with looked_at as materialized (
        select w.workflow_uuid as id, w.completed_at as ended from dbos.workflow_status w
         where w.completed_at >= p_after_ms and w.completed_at < before_ms
           and (w.completed_at, w.workflow_uuid) > (p_after_ms, p_after_id)
         order by w.completed_at, w.workflow_uuid limit p_limit
    ), last as (
        select l.ended, l.id from looked_at l order by l.ended desc, l.id desc limit 1
    ), finished as (
        -- FOR UPDATE reads the state again behind the row lock: a cancelled one may have been resumed.
        -- coalesce keeps the planner from the index of completed_at: these rows are found by their key.
        select w.workflow_uuid as id from looked_at l join dbos.workflow_status w on w.workflow_uuid = l.id
         where w.status in ('SUCCESS', 'ERROR', 'CANCELLED') and coalesce(w.completed_at, before_ms) < before_ms
           and (w.application_name = own.application_name or w.application_name is null)
           and not exists (select from workflow_coordination.quarantine q where q.workflow_id = l.id)
           and not exists (select from workflow_coordination.parked p where p.workflow_id = l.id)
           and not exists (select from dbos.workflow_status p where p.workflow_uuid = w.parent_workflow_id
                              and p.status not in ('SUCCESS', 'ERROR', 'CANCELLED'))
           and not exists (select from dbos.workflow_status c where c.parent_workflow_id = l.id
                              and c.status not in ('SUCCESS', 'ERROR', 'CANCELLED'))
           for update of w skip locked
    )
    select (select count(*) from looked_at), (select array_agg(f.id) from finished f),
           (select t.ended from last t), (select t.id from last t)
      into examined, ids, next_ms, next_id;
    if examined < p_limit then
        next_ms := null; next_id := null;
    end if;
    -- the first three have no foreign key; notifications, events and streams go with their workflow
    delete from dbos.operation_outputs o where o.workflow_uuid = any (ids);
    delete from dbos.workflow_input i where i.workflow_uuid = any (ids);
    delete from dbos.workflow_output o where o.workflow_uuid = any (ids);
    delete from workflow_coordination.claim_refund f where f.workflow_id = any (ids);
    delete from workflow_coordination.suspect s where s.workflow_id = any (ids);
    delete from workflow_coordination.takeover t where t.workflow_id = any (ids);
    delete from dbos.workflow_status w where w.workflow_uuid = any (ids);
    get diagnostics deleted = row_count;
    return next;
end
$$;

revoke all on function workflow_coordination.retire_workflows(uuid, bigint, integer, bigint, text) from public;
