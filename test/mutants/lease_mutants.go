package main

// leaseMutants bring leases back that are over, or trust them too long (D10, D11).
func leaseMutants() []mutant {
	one := func(old, changed string) []change { return []change{{coordinationSQL, old, changed}} }
	const renewed = `     where e.executor_id = p_executor and e.worker_login = session_user
       and e.state = 'active' and e.expires_at > at
    returning e.expires_at into renewed;`
	return []mutant{
		{"a renewal revives an expired lease", one(renewed, `     where e.executor_id = p_executor and e.worker_login = session_user
       and e.state = 'active'
    returning e.expires_at into renewed;`), guardTests, "TestResurrection/NeitherRenewalNorReleaseNorRegistrationRevivesOneThatExpired"},
		{"a renewal revives a revoked lease", one(renewed, `     where e.executor_id = p_executor and e.worker_login = session_user
       and e.expires_at > at
    returning e.expires_at into renewed;`), guardTests, "TestResurrection/NeitherRenewalNorReleaseNorRegistrationRevivesOneThatRevoked"},
		{
			"a renewal reads the clock before its lock", one(`    perform from workflow_coordination.executor e where e.executor_id = p_executor for no key update;
    at := clock_timestamp();`, `    at := clock_timestamp();
    perform from workflow_coordination.executor e where e.executor_id = p_executor for no key update;`),
			guardTests, "TestResurrection/ARenewalThatWaitedPastTheExpiryIsRefused",
		},
		{
			"a release reads the clock before its lock", one(`    perform from workflow_coordination.executor e where e.executor_id = p_executor for update;
    at := clock_timestamp();`, `    at := clock_timestamp();
    perform from workflow_coordination.executor e where e.executor_id = p_executor for update;`),
			guardTests, "TestResurrection/AReleaseThatWaitedPastTheExpiryIsRefused",
		},
		{
			"recovery takes a living executor's work",
			[]change{{journalSQL, `        if lost.expires_at > clock_timestamp() then`, `        if false then`}},
			guardTests, "TestResurrection/RecoveryLeavesALivingExecutorAlone",
		},
		{
			"the lease counts from the response",
			[]change{{"coordination/lease/lease.go", `	return sent, expires, nil`, `	return time.Now(), expires, nil`}},
			"./coordination/lease", "TestLease/ASlowAnswerDoesNotExtendTheDeadline",
		},
		{"the watchdog counts from the response", []change{{
			"coordination/watchdog/watchdog.go", `		p.last = began
`, `		p.last = time.Now()
`,
		}}, "./coordination/watchdog", "TestTheLimitCountsFromTheSendTimeOfTheLastSuccess"},
	}
}
