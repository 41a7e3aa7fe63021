-- purpose: an executor that exists in this transaction only. locks: inserts one row. called by: package doctor
select workflow_coordination.register_executor($1, $2, 'kesita-doctor', $3, $4, 'doctor', 'doctor')
