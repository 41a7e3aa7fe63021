-- +goose Up
-- purpose: the reminders that were sent. locks: DDL locks on new objects only. called by: the migrator
create schema invoices;
create table invoices.reminder (
    invoice text primary key,
    sent_at timestamptz not null default clock_timestamp()
);
select workflow_coordination.guard_table('invoices.reminder');
