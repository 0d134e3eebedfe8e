#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Fuzzes each parser for a while: fuzz.sh SECONDS [TARGET...]. What libFuzzer finds worth keeping goes
# to build-fuzz/corpus/<target>; a crash is left in build-fuzz/ and is the exit status.
set -eu
seconds=$1
shift
cd "$(dirname "$0")/.."
if ! command -v clang >/dev/null 2>&1; then
    echo "fuzz.sh: clang is not installed (tools/install-deps.sh lint)" >&2
    exit 1
fi
[ -e build-fuzz/build.ninja ] || CC=clang CXX=clang++ meson setup build-fuzz -Dfuzz=true -Dtests=enabled \
    -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1 -Dc_args=-fno-sanitize-recover=all
ninja -C build-fuzz fuzzers
found=0
bad=0
for program in build-fuzz/tests/fuzz/fuzz_*; do
    if [ ! -f "$program" ] || [ ! -x "$program" ]; then continue; fi
    target=${program##*/fuzz_}
    if [ $# -gt 0 ]; then
        case " $* " in *" $target "*) ;; *) continue ;; esac
    fi
    found=$((found + 1))
    mkdir -p "build-fuzz/corpus/$target"
    seeds=tests/fuzz/corpus/$target
    if [ "$target" = render ]; then seeds="tests/fuzz/corpus/trace tests/fuzz/corpus/image"; fi
    echo "== $target, $seconds s"
    # shellcheck disable=SC2086 # folders of ours, without spaces
    "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="build-fuzz/crash-$target-" "build-fuzz/corpus/$target" $seeds || bad=1
done
if [ $found = 0 ]; then
    echo "fuzz.sh: no such target" >&2
    exit 2
fi
exit $bad
