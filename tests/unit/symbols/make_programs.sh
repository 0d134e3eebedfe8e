#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Makes the programs that test_symbols*.c looks at: make_programs.sh OUT_DIR SOURCE_DIR CC CXX
# Flags are given here, not by meson, because the tests depend on them. What a machine cannot make
# (no clang, no xz) is left out: the test prints that it is missing.
set -eu
mkdir -p "$1"
out=$(cd "$1" && pwd)
src=$(cd "$2" && pwd)
# A cache of compilations may hand out one of another folder, whose name is then in the debug information.
export CCACHE_DISABLE=1
cc=$3
cxx=$4
rm -rf "$out/debug"
mkdir -p "$out/debug" "$out/.debug" "$out/server"
cd "$out"
# A relative source path: what the debug information says must be made absolute with its directory.
ln -sfn "$src" sources

c() { # NAME FLAGS...
    name=$1
    shift
    $cc -Isources/include -O2 -fcf-protection=none "$@" -o "$name" sources/inlined.c
}

c c_dwarf5 -g -gdwarf-5
c c_dwarf4 -g -gdwarf-4
# Variables of all kinds of types, and local ones that hold.
$cc -O1 -g -w -D_GNU_SOURCE -no-pie -o c_typed sources/../../live/typed.c
$cc -O0 -g -w -D_GNU_SOURCE -no-pie -pthread -o c_locals sources/../../live/typed_stack.c
c c_packed -g -gz=zlib
c c_static_pie -g -static-pie || rm -f c_static_pie
c c_fixed -g -no-pie
c c_table
c c_lib.so -g0 -shared -fPIC
strip --strip-all c_lib.so
cp c_table c_nothing
strip --strip-all c_nothing
$cc -Isources/include -O2 -fcf-protection=none -g -gdwarf-5 -gsplit-dwarf -c -o c_split.o sources/inlined.c
$cc -o c_split c_split.o
# The same, made in a folder that is gone and that anybody can make again.
away=/tmp/seep-split-$(pwd | cksum | cut -d' ' -f1)
$cc -Isources/include -O2 -fcf-protection=none -g -gdwarf-5 -gsplit-dwarf "-fdebug-prefix-map=$(pwd)=$away" -c -o c_split_away.o \
    sources/inlined.c
$cc -o c_split_away c_split_away.o
echo "$away" >split_away
$cc -shared -nostdlib -g0 -o labels.so sources/labels.S
$cc -shared -nostdlib -g -o labels_lines.so sources/labels.S
$cxx -O2 -g -gdwarf-5 -o cxx_dwarf5 sources/shapes.cpp
$cxx -O0 -g -gdwarf-4 -o cxx_plain4 sources/shapes.cpp
$cxx -O2 -g -flto -o cxx_lto sources/shapes.cpp || rm -f cxx_lto
if command -v clang >/dev/null; then
    clang -Isources/include -O2 -g -gdwarf-4 -o clang_dwarf4 sources/inlined.c || rm -f clang_dwarf4
    clang -Isources/include -O2 -gline-tables-only -o clang_lines sources/inlined.c || rm -f clang_lines
    clang++ -O2 -g -o clangxx sources/shapes.cpp || rm -f clangxx
fi

build_id() {
    readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: \([0-9a-f]*\).*/\1/p'
}

# stripped NAME DEBUG_FILE FLAGS...: a stripped program and its debug information in another file.
stripped() {
    name=$1
    file=$2
    shift 2
    c "$name" -g "-DVARIANT_$name" "$@"
    mkdir -p "$(dirname "$file")"
    objcopy --only-keep-debug "$name" "$file"
    strip --strip-all "$name"
}

stripped s_link .debug/s_link.debug
objcopy --add-gnu-debuglink=.debug/s_link.debug s_link
stripped s_crc s_crc.debug -Wl,--build-id=none
objcopy --add-gnu-debuglink=s_crc.debug s_crc
stripped s_bad_crc s_bad_crc.debug -Wl,--build-id=none
objcopy --add-gnu-debuglink=s_bad_crc.debug s_bad_crc
printf 'x' >>s_bad_crc.debug
# The linker's ids are of the contents: make those programs differ that must not share one.
stripped s_by_id s_by_id.tmp -Wl,--build-id=0x1122334455667788990011223344556677889900
mkdir -p debug/.build-id/11
mv s_by_id.tmp debug/.build-id/11/22334455667788990011223344556677889900.debug
stripped s_mirror s_mirror.tmp -Wl,--build-id=0x2222334455667788990011223344556677889900
mkdir -p "debug$out"
mv s_mirror.tmp "debug$out/s_mirror.debug"
stripped s_server server/s_server.debug -Wl,--build-id=0x3322334455667788990011223344556677889900
stripped s_server2 server/s_server2.debug -Wl,--build-id=0x4422334455667788990011223344556677889900

if command -v xz >/dev/null; then
    c s_mini -g0 -rdynamic
    nm s_mini | sed -n 's/.* [tT] \(.*\)/\1/p' | sort >mini.names
    objcopy --only-keep-debug s_mini mini.full
    objcopy -S --remove-section .gdb_index --keep-symbols=mini.names mini.full mini.debug
    xz -f --check=crc32 mini.debug
    strip --strip-all s_mini
    objcopy --add-section .gnu_debugdata=mini.debug.xz s_mini
fi
if command -v dwz >/dev/null; then
    cp cxx_dwarf5 z_one
    cp cxx_lto z_two 2>/dev/null || cp cxx_dwarf5 z_two
    dwz -m z_common.debug -M "$out/z_common.debug" z_one z_two || rm -f z_one z_two
fi

# A sysroot whose absolute link must be followed inside it.
mkdir -p root/usr/lib root/opt
cp c_dwarf5 root/usr/lib/prog
ln -sfn /usr/lib/prog root/opt/prog
touch stamp
