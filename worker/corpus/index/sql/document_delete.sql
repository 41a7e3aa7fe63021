-- purpose: delete the version that is being replaced, its passages with it.
-- locks: deletes rows; the URI is locked already.
-- called by: Publish.
delete from corpus.document where document_id = $1
