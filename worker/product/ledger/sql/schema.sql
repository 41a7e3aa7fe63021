-- purpose: what the control ledger must hold for the product. The ledger belongs to somebody else; tests and the demo
-- create it from here. The product's login needs USAGE on the schema and SELECT on the table.
-- locks: DDL locks on new objects only.
-- called by: tests and the demo, through Schema.
create schema ledger;
create table ledger.admission (
    tenant_id uuid primary key,
    admitted boolean not null
);
