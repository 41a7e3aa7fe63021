-- purpose: put a claim that nobody here runs back. locks: own lease, one workflow row. called by: package journal
select coalesce(workflow_coordination.return_claim($1, $2, $3, $4, $5, $6, $7), '')
