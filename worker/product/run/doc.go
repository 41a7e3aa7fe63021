// Package run owns the workflow product.run: one generation of one task, from
// the document's revision over the provider's answer to a new revision.
//
//	load -> summarise -> publish -> settle
//
// The tables are authoritative and the checkpoints are hints: every step checks
// tenant, generation and state again, and may run twice. No text passes a
// checkpoint or an input, only identifiers and codes: the text is read inside
// the step that sends it, and the answer goes straight to its table.
//
// Failures of the business are values, not errors: an error loses its identity
// in a checkpoint, and a replay must take the same way. They settle the task as
// failed with a code of task.FailureCode. Errors of the platform never get here
// (workflow.RunStep). What is left, an error that nobody expected, settles as
// internal_error; the journal keeps its text with the step.
package run
