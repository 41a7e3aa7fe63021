-- purpose: the statement that creates a database for its owner; no row when it is there. locks: none. called by: migrate.Bootstrap
select format('create database %I owner %I', $1::text, $2::text)
 where not exists (select from pg_database where datname = $1)
