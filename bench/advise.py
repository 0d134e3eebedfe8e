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


def cost(program, runs):
    least, peak = float("inf"), 0
    for _ in range(runs):
        process = subprocess.Popen([program], stdout=subprocess.DEVNULL)
        usage = os.wait4(process.pid, 0)[2]
        process.returncode = 0
        least, peak = min(least, usage.ru_utime + usage.ru_stime), usage.ru_maxrss
    return least * 1e3, peak


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
            (before, before_kib), (after, after_kib) = [cost(program, options.runs) for program in programs]
            if kind == "pack":
                promised, saved, unit = row["saved_bytes"] / 2**20, (before_kib - after_kib) / 1024, "MiB"
            else:
                promised, saved, unit = row["saved_ns"] / 1e6, before - after, "ms"
            print("| %s | %.1f %s | %.1f %s | %.0f %% |" % (kind, promised, unit, saved, unit, saved / promised * 100))


if __name__ == "__main__":
    main()
