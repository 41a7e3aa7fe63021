-- purpose: the statement that creates a login or sets its password. locks: none. called by: migrate.Bootstrap
select case when exists (select from pg_roles where rolname = $1)
            then format('alter role %I login password %L', $1::text, $2::text)
            else format('create role %I login noinherit password %L', $1::text, $2::text) end
