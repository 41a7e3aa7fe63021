-- purpose: the application that owns this database; an error of a missing table before the first migration.
-- locks: none.
-- called by: schema.CheckOwner
select application_name from workflow_coordination.application
