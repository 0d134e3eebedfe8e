#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What an advice promises, and what doing it in the source saves: the programs of tests/live/advise_plants.c.

    /usr/bin/python3 bench/advise.py [--build build] [--runs 9]

Time is that of the processor, the least of the runs, of the untraced program before and after; memory its peak.
"""
import argparse
import json
import os
import subprocess
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "live", "advise_plants.c")
KINDS = {"STACK": "stack", "RESERVE": "reserve", "BUFFER": "buffer", "ARENA": "arena", "POOL": "pool", "PACK": "pack"}


def cpu_ms(program, runs):
    least = float("inf")
    for _ in range(runs):
        process = subprocess.Popen([program], stdout=subprocess.DEVNULL)
        usage = os.wait4(process.pid, 0)[2]
        process.returncode = 0
        least = min(least, usage.ru_utime + usage.ru_stime)
    return least * 1e3


def peak_mib(seep, program):
    """By seep: a child of Python would begin with Python's own peak."""
    done = subprocess.run([seep, "run", "--allocator", "next,next", "--rounds", "3", "--json", "--", program],
                          check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return json.loads(done.stderr)["allocators"][0]["peak_rss_bytes"] / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    seep = os.path.abspath(os.path.join(options.build, "seep"))
    print("| advice | promised | saved | of it |\n| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for plant, kind in KINDS.items():
            programs = [os.path.join(folder, plant + fixed) for fixed in ("", "-DFIXED")]
            for program, fixed in zip(programs, ("-DPLAIN", "-DFIXED")):
                subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-w", "-D" + plant, fixed, SOURCE, "-o", program], check=True)
            trace = os.path.join(folder, plant + ".seep")
            subprocess.run([seep, "run", "-q", "--scan", "no", "--mode", "record", "-o", trace, "--", programs[0]], check=True,
                           stdout=subprocess.DEVNULL)
            done = subprocess.run([seep, "advise", "--json", trace], check=True, stdout=subprocess.PIPE)
            row = next((row for row in json.loads(done.stdout)["advice"] if row["kind"] == kind), None)
            if not row:
                print("| %s | none | | |" % kind)
                continue
            if kind == "pack":
                before, after = [peak_mib(seep, program) for program in programs]
                promised, unit = row["saved_bytes"] / 2**20, "MiB"
            else:
                before, after = [cpu_ms(program, options.runs) for program in programs]
                promised, unit = row["saved_ns"] / 1e6, "ms"
            saved = before - after
            print("| %s | %.1f %s | %.1f %s | %.0f %% |" % (kind, promised, unit, saved, unit, saved / promised * 100))


if __name__ == "__main__":
    main()
