#!/bin/sh
# Plays a story on real history: what Anywhen knows of a JSON file that lived in git.
#
#     make story                                           the sample in this repository
#     make story GIT_REPO=~/code/app GIT_PATH=package.json    a file of yours
#
# Also read: ANYWHEN (the command), FIELD (whose history is shown).
# The data are kept in target/story, so that you can go on from there.
set -eu
cd "$(dirname "$0")/.."

anywhen=${ANYWHEN:-${CARGO_TARGET_DIR:-target}/release/anywhen}
repository=${GIT_REPO:-.}
case $repository in "~/"*) repository=$HOME/${repository#"~/"} ;; esac
path=${GIT_PATH:-samples/settings.json}
field=${FIELD:-}
to=
data=${STORY_DATA:-target/story}

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    bold=$(printf '\033[1m') dim=$(printf '\033[2m') plain=$(printf '\033[0m')
else
    bold='' dim='' plain=''
fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
# Shows a command as it would be typed, then runs it.
show() {
    printf '%s$ anywhen' "$dim"
    for word in "$@"; do
        case $word in
        *[!A-Za-z0-9_./:=-]*) printf " '%s'" "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
    printf '%s\n' "$plain"
    "$anywhen" "$@"
}

ANYWHEN_DATA=$data
export ANYWHEN_DATA
rm -rf "$data"
"$anywhen" init >/dev/null

versions=$(git -C "$repository" log --oneline --follow -- "$path" 2>/dev/null | wc -l)
if [ "$repository" = . ] && [ "$path" = samples/settings.json ]; then
    field=${field:-limits.requests_per_minute}
    doc=git/samples/settings.json
    # The revision of the sample that moves things about.
    to=7
else
    doc=git/$path
fi

say "1. Import: every version of $path that git knows"
if [ "$versions" -gt 1 ]; then
    show import git "$repository" "$path"
elif [ "$doc" = git/samples/settings.json ]; then
    echo "(this checkout has no git history: the bundled one is used)"
    show import history samples/settings.ndjson --as "$doc"
else
    echo "git knows fewer than two versions of $path in $repository" >&2
    exit 1
fi

newest=$("$anywhen" history "$doc" -n 1 --json | sed 's/.*"revision":\([0-9]*\).*/\1/')
middle=$(((newest + 1) / 2))
to=${to:-$newest}

say "2. History: who changed it, when, and why"
show history "$doc" -n 8

say "3. Diff: what one change did; moves are moves, not a removal and an insertion"
show diff "$doc" $((to - 1)) "$to"

say "4. Blame: which revision each line comes from"
"$anywhen" blame "$doc" >"$data.blame"
printf '%s$ anywhen blame %s%s\n' "$dim" "$doc" "$plain"
sed -n 1,40p "$data.blame"
if [ "$(wc -l <"$data.blame")" -gt 40 ]; then echo "... $(wc -l <"$data.blame") lines in all"; fi
rm -f "$data.blame"

if [ -z "$field" ]; then
    # The first part that the last change touched.
    field=$("$anywhen" diff "$doc" --json | sed -n 's/.*"changes":\[[^]]*"op":"update"[^}]*"path":"\([^"]*\)".*/\1/p' | head -1)
fi
if [ -n "$field" ]; then
    say "5. One field through all of history"
    show node-history "$doc" "$field"
fi

say "6. The past, as it was: revision $middle"
show get "$doc" --at "$middle" --pretty >"$data.old"
sed -n 1,12p "$data.old"
if [ "$(wc -l <"$data.old")" -gt 12 ]; then echo "  ..."; fi
rm -f "$data.old"

say "7. Every checksum, every invariant"
show verify
show stats

say "Go on from here"
cat <<END
  export ANYWHEN_DATA=$data PATH="\$PATH:$(cd "$(dirname "$anywhen")" && pwd)"
  anywhen diff $doc 1 $newest
  anywhen get $doc --at authored:$("$anywhen" history "$doc" -n 1 --json | sed 's/.*"authored":"\([^"]*\)".*/\1/')
  anywhen edit $doc set note '"hello"' --message 'my first change'
  anywhen revert $doc 1 && anywhen diff $doc
  anywhen --help

  The same on a file of yours: make story GIT_REPO=~/code/app GIT_PATH=package.json
END
