-- purpose: a new job; no row when there is one of this ID.
-- locks: inserts one row.
-- called by: Create.
insert into corpus.job (job_id, source) values ($1, $2) on conflict (job_id) do nothing
