package main

import "slices"

// Where the parts stand that notice failures, and their tests.
const (
	backlogSQL    = "coordination/journal/sql/backlog_functions.sql"
	quarantineSQL = "coordination/journal/sql/quarantine_functions.sql"
	backlogGo     = "coordination/backlog/backlog.go"
	strayGo       = "coordination/stray/stray.go"
	quarantineGo  = "coordination/quarantine/quarantine.go"
	sees          = "TestAnObservationSeesWhatTheDequeueWouldTake/"
	settling      = "TestQuarantine/"
	strayTests    = "./coordination/stray"
	backlogTests  = "./coordination/backlog"
	settlerTests  = "./coordination/quarantine"
	runtimeTests  = "./coordination"
)

// failureMutants overlook a stall, a stray or a settlement, or cry over nothing (D5, D12, X2, P3, F7).
func failureMutants() []mutant {
	return slices.Concat(monitorMutants(), strayMutants(), settlementMutants(), outboundMutants())
}

func monitorMutants() []mutant {
	sql := func(name, old, changed, test string) mutant {
		return mutant{name, []change{{backlogSQL, old, changed}}, journalTests, test}
	}
	code := func(name, old, changed, test string) mutant {
		return mutant{name, []change{{backlogGo, old, changed}}, backlogTests, test}
	}
	return []mutant{
		sql("a dead owner's rows take no capacity", `count(*) filter (where w.status = 'PENDING') as running`,
			`count(*) filter (where w.status = 'PENDING' and w.executor_id = p_executor::text) as running`, sees+"ADeadOwnersRowsTakeCapacity"),
		sql("another version's work is backlog", `w.application_version = own.application_version
                                      or w.application_version is null and is_latest`, `true`, sees+"AnotherVersionIsNoBacklog"),
		sql("a partition's rate has the queue's window", `count(*) filter (where r.started_at_epoch_ms > now_ms - q.part_rate_ms) as in_part`, `count(*) as in_part`, sees+"TwoPeriodsAreTwoWindows"),
		sql("work without a partition key is backlog", `         where not q.partitioned or u.part is not null
`, ``, sees+"WorkWithoutAKeyIsNeverTaken"),
		sql("claims of finished workflows are not seen", `         where w.started_at_epoch_ms > now_ms - p_lookback_ms and w.queue_name`, `         where false and w.queue_name`,
			"TestAnObservationSeesTheNewestClaimOfItsVersion"),
		code("an older claim is a claim", `if o.LastClaim > s.lastClaim || !o.Claimable() {`, `if o.LastClaim != s.lastClaim || !o.Claimable() {`,
			"TestTheNewestClaimIsAHighWaterMark"),
		code("claims during failed observations are missed", `return now.Sub(m.looked) + slack`, `return slack`,
			"TestAFailedObservationIsNoStallAndHidesNoClaim"),
		code("a queue without room stalls", `if o.LastClaim > s.lastClaim || !o.Claimable() {`, `if o.LastClaim > s.lastClaim {`,
			"TestTheCountBeginsAgain/WhenTheCapacityIsTaken"),
	}
}

func strayMutants() []mutant {
	code := func(name, old, changed, test string) mutant {
		return mutant{name, []change{{strayGo, old, changed}}, strayTests, test}
	}
	return []mutant{
		code("a claim is stray at the third look", `const Looks = 4`, `const Looks = 3`, "TestAJumpOfTheClockDoesNotMakeAClaimStray"),
		code("a look without an answer counts", `		f.suspects = map[string]suspect{}
		if ctx.Err()`, `		if ctx.Err()`, "TestTheCountBeginsAgain/WhenALookGetsNoAnswer"),
		code("a claim that never ran counts", `journal.Return{Refund: !ran, Park: !known}`, `journal.Return{Park: !known}`, "TestOnlyAClaimThatRanCounts"),
		code("an earlier run is taken for this one", `began.Add(-c.Age)`, `began.Add(-c.Age-c.Age-c.Age)`, "TestOnlyAClaimThatRanCounts"),
		{
			"a claim that never runs goes round for ever",
			[]change{{journalSQL, `on conflict (workflow_id) do update set refunds = f.refunds + 1;
    end if;`, `on conflict (workflow_id) do nothing;
    end if;`}},
			journalTests, "TestRecovery/AStrayThatNeverRunsIsQuarantinedAtTheHundredthClaim",
		},
	}
}

func settlementMutants() []mutant {
	sql := func(name, old, changed, test string) mutant {
		return mutant{name, []change{{quarantineSQL, old, changed}}, journalTests, settling + test}
	}
	code := func(name, old, changed, test string) mutant {
		return mutant{name, []change{{quarantineGo, old, changed}}, settlerTests, test}
	}
	return []mutant{
		sql("two settlers wait for the same workflow", `limit 1 for update of q skip locked`, `limit 1`, "FiveSettlersSideBySideSignalAndSettleEachWorkflowOnce"),
		sql("a failed settlement is tried again at once", `settle_after = clock_timestamp() + make_interval(secs => coalesce(p_retry_ms, 0) / 1000.0)`,
			`settle_after = clock_timestamp()`, "AFailedSettlementWaitsForItsPauseAndHoldsNoOtherUp"),
		sql("a foreign version settles what its own could", `and w.application_version <> own.application_version
`, `and false
`, "AnotherVersionSettlesOnlyWhatNobodyOfItsOwnIsLeftFor"),
		code("the pause after a failed settlement does not grow", `pause = min(2*pause, s.config.Timing.Watchdog)`, `pause = min(pause, s.config.Timing.Watchdog)`,
			"TestThePauseAfterAFailureGrows"),
		code("a deaf hook is called again", `s.config.Hook == nil || s.busy()`, `s.config.Hook == nil`, "TestAHookThatHearsNothingHoldsUpNoSignal"),
	}
}

func outboundMutants() []mutant {
	return []mutant{
		{
			"a request is sent with too little of the lease left",
			[]change{{"coordination/outbound.go", `err == nil && left >= r.config.Timing.OutboundMinimum()`, `err == nil && left >= 0`}},
			runtimeTests, "TestARequestWaitsUntilEnoughOfTheLeaseIsLeft",
		},
		{
			"a request is sent on trust",
			[]change{{"coordination/outbound.go", `err == nil && left >= r.config.Timing.OutboundMinimum():`, `left >= 0:`}},
			runtimeTests, "TestARequestWaitsForTheDatabaseAndIsThenSent",
		},
		{
			"an outage is told as the provider's",
			[]change{{"coordination/outbound.go", `context.Cause(ctx), context.DeadlineExceeded)`, `context.Cause(ctx), context.Canceled)`}},
			runtimeTests, "TestARequestWaitsForTheDatabaseAndIsThenSent",
		},
		{
			"a repeated submission locks its workflow",
			[]change{{"coordination/submit/submit.go", `if err != nil || known {`, `if err != nil || known && r.ID == "" {`}},
			"./coordination/submit", "TestARepeatedSubmissionLocksNothing",
		},
	}
}
