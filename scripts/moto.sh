#!/bin/bash
# moto.sh: prints the path of moto's server, which stands in for an S3-compatible store, after installing it from the Python registry if
# it is absent. It is installed outside the repository, under ~/.cache/souk.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh python

tool=${XDG_CACHE_HOME:-$HOME/.cache}/souk/moto
if ! [ -x "$tool/bin/moto_server" ]; then
    rm -rf "$tool"
    python3 -m venv "$tool"
    "$tool/bin/pip" install --quiet --disable-pip-version-check 'moto[s3,server]>=5.2,<6' >&2
fi
echo "$tool/bin/moto_server"
