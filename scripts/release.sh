#!/bin/sh
# Makes what a release is made of, in dist/, and the sums of it.
#
#     make release                       all of it
#     make release PARTS='binary man'    some parts: binary man wheels image
#
#   dist/anywhen                        the command, without debug information
#   dist/man, dist/completions          what it writes of itself
#   dist/anywhen-VERSION-TARGET.tar.gz  the three of them, with the licence
#   dist/*.whl                          the Python module, and the client for every platform
#   dist/SHA256SUMS                     the sum of each file
#
# The image of the Dockerfile is built and asked whether it is ready, if there is docker here.
set -eu
cd "$(dirname "$0")/.."

# The largest that the command may be, in bytes.
largest=$((40 * 1024 * 1024))
parts=${*:-binary man wheels image}
built=${CARGO_TARGET_DIR:-target}/dist/anywhen
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
triple=$(rustc -vV | sed -n 's/^host: //p')
mkdir -p dist

has() { case " $parts " in *" $1 "*) true ;; *) false ;; esac; }
for part in $parts; do
    case $part in
    binary | man | wheels | image) ;;
    *)
        echo "release: there is no part '$part': binary man wheels image" >&2
        exit 2
        ;;
    esac
done

if has binary || has man; then
    scripts/build.sh dist
    # Names of functions stay out as well: with them the file would be a third larger.
    strip -o dist/anywhen "$built"
    bytes=$(wc -c <dist/anywhen)
    echo "release: dist/anywhen, $((bytes / 1048576)) MiB"
fi
if has man; then
    rm -rf dist/man dist/completions
    dist/anywhen man-pages dist/man
    mkdir dist/completions
    dist/anywhen completions bash >dist/completions/anywhen.bash
    dist/anywhen completions zsh >dist/completions/_anywhen
    dist/anywhen completions fish >dist/completions/anywhen.fish
    dist/anywhen completions powershell >dist/completions/anywhen.ps1
    echo "release: $(find dist/man -type f | wc -l | tr -d ' ') manual pages, completions of 4 shells"
fi
if has binary && has man; then
    name=anywhen-$version-$triple
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    mkdir "$folder/$name"
    cp -R dist/anywhen dist/man dist/completions LICENSE README.md CHANGELOG.md "$folder/$name"
    tar -C "$folder" -czf "dist/$name.tar.gz" "$name"
    echo "release: dist/$name.tar.gz"
fi
if has wheels; then
    rm -f dist/*.whl
    python/run --wheel dist
    python/run --pure dist
fi
if has image; then
    if ! command -v docker >/dev/null 2>&1; then
        echo "release: no image: docker is not installed"
    elif ! docker info >/dev/null 2>&1; then
        echo "release: no image: docker is installed, and its daemon does not answer"
    else
        docker build -t "anywhen:$version" .
        container=$(docker run -d "anywhen:$version")
        end=$(($(date +%s) + 90))
        health=starting
        while [ "$health" = starting ] && [ "$(date +%s)" -lt "$end" ]; do
            sleep 2
            health=$(docker inspect -f '{{.State.Health.Status}}' "$container")
        done
        docker rm -f "$container" >/dev/null
        if [ "$health" != healthy ]; then
            echo "release: the image anywhen:$version is $health and not healthy" >&2
            exit 1
        fi
        echo "release: the image anywhen:$version, which is healthy"
    fi
fi

sums=$(command -v sha256sum || echo "shasum -a 256")
(cd dist && find . -type f ! -name SHA256SUMS | sed 's|^\./||' | LC_ALL=C sort | xargs $sums >SHA256SUMS)
echo "release: dist/SHA256SUMS, of $(wc -l <dist/SHA256SUMS | tr -d ' ') files"
if [ "${bytes:-0}" -gt "$largest" ]; then
    echo "release: dist/anywhen is too large: it has $bytes bytes, and may have $largest" >&2
    exit 1
fi
