-- purpose: delete published documents that the job's source does not list any more, at most $3 at a time, and count them.
-- A document that was read after the job began belongs to a younger job and stays.
-- locks: deletes rows; SKIP LOCKED leaves what is being published; the job is held already.
-- called by: Sweep.
with gone as (
    select d.document_id from corpus.document d join corpus.job j on j.job_id = $1
     where d.source = $2 and d.published_at is not null and d.job_id <> $1 and d.read_at < j.started_at
       and not exists (select from corpus.item i where i.job_id = $1 and i.uri = d.uri)
     limit $3 for update of d skip locked
), deleted as (
    delete from corpus.document d using gone g where d.document_id = g.document_id returning 1
)
select count(*) from deleted
