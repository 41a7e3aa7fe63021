// Package fleet owns the processes of a demo: it starts them, reads what they say, freezes, kills and stops them.
//
// The operating system is authoritative for who lives. A process writes its standard output and error to one file,
// and what it announces is read from there, so that nothing depends on the demo being fast. The package knows
// neither services nor databases. Its answer to failure: a process that ends early is reported with its status and
// the end of its log, and Stop leaves nothing running, whatever happened before. A process also ends when the
// process that started it is gone (Linux), however that ended.
package fleet
