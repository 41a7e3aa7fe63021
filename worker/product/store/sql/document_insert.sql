-- purpose: create a document whose revision 1 follows in the same transaction (deferred foreign key).
-- locks: inserts one row; FOR KEY SHARE on its tenant.
-- called by: CreateDocument.
insert into product.document (tenant_id, document_id, title, current_revision) values ($1, $2, $3, 1)
