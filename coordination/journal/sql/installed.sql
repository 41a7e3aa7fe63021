-- purpose: whether the SDK's catalog was ever created here; works before any function of ours exists. locks: none. called by: journal.Create
select to_regclass('dbos.dbos_migrations') is not null
