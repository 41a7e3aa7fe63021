package index

import _ "embed" // the statements

//go:embed sql/asked.sql
var askedSQL string

//go:embed sql/document_confirm.sql
var documentConfirmSQL string

//go:embed sql/document_current.sql
var documentCurrentSQL string

//go:embed sql/document_delete.sql
var documentDeleteSQL string

//go:embed sql/document_discard.sql
var documentDiscardSQL string

//go:embed sql/document_draft.sql
var documentDraftSQL string

//go:embed sql/document_lock.sql
var documentLockSQL string

//go:embed sql/document_publish.sql
var documentPublishSQL string

//go:embed sql/document_vanished.sql
var documentVanishedSQL string

//go:embed sql/item_clear.sql
var itemClearSQL string

//go:embed sql/item_finish.sql
var itemFinishSQL string

//go:embed sql/item_insert.sql
var itemInsertSQL string

//go:embed sql/item_uri.sql
var itemURISQL string

//go:embed sql/job_abandon.sql
var jobAbandonSQL string

//go:embed sql/job_begin.sql
var jobBeginSQL string

//go:embed sql/job_faults.sql
var jobFaultsSQL string

//go:embed sql/job_hold.sql
var jobHoldSQL string

//go:embed sql/job_insert.sql
var jobInsertSQL string

//go:embed sql/job_removed.sql
var jobRemovedSQL string

//go:embed sql/job_settle.sql
var jobSettleSQL string

//go:embed sql/job_status.sql
var jobStatusSQL string

//go:embed sql/passage_insert.sql
var passageInsertSQL string

//go:embed sql/ready.sql
var readySQL string

//go:embed sql/search.sql
var searchSQL string
