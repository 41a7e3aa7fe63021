-- purpose: note that a job read a document and found it unchanged.
-- locks: updates one row; the URI is locked already.
-- called by: Publish.
update corpus.document set source = $2, job_id = $3, ordinal = $4, attempt = $5, read_at = $6 where document_id = $1
