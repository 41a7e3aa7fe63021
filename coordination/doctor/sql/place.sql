-- purpose: which database this is, whose it is, and whether its coordination schema is recent. locks: none. called by: package doctor
select current_database()::text, pg_postmaster_start_time(), a.application_name, a.schema_version, clock_timestamp()
  from workflow_coordination.application a
