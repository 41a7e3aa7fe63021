-- purpose: let searches see a draft.
-- locks: updates one row; the URI is locked already.
-- called by: Publish.
update corpus.document set revision = $2, passages = $3, published_at = clock_timestamp() where document_id = $1
