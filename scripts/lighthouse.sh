#!/bin/bash
# lighthouse.sh: measures store front and checkout, served by the release binary with demo data; takes the median of five runs.
# Targets (web.md): performance 0.95, accessibility 1.0, LCP 1.8 s, TBT 150 ms, CLS 0.05. Fails if a target is missed.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh chromium fonts
scripts/web.sh build
folder=$(mktemp -d "${TMPDIR:-/tmp}/souk-lighthouse.XXXXXX")
server=
clean() {
    status=$?
    trap - EXIT
    [ -z "$server" ] || { kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; }
    rm -rf "$folder"
    exit "$status"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
"${CARGO_TARGET_DIR:-target}/release/souk" serve --demo --data "$folder/data" --listen 127.0.0.1:0 >"$folder/out" 2>/dev/null &
server=$!
url=
for _ in $(seq 100); do
    url=$(sed -n 's/^Souk is running at \(.*\)\/$/\1/p' "$folder/out")
    [ -z "$url" ] || break
    sleep 0.1
done
[ -n "$url" ] || { echo "lighthouse.sh: the store did not start" >&2; exit 1; }
cd web && CHROME_PATH=${CHROMIUM:-/usr/bin/chromium} node scripts/lighthouse.mjs "$url"
