-- purpose: whether the ledger admits a tenant. A tenant that it does not list is not admitted.
-- locks: none; runs in a read-only transaction.
-- called by: Admit.
select exists (select from ledger.admission where tenant_id = $1 and admitted)
