// Package demo owns the scenario that shows the platform at its main job, in one terminal:
//
//	database -> workers -> work -> a replica of each service is killed -> peers take over -> evidence -> verdict
//
// Everything in it is real: a PostgreSQL server, the migrations and logins of production, workers as processes of
// their own, documents that are read over HTTP, SIGKILL. Only two things are slow on purpose, the web server that the
// documents come from and the provider, so that there is a middle of the work in which a replica can be killed.
//
// The databases are authoritative for what happened; the demo looks, and judges by rules (package verdict). It knows
// every service, and no service knows it. Its answer to failure: it says which stage or which rule failed and where the
// logs are, and ends with a status that is not 0. Whatever happens, it leaves no process and no folder behind, but
// for the logs of a run that failed.
package demo
