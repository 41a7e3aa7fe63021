-- purpose: let the next held workflow go. locks: an advisory lock, own lease, one workflow row. called by: package journal
select coalesce(workflow_coordination.release_suspect($1, $2), '')
