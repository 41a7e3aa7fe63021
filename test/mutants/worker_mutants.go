package main

// workerMutants let a worker work without its identity, its limits or its lease, or in silence (F1, F3, H2, H3, K5, K12, D4).
func workerMutants() []mutant {
	const identity, step = "coordination/guard/identity.go", "coordination/workflow/step.go"
	return []mutant{
		{
			"a lost identity is not noticed at the start",
			[]change{{"coordination/lease/verify.go", `	case seen != executor.String():`, `	case seen == "nobody":`}},
			guardTests, "TestAPoolerThatLosesTheIdentityIsRefusedAtTheStart/TransactionModeThatDropsIt",
		},
		{"sessions carry no identity", []change{{identity, `	parameters[Setting] = id.ExecutorID.String()
`, ``}}, guardTests, "TestEverySessionOfAWorkerCarriesItsIdentityAndItsLimits"},
		{"idle transactions have no limit", []change{{identity, `	parameters["idle_in_transaction_session_timeout"] = milliseconds(id.Timing.IdleInTransaction)
`, ``}}, guardTests, "TestEverySessionOfAWorkerCarriesItsIdentityAndItsLimits"},
		{"statements have no limit", []change{{identity, `	parameters["statement_timeout"] = milliseconds(id.Timing.Statement)
`, ``}}, guardTests, "TestEverySessionOfAWorkerCarriesItsIdentityAndItsLimits"},
		{"a step does not ask for the lease", []change{{step, `		if err := s.awaitLease(ctx, limited); err != nil {
			return none, s.over(ctx, errors.Join(last, err))
		}
`, ``}}, "./coordination/workflow", "TestAStepWithoutALeaseIsNotRun"},
		{"a fenced step is the workflow's failure", []change{{step, `		case fault.Of(err) == fault.Fenced:
			return none, s.host.park(ctx, signal.FenceRefused, s.attrs(err)...)
`, ``}}, "./coordination/workflow", "TestAFencedBodyEndsTheProcessAndIsNoFailure"},
		{
			"a stop that is not clean releases the lease",
			[]change{{"coordination/shutdown.go", `	if err != nil || r.condemned() {`, `	if false {`}},
			"./coordination", "TestAStopThatIsNotCleanLeavesTheLeaseToExpire",
		},
		{"a replica listens to every queue", []change{{"coordination/runtime.go", `	dbos.ListenQueues(r.sdk, names...)
`, ``}}, "./coordination", "TestAReplicaServesItsOwnQueuesAndNothingOfItsPeers"},
		{
			"no summary is written",
			[]change{{"coordination/runtime.go", `	r.log.Info(ctx, signal.Coordination, signal.LeaseActive, attrs...)`, `	_ = attrs`}},
			"./coordination", "TestALaunchedReplicaKeepsSayingThatItsLeaseIsActiveAndHowOldItsPartsAre",
		},
		{
			"readiness checks nothing",
			[]change{{"coordination/readiness.go", `			return err
		}},
	}
`, `			return err
		}},
	}[:0]
`}},
			"./coordination", "TestReadinessAsksTheDatabaseForTheLease",
		},
		{
			"readiness lets any age pass",
			[]change{{"coordination/readiness.go", `age > 2*period+r.config.Timing.RenewAttempt {`, `age > r.config.Timing.Lease+period {`}},
			"./coordination", "TestReadinessNamesThePartThatStandsStillBeforeTheWatchdogDoes/Scans",
		},
	}
}
