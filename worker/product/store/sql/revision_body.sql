-- purpose: the text of one revision.
-- locks: none.
-- called by: RevisionBody.
select body from product.revision where tenant_id = $1 and document_id = $2 and number = $3
