-- purpose: revoke an expired executor of this transaction, as a scan would. locks: both rows. called by: package doctor
select outcome = 'recovered' from workflow_coordination.recover_executor($1, $2, 4, 100)
