#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""How sure a comparison is: how often the same allocator twice is "no difference", and one made 3 % slower is found.

    /usr/bin/python3 bench/replay_sure.py [--build build] [--runs 100]

The slower one is glibc behind a library that works a little on each 64th malloc; how much for 3 % is measured first. It is
compared with the same library that does not work.
"""
import argparse
import json
import os
import subprocess
import tempfile

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "live")
LOOPS_TRIED = 2000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--runs", type=int, default=100)
    options = parser.parse_args()
    seep = os.path.abspath(os.path.join(options.build, "seep"))
    with tempfile.TemporaryDirectory() as folder:
        def compiled(source, name, *flags):
            path = os.path.join(folder, name)
            subprocess.run(["gcc", "-O1", "-fno-builtin", "-w", *flags, os.path.join(TESTS, source), "-o", path], check=True)
            return path

        def slower(loops):
            return compiled("replay_allocators.c", "slow-%d.so" % loops, "-shared", "-fPIC", "-DLOOPS=%d" % loops)

        def compare(first, second):
            done = subprocess.run([seep, "replay", "--json", "--allocator", first + "," + second, trace], check=True,
                                  stdout=subprocess.PIPE)
            return json.loads(done.stdout)["allocators"][1]

        program, trace = compiled("advise_plants.c", "program", "-DPOOL", "-DTIMES=50"), os.path.join(folder, "t.seep")
        subprocess.run([seep, "run", "-q", "--scan", "no", "--mode", "record", "-o", trace, "--", program], check=True,
                       stdout=subprocess.DEVNULL)
        still = slower(0)
        loops = round(LOOPS_TRIED * 0.03 / (compare(still, slower(LOOPS_TRIED))["ratio"] - 1))
        slow, same, found, ratios = slower(loops), 0, 0, []
        for _ in range(options.runs):
            same += not compare("glibc", "glibc")["differs"]
            row = compare(still, slow)
            found += row["differs"] and row["ratio"] > 1
            ratios.append(row["ratio"])
        print("the same twice: no difference in %d of %d" % (same, options.runs))
        print("%.1f %% slower: found in %d of %d" % ((sorted(ratios)[len(ratios) // 2] - 1) * 100, found, options.runs))


if __name__ == "__main__":
    main()
