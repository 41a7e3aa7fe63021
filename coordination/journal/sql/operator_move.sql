-- purpose: recover an executor by hand. locks: as recover. called by: package journal
select outcome, coalesce(cause, ''), reenqueued, held, quarantined, last_chance, probes_removed from workflow_coordination.move_work(null, $1, $2, $3)
