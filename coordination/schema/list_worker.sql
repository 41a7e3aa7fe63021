-- purpose: name a login as a worker: its sessions need a lease to write.
-- locks: one row of workflow_coordination.worker_login.
-- called by: schema.ListWorker
insert into workflow_coordination.worker_login (login) values ($1) on conflict do nothing
