-- purpose: the published version of a URI.
-- locks: FOR UPDATE on its row; the URI is locked already.
-- called by: Publish.
select document_id, revision, content_hash, passages, job_id, read_at from corpus.document
 where uri = $1 and published_at is not null for update
