# shellcheck shell=sh
# Shared by the scripts here: packages and building. Source it from the root of the repository.

# shellcheck disable=SC2034 # used by who sources this
BUILD_PACKAGES="cmake ninja-build gcc libc6-dev flex bison pkg-config llvm-19-dev lld-19 \
    libjansson-dev libzip-dev libutf8proc-dev"
# shellcheck disable=SC2034
TEST_PACKAGES="check llvm-19-tools python3 binutils file"

# Sizes of the machine at hand.
jobs=$(nproc 2>/dev/null || echo 2)

say() {
    printf '== %s\n' "$*"
}

fail() {
    printf 'error: %s\n' "$1" >&2
    shift
    for line in "$@"; do
        printf '%s\n' "$line" >&2
    done
    exit 1
}

# Installs those of the packages that are missing. Does nothing, quickly, when none is.
need_packages() {
    if ! command -v dpkg-query >/dev/null 2>&1; then
        say "this is not Debian: assuming that these are installed: $*"
        return 0
    fi
    missing=""
    for package in "$@"; do
        case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
        installed) ;;
        *) missing="$missing $package" ;;
        esac
    done
    [ -n "$missing" ] || return 0

    sudo=""
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 ||
            fail "packages are missing, and installing them needs root or sudo" \
                "As root: apt-get install$missing"
        sudo="sudo"
    fi
    say "installing$missing"
    $sudo apt-get update -q || fail "apt-get update failed" "Is the network there?"
    case $missing in
    *llvm-19*)
        apt-cache show llvm-19-dev >/dev/null 2>&1 ||
            fail "apt finds no llvm-19-dev" \
                "Debian 12 has it in its main suite since the later point releases: the line" \
                "'deb http://deb.debian.org/debian bookworm main' must be among apt's sources." \
                "Debian 13 has it as well."
        ;;
    esac
    # shellcheck disable=SC2086 # a list of words
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing ||
        fail "apt-get could not install$missing"
}

# build DIR [cmake option...]
build() {
    dir=$1
    shift
    # A folder that was configured by another generator keeps it.
    if [ ! -f "$dir/CMakeCache.txt" ]; then
        set -- -G Ninja "$@"
    fi
    log=$dir/configure.log
    mkdir -p "$dir"
    if ! cmake -S . -B "$dir" "$@" >"$log" 2>&1; then
        cat "$log" >&2
        fail "cmake could not configure $dir"
    fi
    cmake --build "$dir" -j "$jobs" || fail "the build failed"
}
