-- purpose: expired executors whose row a transaction still holds. locks: as candidates. called by: journal.Journal.Locked
select workflow_coordination.locked_candidates($1)
