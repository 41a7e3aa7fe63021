-- purpose: the document that comes next, while the attempt is the current one, and the time at which its reading begins.
-- locks: none; the writes that follow are fenced for themselves.
-- called by: Item.
select i.uri, clock_timestamp()
  from corpus.item i join corpus.job j using (job_id)
 where i.job_id = $1 and j.attempt = $2 and j.state = 'running' and i.ordinal = $3
