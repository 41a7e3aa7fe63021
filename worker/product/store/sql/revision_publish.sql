-- purpose: store the provider's answer as the next revision. No row without an answer.
-- locks: inserts one row; the unique author_run refuses a second publication.
-- called by: Publish.
insert into product.revision (tenant_id, document_id, number, body, content_hash, author_run)
select r.tenant_id, $3, $4, p.summary, sha256(convert_to(p.summary, 'UTF8')), r.run_id
  from product.run r join product.receipt p on p.tenant_id = r.tenant_id and p.run_id = r.run_id
 where r.tenant_id = $1 and r.run_id = $2 and p.state = 'answered'
