-- purpose: one statement for each table that this login may write and each kind of write: it fires the statement triggers
-- and touches no row, whatever the guard does. Each goes back to the savepoint first: the one before it may have failed.
-- TRUNCATE is left out: it would lock the whole table before the guard could refuse it.
-- locks: none itself; a statement that is let through takes ROW EXCLUSIVE on its table. called by: package doctor
with place as (
    select c.oid, c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'f') and n.nspname not like 'pg\_%' and n.nspname not in ('information_schema', 'workflow_coordination')
), field as (
    select p.oid, p.name, a.attnum, quote_ident(a.attname) as field, format_type(a.atttypid, a.atttypmod) as type,
           a.attgenerated = '' and a.attidentity <> 'a' as free
      from place p join pg_attribute a on a.attrelid = p.oid and a.attnum > 0 and not a.attisdropped
)
select name, write, 'rollback to savepoint doctor; ' || statement from (
    (select distinct on (oid) name, 'insert' as write, format('insert into %s (%s) select null::%s where false', name, field, type) as statement
       from field where free and has_column_privilege(oid, attnum, 'INSERT') order by oid, attnum)
    union all
    (select distinct on (oid) name, 'update', format('update %s set %s = default where false', name, field)
       from field where has_column_privilege(oid, attnum, 'UPDATE') order by oid, attnum)
    union all
    select name, 'delete', format('delete from %s where false', name) from place where has_table_privilege(oid, 'DELETE')) w
 order by name, write
