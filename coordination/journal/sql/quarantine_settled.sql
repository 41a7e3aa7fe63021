-- purpose: note the end or the failure of a settlement. locks: rows of quarantine. called by: journal.Journal
select workflow_coordination.note_settled($1, $2, $3)
