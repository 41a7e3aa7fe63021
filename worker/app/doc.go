// Package app owns the life of one worker process, from its environment to its exit status. It is the only place
// that knows every part:
//
//	settings -> http (live, not ready) -> boot: [ runtime -> pool -> service -> queues -> launch ] -> ready
//	   signal or verdict -> unready -> stop or abandon -> exit status
//
// A service is data: its names, its migrations, its queues and one function that registers its workflows. The package
// must not know any particular service. PostgreSQL stays authoritative for who may work; here is only decided when
// this process begins and ends.
//
// Its answer to failure: what waiting can heal is waited for, live and not ready; everything else ends the process
// with a status of its own and a reason on standard error (H6). The log on standard output is JSON, one event a line.
package app
