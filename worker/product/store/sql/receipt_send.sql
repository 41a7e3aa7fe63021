-- purpose: note that a request is about to leave, before it does (F7). No row comes back for a stale or finished
-- generation, or when the answer is there: then nothing may be sent. Being a guarded write, it also is the lease
-- check of this send.
-- locks: inserts or updates one receipt; FOR KEY SHARE on its run.
-- called by: RecordSend.
insert into product.receipt as p (tenant_id, run_id, idempotency_key)
select r.tenant_id, r.run_id, $4
  from product.run r join product.task t on t.tenant_id = r.tenant_id and t.task_id = r.task_id
 where r.tenant_id = $1 and r.task_id = $2 and r.generation = $3
   and t.generation = r.generation and t.state = 'running' and r.state = 'running'
on conflict (tenant_id, run_id) do update
   set state = 'requested', sends = p.sends + 1, reason = null, settled_at = null
 where p.state <> 'answered' and p.idempotency_key = $4
returning p.sends
