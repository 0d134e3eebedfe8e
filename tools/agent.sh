#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# seep-agent, one static program: agent.sh [--packed] BUILD [OUT] for this machine, agent.sh --cpu armhf [--packed] BUILD [OUT]
# for 32-bit ARM. Packed, it is two thirds as large, and unpacks itself into memory when it starts.
# BUILD is a build directory that has libseep.so, which goes inside; for another CPU that is built, too. The agent is made in
# BUILD/agent (BUILD/agent-armhf and so on), and copied to OUT (BUILD/seep-agent, BUILD/seep-agent-armhf). Exit status: 0 it
# is there, 2 this machine has no compiler for static programs of musl.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
cpu=
packed=
while :; do
    case $1 in
    --cpu) cpu=$2 && shift 2 ;;
    --packed) packed=yes && shift ;;
    *) break ;;
    esac
done
build=$(cd "$1" && pwd)
name=agent${cpu:+-$cpu}${packed:+-packed}
out=${2:-$build/seep-$name}
made=$build/$name
mkdir -p "$made"
# Tests may want it at the same time.
exec 9>"$made.lock"
flock 9

quietly() { # LOG WORD...
    log=$1
    shift
    "$@" >"$log" 2>&1 || {
        tail -n 20 "$log" >&2
        exit 1
    }
}

give_up() {
    echo "agent.sh: $1" >&2
    exit 2
}

# What a distribution compiles everything with (PIE, _FORTIFY_SOURCE) is for programs that have a loader.
unset CFLAGS CPPFLAGS LDFLAGS
library=$build/libseep.so
case $cpu in
'')
    bearssl=$(gcc -print-file-name=libbearssl.a)
    case $(gcc -dumpmachine) in
    *musl*) cross= ;; # a distribution of musl
    *)
        command -v musl-gcc >/dev/null || give_up "musl-gcc is not installed (apt-get install musl-tools)"
        [ "$(uname -m)" = x86_64 ] || give_up "there is no description of this machine in tools/cross"
        cross="--cross-file $here/tools/cross/musl.ini"
        ;;
    esac
    ;;
armhf)
    command -v arm-linux-gnueabihf-gcc >/dev/null || give_up "arm-linux-gnueabihf-gcc is not installed (tools/install-deps.sh agent-armhf)"
    # Of a system that knows the architecture, else unpacked beside it.
    root=
    [ -e /usr/lib/arm-linux-musleabihf/musl-gcc.specs ] || root=$("$here/tools/foreign-packages.sh" --folder armhf)
    [ -e "$root/usr/lib/arm-linux-musleabihf/musl-gcc.specs" ] || give_up "musl for armhf is not there (tools/install-deps.sh agent-armhf)"
    sed "s,/usr/,$root/usr/,g" "$root/usr/lib/arm-linux-musleabihf/musl-gcc.specs" >"$made/musl.specs"
    printf "[constants]\nroot = '%s'\nspecs = '%s'\n" "$root" "$made/musl.specs" >"$made/places.ini"
    cross="--cross-file $made/places.ini --cross-file $here/tools/cross/musl-armhf.ini"
    bearssl=$root/usr/lib/arm-linux-gnueabihf/libbearssl.a
    libraries=$build/agent-$cpu-library # for both forms
    library=$libraries/libseep.so
    (
        flock 8
        [ -e "$libraries/build.ninja" ] || quietly "$libraries-setup.log" meson setup "$libraries" "$here" \
            --cross-file "$here/tools/cross/armhf.ini" -Dtool=false -Ddebug=false -Dwerror=true
        quietly "$libraries-build.log" ninja -C "$libraries" libseep.so
    ) 8>"$libraries.lock"
    ;;
*) give_up "there is no agent for '$cpu' (armhf)" ;;
esac
[ -e "$bearssl" ] || {
    echo "agent.sh: no libbearssl.a (tools/install-deps.sh agent${cpu:+-$cpu}): it will not listen on networks" >&2
    bearssl=
}
# shellcheck disable=SC2086 # several words, or none
[ -e "$made/build.ninja" ] || quietly "$made-setup.log" meson setup "$made" "$here" $cross -Dagent=true \
    -Dagent_library="$library" -Dagent_bearssl="$bearssl" ${packed:+-Dagent_packed=true} -Ddebug=false -Dwerror=true
quietly "$made-build.log" ninja -C "$made"
stripped=$made/src/host/agent/seep-agent-stripped
cmp -s "$stripped" "$out" || cp --remove-destination "$stripped" "$out"
