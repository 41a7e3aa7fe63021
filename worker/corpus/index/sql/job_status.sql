-- purpose: one job, and while it runs the counts of what is finished so far.
-- locks: none.
-- called by: Status.
select j.job_id, j.source, j.state, j.attempt, coalesce(j.failure_code, ''), coalesce(j.failure_detail, ''),
       case when j.finished_at is null then s.items else j.items end,
       case when j.finished_at is null then s.indexed else j.indexed end,
       case when j.finished_at is null then s.unchanged else j.unchanged end,
       case when j.finished_at is null then s.refused else j.refused end,
       case when j.finished_at is null then s.passages else j.passages end,
       j.removed, j.created_at, j.started_at, j.finished_at
  from corpus.job j,
       lateral (select count(*) as items, count(*) filter (where i.state = 'indexed') as indexed,
                       count(*) filter (where i.state = 'unchanged') as unchanged,
                       count(*) filter (where i.state = 'refused') as refused, coalesce(sum(i.passages), 0) as passages
                  from corpus.item i where i.job_id = j.job_id) s
 where j.job_id = $1
