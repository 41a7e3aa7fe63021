-- purpose: revoke one executor and move its pending workflows. locks: own lease, lost lease, workflow rows. called by: journal.Journal.Recover
select outcome, coalesce(cause, ''), reenqueued, held, quarantined, last_chance, probes_removed from workflow_coordination.recover_executor($1, $2, $3, $4)
