#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# What `make run` shows: a real program on real input under seep, and what its report says; then a small
# program that leaks, which has debug information and so shows source lines.
set -eu
build=$1
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$build" && pwd)
mkdir -p "$build/demo"
cd "$build/demo"
rm -f ./*.seep
PATH=$build:$PATH

if ! command -v perl >/dev/null 2>&1; then
    echo "demo.sh: perl is not installed (tools/install-deps.sh demo)" >&2
    exit 1
fi

# A web server's log of 60,000 requests, and the script that someone wrote to look at it.
awk 'BEGIN { for (i = 1; i <= 60000; i++)
    printf "10.0.%d.%d GET /page/%d %d %d\n", i * 31 % 8, i * 7919 % 251, i * 17 % 997, i % 50 ? 200 : 404, i * 31 % 9973
}' >access.log
cp "$here/demo.pl" count.pl

show() {
    printf '\n$ %s\n' "$*"
    "$@"
}
show seep run -o perl.seep --top 2 -- perl count.pl access.log
show seep report perl.seep --by function --sort allocations --top 5
cp "$here/../docs/guides/leak.c" leak.c
show "${CC:-cc}" -g -o leak leak.c
show seep run -o leak.seep --top 1 ./leak
printf '\nThe traces are in %s. %s lists what else there is.\n' "$build/demo" "'$build/seep help'"
