-- purpose: end a job with what its items came to. Without a failure given ($3 null) it has failed when no document could
-- be indexed: with the reason, when all were refused for the same one, else with $5.
-- locks: updates one row; waits for writes of the same attempt.
-- called by: Settle.
with seen as (
    select count(*) as items, count(*) filter (where state = 'indexed') as indexed,
           count(*) filter (where state = 'unchanged') as unchanged, count(*) filter (where state = 'refused') as refused,
           coalesce(sum(passages), 0) as passages, count(distinct failure_code) as reasons, min(failure_code) as reason,
           (array_agg(failure_detail order by ordinal) filter (where state = 'refused'))[1] as detail
      from corpus.item where job_id = $1
), verdict as (
    select s.*, case when $3::text is not null then $3
                     when s.indexed + s.unchanged > 0 then null
                     when s.reasons = 1 then s.reason else $5 end as code
      from seen s
)
update corpus.job j
   set state = case when v.code is null then 'done' else 'failed' end, failure_code = v.code,
       failure_detail = case when v.code is not null then coalesce($4::text, v.detail) end,
       items = v.items, indexed = v.indexed, unchanged = v.unchanged, refused = v.refused, passages = v.passages,
       finished_at = clock_timestamp()
  from verdict v
 where j.job_id = $1 and j.attempt = $2 and j.state = 'running'
