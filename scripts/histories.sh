#!/bin/bash
# histories.sh: runs random histories in a process that is killed repeatedly, on SQLite and on PostgreSQL, with and without wiping
# the queue at random, and verifies the result. HISTORIES (default 1000) with KILLS (default 5) each; SEED repeats a run.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${TEST_PG:-}" ]; then exec scripts/services.sh "$0"; fi
souk=${CARGO_TARGET_DIR:-target}/release/souk
[ -x "$souk" ] || { echo "histories.sh: $souk is missing; run make release" >&2; exit 69; }
run() { "$souk" verify --history "${HISTORIES:-1000}" --kills "${KILLS:-5}" ${SEED:+--seed "$SEED"} "$@"; }
for wipe in "" --wipe-queue; do
    echo "== SQLite $wipe"
    run $wipe
    echo "== PostgreSQL $wipe"
    DATABASE_URL=$TEST_PG run $wipe
done
