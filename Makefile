# Everything here needs Go and make. Only `race` also needs a C compiler, and
# only `lint`, `audit` and `dist` download a tool, at the version pinned below.

GO       ?= go
FUZZTIME ?= 30s
# Part of the names of the fuzz targets to run; empty is all of them.
FUZZ     ?=
# How many of them run at a time.
FUZZJOBS ?= 1
TORTURE  ?= 10m
SOAK     ?= 1h
BENCHTIME ?= 1s
# Anything here adds the runs of minutes to e2e: a million tokens, every scene in opencode.
LONG     ?=
# The one agent that e2e connects, works with and disconnects, or all: every test and every agent.
HOST     ?=
# Anything here has e2e run the newest versions of the agents, not the pinned ones, and tell which these are.
NEWEST   ?=
# The commit that bench-compare compares with, and flags for it (go run ./bench compare -h).
BASE     ?=
ARGS     ?=
# What `make race` tests.
RACE     ?= ./...
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.8.0
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
NFPM        = github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0

# What `make dist` makes packages for.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

COMMIT  := $(shell git describe --always --dirty --exclude '*' 2>/dev/null || echo unknown)
# The tag without its v, or below every release: npm and Debian want three numbers.
VERSION ?= $(or $(patsubst v%,%,$(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null)),0.0.0-g$(COMMIT))
LDFLAGS = -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)

# Pure Go everywhere, so that what is tested is what is shipped.
export CGO_ENABLED = 0

.DEFAULT_GOAL := help
.PHONY: help run build install test test-long race lint fuzz torture soak audit bench bench-compare dist dist-test generate clean e2e ui-test lines

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## Build lcm and run its guided demonstration
	bin/lcm demo

build: ## Build bin/lcm, a static binary
	$(GO) build -trimpath -ldflags "$(LDFLAGS)" -o bin/ ./cmd/lcm

install: ## Install lcm, a static binary, in $$(go env GOPATH)/bin
	$(GO) install -trimpath -ldflags "$(LDFLAGS)" ./cmd/lcm

test: ## Vet, and run every test that needs no network but the long ones
	$(GO) vet ./...
	$(GO) test -vet=off -timeout 20m -skip '_Long$$' ./...
	@sh scripts/postgres.sh

test-long: ## The tests that take minutes: their names end in _Long
	$(GO) test -timeout 30m -run '_Long$$' ./...

race: ## Test under the race detector (needs a C compiler); RACE names packages
	CGO_ENABLED=1 $(GO) test -race -timeout 20m -skip '_Long$$' $(RACE)

lint: ## Check formatting, vet (also for Windows and macOS, and the tests in e2e) and staticcheck
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then \
		echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	GOOS=windows $(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	$(GO) vet -tags e2e ./e2e
	$(GO) vet -tags dist ./e2e
	$(GO) run $(STATICCHECK) ./...

e2e: ## Drive lcm with real MCP clients and agents, installed from npm (network)
	LCM_E2E_LONG=$(LONG) LCM_E2E_HOST=$(HOST) LCM_E2E_NEWEST=$(NEWEST) $(GO) test -tags e2e -count=1 -v -timeout 90m $(if $(filter-out all,$(HOST)),-run '^Test(Hosts|Plugins|EngineReplay)$$') ./e2e

ui-test: ## Drive the pages of lcm ui in Chromium (installs it and axe-core if they are missing)
	GO="$(GO)" sh scripts/ui-test.sh

fuzz: ## Run every fuzz target for FUZZTIME each (default 30s)
	GO="$(GO)" FUZZTIME="$(FUZZTIME)" FUZZ="$(FUZZ)" FUZZJOBS="$(FUZZJOBS)" sh scripts/fuzz.sh

torture: ## Kill, fail and crowd the record for TORTURE (default 10m), then print the figures
	LCM_TORTURE=$(TORTURE) $(GO) test -count=1 -v -timeout 0 -run '^TestTorture|SurviveKills$$' ./internal/proof/faulttest ./internal/record/postgres

soak: ## Append, search and fold for SOAK (default 1h) and watch memory and latency
	$(GO) run ./bench soak --duration $(SOAK)

audit: ## Look for known vulnerabilities (needs the network) and check licences
	GO="$(GO)" GOVULNCHECK="$(GOVULNCHECK)" sh scripts/audit.sh

bench: ## Measure scale and the Go benchmarks
	$(GO) run ./bench scale
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./bench/...

bench-compare: ## Compare what people and agents wait for with the commit BASE, in processor time
	GO="$(GO)" BASE="$(BASE)" sh scripts/bench-compare.sh $(ARGS)

dist: build ## Make the packages of PLATFORMS in dist/: archives, npm, Debian, MCP bundles (GNU tar, zip)
	GO="$(GO)" NFPM="$(NFPM)" VERSION="$(VERSION)" LDFLAGS="$(LDFLAGS)" PLATFORMS="$(PLATFORMS)" sh scripts/dist.sh

dist-test: ## Check what `make dist` made, and install its npm and Debian packages (npm, dpkg, network)
	LCM_DIST_VERSION="$(VERSION)" LCM_DIST_PLATFORMS="$(PLATFORMS)" $(GO) test -tags dist -count=1 -v -run '^TestDist' ./e2e

lines: ## Count the lines of code by folder, without tests and bench
	@sh scripts/lines.sh

generate: ## Rewrite docs/CONFIG.md and docs/CLI.md from the code
	$(GO) generate ./...

clean: ## Remove what the other targets built
	rm -rf bin dist
