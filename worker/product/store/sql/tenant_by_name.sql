-- purpose: the tenant with a name.
-- locks: none.
-- called by: EnsureTenant, TenantByName.
select tenant_id from product.tenant where name = $1
