# `make help` lists the targets. `make test` is all that CI runs.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

# Tools are pinned in a module of their own.
TOOL := go tool -modfile=test/tools/go.mod
GOFUMPT := $(TOOL) gofumpt
LINT := $(TOOL) golangci-lint
GOTESTSUM := $(TOOL) gotestsum --format pkgname --format-hide-empty-pkg

# Where JSON logs of the tests go.
RESULTS := test-results

# Suites of real processes run without the race detector: the processes are
# built without it, so it would only slow the watching side. The rest, unit and database
# tests, runs with it. A regular expression over import paths.
PROCESS_SUITES := /test/(harness|failure|suite|chaos|demo)(/|$$)|/worker/demo$$
packages = $(shell go list ./... | grep -E$(1) '$(PROCESS_SUITES)')

# Arguments for go test, for example TESTFLAGS='-run TestServer -v'.
TESTFLAGS ?=
TIMEOUT := 20m

# These tests hold real processes to scaled deadlines: one package at a time, and a test that failed is run again, at
# most twice, because a starved machine can miss a deadline. A broken rule fails every time; reruns are printed.
RERUN := --rerun-fails=2 --rerun-fails-max-failures=12

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Built and not `go run`: a signal must reach the demo, which then stops everything that it started.
.PHONY: demo
demo: ## the main job on real documents, with a killed replica (DOCS=dir, TIMING=production, KEEP=1, LOGS=dir)
	@go build -o bin/kesita ./cmd/kesita
	@exec bin/kesita demo $(if $(DOCS),--docs '$(DOCS)') $(if $(TIMING),--timing '$(TIMING)') $(if $(KEEP),--keep) $(if $(LOGS),--logs '$(LOGS)')

.PHONY: build
build: ## all programs, into ./bin
	go build -o bin/ ./cmd/...

# -k: a style fault must not hide what the tests say. Any failure fails the whole.
.PHONY: test
test: setup ## everything: set-up, format, vet, lint, build, generated files, tests, mutants
	@$(MAKE) --no-print-directory -k steps

.PHONY: steps
steps: format vet lint compile verify test-race test-process noskip mutants

.PHONY: setup
setup: ## install or name what the tests need (PostgreSQL, PgBouncer, a C compiler)
	@bash test/setup.sh

.PHONY: format
format:
	@unformatted="$$($(GOFUMPT) -l .)"; \
	if [ -n "$$unformatted" ]; then echo "not formatted (make fmt):"; echo "$$unformatted"; exit 1; fi

.PHONY: fmt
fmt: ## format all Go files
	$(GOFUMPT) -w .

.PHONY: vet
vet:
	go vet ./...

.PHONY: lint
lint: ## golangci-lint, pinned in test/tools (the first run builds it)
	$(LINT) run --allow-parallel-runners ./...

.PHONY: compile
compile:
	go build ./...

.PHONY: policy
policy: ## the house rules
	go test ./test/policy

.PHONY: generate
generate: ## write generated files
	go generate ./...

# Compared with the state before, so that it also works with uncommitted changes.
.PHONY: verify
verify: ## generated files are up to date
	@before="$$(git status --porcelain; git diff)"; go generate ./...; after="$$(git status --porcelain; git diff)"; \
	if [ "$$before" != "$$after" ]; then echo "generated files were stale, now written:"; git status --short; exit 1; fi

$(RESULTS):
	@mkdir -p $@

.PHONY: test-race
test-race: | $(RESULTS)
	@rm -f $(RESULTS)/race.json
	go build -race ./...
	$(GOTESTSUM) --jsonfile $(RESULTS)/race.json $(RERUN) --packages='$(call packages,v)' -- -race -count=1 -p 1 -timeout $(TIMEOUT) $(TESTFLAGS)

.PHONY: test-process
test-process: | $(RESULTS)
	@rm -f $(RESULTS)/process.json
	$(if $(call packages,),$(GOTESTSUM) --jsonfile $(RESULTS)/process.json $(RERUN) --packages='$(call packages,)' -- -count=1 -p 1 -timeout $(TIMEOUT) $(TESTFLAGS),@echo "no process suites")

# After both, whether they passed or not.
.PHONY: noskip
noskip:
	go run ./test/noskip $(RESULTS)/*.json

# Only against tests that pass, or every mutant would look dead.
.PHONY: mutants
mutants: $(if $(filter steps,$(MAKECMDGOALS)),test-race test-process) ## break the code in known ways: a named test must notice
	$(if $(wildcard test/mutants/*.go),go run ./test/mutants,@echo "no mutants")
