#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What `seep run` adds to the library: receiving, the scan at the end, saving. CPU time of all processes, in turn."""
import argparse
import os
import resource
import statistics
import subprocess
import tempfile

import common

PROGRAMS = {
    "bash": ["bash", "-c", "for ((i = 0; i < 243; i++)); do (:); done"],
    "pdftotext": ["pdftotext", "/usr/share/doc/ledger/ledger3.pdf", "/dev/null"],
    "R": ["R", "--no-echo", "--vanilla", "-e", "x <- rnorm(1e5); print(mean(x))"],
    "node": ["node", "-e", "let a = []; for (let i = 0; i < 2e5; i++) a.push({i}); console.log(a.length)"],
    "python3": ["python3", "-c", "print(len([str(i) for i in range(200000)]))"],
}


def cpu_ms():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (usage.ru_utime + usage.ru_stime)


def once(command, **more):
    before = cpu_ms()
    subprocess.run(command, env=dict(common.clean_environment(), **more), check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return cpu_ms() - before


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    library = os.path.join(build, "libseep.so")
    with tempfile.TemporaryDirectory() as folder:
        run = [os.path.join(build, "seep"), "run", "-q", "-o", os.path.join(folder, "out.seep")]
        for name in options.programs or PROGRAMS:
            command = PROGRAMS[name]
            if not common.program(command[0]) or not all(os.path.exists(word) for word in command if word[0] == "/"):
                print("skipped: %s, it is not on this machine" % name)
                continue
            taken = {"alone": [], "library": [], "--scan no": [], "seep run": []}
            for _ in range(options.runs):
                taken["alone"].append(once(command))
                taken["library"].append(once(command, LD_PRELOAD=library, SEEP_OUT=os.devnull))
                taken["--scan no"].append(once(run + ["--scan", "no", "--"] + command))
                taken["seep run"].append(once(run + ["--"] + command))
            median = {way: statistics.median(values) for way, values in taken.items()}
            added = median["seep run"] - median["library"]
            print("%-10s %s; seep run adds %.0f ms, %.0f %%; load %.0f" % (
                name, ", ".join("%s %.0f ms" % pair for pair in median.items()), added, 100 * added / median["alone"],
                os.getloadavg()[0]))


if __name__ == "__main__":
    main()
