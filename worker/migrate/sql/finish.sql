-- purpose: put the guard on the journal and prove that no table is left open. locks: as install_journal_guards. called by: migrate.Run
select workflow_coordination.install_journal_guards(), workflow_coordination.verify_guards()
