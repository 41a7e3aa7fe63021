package migrate

import _ "embed" // the queries

//go:embed sql/lock.sql
var lockSQL string

//go:embed sql/unlock.sql
var unlockSQL string

//go:embed sql/grants.sql
var grantsSQL string

//go:embed sql/finish.sql
var finishSQL string

//go:embed sql/role.sql
var roleSQL string

//go:embed sql/database.sql
var databaseSQL string

//go:embed sql/membership.sql
var membershipSQL string

//go:embed sql/limit_locks.sql
var limitLocksSQL string
