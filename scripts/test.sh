#!/bin/bash
# test.sh: runs all checks and tests. It installs absent tools with apt, starts services on private loopback ports, and stops them
# afterwards. At its end it prints the duration of each step, also if a step failed.
set -euo pipefail
cd "$(dirname "$0")/.."

names=()
starts=()
step() {
    printf '\n== %s\n' "$*"
    names+=("$*")
    starts+=("$SECONDS")
}
print_times() {
    status=$?
    trap - EXIT
    starts+=("$SECONDS")
    printf '\n== time of each step, in minutes and seconds\n'
    for ((i = 0; i < ${#names[@]}; i++)); do
        seconds=$((starts[i + 1] - starts[i]))
        printf '%4d:%02d  %s\n' $((seconds / 60)) $((seconds % 60)) "${names[i]}"
    done
    printf '%4d:%02d  in total\n' $((SECONDS / 60)) $((SECONDS % 60))
    rm -f "$web_log" "$api_log"
    [ "$status" = 0 ] || printf 'failed in the step "%s"\n' "${names[-1]}"
    exit "$status"
}
trap print_times EXIT
web_log=$(mktemp)
api_log=$(mktemp)

step "tools"
scripts/need.sh postgresql redis headless-shell fonts poppler faketime openssl
scripts/web.sh install
BEAN_CHECK=$(scripts/beancount.sh)
export BEAN_CHECK
MOTO_SERVER=$(scripts/moto.sh)
export MOTO_SERVER

step "formatting"
cargo fmt --all --check
# Both sides of a merge once stood in a guide.
if git grep -nE '^(<{7}|>{7}) '; then echo "test.sh: these lines are left from a merge" >&2; exit 1; fi

# The tools of the web use one core at a time, and so does the compiler whenever one crate waits for another.
step "clippy; and the web: lint, unit tests, types, build, size budgets"
# The server does not compile without this folder.
mkdir -p web/dist
(cd web && npm run lint && npm test && npm run build) >"$web_log" 2>&1 &
web=$!
lint=0
cargo clippy --workspace --all-targets --all-features -- -D warnings || lint=$?
wait "$web" || { cat "$web_log"; exit 1; }
tail -n 3 "$web_log"
[ "$lint" = 0 ]

# One build of all packages, because building the binary alone would compile the dependencies again with other features.
step "build of the rust tests and the binary"
if command -v cargo-nextest >/dev/null; then
    run=(cargo nextest run)
else
    run=(cargo test)
fi
"${run[@]}" --workspace --all-features --no-run

step "rust tests, on SQLite, PostgreSQL and Redis"
scripts/services.sh "${run[@]}" --no-fail-fast --workspace --all-features

# Both last as long as they are told to, and the soak of a debug build leaves half of the machine idle.
step "two minutes of soak, and the API under malformed input"
if [ "${run[1]}" = nextest ]; then only=(--run-ignored only --no-capture soak); else only=(-- --ignored --nocapture soak); fi
MAX_SECONDS=120 scripts/schemathesis.sh >"$api_log" 2>&1 &
api=$!
soak=0
SOAK_MINUTES=2 scripts/services.sh "${run[@]}" --workspace --all-features --test process "${only[@]}" || soak=$?
wait "$api" || { cat "$api_log"; exit 1; }
tail -n 12 "$api_log"
[ "$soak" = 0 ]

step "browser tests"
scripts/e2e.sh
