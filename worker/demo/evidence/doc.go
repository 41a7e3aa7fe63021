// Package evidence owns what a demo knows about its own run: what was submitted, what was killed, and what the
// databases and the provider's journal say about it afterwards.
//
// The databases are authoritative; the demo adds only what no table holds, the name of each replica and the moment of
// the kill, and takes even that from the database's clock. It reads with logins that may not write and judges
// nothing: packages timeline and verdict do. It must not name a table of the journal. Its answer to failure is an
// error: half of the evidence is none.
package evidence
