package store

import _ "embed" // the statements

//go:embed sql/tenant_insert.sql
var tenantInsertSQL string

//go:embed sql/tenant_by_name.sql
var tenantByNameSQL string

//go:embed sql/document_insert.sql
var documentInsertSQL string

//go:embed sql/revision_insert.sql
var revisionInsertSQL string

//go:embed sql/revision_body.sql
var revisionBodySQL string

//go:embed sql/document_advance.sql
var documentAdvanceSQL string

//go:embed sql/task_insert.sql
var taskInsertSQL string

//go:embed sql/task_lock.sql
var taskLockSQL string

//go:embed sql/task_start.sql
var taskStartSQL string

//go:embed sql/run_start.sql
var runStartSQL string

//go:embed sql/run_by_generation.sql
var runByGenerationSQL string

//go:embed sql/receipt_answer.sql
var receiptAnswerSQL string

//go:embed sql/receipt_send.sql
var receiptSendSQL string

//go:embed sql/receipt_fulfil.sql
var receiptFulfilSQL string

//go:embed sql/receipt_reject.sql
var receiptRejectSQL string

//go:embed sql/revision_publish.sql
var revisionPublishSQL string

//go:embed sql/run_publish.sql
var runPublishSQL string

//go:embed sql/run_settle.sql
var runSettleSQL string

//go:embed sql/task_settle.sql
var taskSettleSQL string

//go:embed sql/task_status.sql
var taskStatusSQL string

//go:embed sql/tally.sql
var tallySQL string

//go:embed sql/ready.sql
var readySQL string
