-- purpose: note the application that owns this database, once; later calls keep the owner and raise the version.
-- locks: one row of workflow_coordination.application.
-- called by: schema.Apply
insert into workflow_coordination.application as a (application_name, schema_version) values ($1, $2)
on conflict (only_row) do update set schema_version = greatest(a.schema_version, excluded.schema_version)
returning a.application_name
