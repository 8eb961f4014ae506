# The commands of this repository. `make test` is the whole test.
GO ?= go
STATICCHECK = $(GO) tool -modfile=tools/go.mod staticcheck
FUZZTIME ?= 30s

.PHONY: run test check go-test web-deps web web-check web-test e2e conformance bench fuzz

run: ## start everything embedded; needs Go only
	$(GO) run ./cmd/inlay

test: check go-test web-test e2e ## everything that must hold

check: web-deps ## vet, staticcheck, formatting, types, and that the built page is not stale
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "gofmt: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(STATICCHECK) ./...
	cd web && npm run --silent lint && npm run --silent typecheck
	scripts/check-dist.sh

# Nothing runs beside anything else in these packages and their tests, so the
# race detector would only slow them down. A test of internal/arch sees to it.
sequential = $(shell $(GO) list ./event ./internal/pdf ./internal/xlsx ./wire/...)

# Three packages at a time keep two cores busy while some of them wait.
go-test: web-deps
	$(GO) test -race -p 3 $(filter-out $(sequential),$(shell $(GO) list ./...))
	$(GO) test $(sequential)
	$(GO) test -parallel 4 -run TestCrashes ./action # the 10,000 schedules, of which the race detector runs 500

web-deps: web/node_modules/.package-lock.json e2e/node_modules/.package-lock.json

%/node_modules/.package-lock.json: %/package-lock.json
	cd $* && npm ci --no-audit --no-fund

web: web-deps ## build the page into web/dist
	cd web && npm run --silent build

web-test: web-deps
	cd web && npm test --silent

e2e: web-deps ## the real binary in a real browser (chromium must be on the PATH)
	$(GO) build -o bin/inlay ./cmd/inlay
	cd e2e && npm test --silent

conformance: ## every dialect's streams, recorded and live, read by the clients that others publish
	conformance/run.sh

bench: ## measure against peers in the same run; see docs/performance.md
	bench/run.sh

fuzz: ## every fuzz target for FUZZTIME each
	scripts/fuzz.sh $(FUZZTIME)
