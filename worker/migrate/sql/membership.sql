-- purpose: the statement that lets the owner end sessions of the worker login (K4); no row when it may already.
-- locks: none. called by: migrate.Bootstrap
select format('grant %I to %I with inherit true', $2::text, $1::text)
 where current_setting('server_version_num')::int >= 160000 and not pg_has_role($1::text, $2::text, 'usage')
union all
select format('grant %I to %I; alter role %I inherit', $2::text, $1::text, $1::text)
 where current_setting('server_version_num')::int < 160000
