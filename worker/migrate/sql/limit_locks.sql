-- purpose: bound every wait for a lock in this transaction: a migration must not make workers queue behind it. locks: none. called by: migrate.Run
select set_config('lock_timeout', $1, true)
