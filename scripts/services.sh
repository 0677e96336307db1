#!/bin/bash
# services.sh COMMAND...: runs the command with its own PostgreSQL and Redis, on free loopback ports and in a temporary folder, and
# removes both afterwards. Exports TEST_PG, TEST_REDIS and TMPDIR, so that the command's temporary files are removed as well.
# Exits with the status of the command. The folder is in memory if enough is free, so that no test waits for a disk.
# SERVICES_FSYNC=on places it on disk and makes PostgreSQL flush writes to it (for benchmarks).
set -euo pipefail

[ $# -gt 0 ] || { echo "usage: services.sh COMMAND..." >&2; exit 64; }
here=$(cd "$(dirname "$0")" && pwd)
"$here/need.sh" postgresql redis

if [ "${SERVICES_FSYNC:-off}" = on ]; then parent=${TMPDIR:-/tmp}; else parent=$("$here/temp-parent.sh"); fi
folder=$(mktemp -d "$parent/souk-services.XXXXXX")
chmod 755 "$folder"
redis_pid=
command_pid=

# PostgreSQL refuses to run as root.
as_owner() {
    if [ "$(id -u)" = 0 ]; then (cd "$folder" && setpriv --reuid=postgres --regid=postgres --init-groups -- "$@"); else "$@"; fi
}

clean() {
    status=$?
    trap - EXIT
    trap '' HUP INT TERM
    if [ -n "$command_pid" ]; then kill "$command_pid" 2>/dev/null || true; wait "$command_pid" 2>/dev/null || true; fi
    if [ -n "$redis_pid" ]; then kill "$redis_pid" 2>/dev/null || true; wait "$redis_pid" 2>/dev/null || true; fi
    if [ -e "$folder/pg/postmaster.pid" ]; then as_owner "$bin/pg_ctl" -D "$folder/pg" -m immediate stop >/dev/null 2>&1 || true; fi
    rm -rf "$folder"
    exit "$status"
}
trap clean EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

bin=$(dirname "$(command -v initdb || ls -d /usr/lib/postgresql/*/bin/initdb | sort -V | tail -n 1)")

# Prints a free port below the range of outgoing connections.
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
    done
}

# Another process may take the port in the meantime, so starting a service is retried with another port.
mkdir "$folder/pg" "$folder/redis" "$folder/tmp"
export TMPDIR=$folder/tmp
[ "$(id -u)" != 0 ] || chown postgres "$folder/pg"
as_owner "$bin/initdb" -D "$folder/pg" -U souk -A trust --no-sync -E UTF8 --locale=C >"$folder/initdb.log" 2>&1 || { cat "$folder/initdb.log" >&2; exit 69; }
started=
for _ in 1 2 3 4 5; do
    port=$(free_port)
    settings="-c port=$port -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=300 -c fsync=${SERVICES_FSYNC:-off}"
    # A test's database is dropped before a vacuum would pay off.
    [ "${SERVICES_FSYNC:-off}" = on ] || settings="$settings -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off"
    if as_owner "$bin/pg_ctl" -D "$folder/pg" -l "$folder/pg/server.log" -w -t 30 -o "$settings" start >/dev/null 2>&1; then started=yes; break; fi
done
[ -n "$started" ] || { echo "services.sh: PostgreSQL did not start" >&2; cat "$folder/pg/server.log" >&2 || true; exit 69; }
export TEST_PG="postgres://souk@127.0.0.1:$port/postgres"

started=
for _ in 1 2 3 4 5; do
    port=$(free_port)
    redis-server --bind 127.0.0.1 --port "$port" --dir "$folder/redis" --save '' --appendonly no --daemonize no >"$folder/redis/log" 2>&1 &
    redis_pid=$!
    for _ in $(seq 100); do
        kill -0 "$redis_pid" 2>/dev/null || break
        if grep -qs 'Ready to accept connections' "$folder/redis/log"; then started=yes; break; fi
        sleep 0.1
    done
    [ -z "$started" ] || break
    kill "$redis_pid" 2>/dev/null || true
    wait "$redis_pid" 2>/dev/null || true
    redis_pid=
done
[ -n "$started" ] || { echo "services.sh: Redis did not start" >&2; cat "$folder/redis/log" >&2; exit 69; }
export TEST_REDIS="redis://127.0.0.1:$port"

# Run in the background, so that this script handles signals immediately.
"$@" <&0 &
command_pid=$!
status=0
wait "$command_pid" || status=$?
command_pid=
exit "$status"
