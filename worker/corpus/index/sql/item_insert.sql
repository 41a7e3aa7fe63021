-- purpose: the documents of a source, in order.
-- locks: inserts rows.
-- called by: Plan.
insert into corpus.item (job_id, ordinal, uri)
select $1, n - 1, uri from unnest($2::text[]) with ordinality as u (uri, n)
