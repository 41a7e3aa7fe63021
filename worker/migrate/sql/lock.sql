-- purpose: let one migration run at a time in this database. locks: a session advisory lock. called by: migrate.Run
select pg_advisory_lock(hashtextextended('workflow_coordination.migrate', 0))
