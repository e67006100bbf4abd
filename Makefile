# `make` says what there is. Every path is quoted: a space in one does no harm.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test fuzz check bench bench-peers bench-clients bench-plots bench-soak bench-tiny clients generate setup setup-check setup-tests clean

CARGO ?= cargo

help: ## Show what can be made
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' "$(firstword $(MAKEFILE_LIST))"

demo: setup ## Build, start the whole system on a free port, run the examples, stop it again
	@echo "building hero, which takes about three minutes the first time and seconds later; then the demo starts"
	@$(CARGO) build --locked
	@$(CARGO) run --quiet --locked -- demo

# Most tests wait for processes more than they compute, so there are more of them than cores.
test: setup-tests ## Run every test
	@$(CARGO) test --locked --workspace --doc
	@export RUST_TEST_THREADS="$${RUST_TEST_THREADS:-$$((3 * $$(nproc)))}"; $(CARGO) test --locked --workspace --lib --tests
	@$(MAKE) --no-print-directory bench-tiny
	@echo "make test: every test passed"

# A seed is one number, for the property tests and for the random lives of tests/it alike. It ends by itself.
fuzz: setup-tests ## Try what is random once with a fresh seed, which it prints (SEED=8 repeats one; CASES=2000)
	@export HERO_SEED="$${SEED:-$$(shuf -i 1-4294967295 -n 1)}" HERO_MODEL_STEPS="$${STEPS:-30000}" HERO_E2E_ROUNDS=3; \
	  export PROPTEST_RNG_SEED="$$HERO_SEED" PROPTEST_CASES="$${CASES:-2000}"; \
	  echo "make fuzz: SEED=$$HERO_SEED repeats this"; \
	  $(CARGO) test --locked --workspace --lib && \
	  $(CARGO) test --locked --test it -- model:: chaos:: rpc::events flows::killed messages::flows schedules::servers rpc::waits store::time \
	  || { echo "make fuzz: SEED=$$HERO_SEED failed"; exit 1; }; \
	  echo "make fuzz: SEED=$$HERO_SEED passed"

check: setup-check ## Run what a commit has to pass: format, lints, documentation, licences
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps
	luacheck --quiet crates/store/src/lua
	@if command -v cargo-deny > /dev/null; then \
	  $(CARGO) deny check licenses bans sources; \
	  $(CARGO) deny check advisories || { test "$${OFFLINE:-}" && echo "advisories were not checked: no network"; }; \
	else \
	  echo "licences were not checked: 'cargo install --locked cargo-deny' installs what does"; \
	fi
	@if command -v cargo-machete > /dev/null; then \
	  $(CARGO) machete; \
	else \
	  echo "dependencies were not checked: 'cargo install --locked cargo-machete' installs what does"; \
	fi
	@echo "make check: all well"

bench: setup ## Measure a server of its own, in release mode (BENCH="--jobs 20000 --json" passes options)
	@$(CARGO) build --quiet --locked --release --bins --example bare
	@release="$$(realpath "$${CARGO_TARGET_DIR:-target}")/release"; "$$release/hero" bench --bare "$$release/examples/bare" $(BENCH)

bench-peers: setup ## Measure hero beside BullMQ, Dramatiq, Sidekiq and others in one session (needs python3 and the network)
	@$(CARGO) build --quiet --locked --release
	@python3 ./benches/peers/run.py --hero "$$(realpath "$${CARGO_TARGET_DIR:-target}")/release/hero" $(BENCH)

bench-clients: setup ## Measure each client of clients/ beside a bare one that does the same (needs node, npm, python3 and the network)
	@$(CARGO) build --quiet --locked --release
	@HERO="$$(realpath "$${CARGO_TARGET_DIR:-target}")/release/hero" ./benches/clients/run.sh $(BENCH)

bench-plots: setup ## Measure a job's cost against what grows, and draw it into docs/speed (BENCH="--only queue,kept --json FILE")
	@$(CARGO) build --quiet --locked --release
	@HERO="$$(realpath "$${CARGO_TARGET_DIR:-target}")/release/hero" ./benches/growth/run.sh curves --svg docs/speed $(BENCH)

bench-soak: setup ## Run a server at full load for ten minutes, and draw what grows into docs/speed (BENCH="--seconds 60")
	@$(CARGO) build --quiet --locked --release
	@HERO="$$(realpath "$${CARGO_TARGET_DIR:-target}")/release/hero" ./benches/growth/run.sh soak --svg docs/speed $(BENCH)

clients: ## Make the generated part of each client anew from openrpc.json
	@cd clients && python3 -m generate

# The clients and the page of each method are made from openrpc.json, and the program contains the pages, so the tests
# come last. A run that fails leaves openrpc.json as it was.
generate: ## Make everything anew that is generated: openrpc.json, clients, documents, diagram, help
	@new="$$(mktemp)"; trap 'rm -f "$$new"' EXIT; \
	  $(CARGO) run --quiet --locked -- openrpc > "$$new"; cat "$$new" > openrpc.json; \
	  $(CARGO) run --quiet --locked -- flow schema > "$$new"; cat "$$new" > examples/flows/flow.schema.json
	@$(MAKE) --no-print-directory clients
	@UPDATE=1 $(CARGO) test --quiet --locked --workspace --lib diagram
	@UPDATE=1 INSTA_UPDATE=always $(CARGO) test --quiet --locked --workspace --test it -- documents:: cli::help
	@echo "make generate: look at the changes with git diff"

# The figures say nothing: it is a debug build. What is measured with is tested, so that none of it rots, but for the
# peers in Rust, which take minutes to compile.
bench-tiny: setup ## Run every bench once with tiny numbers
	@$(CARGO) build --quiet --locked --bins --example bare
	@debug="$$(realpath "$${CARGO_TARGET_DIR:-target}")/debug"; pictures="$$(mktemp -d)"; trap 'rm -rf "$$pictures"' EXIT; \
	  "$$debug/examples/bare" --limits "40 + 2" > /dev/null; \
	  "$$debug/hero" bench --jobs 100 --rest 1 --bare "$$debug/examples/bare" > /dev/null; \
	  python3 ./benches/peers/run.py --hero "$$debug/hero" --only hero,bullmq,dramatiq,sidekiq,asynq --rounds 1 --jobs 200 --json /dev/null > /dev/null; \
	  HERO="$$debug/hero" ./benches/clients/run.sh --rounds 1 --seconds 0.05 > /dev/null; \
	  HERO="$$debug/hero" ./benches/growth/run.sh curves --tiny --json /dev/null --svg "$$pictures" > /dev/null; \
	  HERO="$$debug/hero" ./benches/growth/run.sh soak --seconds 2 --settle 1 --retention 1s --svg "$$pictures" > /dev/null
	@echo "bench-tiny: every bench ran"

# Installs a Debian package: its name, and what to say where that cannot be done.
define install
	install="apt-get update && apt-get install -y $(1)"; \
	if ! command -v apt-get > /dev/null; then \
	  echo "$(1) is missing: $(2), then try again"; exit 1; \
	elif [ "$$(id -u)" -ne 0 ]; then \
	  echo "$(1) is missing; this installs it:"; echo "  sudo sh -c '$$install'"; exit 1; \
	fi; \
	echo "installing $(1) …"; \
	export DEBIAN_FRONTEND=noninteractive; \
	{ apt-get update && apt-get install -y $(1); } > "$${TMPDIR:-/tmp}/hero-setup.log" 2>&1 \
	  || { tail "$${TMPDIR:-/tmp}/hero-setup.log"; echo "that failed; try: $$install"; exit 1; }
endef

setup: ## Install redis-server where it is missing
	@if command -v redis-server > /dev/null || command -v valkey-server > /dev/null; then exit 0; fi; \
	$(call install,redis-server,install redis (or valkey) 7.0 or newer with your system's packages)

setup-check: ## Install what looks through the functions in Lua
	@if command -v luacheck > /dev/null; then exit 0; fi; \
	$(call install,lua-check,install luacheck with your system's packages or luarocks)

setup-tests: setup ## Install what only the tests need: faketime, Chromium, Sidekiq, and the clients of tests/clients
	@if ! ls /usr/lib/*/faketime/libfaketimeMT.so.1 > /dev/null 2>&1; then \
	  $(call install,faketime,install faketime with your system's packages); \
	fi
	@if ! command -v openssl > /dev/null; then \
	  $(call install,openssl,install openssl with your system's packages); \
	fi
	@if ! { command -v node && command -v npm; } > /dev/null; then \
	  $(call install,nodejs npm,install Node.js 20.19 or newer with npm); \
	fi
	@if ! python3 -c 'import ensurepip, venv' 2> /dev/null; then \
	  $(call install,python3-venv,install Python 3.11 or newer with venv); \
	fi
	@if ! test -x "$${CHROMIUM:-/usr/bin/chromium}"; then \
	  $(call install,chromium,install Chromium and name it in CHROMIUM); \
	fi
	@if ! command -v sidekiq > /dev/null; then \
	  $(call install,ruby-sidekiq,install Sidekiq with your system's packages or RubyGems); \
	fi
	@./tests/clients/setup.sh

clean: ## Remove what was built
	$(CARGO) clean
	rm -rf benches/growth/venv benches/peers/node_modules benches/peers/venv tests/clients/node_modules tests/clients/venv clients/python/venv clients/python/node_modules clients/typescript/node_modules clients/typescript/dist
