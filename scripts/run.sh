#!/bin/sh
# Starts the server on a data folder with a sample in it, and says what to try.
#
#     make run
#
# Also read: ANYWHEN (the command), RUN_DATA (the folder), ANYWHEN_PG_LISTEN and ANYWHEN_HTTP_LISTEN
# (where it listens).
# The folder is kept: a second run goes on with what is in it.
set -eu
cd "$(dirname "$0")/.."

anywhen=${ANYWHEN:-${CARGO_TARGET_DIR:-target}/release/anywhen}
data=${RUN_DATA:-target/sample}
listen=${ANYWHEN_PG_LISTEN:-127.0.0.1:5433}
http=${ANYWHEN_HTTP_LISTEN:-127.0.0.1:8080}

# A port that is taken is told before the sample is loaded.
found=$("$anywhen" serve --check --json --data "$data" --pg-listen "$listen" --http-listen "$http" 2>&1) || {
    "$anywhen" serve --check --data "$data" --pg-listen "$listen" --http-listen "$http"
    exit 1
}
case $found in
*'"found":"in use"'*)
    echo "Another process has the data folder $data open: 'make run' may be running already." >&2
    echo "End it first, or use another folder and other ports:" >&2
    echo "  RUN_DATA=target/other ANYWHEN_PG_LISTEN=127.0.0.1:5434 ANYWHEN_HTTP_LISTEN=127.0.0.1:8081 make run" >&2
    exit 1
    ;;
esac
if [ ! -d "$data" ]; then
    echo "Loading the sample into $data"
    "$anywhen" sql --data "$data" -f samples/shop.sql >/dev/null
    "$anywhen" import history samples/settings.ndjson --as samples/settings --data "$data"
fi
# A folder of an earlier release has no menu yet.
"$anywhen" history samples/menu --limit 1 --data "$data" >/dev/null 2>&1 ||
    "$anywhen" import history samples/menu.ndjson --as samples/menu --data "$data"
cat <<TRY

Look at a year of a café's menu, in a browser (Ctrl-C here ends the server):

  http://$http/#/doc/samples/menu

Or try, in another terminal:

  $anywhen explore http://$http samples/menu

  psql -h ${listen%:*} -p ${listen##*:} -U postgres

    \\d
    SELECT * FROM product;
    SELECT * FROM product FOR SYSTEM_VERSION AS OF 10;
    SELECT _system_from, _system_to, name, cents FROM product FOR SYSTEM_TIME ALL WHERE id = 1;
    SELECT c.name, sum(o.cents) FROM customer c JOIN purchase o ON o.customer = c.id GROUP BY 1;
    EXPLAIN SELECT * FROM purchase WHERE customer = 2;
    SELECT version, committed_at, author, message FROM history('samples', 'settings');
    SELECT path, op, old, new FROM diff('samples', 'settings', 1, 2);

  curl '$http/?withResources=true'
  curl '$http/samples/settings?prettyPrint=true'
  curl '$http/samples/settings?revision=1'
  curl '$http/samples/settings/diff'
  curl '$http/v1/collections/samples/documents/settings/blame'
  curl -N '$http/v1/changes?from=0'
  curl -X POST $http/v1/sql -H 'content-type: application/json' \\
       -d '{"sql": "SELECT * FROM product FOR SYSTEM_VERSION AS OF 10"}'

TRY
exec "$anywhen" serve --data "$data" --pg-listen "$listen" --http-listen "$http"
