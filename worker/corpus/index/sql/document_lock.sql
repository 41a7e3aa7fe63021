-- purpose: one publication of a URI at a time, also of one that is not there yet.
-- locks: a transaction's advisory lock.
-- called by: Publish.
select pg_advisory_xact_lock(hashtextextended('corpus.document ' || $1, 0))
