-- purpose: take over workflows that the SDK gave up. locks: rows of quarantine. called by: journal.Journal
select workflow_coordination.adopt_exhausted($1)
