#!/bin/sh
# The story that `make run` plays: in this checkout, on a repository of somebody
# else's, and in a checkout that has no git history. Reads ANYWHEN (the command).
set -eu
cd "$(dirname "$0")/.."
checkout=$(pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# plays NAME, then the variables of the story: it must end well.
plays() {
    name=$1
    shift
    if ! env NO_COLOR=1 STORY_DATA="$work/data" "$@" scripts/story.sh >"$work/said" 2>&1; then
        echo "story, $name: it failed" >&2
        cat "$work/said" >&2
        exit 1
    fi
}
# says WORDS: the story printed a line that holds them.
says() {
    if ! grep -q -e "$1" "$work/said"; then
        echo "story, $name: '$1' is missing" >&2
        cat "$work/said" >&2
        exit 1
    fi
}

plays "this checkout"
says '[0-9] revisions'
says 'moved from'
says '"requests_per_minute": 1500'
says '"level": '
says 'sound: '
says 'Go on from here'

# Somebody else's repository, with a name that needs quotes.
repository="$work/their repository"
mkdir "$repository"
git -C "$repository" init -q
for n in 1 2 3; do
    echo "{\"name\": \"app\", \"version\": \"1.0.$n\"}" >"$repository/package.json"
    git -C "$repository" add package.json
    git -C "$repository" -c user.name=grace -c user.email=g@example.org commit -q -m "release $n"
done
plays "another repository" GIT_REPO="$repository" GIT_PATH=package.json
says 'git/package.json: 3 revisions'
says 'release 3'
says '~ $.version  "1.0.2" -> "1.0.3"'

# A checkout without git: what an archive of the sources holds.
mkdir "$work/archive"
cp -R scripts samples "$work/archive"
cd "$work/archive"
plays "an archive" GIT_CEILING_DIRECTORIES="$work"
says 'the bundled one is used'
says 'git/samples/settings.json: 8 revisions'
cd "$checkout"
echo "story: 3 ways to play it, all well"
