#!/bin/bash
# e2e.sh [PLAYWRIGHT ARGUMENTS...]: runs the browser tests against the real binary, with demo data in a temporary folder.
# MATRIX=all covers every language, width and color scheme. The tests in web/e2e/gas run against a second store, those in
# web/e2e/sandbox-off against a third, those in web/e2e/publishing against a fourth.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh headless-shell fonts faketime
scripts/web.sh build
# Tests run its commands as well.
export SOUK_BINARY; SOUK_BINARY=$(realpath "${CARGO_TARGET_DIR:-target}/debug/souk")

root=$(mktemp -d "$(scripts/temp-parent.sh)/souk-e2e.XXXXXX")
# A browser that is shutting down may still write there; that must not fail the run.
trap 'rm -rf "$root" || true' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Starts the store of this network with the given arguments, and exports its address and its owner's link.
start() {
    # Created before the server starts, because the loop below reads it immediately.
    : >"$folder/out"
    # The owner signs in once, before tests that take longer than the default.
    SOUK_SIGN_IN_AGAIN_MINUTES=1440 "$SOUK_BINARY" serve --data "$folder/data" "$@" >"$folder/out" 2>"$folder/log" &
    server=$!
    # The store prints this line last, after its address and its owner's link.
    for _ in $(seq 300); do
        ! grep -q '^Press Ctrl-C to stop' "$folder/out" || break
        kill -0 "$server" 2>/dev/null || { echo "e2e.sh: the store did not start" >&2; exit 1; }
        sleep 0.1
    done
    export SOUK_URL; SOUK_URL=$(sed -n 's/^Souk is running at \(.*\)\/$/\1/p' "$folder/out")
    [ -n "$SOUK_URL" ] || { echo "e2e.sh: the store did not say where it listens" >&2; exit 1; }
    export SOUK_OWNER_LINK; SOUK_OWNER_LINK=$(sed -n 's/.*becomes the owner: \(.*\)$/\1/p' "$folder/out")
    # The store writes emails there, because it has no mail server.
    export SOUK_MAIL_FOLDER=$folder/data/mail
}

stop() {
    kill "$server"
    wait "$server" || true
    server=
}

# Browser profiles and temporary files are removed with the folder.
browse() { (cd web && TMPDIR=$folder npx playwright test "$@"); }

free() {
    start --demo --listen 127.0.0.1:0
    browse "$@"
}

# A store at a network that charges gas.
gas() {
    start --demo --listen 127.0.0.1:0 --sandbox-gas-price 10000000000000
    NETWORK=gas browse "$@"
}

# A store whose sandbox is switched off after a purchase.
off() {
    start --demo --listen 127.0.0.1:0
    NETWORK=off browse --project before
    stop
    # At the same address, so that its browsers stay signed in.
    start --sandbox off --listen "${SOUK_URL#http://}"
    NETWORK=off browse --project off "$@"
}

# A store whose settings of publishing are changed. Then a day passes on its machine: access tokens live that long at least.
publishing() {
    start --demo --listen 127.0.0.1:0
    NETWORK=publishing browse --project story "$@"
    stop
    # The clock that timeouts use stays.
    export FAKETIME=+25h FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_LIBRARY; FAKETIME_LIBRARY=$(ls /usr/lib/*/faketime/libfaketimeMT.so.1)
    LD_PRELOAD=$FAKETIME_LIBRARY start --demo --listen "${SOUK_URL#http://}"
    NETWORK=publishing browse --project later
}

# Runs the tests of a network against a store of its own.
run() (
    set -e
    network=$1
    shift
    folder=$root/$network
    mkdir "$folder"
    server=
    clean() {
        status=$?
        trap - EXIT
        [ -z "$server" ] || { kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; }
        # Page views are left out of the log, because they would push the names of failed tests out of sight.
        [ "$status" = 0 ] || grep -v page_view "$folder/log" | tail -n 20 >&2 || true
        exit "$status"
    }
    trap clean EXIT
    "$network" "$@"
)

# NETWORK=free, gas, off or publishing selects one; with arguments for Playwright alone, it is free.
if [ -n "${NETWORK:-}" ] || [ "$#" -gt 0 ]; then
    run "${NETWORK:-free}" "$@"
    exit
fi
# The small ones beside the large one: their stores and browsers mostly wait.
others=()
for network in gas off publishing; do
    run "$network" >"$root/$network.txt" 2>&1 &
    others+=("$network:$!")
done
# A function that is called in a condition would go on after an error.
set +e
run free
failed=$?
for other in "${others[@]}"; do
    wait "${other#*:}" || failed=1
    cat "$root/${other%:*}.txt"
done
exit "$failed"
