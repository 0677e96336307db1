#!/bin/bash
# beancount.sh: prints the path of beancount's checker, after installing it from the Python registry if it is absent. It is installed
# outside the repository, under ~/.cache/souk.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh python

tool=${XDG_CACHE_HOME:-$HOME/.cache}/souk/beancount
if ! [ -x "$tool/bin/bean-check" ]; then
    rm -rf "$tool"
    python3 -m venv "$tool"
    "$tool/bin/pip" install --quiet --disable-pip-version-check 'beancount>=3.2,<4' >&2
fi
echo "$tool/bin/bean-check"
