#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# seep-agent, one static program: agent.sh BUILD [OUT]. BUILD is a build directory that has libseep.so, which goes inside;
# the agent is made in BUILD/agent, and copied to OUT (BUILD/seep-agent). Exit status: 0 it is there, 2 this machine has no
# compiler for static programs of musl.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
out=${2:-$build/seep-agent}
case $(gcc -dumpmachine) in
*musl*) cross= ;; # a distribution of musl
*)
    command -v musl-gcc >/dev/null || {
        echo "agent.sh: musl-gcc is not installed (apt-get install musl-tools)" >&2
        exit 2
    }
    [ "$(uname -m)" = x86_64 ] || {
        echo "agent.sh: there is no description of this machine in tools/cross" >&2
        exit 2
    }
    cross="--cross-file $here/tools/cross/musl.ini"
    ;;
esac
bearssl=$(gcc -print-file-name=libbearssl.a)
[ -e "$bearssl" ] || {
    echo "agent.sh: no libbearssl.a (apt-get install libbearssl-dev): it will not listen on networks" >&2
    bearssl=
}
# What a distribution compiles everything with (PIE, _FORTIFY_SOURCE) is for programs that have a loader.
unset CFLAGS CPPFLAGS LDFLAGS
# Tests may want it at the same time.
exec 9>"$build/.agent-lock"
flock 9
# shellcheck disable=SC2086 # two words, or none
[ -e "$build/agent/build.ninja" ] || meson setup "$build/agent" "$here" $cross -Dagent=true \
    -Dagent_library="$build/libseep.so" -Dagent_bearssl="$bearssl" -Ddebug=false -Dwerror=true >"$build/agent-setup.log" 2>&1 || {
    tail -n 20 "$build/agent-setup.log" >&2
    exit 1
}
ninja -C "$build/agent" >"$build/agent-build.log" 2>&1 || {
    tail -n 20 "$build/agent-build.log" >&2
    exit 1
}
made=$build/agent/src/host/agent/seep-agent-stripped
cmp -s "$made" "$out" || cp --remove-destination "$made" "$out"
