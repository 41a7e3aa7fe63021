-- purpose: who owns this database's coordination, and whether this session may act as that role. locks: none. called by: journal.CheckOwner
select session_user::text, r.rolname::text, pg_has_role(session_user, r.oid, 'USAGE')
  from pg_namespace n join pg_roles r on r.oid = n.nspowner
 where n.nspname = 'workflow_coordination'
