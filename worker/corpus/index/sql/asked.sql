-- purpose: whether a query has a word that can be searched for.
-- locks: none.
-- called by: Search.
select numnode(websearch_to_tsquery('corpus.prose', $1)) > 0
