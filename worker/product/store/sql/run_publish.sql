-- purpose: note what a run published; the second call of a publication reads it.
-- locks: updates one row; the task is held already.
-- called by: Publish.
update product.run set published_revision = $3
 where tenant_id = $1 and run_id = $2 and published_revision is null
