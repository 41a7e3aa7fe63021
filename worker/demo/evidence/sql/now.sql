-- purpose: the database's time: all times of a run are compared by one clock. locks: none. called by: evidence.Now
select clock_timestamp()
