-- purpose: create a tenant unless its name exists.
-- locks: inserts at most one row; waits for a concurrent insert of the same name.
-- called by: EnsureTenant.
insert into product.tenant (tenant_id, name) values ($1, $2)
on conflict (name) do nothing
