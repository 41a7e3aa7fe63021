-- purpose: executors whose work waits for a takeover. locks: FOR UPDATE SKIP LOCKED on their rows, for this statement. called by: journal.Journal.Candidates
select executor_id, state from workflow_coordination.recovery_candidates($1, $2, $3)
