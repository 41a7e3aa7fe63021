-- purpose: delete the next batch of old finished workflows. locks: own lease, workflow rows. called by: journal.Journal.Retire
select examined, deleted, next_ms, coalesce(next_id, '') from workflow_coordination.retire_workflows($1, $2, $3, $4, $5)
