-- purpose: the provider's receipt for a generation whose answer is stored already.
-- locks: none.
-- called by: AnsweredReceipt.
select p.provider_receipt_id
  from product.receipt p join product.run r on r.tenant_id = p.tenant_id and r.run_id = p.run_id
 where r.tenant_id = $1 and r.task_id = $2 and r.generation = $3 and p.state = 'answered'
