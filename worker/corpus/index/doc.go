// Package index owns the corpus' tables: jobs, what their sources held, documents, passages, and the search over
// them. It is the only place that knows their SQL.
//
// The database is authoritative for everything. What a job writes is fenced by its attempt (Fence): the first
// statement of each of its transactions holds the job's row and finds no row when a later attempt has begun, and the
// answer is ErrSuperseded. This stands beside the lease guard and replaces none of it (F8).
//
// A document is known by its URI and has one published version. A new version is written as a draft, in transactions
// short enough for the guard's bound (K4), and published in the transaction that writes its last passage: a search
// sees the whole old or the whole new one. A document whose text is what is published already is only confirmed, so
// that indexing again changes nothing.
//
// It must not know where text comes from, nor the workflow. Its answer to failure is one of the sentinels, or the database's
// own error, which the caller hands to the platform.
package index
