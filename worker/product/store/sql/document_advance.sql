-- purpose: make the revision after $3 the current one, only while $3 still is.
-- locks: FOR NO KEY UPDATE on the document until the transaction ends; a second writer waits and then matches no row.
-- called by: AddRevision, Publish.
update product.document set current_revision = $3 + 1
 where tenant_id = $1 and document_id = $2 and current_revision = $3
returning current_revision
