// Package store owns the product's tables (schema product): tenants, documents
// with revisions, tasks with generations, runs, provider receipts.
//
// The database is authoritative. Three fences stand in its statements, each by
// itself (F8): the tenant, on every statement; the generation, checked under the
// task's row lock wherever work goes on; the base revision, compared when a new
// one becomes current. The lease guard of the worker's pool comes on top and is
// not known here.
//
// Every function is one transaction, or one statement in the caller's. A
// decision of the domain comes back as a sentinel error; every other error is
// the database's, wrapped, and says nothing about the task. The package knows no
// provider, no workflow and no HTTP, and never puts a text into an error.
package store
