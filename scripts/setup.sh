# Makes this machine ready to build, as far as it can. Sourced, not run:
#
#     . scripts/setup.sh
#
# Needed:    Rust (cargo), a C compiler (for zstd), git.
# Welcome:   mold, a faster linker. It is used through the environment only, so
#            that a plain `cargo build` works on a machine without it.
#
# Missing packages are installed with apt where that is possible (root, or sudo
# that asks nothing); where it is not, the build goes on without, or says what
# to install.

if ! command -v cargo >/dev/null 2>&1 && [ -x "$HOME/.cargo/bin/cargo" ]; then
    PATH="$HOME/.cargo/bin:$PATH"
    export PATH
fi

missing=""
command -v cc >/dev/null 2>&1 || missing="$missing build-essential"
command -v git >/dev/null 2>&1 || missing="$missing git"
# Further needs of one task: SETUP_ALSO names commands that are packages too.
for tool in ${SETUP_ALSO:-}; do
    command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
done
if [ "$(uname -s)" = Linux ] && ! command -v mold >/dev/null 2>&1; then
    missing="$missing mold"
fi

# Each set is tried once for each checkout: a machine without a network should
# not wait at every `make`.
tried="target/.setup-tried$(echo "$missing" | tr ' ' '-')"
if [ -n "$missing" ] && [ ! -e "$tried" ] && command -v apt-get >/dev/null 2>&1; then
    as_root=none
    if [ "$(id -u)" = 0 ]; then
        as_root=""
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        as_root="sudo -n"
    fi
    if [ "$as_root" != none ]; then
        echo "setup: installing$missing" >&2
        # One at a time: a system without mold still gets its compiler.
        timeout 300 $as_root apt-get update -qq >/dev/null 2>&1 || true
        for package in $missing; do
            DEBIAN_FRONTEND=noninteractive timeout 600 $as_root \
                apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 ||
                echo "setup: $package could not be installed; going on without" >&2
        done
    fi
    mkdir -p target && : >"$tried"
fi

for tool in cargo cc git; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        case "$tool" in
        cargo) echo "setup: Rust is needed: install it with rustup (1.90 or newer)" >&2 ;;
        cc) echo "setup: a C compiler is needed: for example 'apt-get install build-essential'" >&2 ;;
        git) echo "setup: git is needed: for example 'apt-get install git'" >&2 ;;
        esac
        exit 1
    fi
done

for component in fmt:rustfmt clippy:clippy; do
    if ! cargo "${component%:*}" --version >/dev/null 2>&1; then
        rustup component add "${component#*:}" >/dev/null 2>&1 ||
            echo "setup: no ${component#*:}: 'make test' needs it ('rustup component add ${component#*:}')" >&2
    fi
done

if command -v mold >/dev/null 2>&1 &&
    echo 'int main(void) { return 0; }' | cc -fuse-ld=mold -x c -o /dev/null - 2>/dev/null; then
    triple=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
    export "CARGO_TARGET_${triple}_RUSTFLAGS=-Clink-arg=-fuse-ld=mold"
fi
