-- purpose: store a revision written by a user.
-- locks: inserts one row; FOR KEY SHARE on its document.
-- called by: CreateDocument, AddRevision.
insert into product.revision (tenant_id, document_id, number, body, content_hash, author_user)
values ($1, $2, $3, $4, sha256(convert_to($4, 'UTF8')), $5)
