#!/bin/bash
# test.sh: everything that must hold. It installs with apt what a bare machine lacks, starts what it needs on private
# loopback ports, and leaves nothing running.
set -euo pipefail
cd "$(dirname "$0")/.."
step() { printf '\n== %s\n' "$*"; }

step "tools"
scripts/need.sh postgresql redis chromium fonts poppler
scripts/web.sh install
BEAN_CHECK=$(scripts/beancount.sh)
export BEAN_CHECK

step "formatting"
cargo fmt --all --check

step "web: rules, unit tests, types, build, budgets"
(cd web && npm run lint && npm test && npm run build)

step "clippy"
cargo clippy --workspace --all-targets --all-features -- -D warnings

step "rust tests, on SQLite, PostgreSQL and Redis"
if command -v cargo-nextest >/dev/null; then
    scripts/services.sh cargo nextest run --workspace --all-features --no-fail-fast
else
    scripts/services.sh cargo test --workspace --all-features --no-fail-fast
fi

# The tests have built the binary; building it by itself would compile the dependencies again, with other features.
step "browser tests"
scripts/e2e.sh

step "the API under strange input"
scripts/schemathesis.sh
