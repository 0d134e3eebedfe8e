#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Installs what seep needs, by purpose: install-deps.sh [--list] PURPOSE...
#
#   build   to build seep           (nothing works without these)
#   demo    the program that make run traces
#   test    to run the tests        (nothing is tested without these)
#   traced  programs and allocators that the tests trace (a test says so and skips without its program)
#   cross   compilers of the CPUs that make soak ONLY=cross tests beside those of traced
#   lint    formatters and checkers (make test does without those it does not find)
#   sarif   what make sarif validates with, beside npm
#   web     browsers for the tests of the page, and npm
#   agent   what make agent builds it with
#   agent-armhf   the same for 32-bit ARM (make agent CPU=armhf)
#   deb     what make deb builds packages with
#   bench   tools to compare with   (make bench does without those it does not find)
#
# Asks dpkg first: when all is there it needs no network, no root and no time. Installs only, and
# never removes or upgrades. Services that come with a package are not started, nor enabled if they
# were not there before. Exit status: 0 all there, 1 a package of `build` or `test` is missing.
set -eu

# What each release names otherwise (libmimalloc2.0, libmimalloc3) comes with its -dev package.
packages_of() {
    case $1 in
    build) echo gcc g++ make meson ninja-build pkg-config libc6-dev libdw-dev libelf-dev libdebuginfod-dev \
        libzstd-dev libjansson-dev libsqlite3-dev libiberty-dev liblzma-dev zlib1g-dev binutils \
        libbpf-dev clang llvm bpftool libncurses-dev libedit-dev libbearssl-dev libcairo2-dev ;;
    demo) echo perl ;;
    test) echo git python3 python3-yaml python3-pytest python3-pytest-xdist libcmocka-dev zstd xz-utils procps cmake ;;
    traced) echo redis-server redis-tools nginx-light curl gdb rustc dconf-gsettings-backend z3 sqlite3 graphviz protobuf-compiler vim emacs-nox strace systemd-container libpam-systemd dbus heaptrack jq gawk perl git tmux php-cli apache2-bin libglib2.0-bin libjemalloc2 libjemalloc-dev \
        libmimalloc-dev libgoogle-perftools-dev libunwind-dev libc6-dbg \
        golang-go golang-github-haya14busa-go-sarif-dev default-jdk-headless nodejs musl-tools dwz llvm valgrind autoconf openssh-server openssh-client gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross gcc-i686-linux-gnu g++-i686-linux-gnu libc6-dev-i386-cross libc6-i386 gcc-s390x-linux-gnu g++-s390x-linux-gnu libc6-dev-s390x-cross \
        gcc-arm-linux-gnueabihf g++-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-user ;;
    cross) echo qemu-user gcc-riscv64-linux-gnu g++-riscv64-linux-gnu gcc-powerpc64le-linux-gnu g++-powerpc64le-linux-gnu \
        gcc-powerpc64-linux-gnu g++-powerpc64-linux-gnu gcc-mips64el-linux-gnuabi64 g++-mips64el-linux-gnuabi64 ;;
    lint) echo clang clang-format clang-tidy libclang-rt-dev man-db shellcheck cppcheck zsh fish ;;
    sarif) echo python3-jsonschema ;;
    web) echo chromium firefox-esr fonts-dejavu-core nodejs npm lowdown mandoc ;;
    agent) echo musl-tools libbearssl-dev linux-libc-dev ;;
    agent-armhf) echo gcc-arm-linux-gnueabihf libc6-dev-armhf-cross binutils-arm-linux-gnueabihf qemu-user ;;
    deb) echo dpkg-dev debhelper lintian musl-tools ;;
    bench) echo heaptrack valgrind libgoogle-perftools-dev libunwind-dev python3-matplotlib wrk ;;
    *)
        echo "install-deps.sh: unknown purpose '$1' (build, demo, test, traced, cross, lint, sarif, web, agent, agent-armhf, deb, bench)" >&2
        exit 2
        ;;
    esac
}

other_distributions() {
    cat >&2 <<'END'
The same by the names of other distributions (build and test):
  Fedora, RHEL  gcc gcc-c++ make meson ninja-build pkgconf elfutils-devel elfutils-debuginfod-client-devel
                libzstd-devel jansson-devel binutils-devel xz-devel zlib-devel libcmocka-devel python3-pytest python3-pytest-xdist
                git zstd clang clang-tools-extra compiler-rt llvm libbpf-devel bpftool ncurses-devel libedit-devel cairo-devel
  Arch          base-devel meson ninja libelf debuginfod zstd xz zlib jansson binutils cmocka python-pytest
                python-pytest-xdist git clang compiler-rt llvm libbpf bpf ncurses libedit cairo
  Alpine        build-base meson elfutils-dev zstd-dev xz-dev zlib-dev jansson-dev binutils-dev cmocka-dev py3-pytest
                py3-pytest-xdist git clang compiler-rt llvm libbpf-dev bpftool ncurses-dev libedit-dev cairo-dev
  openSUSE      gcc gcc-c++ make meson ninja pkgconf libdw-devel libelf-devel libdebuginfod-devel libzstd-devel
                libjansson-devel binutils-devel xz-devel zlib-devel libcmocka-devel python3-pytest python3-pytest-xdist git zstd clang ncurses-devel libedit-devel cairo-devel
END
}

list_only=no
if [ "${1:-}" = --list ]; then
    list_only=yes
    shift
fi
[ $# -gt 0 ] || set -- build test traced lint
purposes=$*

wanted=
required=
for purpose in $purposes; do
    names=$(packages_of "$purpose")
    wanted="$wanted $names"
    case $purpose in build | test) required="$required $names" ;; esac
done

if [ $list_only = yes ]; then
    for name in $wanted; do echo "$name"; done | sort -u
    exit 0
fi

# The C library of its programs is no package of this machine's architecture.
case " $purposes " in *" agent-armhf "*) "$(dirname "$0")/foreign-packages.sh" armhf musl-dev libbearssl-dev || : ;; esac

case " $purposes " in *" cross "*)
    for arch in arm64 s390x mips64el; do "$(dirname "$0")/foreign-packages.sh" $arch musl musl-dev || :; done
    ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1; then
    # Another distribution: what counts is whether it builds, so only the essentials are looked at.
    trouble=
    for program in cc meson ninja pkg-config; do
        command -v $program >/dev/null 2>&1 || trouble="$trouble $program"
    done
    if [ -z "$trouble" ]; then
        pkg-config --exists libdw libelf libdebuginfod libzstd jansson zlib && exit 0
        trouble=" libraries of the list below"
    fi
    echo "install-deps.sh: this is no Debian, please install by hand. Missing:$trouble" >&2
    other_distributions
    exit 1
fi

missing_of() {
    # One question for all: dpkg-query is slow to start. It complains of names that it never heard of.
    here=" $(dpkg-query -W -f='${db:Status-Abbrev}${binary:Package}\n' "$@" 2>/dev/null |
        sed -n 's/^ii  *\([^:]*\).*/\1/p' | tr '\n' ' ')"
    # The nodejs of other repositories has npm in it, and conflicts with the package of that name.
    if command -v npm >/dev/null 2>&1; then here="$here npm "; fi
    # A meson from pip is accepted, for systems whose package is too old.
    case $here in *" meson "*) ;; *) [ -z "$(meson --version 2>/dev/null || true)" ] || here="$here meson " ;; esac
    for name in "$@"; do
        case $here in *" $name "*) ;; *) echo "$name" ;; esac
    done | sort -u | tr '\n' ' '
}

has_package() {
    apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [^(]'
}

has_lists() {
    set -- /var/lib/apt/lists/*Packages*
    [ -e "$1" ]
}

# Something that does the job of a package but is not that package (a tool built by hand) is left to
# the build to find; here only packages count.
# shellcheck disable=SC2086
missing=$(missing_of $wanted)
[ -n "$missing" ] || exit 0

# What this release does not have is not asked for again each time.
if has_lists; then
    # shellcheck disable=SC2086
    required_missing=$(missing_of $required)
    wanted_now=
    for name in $missing; do
        case " $required_missing " in
        *" $name "*) wanted_now="$wanted_now $name" ;;
        *) ! has_package "$name" || wanted_now="$wanted_now $name" ;;
        esac
    done
    missing=$wanted_now
    [ -n "$missing" ] || exit 0
fi

require_meson() { # VERSION; "": not known
    if [ -n "$1" ] && dpkg --compare-versions "$1" lt 1.0; then
        echo "install-deps.sh: seep needs meson 1.0, gcc 12 and glibc 2.36 or later, as in Debian 12; this system has meson $1" >&2
        exit 1
    fi
}
candidate_meson() {
    apt-cache policy meson 2>/dev/null | sed -n 's/^ *Candidate: *\([0-9][^ ]*\)$/\1/p'
}
case " $purposes " in *" build "*) require_meson "$(meson --version 2>/dev/null || true)" ;; esac

as_root=
if [ "$(id -u)" != 0 ]; then
    if sudo -n true 2>/dev/null; then
        as_root="sudo -n"
    else
        # shellcheck disable=SC2086
        missing_required=$(missing_of $required)
        if [ -z "$missing_required" ]; then
            echo "install-deps.sh: not installed, going on without: $missing" >&2
            exit 0
        fi
        case " $missing " in *" meson "*) require_meson "$(candidate_meson)" ;; esac
        echo "install-deps.sh: not root, and sudo does not do it without a password. Please run as root:" >&2
        # shellcheck disable=SC2086,SC2116
        echo "    apt-get update && apt-get install --no-install-recommends $(echo $missing)" >&2
        exit 1
    fi
fi

# A fresh machine has no package lists; an old one may have lists that name what is gone.
# The updates that a machine makes by itself hold the lock for minutes.
run_apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-remove --no-install-recommends \
        -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

policy=/usr/sbin/policy-rc.d
made_policy=no
if [ ! -e $policy ]; then
    # Keeps the package scripts from starting services while we install.
    printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
    $as_root chmod 755 $policy
    made_policy=yes
fi
trap '[ $made_policy = no ] || $as_root rm -f $policy' EXIT
trap 'exit 130' INT TERM HUP

echo "install-deps.sh: installing $missing"
run_apt update || echo "install-deps.sh: apt-get update failed, trying with the lists at hand" >&2

# Not after a minute of downloads: what is too old to build seep says so at once.
case " $missing " in *" meson "*) require_meson "$(candidate_meson)" ;; esac

available=
for name in $missing; do
    if has_package "$name"; then
        available="$available $name"
    else
        echo "install-deps.sh: this system has no package '$name', going on without it" >&2
    fi
done
if [ -n "$available" ]; then
    # shellcheck disable=SC2086
    if ! run_apt install $available; then
        echo "install-deps.sh: not all at once, trying one by one" >&2
        for name in $available; do
            run_apt install "$name" || echo "install-deps.sh: cannot install '$name'" >&2
        done
    fi
fi

# Only services that came with what was installed just now.
for service in redis-server nginx; do
    case " $available " in *" $service"*)
        if command -v systemctl >/dev/null 2>&1 && [ -d /run/systemd/system ]; then
            $as_root systemctl --quiet disable --now $service 2>/dev/null ||
                echo "install-deps.sh: could not disable the service $service" >&2
        fi
        ;;
    esac
done

# shellcheck disable=SC2086
missing_required=$(missing_of $required)
if [ -n "$missing_required" ]; then
    echo "install-deps.sh: still missing: $missing_required" >&2
    exit 1
fi
