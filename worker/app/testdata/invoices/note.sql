-- purpose: note a reminder once. locks: one row. called by: the step "note", which may run twice
insert into invoices.reminder (invoice) values ($1) on conflict do nothing
