# `make` alone prints the targets.
.DEFAULT_GOAL := help
.PHONY: help setup build run demo test clients simulate bench bench-streams bench-check bench-parts fuzz soak soak-workers release clean

help: ## print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

TESTS = $(shell find test -name '*.test.ts' | grep -E '$(ONLY)' | sort)
# Most tests wait for sockets rather than compute, so more of them run at once than most machines have cores. The time limit is
# for a test, or a file, that hangs, and far longer than any takes.
RUN_TESTS = node --import tsx --test --test-concurrency=5 --test-timeout=900000 --test-reporter=./test/reporter.mjs \
	$(foreach group,$(GROUPS),$(if $(TOGETHER_$(group)),test/all-of/$(group).ts)) $(APART)
# A process takes most of a second before its first test, and code that has run before runs several times faster. So the files of a
# group of rooms share a process, one after another. Each root file, each file of a room that is not named here, and each file that mocks
# the clock has a process of its own: with a mocked clock, sockets that earlier tests left behind would lose their timers. The runner
# sorts files by name, so the groups, which take longest, begin first.
GROUPS = codecs doors faults programs routes wires
TOGETHER_codecs = $(call rooms,base callers config core loops providers)
TOGETHER_faults = $(filter-out $(CLOCKS),$(call rooms,faults))
TOGETHER_programs = $(call rooms,clients e2e embedded operate workers)
TOGETHER_doors = $(filter-out $(CLOCKS),$(call rooms,clouds dialects http))
# On its own, because it computes for seconds, in which idle connections of other tests would be closed.
TOGETHER_routes = $(call rooms,routing)
TOGETHER_wires = $(filter-out $(CLOCKS),$(call rooms,limits sandbox streams upstream))
CLOCKS = $(shell grep -l 'mock\.timers' $(TESTS))
APART = $(filter-out $(foreach group,$(GROUPS),$(TOGETHER_$(group))), $(TESTS))
rooms = $(filter $(foreach room,$(1),test/$(room)/%), $(TESTS))
export $(foreach group,$(GROUPS),TOGETHER_$(group))

# Development packages only; none is needed at run time.
node_modules: package-lock.json
	npm ci --ignore-scripts --no-audit --no-fund
	@touch node_modules

setup: node_modules ## install the development packages

build: node_modules ## compile src to dist
	npm run --silent build

run: build ## start the gateway from the environment
	node dist/main.js

demo: build ## show the gateway at work in front of a fake provider, no key needed (ONCE=1 exits after the show)
	node dist/demo.js

test: node_modules ## type-check, run every test, check the coverage (ONLY=upstream: only paths that match, without coverage)
	npx tsc -p test/tsconfig.json
ifdef ONLY
	@[ -n '$(TESTS)' ] || { echo 'no test file matches $(ONLY)' >&2; exit 1; }
	@$(RUN_TESTS)
else
	@echo '$(words $(TESTS)) test files: about four minutes on two idle cores. Failures are printed as they come, then a summary.'
	@# The demo and workers run as built programs, whose lines are not counted.
	@npx c8 --src src --all --include 'src/**' --exclude src/demo.ts --exclude 'src/workers/{primary,member,collect,worker}.ts' \
		--reporter text-summary --reporter lcov --check-coverage --lines 95 --branches 90 $(RUN_TESTS)
endif

clients: node_modules ## run the real SDKs through the gateway; installs them outside this folder (ONLY=openai, CLIENTS_DIR=/folder, RECORD=1)
	@ONLY='$(ONLY)' node --import tsx test/clients/sdks/main.ts

simulate: node_modules ## compare routing with models of other gateways on simulated outages; writes the table of src/routing/README.md
	@node --import tsx test/routing/simulator.ts

bench: build ## measure CPU and latency beside bare proxies (PEER=http://..., JSON=file; see test/bench/main.ts; Linux)
	@node --import tsx test/bench/main.ts

bench-streams: build ## measure memory of idle and stalled streams, latency of tokens and hang-ups (STREAMS=5000, TOKENS=20 a second in all; Linux; needs a high ulimit -n)
	node --import tsx test/bench/streams.ts

bench-check: build ## fail if a chat or a token costs a quarter more than in test/bench/ratios.json (SHORT=1 only reports; UPDATE=1 rewrites the file)
	@node --import tsx test/bench/check.ts

bench-parts: node_modules ## measure the parts of a chat alone, in nanoseconds and bytes (ONLY=sse)
	@node --max-semi-space-size=64 --min-semi-space-size=64 --import tsx test/bench/parts.ts

fuzz: node_modules ## feed hostile input to every parser and decoder (SECONDS=30 each, SEED, ONLY=streams)
	@node --import tsx test/fuzz/fuzz.ts

soak: node_modules ## look for leaks (CROWD=5000 streams at once, REQUESTS=200000, STREAMS=20000 aborted)
	@node --import tsx test/soak/main.ts

soak-workers: build ## kill a worker each second under load, and check metrics and callers (SECONDS=30, WORKERS=4; Linux)
	@node --import tsx test/soak/workers.ts

release: clean node_modules ## make the package, with hashes and a bill of materials; the same bytes from every clone
	@node --import tsx test/release.ts

clean: ## remove what was built
	rm -rf dist coverage release
