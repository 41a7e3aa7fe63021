-- purpose: store that no answer will come: 'rejected' when the provider did nothing for sure, else 'unknown'.
-- locks: updates one receipt.
-- called by: RecordFailure, Settle.
update product.receipt p
   set state = $4, reason = $5, settled_at = clock_timestamp()
  from product.run r
 where r.tenant_id = $1 and r.task_id = $2 and r.generation = $3
   and p.tenant_id = r.tenant_id and p.run_id = r.run_id and p.state = 'requested'
