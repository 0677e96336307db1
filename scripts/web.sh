#!/bin/bash
# web.sh [install|build]: installs the web client's packages if the lock file has changed, and builds the entries if a source is newer
# than the build.
set -euo pipefail
cd "$(dirname "$0")/../web"

if ! cmp -s package-lock.json node_modules/.souk-lock 2>/dev/null; then
    npm ci --no-audit --no-fund
    cp package-lock.json node_modules/.souk-lock
fi
[ "${1:-build}" != install ] || exit 0

newer() {
    [ ! -e dist/sizes.json ] || [ -n "$(find src public index.html checkout.html wallet.html package-lock.json vite.config.ts scripts -newer dist/sizes.json -print -quit)" ]
}
if newer; then npm run build; fi
