// Package corpus is the corpus service: jobs that read a source - a file, a folder, a bucket, a web page - and make
// its texts searchable. This root assembles: the way to the bytes is in source, to plain text in extract, to passages
// in split, the tables and the search in index, the reasons to refuse in refusal. The API side is Submit.
//
// The database is authoritative. A document that cannot be indexed is refused with its reason and the job goes on; a job fails
// when nothing could be indexed. A fault of the platform is neither: it is waited out, or a peer goes on.
package corpus

import "embed"

// Application and Version name the service in its database and its journal (C5).
const (
	Application = "kesita-corpus"
	Version     = "kesita-corpus-v1"
)

const (
	// Queue is the business queue of the corpus.
	Queue = "corpus-index"
	// Workflow is the name of the one workflow on it.
	Workflow = "corpus.index"
)

// Migrations holds the directory "migrations": what the corpus' database has beyond the shared coordination schema.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Input is what the workflow gets.
type Input struct {
	JobID  string `json:"job_id"`
	Source string `json:"source"`
}

// WorkflowID is the ID of the workflow that works on the job: one job, one workflow.
func (in Input) WorkflowID() string { return workflowPrefix + in.JobID }

const workflowPrefix = "corpus/"
