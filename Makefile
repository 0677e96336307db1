# Thin wrappers around cargo, npm and scripts/. CARGO_TARGET_DIR is used if it is set.
.PHONY: run test check build release bench crash storm soak histories e2e-all lighthouse openapi web

SOUK := $(or $(CARGO_TARGET_DIR),target)/debug/souk

run: build            ## the demo store, in one process, on http://127.0.0.1:8080
	exec $(SOUK) serve --demo

build: web            ## everything, not started: target/debug/souk
	cargo build -p souk-server

web:
	scripts/web.sh build

check: web            ## the quick inner loop
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features -- -D warnings
	cargo test -q -p souk-domain
	cd web && npm run -s lint && npm test --silent

test:                 ## everything that CI runs; with DATABASES=all each use case on both databases
	scripts/test.sh

release: web          ## optimized and stripped: target/release/souk
	cargo build --release -p souk-server

bench: web            ## benches as a table and in target/bench.json; one set with SET=purchase, SET=billing or SET=publishing
	SERVICES_FSYNC=on scripts/services.sh cargo bench -p souk-server $(if $(SET),--bench $(SET),--benches)

crash: web            ## 100 rounds of SIGKILL in the middle of purchases, on both databases; with SET=store of uploads, checks and downloads
	SOUK_CRASH_ROUNDS=100 scripts/services.sh cargo test --workspace --all-features --test process -- crash::$(if $(SET),$(SET)::)kills --nocapture --test-threads=1

storm: web            ## 100,000 subscriptions due at once, two workers on PostgreSQL and Redis
	SOUK_STORM=100000 scripts/services.sh cargo test --release -p souk-server --test process -- storm --nocapture

soak: web             ## 30 minutes of everything at once, on PostgreSQL and Redis; another length with SOAK_MINUTES=60
	SOAK_MINUTES=$(or $(SOAK_MINUTES),30) scripts/services.sh cargo test --release -p souk-server --test process -- soak --ignored --nocapture

histories: release    ## 1,000 random histories with 5 kills each, on both databases, with and without a wiped queue
	scripts/histories.sh

e2e-all: build        ## the browser tests in every language, width and color scheme
	MATRIX=all scripts/e2e.sh

lighthouse: release   ## scores of store front and checkout
	scripts/lighthouse.sh

openapi: build        ## write openapi.json and the web client's types
	$(SOUK) openapi > openapi.json
	cd web && npm run -s api:types
