// Package migrate owns the way of a service's database to its current shape: the SDK's catalog, the shared
// coordination SQL, the service's own migrations, and who may do what (K1, K2).
//
// The migrator's role owns everything and is authoritative; workers own nothing. Run is serialised by an advisory
// lock, may be repeated, and keeps running workers working. It knows no workflows. A migration that would leave a
// table open to an unfenced write fails before it is used: the guard check is its last statement (F6).
package migrate
