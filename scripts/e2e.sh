#!/bin/bash
# e2e.sh [PLAYWRIGHT ARGUMENTS...]: runs the browser tests against the real binary, with demo data in a temporary folder.
# MATRIX=all covers every language, width and color scheme. The tests in web/e2e/gas run against a second store, those in
# web/e2e/sandbox-off against a third.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh headless-shell fonts
scripts/web.sh build

folder=$(mktemp -d "$(scripts/temp-parent.sh)/souk-e2e.XXXXXX")
server=
clean() {
    status=$?
    trap - EXIT
    [ -z "$server" ] || { kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; }
    # Page views are left out of the log, because they would push the names of failed tests out of sight.
    [ "$status" = 0 ] || grep -v page_view "$folder/log" | tail -n 20 >&2 || true
    # A browser that is shutting down may still write there; that must not fail the run.
    rm -rf "$folder" || true
    exit "$status"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Starts the store with the given arguments, and exports its address and its owner's link.
start() {
    # Created before the server starts, because the loop below reads it immediately.
    : >"$folder/out"
    # The owner signs in once, before tests that take longer than the default.
    SOUK_SIGN_IN_AGAIN_MINUTES=1440 "${CARGO_TARGET_DIR:-target}/debug/souk" serve --data "$folder/data" "$@" >"$folder/out" 2>"$folder/log" &
    server=$!
    SOUK_URL=
    for _ in $(seq 300); do
        SOUK_URL=$(sed -n 's/^Souk is running at \(.*\)\/$/\1/p' "$folder/out")
        [ -z "$SOUK_URL" ] || break
        kill -0 "$server" 2>/dev/null || { echo "e2e.sh: the store did not start" >&2; exit 1; }
        sleep 0.1
    done
    [ -n "$SOUK_URL" ] || { echo "e2e.sh: the store did not say where it listens" >&2; exit 1; }
    export SOUK_URL
    export SOUK_OWNER_LINK; SOUK_OWNER_LINK=$(sed -n 's/.*becomes the owner: \(.*\)$/\1/p' "$folder/out")
    # The store writes emails there, because it has no mail server.
    export SOUK_MAIL_FOLDER=$folder/data/mail
}

stop() {
    kill "$server"
    wait "$server" || true
    server=
}

# Whether the tests at this kind of network run: all do, unless NETWORK or a Playwright argument selects some.
wants() { [ "${NETWORK:-$1}" = "$1" ] && { [ -n "${NETWORK:-}" ] || [ "$arguments" = 0 ]; }; }
arguments=$#

# Browser profiles and temporary files are removed with the folder.
if [ "${NETWORK:-free}" = free ]; then
    start --demo --listen 127.0.0.1:0
    (cd web && TMPDIR=$folder npx playwright test "$@")
    stop
    rm -rf "$folder/data"
fi
# A store at a network that charges gas. NETWORK=gas runs these tests only.
if wants gas; then
    start --demo --listen 127.0.0.1:0 --sandbox-gas-price 10000000000000
    (cd web && TMPDIR=$folder NETWORK=gas npx playwright test "$@")
    stop
    rm -rf "$folder/data"
fi
# A store whose sandbox is switched off after a purchase. NETWORK=off runs these tests only.
if wants off; then
    start --demo --listen 127.0.0.1:0
    (cd web && TMPDIR=$folder NETWORK=off npx playwright test --project before)
    stop
    # At the same address, so that its browsers stay signed in.
    start --sandbox off --listen "${SOUK_URL#http://}"
    (cd web && TMPDIR=$folder NETWORK=off npx playwright test --project off "$@")
fi
