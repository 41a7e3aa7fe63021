-- purpose: end an executor of this transaction in an orderly way. locks: its row. called by: package doctor
select workflow_coordination.release_executor($1)
