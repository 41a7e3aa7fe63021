-- purpose: a batch of passages of a draft.
-- locks: inserts rows that no search sees yet.
-- called by: Publish.
insert into corpus.passage (document_id, ordinal, section, heading, body)
select $1, $2 + n - 1, section, heading, body
  from unnest($3::text[], $4::text[], $5::text[]) with ordinality as u (section, heading, body, n)
