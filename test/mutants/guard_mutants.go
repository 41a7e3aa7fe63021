package main

const (
	coordinationSQL = "coordination/schema/coordination.sql"
	journalSQL      = "coordination/journal/sql/journal.sql"

	guardTests   = "./coordination/guard"
	schemaTests  = "./coordination/schema"
	journalTests = "./coordination/journal"
	migrateTests = "./worker/migrate"

	// The guard reads the lease in two places, one for each way to lock.
	snapshotRead = `               and e.state = 'active' and e.expires_at > clock_timestamp()
               for key share;
        exception`
	plainRead = `           and e.state = 'active' and e.expires_at > clock_timestamp()
           for key share;
    end if;
    if until is null then
        perform workflow_coordination.refuse(claimed::uuid);`
)

// identityMutants let the wrong sessions through (F1, F4, K2).
func identityMutants() []mutant {
	one := func(old, changed string) []change { return []change{{coordinationSQL, old, changed}} }
	return []mutant{
		{"the guard is off", one(`    if not exists (select from workflow_coordination.worker_login w where w.login = session_user) then
        return null;`, `    if true then
        return null;`), guardTests, "TestRefusal/EveryWriteWithoutAValidLeaseIsRefused"},
		{"a session without identity is let through", one(`    if claimed is null or claimed !~`, `    if claimed is null then
        return null;
    end if;
    if claimed !~`), guardTests, "TestRefusal/EveryWriteWithoutAValidLeaseIsRefused/no_identity"},
		{"an empty identity is let through", one(`    if claimed is null or claimed !~`, `    if claimed = '' then
        return null;
    end if;
    if claimed is null or claimed !~`), guardTests, "TestSession/ALocalIdentityEndsWithItsTransaction"},
		{"any login's executor will do", []change{
			{coordinationSQL, "             where e.executor_id = claimed::uuid and e.worker_login = session_user\n" + snapshotRead, "             where e.executor_id = claimed::uuid\n" + snapshotRead},
			{coordinationSQL, "         where e.executor_id = claimed::uuid and e.worker_login = session_user\n" + plainRead, "         where e.executor_id = claimed::uuid\n" + plainRead},
		}, guardTests, "TestRefusal/EveryWriteWithoutAValidLeaseIsRefused/executor_of_another_login"},
		{"the role counts, not the login", one(`where w.login = session_user) then
        return null;`, `where w.login = current_user) then
        return null;`), guardTests, "TestSession/AFunctionOfTheOwnerDoesNotHideTheLogin"},
	}
}

// guardMutants weaken what a session with an identity meets (F2, F3).
func guardMutants() []mutant {
	locking := func(snapshot, plain string) []change {
		return []change{
			{coordinationSQL, snapshotRead, "               and e.state = 'active' and e.expires_at > clock_timestamp()\n" + snapshot + ";\n        exception"},
			{coordinationSQL, plainRead, "           and e.state = 'active' and e.expires_at > clock_timestamp()\n" + plain +
				";\n    end if;\n    if until is null then\n        perform workflow_coordination.refuse(claimed::uuid);"},
		}
	}
	one := func(old, changed string) []change { return []change{{coordinationSQL, old, changed}} }
	return []mutant{
		{"the lease row is not locked", locking("", ""), guardTests, "TestRevocation/RecoveryDoesNotPassAnAdmittedTransaction"},
		{"the lease row is not locked at READ COMMITTED", locking("               for key share", ""), guardTests, "TestRevocation/RecoveryDoesNotPassAnAdmittedTransaction/read_committed"},
		{"the lease row is locked against renewals", locking("               for share", "           for share"), guardTests, "TestRenewal/AnOpenGuardedTransactionDoesNotDelayIt"},
		{"the guard takes the transaction's time", []change{
			{coordinationSQL, snapshotRead, `               and e.state = 'active' and e.expires_at > now()
               for key share;
        exception`},
			{coordinationSQL, plainRead, `           and e.state = 'active' and e.expires_at > now()
           for key share;
    end if;
    if until is null then
        perform workflow_coordination.refuse(claimed::uuid);`},
			{coordinationSQL, `    if until <= clock_timestamp() then`, `    if until <= now() then`},
		}, guardTests, "TestRevocation/ATransactionFromBeforeTheExpiryIsRefusedAfterIt"},
		{
			"time stands still during the lock wait", one(`    if until <= clock_timestamp() then`, `    if until <= now() then`),
			guardTests, "TestRevocation/ALeaseThatExpiresDuringTheLockWaitAdmitsNothing",
		},
		{
			"a revocation looks like contention", one(`in ('repeatable read', 'serializable') then`, `in ('serializable') then`),
			guardTests, "TestRevocation/ASnapshotFromBeforeTheRevocationAdmitsNothing",
		},
		{
			"a revocation looks like contention at SERIALIZABLE", one(`in ('repeatable read', 'serializable') then`, `in ('repeatable read') then`),
			guardTests, "TestRevocation/ASnapshotFromBeforeTheRevocationAdmitsNothing",
		},
		{"a refused write holds the lease row", []change{
			{coordinationSQL, snapshotRead, "               for key share;\n        exception"},
			{coordinationSQL, plainRead, `           for key share;
    end if;
    if until is null then
        perform workflow_coordination.refuse(claimed::uuid);`},
		}, guardTests, "TestRevocation/ARefusedWriteLocksNothing"},
		{"a transaction may take as long as it likes", one(`> make_interval(secs => bound_ms / 1000.0) then
        raise exception 'write refused: transaction`, `> make_interval(secs => bound_ms * 1000.0) then
        raise exception 'write refused: transaction`), guardTests, "TestTransactionBound/AnOlderTransactionIsRefusedAtItsNextWrite"},
		{"TRUNCATE is not guarded", []change{
			{coordinationSQL, `before insert or update or delete or truncate on %s'`, `before insert or update or delete on %s'`},
			{coordinationSQL, `t.tgtype = 62`, `t.tgtype in (30, 62)`},
		}, guardTests, "TestRefusal/EveryWriteWithoutAValidLeaseIsRefused"},
		{"a replica's session is not guarded", []change{
			{coordinationSQL, `enable always trigger workflow_lease_guard', p_table`, `enable trigger workflow_lease_guard', p_table`},
			{coordinationSQL, `t.tgenabled = 'A'`, `t.tgenabled = 'O'`},
		}, guardTests, "TestSession/AReplicaSessionIsGuardedAsWell"},
		{"a revocation changes no key", one(`    revoked_by uuid,
    constraint executor_state_is_key unique (executor_id, state)`, `    revoked_by uuid`), guardTests, "TestRevocation/ASnapshotFromBeforeTheRevocationAdmitsNothing"},
		{"recovery takes no lock that a write would meet", []change{
			{coordinationSQL, `    revoked_by uuid,
    constraint executor_state_is_key unique (executor_id, state)`, `    revoked_by uuid`},
			{journalSQL, `where e.executor_id = p_lost for update skip locked;`, `where e.executor_id = p_lost for no key update skip locked;`},
		}, guardTests, "TestRevocation/RecoveryDoesNotPassAnAdmittedTransaction"},
	}
}
