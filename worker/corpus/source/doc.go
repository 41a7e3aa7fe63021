// Package source owns the way from a name that a user gave - a path, a file URL, a bucket URL, an HTTP URL - to the
// documents behind it and to their bytes.
//
// The file system, the bucket and the web server are authoritative for what exists; a listing is what was there at
// that moment, in an order that does not depend on them (by URI). One document is a stream with a limit on its
// size: nothing is read into memory here, and nothing past the limit is read at all.
//
// Local files are read through io/fs and not through a file bucket, which leaves out folders that it may not read and
// follows links to anywhere. Here such a folder is an item that is refused when it is opened. Names that
// begin with a dot are left out. Links to files are followed, links to folders are not.
//
// What may be read: with Config.Base set, everything that is not HTTP must lie below it, links included; without it
// any path that the process can read. Sources never carry credentials or driver options.
//
// Its answer to failure is a refusal.Code, chosen in one function (classify). Only refusal.Unavailable can heal. The
// error behind it is told in words and not passed on as a value, so that nobody takes an error of a web server for one of the
// platform's own.
//
// It must not know what a document means, nor the database.
package source
