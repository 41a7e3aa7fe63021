-- purpose: lock one workflow to settle. locks: rows of quarantine. called by: journal.Journal
select workflow_id, workflow_name, failures from workflow_coordination.take_unsettled($1)
