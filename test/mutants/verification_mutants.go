package main

// verificationMutants overlook a hole in the fence (F5, F6, K1, K2).
func verificationMutants() []mutant {
	one := func(old, changed string) []change { return []change{{coordinationSQL, old, changed}} }
	const table, privilege = "TestAHoleInTheFenceIsFoundByMigrationAndByStart/Table/", "TestAHoleInTheFenceIsFoundByMigrationAndByStart/Privilege/"
	return []mutant{
		{"a disabled guard counts as one", one(` and t.tgenabled = 'A'`, ``), schemaTests, table + "GuardDisabled"},
		{"a guard under a condition counts as one", one(` and t.tgqual is null`, ``), schemaTests, table + "GuardUnderACondition"},
		{"a guard of one column counts as one", one(` and t.tgattr = ''::int2vector`, ``), schemaTests, table + "GuardOfOneColumn"},
		{"a guard without TRUNCATE counts as one", one(`t.tgtype = 62`, `t.tgtype in (30, 62)`), schemaTests, table + "GuardWithoutTruncate"},
		{
			"another function counts as the guard", one(`           and t.tgfoid = 'workflow_coordination.guard_write()'::regprocedure`, `           and t.tgname = 'workflow_lease_guard'`),
			schemaTests, table + "GuardOfAnotherFunction",
		},
		{"privileges on columns are overlooked", one(`            or has_any_column_privilege(p.oid, c.oid, 'INSERT, UPDATE')
         where`, `         where`), schemaTests, table + "OneColumn"},
		{"views and rules are overlooked", one(`d.classid = 'pg_rewrite'::regclass and d.objid = w.oid`, `false and d.objid = w.oid`), schemaTests, table + "TableBehindARule"},
		{"roles that a worker may become are overlooked", one(`pg_has_role(l.oid, m.oid, 'MEMBER')`, `pg_has_role(l.oid, m.oid, 'USAGE')`), schemaTests, table + "TableOfAnotherRole"},
		{"the lease table may be written", one(`     where r.nspname = 'workflow_coordination'
    union`, `     where false
    union`), schemaTests, privilege + "OneColumnOfTheLeaseTable"},
		{"the trigger privilege is overlooked", one(`has_table_privilege(p.oid, r.oid, 'TRIGGER')`, `false`), schemaTests, privilege + "TriggerPrivilege"},
		{
			"leftover prepared transactions are overlooked", one(`     where t.database = current_database()`, `     where false`),
			schemaTests, "TestAPreparedTransactionOfAWorkerIsFound",
		},
	}
}

// startMutants let a migration, a start or a pool go on where it must end (C3, C7, F5, K1, K13).
func startMutants() []mutant {
	const endpoint, table = "coordination/guard/endpoint.go", "TestAHoleInTheFenceIsFoundByMigrationAndByStart/Table/"
	return []mutant{
		{
			"a migration does not look for holes",
			[]change{{"worker/migrate/sql/finish.sql", `, workflow_coordination.verify_guards()`, ``}},
			migrateTests, "TestAMigrationThatForgetsTheGuardIsRefusedUntilItIsPutRight",
		},
		{
			"a start does not look for holes",
			[]change{{"coordination/runtime.go", `	return lease.VerifyGuards(ctx, r.control)`, `	return nil`}},
			schemaTests, table + "GuardDropped",
		},
		{"a start does not mend the journal", []change{{
			"coordination/runtime.go", `	if _, err := journal.InstallGuards(ctx, r.control); err != nil {
		return err
	}
`, ``,
		}}, schemaTests, "TestAJournalTableThatLostItsGuardGetsItBackAtTheNextStart"},
		{
			"a worker may keep what a migration forgot",
			[]change{{"worker/migrate/sql/grants.sql", `select 'revoke create on schema public from public'`, `select 'grant create on schema public to public'`}},
			migrateTests, "TestAWorkerCannotChangeTheFence",
		},
		{"a second application is noticed too late", []change{{
			"worker/migrate/migrate.go", `	if err := schema.CheckOwner(ctx, conn, config.Service.Application); err != nil {
		return Result{}, err
	}
`, ``,
		}}, migrateTests, "TestASecondApplicationIsRefused"},
		{
			"a newer catalog is not refused",
			[]change{{"coordination/journal/create.go", `	case number > Catalog:`, `	case number > 2*Catalog:`}},
			migrateTests, "TestANewerCatalogIsRefusedAndNotTouched",
		},
		{"a migration with nothing to do locks leases", []change{{coordinationSQL, `    if to_regclass('workflow_coordination.executor_active') is null then
        create index executor_active`, `    if true then
        create index if not exists executor_active`}}, migrateTests, "TestAMigrationThatHasNothingToDoWaitsForNoWorker"},
		{
			"ports do not count",
			[]change{{endpoint, `	return network + ":" + a`, `	return network + ":" + host + a[:0]`}},
			guardTests, "TestSameEndpoint/other_port",
		},
		{
			"fail-over hosts do not count",
			[]change{{endpoint, `		if a := address(f.Host, f.Port); !slices.Contains(list, a) {`, `		if a := address(f.Host, f.Port); slices.Contains(list, a) {`}},
			guardTests, "TestSameEndpoint/one_more_fail-over_host",
		},
		{
			"encryption without a name is enough",
			[]change{{endpoint, `{ return encrypted && !skips }`, `{ return encrypted || skips }`}},
			guardTests, "TestCheckTransport",
		},
	}
}
