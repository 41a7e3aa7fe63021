package main

// recoveryMutants move work that must stay, leave work that must move, or count wrongly (T, P, K3).
func recoveryMutants() []mutant {
	one := func(old, changed string) []change { return []change{{journalSQL, old, changed}} }
	return []mutant{
		{"a workflow's state is not read again behind its lock", one(`
           for update of w
    ), judged as (`, `
    ), judged as (`), journalTests, "TestRecovery/WorkThatFinishesWhileRecoveryWaitsIsNotOverwritten"},
		{"attempts are counted twice", one(`               recovery_attempts = j.attempts,
`, `               recovery_attempts = j.attempts + 1,
`), journalTests, "TestRecovery/TheAdapterNeverCountsAnAttempt"},
		{
			"a lost worker's claim is taken back", one(`case when cause = 'released' and w.recovery_attempts > 0 then 1`, `case when w.recovery_attempts > 0 then 1`),
			journalTests, "TestRecovery/TheAdapterNeverCountsAnAttempt",
		},
		{
			"a stopped worker's claim is kept", one(`case when cause = 'released' and w.recovery_attempts > 0 then 1`, `case when false then 1`),
			journalTests, "TestRecovery/AnOrderlyStopTakesItsClaimBack",
		},
		{"released executors are not looked at again", one(`         where e.state <> 'active'
           and e.application_name = own.application_name`, `         where e.state = 'revoked'
           and e.application_name = own.application_name`), journalTests, "TestRecovery/LateWorkOfARevokedOrReleasedExecutorIsRecovered"},
		{"revoked executors are not looked at again", one(`         where e.state <> 'active'
           and e.application_name = own.application_name`, `         where e.state = 'released'
           and e.application_name = own.application_name`), journalTests, "TestRecovery/LateWorkOfARevokedOrReleasedExecutorIsRecovered"},
		{"locked executors use the limit up", one(`     limit p_limit for update skip locked;`, `     limit p_limit;`), journalTests, "TestRecovery/LockedExecutorsDoNotUseTheLimitUp"},
	}
}
