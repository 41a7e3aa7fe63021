-- purpose: the statements that give worker ($2), api ($3) and reader ($4) what they need in schema $1, and no more.
-- A worker owns nothing, has no TRIGGER privilege and no write on the lease table (K1).
-- locks: none. called by: migrate.Run, which executes each row
with login (name, kind) as (values ($2::text, 'worker'), ($3::text, 'api'), ($4::text, 'reader')),
     place (name) as (values ($1::text), ('dbos'), ('workflow_coordination'))
select format('revoke connect, temporary on database %I from public', current_database())
union all
select 'revoke create on schema public from public'
union all
select format('grant connect on database %I to %I', current_database(), l.name) from login l
union all
select format('grant usage on schema %I to %I', p.name, l.name) from login l, place p
union all
select format('grant select on all tables in schema %I to %I', p.name, l.name) from login l, place p
union all
select format('grant insert, update, delete on all tables in schema %I to %I', p.name, l.name)
  from login l, place p where l.kind in ('worker', 'api') and p.name <> 'workflow_coordination'
union all
select format('grant usage, select on all sequences in schema %I to %I', p.name, l.name)
  from login l, place p where l.kind in ('worker', 'api') and p.name <> 'workflow_coordination'
union all
select format('revoke insert, update, delete on dbos.%I from %I', t.name, l.name)
  from login l, (values ('dbos_migrations'), ('event_dispatch_kv')) as t (name) where l.kind in ('worker', 'api')
union all
select format('grant execute on function %s to %I', f.oid::regprocedure::text, l.name)
  from login l, lateral (
    select p.oid from pg_proc p
     where p.pronamespace = 'workflow_coordination'::regnamespace
       and (p.proname in ('journal_catalog', 'identity', 'faults', 'probe_queue', 'open_transactions')
            or l.kind = 'worker' and p.proname in ('register_executor', 'renew_executor', 'release_executor', 'check_lease',
                'end_sessions', 'verify_guards', 'install_journal_guards', 'recovery_candidates', 'locked_candidates',
                'recover_executor', 'remove_probe', 'release_suspect', 'own_claims', 'return_claim', 'observe_queues',
                'adopt_exhausted', 'take_unsignalled', 'take_unsettled', 'note_settled', 'retire_workflows'))) f
