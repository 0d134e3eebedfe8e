#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the first inputs of tests/fuzz/fuzz_ehabi.c from real files: a few functions, compiled in some ways by the
compilers for 32-bit ARM. Usage: make_ehabi_seeds.py DIRECTORY"""

import struct
import subprocess
import sys
import tempfile
from pathlib import Path

PT_LOAD, PT_ARM_EXIDX = 1, 0x70000001
SOURCE = """
struct held { held(); ~held(); int words[4]; };
extern "C" { void take(void *); double sum(double, double); void *room(int); }
int plain(int n) { held one; take(&one); return n; }
int large(int n) { char array[70000]; take(array); return array[n]; }
int any(int n) { char array[n]; take(array); return array[0]; }
double many(double a, double b, double c) { double d = sum(a, b), e = sum(b, c), f = sum(d, c); return a + b + c + d * e * f; }
int aligned(int n) { alignas(64) int array[64]; take(array); return array[n]; }
void leaf() {}
void ends() noexcept { take(room(1)); }
int catches() { try { take(room(2)); } catch (...) { return 1; } return 0; }
int variable(int n, ...) { __builtin_va_list list; __builtin_va_start(list, n); take(&list); __builtin_va_end(list); return n; }
"""
GCC = ["arm-linux-gnueabihf-g++"]
CLANG = ["clang++", "--target=arm-linux-gnueabihf"]
WAYS = {
    "gcc-O2": [*GCC, "-O2"],
    "gcc-O0": [*GCC, "-O0"],
    "gcc-arm": [*GCC, "-O1", "-marm", "-fno-omit-frame-pointer"],
    "clang-O2": [*CLANG, "-O2"],
    "clang-thumb": [*CLANG, "-O1", "-mthumb", "-fno-omit-frame-pointer"],
}


def seed(elf):
    """The first loaded segment as the object, at its own address."""
    offset, size, nr = struct.unpack_from("<I", elf, 28)[0], *struct.unpack_from("<HH", elf, 42)
    segments = [struct.unpack_from("<8I", elf, offset + i * size) for i in range(nr)]
    load = next(one for one in segments if one[0] == PT_LOAD)
    index = next(one for one in segments if one[0] == PT_ARM_EXIDX)
    start = load[2]
    return struct.pack("<4I", start, index[2] - start, index[5], 0) + elf[load[1] : load[1] + load[4]]


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        source, library = Path(made) / "seeds.cpp", Path(made) / "seeds.so"
        source.write_text(SOURCE)
        for name, command in WAYS.items():
            subprocess.run([*command, "-std=c++17", "-w", "-fPIC", "-shared", "-nostdlib", "-Wl,--build-id=none", "-s",
                            "-Wl,-z,max-page-size=4096", source, "-o", library], check=True)
            (folder / f"{name}.bin").write_bytes(seed(library.read_bytes()))


if __name__ == "__main__":
    main()
