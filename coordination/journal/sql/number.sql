-- purpose: the number of the SDK's catalog, read as the owner. locks: none. called by: journal.Create
select coalesce(max(version), 0) from dbos.dbos_migrations
