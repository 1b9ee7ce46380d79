#!/bin/sh
# Builds the explorer, the web application in web/, before the command that serves it is built.
#
#     scripts/web.sh            build it, where anything has changed and Node is there; else say what is missing
#     scripts/web.sh --check    also check its types and run its unit tests; fails where Node is missing
#
# The files are in web/dist, from where crates/explorer takes them into the command.
set -eu
cd "$(dirname "$0")/.."

check=false
[ "${1:-}" = --check ] && check=true

# The oldest Node that Vite runs on.
if ! command -v npm >/dev/null 2>&1 ||
    ! node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null; then
    echo "web: Node 20.19 or newer is not here: the server will have no explorer (its page at / says how to get it)" >&2
    if $check; then exit 1; fi
    exit 0
fi

cd web
# The checksum of the sources tells whether dist was built from them.
sum=$(find index.html package-lock.json vite.config.ts tsconfig.json scripts src -type f -print0 | sort -z |
    xargs -0 cksum | cksum)
built=$(cat dist/.built 2>/dev/null || true)
if [ "$sum" = "$built" ] && ! $check; then exit 0; fi

if ! cmp -s package-lock.json node_modules/.installed; then
    npm ci --silent --no-audit --no-fund >&2 || {
        echo "web: the packages of the explorer could not be fetched" >&2
        if $check; then exit 1; fi
        exit 0
    }
    cp package-lock.json node_modules/.installed
fi
if $check; then
    npm run --silent check
    npm test --silent
fi
if [ "$sum" != "$built" ]; then
    npm run --silent build
    echo "$sum" >dist/.built
fi
