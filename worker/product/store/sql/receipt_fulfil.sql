-- purpose: store the provider's answer for a generation. The answer of a stale generation is stored as well: it is
-- the truth about what the provider did.
-- locks: updates one receipt.
-- called by: RecordAnswer.
update product.receipt p
   set state = 'answered', provider_receipt_id = $4, model = $5, summary = $6, reason = null, settled_at = clock_timestamp()
  from product.run r
 where r.tenant_id = $1 and r.task_id = $2 and r.generation = $3
   and p.tenant_id = r.tenant_id and p.run_id = r.run_id and p.state in ('requested', 'unknown', 'rejected')
