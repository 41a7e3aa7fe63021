-- purpose: take quarantined workflows to signal. locks: rows of quarantine. called by: journal.Journal
select workflow_id, workflow_name, attempts, reason, lost_executor from workflow_coordination.take_unsignalled($1)
