// Package localpg runs a private, disposable PostgreSQL server for the demo
// and for tests.
//
// It owns one directory (data, socket, log), one server process and one TCP
// port on 127.0.0.1. The server's own answer to a login is the authority on
// whether it is up: Start, StartAgain and Restart return only after a real
// connection succeeded.
//
// It knows nothing about Kesita's schemas, roles or settings; whoever starts
// a server creates databases and logins through AdminURL.
//
// Binaries come from PATH, then from the folders in which distributions keep
// them, then from the embedded-postgres library, in this order. All tools are
// taken from one directory, so that they are of one version. PostgreSQL refuses to
// run as root: a root process starts it as `postgres`, or else as `nobody`.
//
// Its answer to failure: Start leaves neither process nor directory behind
// and says what is missing. When the parent dies without Stop, Linux ends the
// server at once; elsewhere, and for the left directory everywhere, the next
// Start of the same user cleans up.
package localpg
