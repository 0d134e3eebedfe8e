#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""make soak ONLY=attach: as many events as this machine's processors can make, under seep attach (SECONDS=n, default 60).

Threads that do nothing but malloc and free, each at a stack of its own depth, on a private copy of libc. With the default buffer
nothing may be lost, and every call must be counted; with one that is much too small, what was seen and what was counted
as lost must be all calls. Prints a table; exit status 1 when something does not hold. Needs root.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import bpf
import common

LIVE = 1000  # blocks that each thread has at a time: as many allocations and frees more


class Soak:
    def __init__(self, build, scratch):
        self.environment = common.clean_environment()
        self.seep = os.path.join(os.path.abspath(build), "seep")
        self.trace = os.path.join(scratch, "attach.seep")
        self.private = bpf.Private(common.build_workloads(os.path.join(os.path.abspath(build), "bench"))["plain"]["pairs"])

    def run(self, threads, pairs, depth, options=()):
        """{"calls", "seen", "lost", "others", "seconds", "cpu_s", "tracer_s", "tracer_mib"} of so many pairs in each thread."""
        process = subprocess.Popen([self.private.program, "-a", "-d", str(depth), "-j", str(threads), "-n", str(pairs), "-l", str(LIVE)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.private.environment(self.environment))
        while self.private.libc not in open("/proc/%d/maps" % process.pid, encoding="utf-8").read():
            pass
        command = [self.seep, "attach", *options, "--output", self.trace, str(process.pid), "100000s"]
        tracer = bpf.Tracer(command, "Attaching to pid", self.environment)
        begin = time.monotonic()
        process.stdin.write(b"\n")
        process.stdin.close()
        _, status, program = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
        if status:
            raise SystemExit("soak: the program failed")
        tracer.process.stdin.close()
        tracer.process.stdout.read()
        _, status, used = os.wait4(tracer.process.pid, 0)
        if status:
            raise SystemExit("soak: seep attach failed")
        report = json.loads(subprocess.run([self.seep, "report", "--json", self.trace], stdout=subprocess.PIPE, check=True,
                                           env=self.environment).stdout)
        totals, health = report["totals"], report["health"]
        seen = totals["allocations"] + totals["by_release"].get("free", 0) + totals["unknown_frees"]
        lost = health["lost"].get("ring", 0)
        others = {name: value for name, value in health["lost"].items() if name not in ("ring", "free_unseen")}
        return {"threads": threads, "calls": 2 * threads * (pairs + LIVE), "seen": seen, "lost": lost, "others": others,
                "seconds": seconds, "cpu_s": program.ru_utime + program.ru_stime, "tracer_s": used.ru_utime + used.ru_stime,
                "tracer_mib": used.ru_maxrss / 1024}


def show(what, row):
    print("%-28s %7d %8.1f %12d %12d %10d %8.2f %12.2f %9.1f %10.1f" % (
        what, row["threads"], row["seconds"], row["calls"], row["seen"], row["lost"], row["calls"] / row["seconds"] / 1e6,
        row["calls"] / row["cpu_s"] / 1e6, row["tracer_s"], row["tracer_mib"]), flush=True)


def main():
    parser = argparse.ArgumentParser(description="seep attach under as many events as this machine can make.")
    parser.add_argument("--build", default="build")
    parser.add_argument("--seconds", type=int, default=60, help="of each run with the default buffer")
    parser.add_argument("--threads", default="1,2", help="runs with so many threads")
    parser.add_argument("--depth", type=int, default=10, help="frames of each stack")
    options = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("soak: seep attach needs root here")
    held = True
    with tempfile.TemporaryDirectory(prefix="seep-soak-") as scratch:
        soak = Soak(options.build, scratch)
        try:
            print("%-28s %7s %8s %12s %12s %10s %8s %12s %9s %10s" % ("run", "threads", "seconds", "calls", "seen", "lost", "M/s",
                                                                      "M/s of CPU", "tracer s", "tracer MiB"))
            for threads in map(int, options.threads.split(",")):
                # A short one says how fast it goes, and what libc and the threads allocate besides.
                short = soak.run(threads, 50000, options.depth)
                besides = short["seen"] + short["lost"] - short["calls"]
                pairs = int(50000 * options.seconds / short["seconds"])
                row = soak.run(threads, pairs, options.depth)
                show("default buffer", row)
                held &= row["lost"] == 0 and not row["others"] and row["seen"] == row["calls"] + besides
                row = soak.run(threads, max(pairs // 10, 50000), options.depth, ["--buffer", "4K"])
                show("--buffer 4K", row)
                # A few more: the end of a process and what it maps are news that may find no room, too.
                held &= row["lost"] > 0 and 0 <= row["seen"] + row["lost"] - row["calls"] - besides <= 4
        finally:
            soak.private.close()
    print("nothing was lost, and every call is counted" if held else "soak: SOMETHING DOES NOT HOLD")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
