#!/bin/sh
# Builds the command for `make run`, `make story` and `make release`, and says what it does: the first time it takes
# minutes.
#
#     scripts/build.sh [PROFILE]     the profile of cargo: release, or dist for what is handed on
#
# On a terminal cargo shows its own bar. Elsewhere a line is written now and then, so that a log tells that the
# build goes on.
set -eu
cd "$(dirname "$0")/.."

# The command contains the explorer, so the explorer is built first.
scripts/web.sh

profile=${1:-release}
folder=${CARGO_TARGET_DIR:-target}
every_s=${BUILD_REPORT_S:-30}
if [ ! -x "$folder/$profile/anywhen" ]; then
    processors=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
    # About 17 minutes of one processor, of which the last one cannot be shared. In the profile dist the last ten cannot.
    shared=16 alone=1
    [ "$profile" = dist ] && shared=20 alone=10
    echo "Building anywhen for the first time: about $((alone + shared / processors)) minutes on $processors processors." >&2
    echo "Later builds compile only what has changed." >&2
fi
set -- cargo build --profile "$profile" --locked --package anywhen-command --bin anywhen
if [ -t 2 ]; then
    exec "$@"
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM
"$@" 2>"$log" &
build=$!
begin=$(date +%s)
said=$begin
while kill -0 "$build" 2>/dev/null; do
    sleep 1
    now=$(date +%s)
    if [ $((now - said)) -ge "$every_s" ]; then
        said=$now
        echo "building: $(grep -c '^ *Compiling' "$log" || true) crates begun after $((now - begin)) s" >&2
    fi
done
if ! wait "$build"; then
    cat "$log" >&2
    exit 1
fi
tail -n 1 "$log" >&2
