-- purpose: whose turn it is among the held workflows of one application ($2) and version ($3), and how many go before
-- one of them ($1). locks: none. called by: journal.Explain
select coalesce(min(s.workflow_id) filter (where s.released_at is not null), '') as on_probation,
       min(s.released_at) as released_at,
       count(*) filter (where s.released_at is null and (s.losses, s.held_at, s.workflow_id) < (m.losses, m.held_at, m.workflow_id)) as ahead
  from workflow_coordination.suspect s
 cross join (select * from workflow_coordination.suspect x where x.workflow_id = $1) m
 where s.application_name = $2 and s.application_version = $3
