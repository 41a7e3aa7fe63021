-- purpose: put the guard on the journal where it is missing. locks: advisory; SHARE ROW EXCLUSIVE per missing guard. called by: journal.Journal.InstallGuards
select workflow_coordination.install_journal_guards()
