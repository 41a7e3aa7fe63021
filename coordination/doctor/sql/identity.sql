-- purpose: give this transaction an identity. locks: none. called by: package doctor
select set_config('kesita.executor_id', $1, true)
