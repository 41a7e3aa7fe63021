-- purpose: become the one migration of this database, or learn that another one runs. Never waits: a waiting statement
-- would hold a snapshot, and the other migration's concurrent index builds would wait for it, both for ever.
-- locks: a session advisory lock. called by: migrate.Run
select pg_try_advisory_lock(hashtextextended('workflow_coordination.migrate', 0))
