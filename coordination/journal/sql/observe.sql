-- purpose: observe the named queues. locks: none. called by: journal.Journal.Observe
select queue_name, backlog, capacity, last_claim_ms, poll_ms from workflow_coordination.observe_queues($1, $2, $3)
