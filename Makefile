# What people do with this tree; `make` lists it.

# Arguments for `make demo`, `make conformance`, `make bench`, `make test-kubernetes`, `make histories`, `make sim`, `make probe` and `make hostile`, as in `make demo ARGS="--sites 5"`.
ARGS ?=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help build demo test test-kubernetes test-openstack test-openapi check lint bench histories sim hostile kill probe conformance fuzz mutants generate docs release reproducible vuln deps

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' Makefile

build: ## build bin/skerry; its version is that of the commit
	@.ci/deps build
	go build -buildvcs=auto -trimpath -o bin/skerry ./cmd/skerry

demo: build ## three sites on this machine, with a walk-through; ARGS="--sites 5" for more, "--app glance" or "--app kubernetes" for another application
	@case '$(ARGS)' in \
		*kubernetes*) .ci/deps kubernetes && go run ./testnet/cluster/programs bin ;; \
		*glance*) .ci/deps openstack ;; \
	esac
	bin/skerry demo $(ARGS)

# Build tags of the tests that run programs of others as they are: kubernetes, openstack, and npm for tools of OpenAPI, with commas between; none for none.
# Kubernetes is built once for each version, into the user's cache; its programs have no race detector.
REAL = kubernetes,openstack,npm
comma := ,

test: deps lint ## everything that has to pass: linters, then all tests with the race detector, Kubernetes, OpenStack and tools of OpenAPI among them; REAL= leaves these out
	@case ',$(REAL),' in *,kubernetes,*) go run ./testnet/cluster/programs ;; esac
	go test ./testnet/history
	go test -race -p 2 -timeout 30m -tags '$(REAL)' ./...

test-kubernetes: ## with kube-apiserver and two versions of kubectl, as they are; builds them once, which takes minutes and 2 GB of memory
	@.ci/deps kubernetes
	@go run ./testnet/cluster/programs
	go test -tags kubernetes ./testnet/kubernetes -count 1 -timeout 60m $(ARGS)

check: lint ## what is quick to check: format, linters, generated code, who imports whom
	go test .

lint:
	@files=$$(git ls-files -co --exclude-standard '*.go' | xargs -r ls -d 2>/dev/null | xargs -r gofmt -l); \
		if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi
	go vet -tags kubernetes,openstack,nova,npm ./...
	go tool staticcheck -tags kubernetes,openstack,nova,npm ./...
	@.ci/generated

test-openstack: ## what OpenStack's own services do behind agents, unmodified; installs them
	@.ci/deps nova
	go test -tags openstack,nova -count 1 -timeout 60m ./testnet/openstack $(ARGS)

test-openapi: ## lint the description of the REST API, and make a client in TypeScript of it; needs node, takes its tools from npm
	@.ci/deps npm
	go test -tags npm -count 1 ./testnet/openapi $(ARGS)

bench: build ## measure, side by side with what others use; takes minutes. ARGS="--only body" for one of them
	@.ci/deps bench && .ci/deps kubernetes
	go run ./testnet/bench --program bin/skerry $(ARGS)

histories: ## play random histories of the engine for ten minutes, hundreds of operations a second; ARGS="-history.for 1h" for more
	GOGC=off GOMEMLIMIT=256MiB go test ./testnet/history -run TestHistories -count 1 -timeout 0 -v -history.for 10m -history.backups 8 $(ARGS)

sim: ## play random schedules on 3 to 30 simulated sites for ten minutes; ARGS="-sim.for 1h -sim.sites 12" for more, RUN=TestRandomCollaborations for scopes
	go test ./testnet/sim -run '$(or $(RUN),TestRandomSchedules)' -count 1 -timeout 0 -v -sim.for 10m -sim.sites 30 $(ARGS)

hostile: ## let members with valid keys do harm to three agents that serve clients, for an hour; ARGS="-hostile.for 5m -hostile.only forks" for less
	go test ./testnet/hostile -count 1 -v -timeout 0 -hostile.for 1h -hostile.members 64 $(ARGS)

kill: ## kill agents at named points while clients write, 400 times; ARGS="-failpoint.kills 1000" for more, "-failpoint.at blob" for some
	go test ./testnet/failpoint -count 1 -v -timeout 0 -failpoint.kills 400 $(ARGS)

probe: ## let random clients loose on real agents that are killed and cut off, before an application that shows things late; ARGS="-probe.runs 20" for more
	go test ./testnet/probe -count 1 -v -timeout 0 $(ARGS)

conformance: build ## change applications at both sides of a cut with every pair of operations, compare them directly, and write docs/conformance; ARGS=lab for one. What is not there is built first, Gitea and Vault in minutes
	@.ci/deps conformance
	go run ./testnet/conformance $(ARGS)

# Without a bound on making inputs smaller, a target runs a handful of times and no more.
fuzz: ## run every fuzz target for a minute; ARGS="-fuzztime 10m" for more. The first build takes minutes
	@for f in $$(git grep -l '^func Fuzz' -- '*_test.go'); do \
		for t in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\).*/\1/p' $$f); do \
			echo "$$(dirname $$f) $$t"; \
			go test ./$$(dirname $$f) -run '^$$' -fuzz "^$$t$$" -fuzztime 1m -fuzzminimizetime 10x $(ARGS) || exit 1; \
		done; done

mutants: ## plant faults one at a time and see that a test finds each; tests plant a tenth of them, another one each day
	go test ./testnet/mutants -count 1 -v -timeout 60m -mutants.all $(ARGS)

generate: ## make generated code and pages of docs/reference anew
	go tool templ generate
	go run ./testnet/reference
	go run ./cmd/skerry man --markdown docs/reference

docs: ## make HTML of docs/ in dist/docs, to begin at dist/docs/index.html; links that lead nowhere are errors
	go run ./testnet/pages dist/docs

release: ## build dist/ of what is committed: the program, its bill of materials, the licences of what is in it, a Debian package, an image, a chart, SHA-256 sums
	@.ci/deps build
	@.ci/deps release || true # without, .ci/release says what it leaves out
	@.ci/release

reproducible: ## build what is committed twice, in two folders and from nothing, and compare the bytes; takes minutes
	@.ci/deps build
	@.ci/reproducible

vuln: ## look for known vulnerabilities in what the program calls; asks a database on the network
	@.ci/vuln

deps: ## install the Debian packages that tests need (as root), or say which are missing
	@for real in test $(subst $(comma), ,$(REAL)); do .ci/deps $$real || exit 1; done
