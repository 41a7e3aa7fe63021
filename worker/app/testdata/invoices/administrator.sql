-- purpose: the database of one service and its four logins. locks: none. called by: an administrator, once
create role invoices_owner login password 'OWNER-PASSWORD';
create role invoices_worker login noinherit password 'WORKER-PASSWORD';
create role invoices_api login noinherit password 'API-PASSWORD';
create role invoices_reader login noinherit password 'READER-PASSWORD';
grant invoices_worker to invoices_owner;
create database invoices owner invoices_owner;
