-- purpose: the journal's catalog number. locks: none. called by: journal.Journal.Catalog
select workflow_coordination.journal_catalog()
