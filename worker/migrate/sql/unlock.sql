-- purpose: let the next migration run. locks: releases the advisory lock. called by: migrate.Run
select pg_advisory_unlock(hashtextextended('workflow_coordination.migrate', 0))
