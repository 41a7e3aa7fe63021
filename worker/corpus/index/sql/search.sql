-- purpose: the best passages for a query in the words of a web search ("phrase", or, -not). Words in headings and
-- titles weigh more; rank is from 0 to 1. Snippets are made for what is returned only.
-- locks: none.
-- called by: Search.
with asked as (select websearch_to_tsquery('corpus.prose', $1) as query),
best as (
    select p.document_id, p.ordinal, d.title, d.uri, ts_rank_cd(p.tsv, a.query, 32) as rank
      from asked a join corpus.passage p on p.tsv @@ a.query join corpus.document d using (document_id)
     where d.published_at is not null
     order by rank desc, d.uri, p.ordinal
     limit $2
)
select b.title, b.uri, p.section, p.ordinal, b.rank,
       ts_headline('corpus.prose', p.body, a.query, 'StartSel=«, StopSel=», MaxWords=30, MinWords=12, MaxFragments=2, FragmentDelimiter=" … "')
  from best b join corpus.passage p using (document_id, ordinal), asked a
 order by b.rank desc, b.uri, b.ordinal
