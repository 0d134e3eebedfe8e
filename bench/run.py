#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What tracing costs: measures seep beside its peers and writes the table and the plots. `make bench` runs
all of it; ONLY=micro,real a part, RUNS=n more or fewer repetitions.

All tools of a case run in turn, round by round, in one run of this program; figures are medians with
their range. The raw results stay in BUILD/bench/performance.json. A part that is not run keeps its figures of the
last time, with their date and commit; the table in docs/ is written when there are figures of all parts.
"""
import argparse
import datetime
import json
import os
import shutil
import signal
import sys
import tempfile
import time

import bpf
import common
import growth
import memory
import micro
import parts
import peers
import processes
import real
import report
import reports
import scanning

PARTS = {"micro": micro.run_micro, "threads": micro.run_threads, "real": real.run_real,
         "memory": memory.run_memory, "start": memory.run_start, "growth": growth.run_growth,
         "processes": processes.run_processes, "bpf": bpf.run_bpf, "scan": scanning.run_scan,
         "parts": parts.run_parts, "reports": reports.run_reports}


class Context:
    """What every part needs: paths, workloads, tools, options."""

    def __init__(self, options, scratch):
        self.folder = os.path.join(os.path.abspath(options.build), "bench")
        self.scratch = scratch
        self.runs, self.quick = options.runs, options.quick
        self.programs = options.programs.split(",") if options.programs else None
        self.environment = common.clean_environment()
        self.seep = os.path.join(os.path.abspath(options.build), "seep")
        self.library = os.path.join(os.path.abspath(options.build), "libseep.so")
        if not os.path.exists(self.library):
            self.library = os.path.join(os.path.abspath(options.build), "src/tracee/preload/libseep.so")
        if not os.path.exists(self.library):
            raise SystemExit("bench: %s has no libseep.so: run 'make build' first" % options.build)
        if not os.path.exists(self.seep):
            self.seep = None
        self.built = common.build_workloads(self.folder)
        self.plain = self.built["plain"]
        self.tools = peers.find_all(self, self.folder)


def read_options():
    parser = argparse.ArgumentParser(description="Measures what tracing costs, beside other tools.")
    parser.add_argument("--build", default=os.path.join(common.ROOT, "build"), help="the build to measure")
    parser.add_argument("--only", default="", help="parts, with commas: " + ",".join(PARTS))
    parser.add_argument("--programs", default="", help="of the real programs, only those with these words in their names")
    parser.add_argument("--runs", type=int, default=0, help="repetitions (default 5; with --quick 3)")
    parser.add_argument("--quick", action="store_true", help="without peers, fewer repetitions: a few minutes")
    parser.add_argument("--output", help="folder of the table and the plots (default: docs, when all parts are there)")
    options = parser.parse_args()
    options.parts = options.only.split(",") if options.only else list(PARTS)
    for part in options.parts:
        if part not in PARTS:
            parser.error("no part is called '%s' (%s)" % (part, ", ".join(PARTS)))
    options.runs = options.runs or (3 if options.quick else 5)
    return options


def main():
    options = read_options()
    # So that a terminated run, too, ends what it started and removes its files.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    begin = time.monotonic()
    raw = os.path.join(options.build, "bench")
    os.makedirs(raw, exist_ok=True)
    path = os.path.join(raw, "performance.json")
    results = json.load(open(path, encoding="utf-8")) if os.path.exists(path) else {}
    scratch = tempfile.mkdtemp(prefix="seep-bench.")
    try:
        context = Context(options, scratch)
        stamp = {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
                 "commit": common.commit(), "runs": options.runs, "quick": options.quick, "machine": common.machine(),
                 "tools": {name: {"what": tool.text, "version": tool.version()} for name, tool in context.tools.items()}}
        for part in options.parts:
            say_part = time.monotonic()
            common.say("---- %s" % part)
            try:
                results[part] = {"made": stamp, "results": PARTS[part](context)}
            except common.Failed as trouble:
                common.say("skipped: %s: %s" % (part, trouble))
                continue
            common.say("---- %s: %.0f s" % (part, time.monotonic() - say_part))
            with open(path, "w", encoding="utf-8") as file:
                json.dump(results, file, indent=1)
                file.write("\n")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    missing = [part for part in PARTS if part not in results]
    output = options.output or (raw if missing else os.path.join(common.ROOT, "docs"))
    os.makedirs(output, exist_ok=True)
    report.write(results, output)
    common.say("bench: %.0f s; the table is in %s%s" % (
        time.monotonic() - begin, os.path.join(output, "performance-table.md"),
        "; not measured yet: " + ", ".join(missing) if missing else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
