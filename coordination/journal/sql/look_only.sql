-- purpose: the settings of a look at the journal: plans that read what is unfinished, never history, whatever the
-- statistics say. For this transaction. locks: none. called by: journal.Look
select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)
