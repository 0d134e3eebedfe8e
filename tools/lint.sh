#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Format, static checks and the rules of the house: lint.sh BUILD. All of it runs, then the exit
# status is that of the worst. A tool that is not installed is named and left out.
set -u
build=$1
cd "$(dirname "$0")/.." || exit 1
bad=0

c_files() {
    git ls-files 'src/*.[ch]' 'tests/*.[ch]' 'tests/*.cpp' 'bench/*.[ch]'
}

if command -v clang-format >/dev/null 2>&1; then
    # clang-format 14 is what the layout was made with; others differ in small things.
    version=$(clang-format --version | sed 's/.*version \([0-9]*\).*/\1/')
    if [ "$version" = 14 ]; then
        echo "== clang-format"
        c_files | xargs clang-format --dry-run -Werror || bad=1
    else
        echo "== clang-format: version $version is here, the layout is that of 14; left out"
    fi
else
    echo "== clang-format: not installed, left out"
fi

if command -v clang-tidy >/dev/null 2>&1; then
    echo "== clang-tidy"
    # Host and common only: the preload library is compiled with gcc's options.
    git ls-files 'src/common/*.c' 'src/host/*.c' | xargs -P 2 -n 8 clang-tidy --quiet -p "$build" 2>/dev/null || bad=1
else
    echo "== clang-tidy: not installed, left out"
fi

if command -v cppcheck >/dev/null 2>&1; then
    echo "== cppcheck"
    # Of an error that was returned it believes that it refers to all that the call was given.
    cppcheck --quiet --enable=portability --inline-suppr --error-exitcode=1 --std=c11 -I src/common -I src/host \
        -I "$build/src/host" '-DLIBBPF_OPTS(TYPE,NAME,...)=struct TYPE NAME = {__VA_ARGS__}' -D__x86_64__ --suppress=missingIncludeSystem --suppress=returnDanglingLifetime --suppress='*:/usr/include/*' -j 2 \
        src/common src/host || bad=1
else
    echo "== cppcheck: not installed, left out"
fi

if command -v shellcheck >/dev/null 2>&1; then
    echo "== shellcheck"
    git ls-files '*.sh' .ci/run | xargs shellcheck "$build/tools/seep" || bad=1
else
    echo "== shellcheck: not installed, left out"
fi

echo "== tests/lint"
SEEP_BUILD=$build "${PYTHON:-/usr/bin/python3}" -m pytest -q -p no:cacheprovider tests/lint || bad=1
exit $bad
