// Package command owns the kesita command line: what a person or a script may ask of a running platform.
//
// It decides nothing. The databases are authoritative; this package connects with the login that it is given - owner
// to migrate, api to submit, reader to look - and shows the answer as text for people or as one JSON document for
// scripts. It runs no workflow and is no executor.
//
// Its answer to failure: one line "kesita: what: why" on standard error, a hint where one is known, and an exit status
// of package boot (1: the work was done and its outcome is a failure; 130: interrupted). It prints no connection
// string, and no control character that came out of a database.
package command
