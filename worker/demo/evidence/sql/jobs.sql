-- purpose: every job with what it published: documents, passages, and passages that are there twice or not at all.
-- A draft that nobody publishes counts as passages that are there twice.
-- locks: none. called by: evidence.Jobs
select j.job_id, j.state, coalesce(j.failure_code, ''), j.state in ('done', 'failed'), null::boolean, j.attempt,
       count(distinct d.document_id) filter (where d.published_at is not null),
       count(p.ordinal) filter (where d.published_at is not null),
       count(p.ordinal) - count(distinct (d.uri, p.ordinal)) filter (where p.ordinal is not null and d.published_at is not null),
       j.passages - count(p.ordinal) filter (where d.published_at is not null)
  from corpus.job j
  left join corpus.document d on d.job_id = j.job_id
  left join corpus.passage p on p.document_id = d.document_id
 group by j.job_id
