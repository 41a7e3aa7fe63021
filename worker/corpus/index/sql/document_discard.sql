-- purpose: delete drafts of a job: of one item, or of all with ordinal -1. Passages go with them.
-- locks: deletes rows that no search sees; the job is held already.
-- called by: Publish, Refuse, Plan, Abandon.
delete from corpus.document where job_id = $1 and ($2 = -1 or ordinal = $2) and published_at is null
