-- purpose: the business tables answer to this login.
-- locks: none.
-- called by: Check.
select exists (select from corpus.job)
