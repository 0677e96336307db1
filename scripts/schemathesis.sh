#!/bin/bash
# schemathesis.sh: sends malformed input to every operation of openapi.json, against the real binary, with an owner's session and an
# API key; any 5xx fails. MAX_EXAMPLES inputs per operation (default 8), MAX_SECONDS in total (default 90), SEED repeats a run. The
# tool is installed outside the repository, under ~/.cache/souk.
set -euo pipefail
cd "$(dirname "$0")/.."

souk=${CARGO_TARGET_DIR:-target}/debug/souk
[ -x "$souk" ] || { echo "schemathesis.sh: $souk is missing; run make build" >&2; exit 69; }
scripts/need.sh python

tool=${XDG_CACHE_HOME:-$HOME/.cache}/souk/schemathesis
if ! "$tool/bin/schemathesis" --version 2>/dev/null | grep -q ' 4\.'; then
    rm -rf "$tool"
    python3 -m venv "$tool"
    "$tool/bin/pip" install --quiet --disable-pip-version-check 'schemathesis>=4.32,<5'
fi

folder=$(mktemp -d "$(scripts/temp-parent.sh)/souk-schemathesis.XXXXXX")
pid=
clean() {
    status=$?
    trap - EXIT
    if [ -n "$pid" ]; then kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; fi
    rm -rf "$folder"
    exit "$status"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

unset DATABASE_URL REDIS_URL SOUK_PUBLIC_URL SOUK_SECRET_KEY SMTP_URL
export NO_COLOR=1 SOUK_DATA=$folder/data
"$souk" migrate >/dev/null
key=$("$souk" key create --name schemathesis --scope '*' | sed -n '1s/.*  //p')

# Sign an owner in by inserting the rows directly, because the tool has no wallet.
python3 - "$SOUK_DATA/souk.db" <<'PYTHON'
import hashlib, sqlite3, sys, time
now = int(time.time() * 1_000_000)
later = now + 86_400 * 1_000_000
with sqlite3.connect(sys.argv[1]) as books:
    did = "z1ZLeNSpFCDu6TgrcmHQsXf5xMcEbqfXC2Q"
    rows = {
        "users": {
            "did": did, "public_key": "z", "full_name": "Owner", "email": "owner@souk.example", "phone": "", "language": "en",
            "created_at": now, "updated_at": now, "examined_at": now,
        },
        "passports": {"id": "pass_1", "holder": did, "role": "owner", "issued_at": now},
        "browser_sessions": {
            "token": hashlib.sha256(b"owner").digest(), "id": "lgn_1", "user_did": did, "device": "",
            "created_at": now, "signed_in_at": now, "used_at": now, "expires_at": later,
        },
    }
    for table, row in rows.items():
        books.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", [*row.values()])
PYTHON

# Created before the server starts, because the loop below reads it immediately.
: >"$folder/out"
"$souk" serve --demo --listen 127.0.0.1:0 >"$folder/out" 2>"$folder/log" &
pid=$!
for _ in $(seq 300); do
    kill -0 "$pid" 2>/dev/null || { cat "$folder/log" >&2; exit 70; }
    address=$(sed -n 's/^Souk is running at //p' "$folder/out")
    [ -z "$address" ] || break
    sleep 0.1
done
[ -n "$address" ] || { echo "schemathesis.sh: souk did not start" >&2; cat "$folder/log" >&2; exit 70; }

# The logout operation is excluded because it would end the owner's session.
cd "$folder"
status=0
"$tool/bin/schemathesis" run "${address}openapi.json" --url "$address" \
    --checks not_a_server_error --phases examples,coverage,fuzzing --continue-on-failure \
    --max-examples "${MAX_EXAMPLES:-8}" --max-time "${MAX_SECONDS:-90}" ${SEED:+--seed "$SEED"} --workers 1 \
    --exclude-path /api/session/logout --request-timeout 20 --warnings off --no-color \
    --header "Authorization: Bearer $key" --header 'Cookie: login_token=owner' || status=$?
if [ "$status" != 0 ]; then
    echo "--- server log:" >&2
    grep -E 'ERROR|WARN|panicked' "$folder/log" | tail -40 >&2
fi
exit "$status"
