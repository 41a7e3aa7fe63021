// Package product is the product service: a tenant's documents, tasks that work
// on them, and the worker that runs those tasks. This root only assembles: the
// domain's words are in task, its tables in store, the provider's client in
// summarise, the control ledger in ledger, the workflow in run, the API side in
// submission. Failures are answered there.
package product

import "embed"

// Migrations holds the directory "migrations": what the product's database has
// beyond the shared coordination schema.
//
//go:embed migrations/*.sql
var Migrations embed.FS
