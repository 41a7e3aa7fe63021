-- purpose: the ledger answers to this login.
-- locks: none; runs in a read-only transaction.
-- called by: Check.
select exists (select from ledger.admission limit 1)
