-- purpose: the coordination functions as they are in this database. locks: none. called by: package doctor
select p.proname::text, p.prosrc from pg_proc p where p.pronamespace = 'workflow_coordination'::regnamespace
