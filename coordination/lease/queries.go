package lease

import _ "embed" // the queries

//go:embed sql/register.sql
var registerSQL string

//go:embed sql/renew.sql
var renewSQL string

//go:embed sql/release.sql
var releaseSQL string

//go:embed sql/check.sql
var checkSQL string

//go:embed sql/end_sessions.sql
var endSessionsSQL string

//go:embed sql/identity.sql
var identitySQL string

//go:embed sql/verify_guards.sql
var verifyGuardsSQL string
