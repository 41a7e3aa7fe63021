-- purpose: begin a new version of a document.
-- locks: inserts one row.
-- called by: Publish.
insert into corpus.document (uri, source, title, content_hash, job_id, ordinal, attempt, read_at)
values ($1, $2, $3, $4, $5, $6, $7, $8)
returning document_id
