-- purpose: create a queued task.
-- locks: inserts one row; FOR KEY SHARE on its document.
-- called by: CreateTask.
insert into product.task (tenant_id, task_id, document_id, kind, sentence_limit)
values ($1, $2, $3, $4, $5)
returning generation
