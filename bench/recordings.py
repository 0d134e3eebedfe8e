#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What recordings cost: bytes an event, time over live mode, and how fast they are read; heaptrack beside it.

    recordings.py --build DIR [--rounds N] [--bounds | --parquet]

Each round runs every program untraced, in live mode, recorded by the tool, and recorded by the library alone, one after the other;
the ratio of a round is taken within it, and the median counts. Times are of the wall clock, but for the column of processor time, which
is of the program and the tool together: other work of the machine hardly changes it. What it prints is the table of docs/recording.md.

--bounds says instead where the time over live mode goes: recorded, recorded by a library that reads no clock (it is built for that),
recorded with --drop, where no thread waits for the tool, and the last two together.

--parquet says what `seep export --format parquet` makes of each recording: bytes a row, and processor time a row.
"""
import argparse
import json
import math
import os
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

SQL = "create table t(a,b); with recursive n(i) as (select 1 union all select i+1 from n where i<60000) " \
      "insert into t select i, hex(i*7919) from n; create index i on t(b); select count(*) from t x join t y on x.b=y.b;"
CXX = "#include <map>\n#include <string>\n#include <regex>\n#include <iostream>\n" \
      "std::map<std::string, std::regex> m;\nint main() { m[\"a\"] = \"b*\"; std::cout << m.size(); }\n"
SERVER = """
#include <stdint.h>
#include <stdlib.h>
int main(void) {
    static void *held[4096];
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 1500000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        void **place = &held[x % 4096];
        free(*place);
        *place = malloc(16 + (x >> 20) % (x % 7 ? 300 : 9000));
    }
    return 0;
}
"""
PROGRAMS = {
    "jq": (["jq", "-n", "[range(60000)|{a:., b:tostring}]|map(.b)|length"], None),
    "sqlite3": (["sqlite3", ":memory:", SQL], None),
    "python3": (["/usr/bin/python3", "-c", "import json; x = [{'a': i, 'b': str(i)} for i in range(60000)]; json.loads(json.dumps(x))"], None),
    "perl": (["perl", "-e", "my %h; $h{$_ % 5000} .= 'x' x ($_ % 50) for 1..400000; my @k = sort keys %h; print scalar(@k)"], None),
    "cc1plus": (["g++", "-O1", "-S", "-o", "/dev/null", "-x", "c++", "-"], CXX),
}


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(command, stdin, environment=None):
    """(seconds, of processor time)"""
    begin, cpu = time.monotonic(), cpu_of_children()
    done = subprocess.run(command, input=stdin.encode() if stdin else None, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env=dict(os.environ, PYTHONMALLOC="malloc", **(environment or {})), check=False)
    assert done.returncode == 0, command
    return time.monotonic() - begin, cpu_of_children() - cpu


def events_of(seep, trace):
    done = subprocess.run([seep, "report", "--json", "--top", "1", trace], stdout=subprocess.PIPE, check=True)
    whole = json.loads(done.stdout)
    processes = whole.get("processes") or [whole]
    lost = sum(p["health"]["lost"].get("event", 0) for p in processes)
    return sum(p["totals"]["allocations"] + p["totals"]["frees"] for p in processes), lost


def measure(build, folder, name, command, stdin, rounds):
    seep = os.path.join(build, "seep")
    trace, live = os.path.join(folder, "recorded.seep"), os.path.join(folder, "live.seep")
    alone = os.path.join(folder, "alone")
    ratios, walls, alone_walls, cpus = [], [], [], []
    for _ in range(rounds):
        plain, _ = run(command, stdin)
        of_live, live_cpu = run([seep, "run", "-q", "--scan", "no", "-o", live, "--"] + command, stdin)
        recorded, recorded_cpu = run([seep, "run", "-q", "--scan", "no", "--mode", "record", "-o", trace, "--"] + command, stdin)
        shutil.rmtree(alone, ignore_errors=True)
        os.mkdir(alone)
        by_itself, _ = run(command, stdin, {"SEEP_MODE": "record", "SEEP_OUT": alone + "/%p.seep",
                                            "LD_PRELOAD": os.path.join(build, "libseep-record.so")})
        ratios.append(recorded / of_live)
        cpus.append(recorded_cpu / live_cpu)
        walls.append((plain, of_live, recorded))
        alone_walls.append(by_itself / of_live)
    events, lost = events_of(seep, trace)
    size = os.path.getsize(trace) - os.path.getsize(live)
    alone_size, alone_events = written_alone(alone)
    over = statistics.median(recorded - of_live for _, of_live, recorded in walls)
    best = min(timed(seep, trace) for _ in range(3))
    packed = heaptrack(folder, command, stdin)
    return {"program": name, "events": events, "lost": lost, "bytes": size / events, "alone": alone_size / max(alone_events, 1),
            "over": statistics.median(ratios), "cpu": statistics.median(cpus), "alone_over": statistics.median(alone_walls), "ns": over * 1e9 / events,
            "read": events / best / 1e6, "heaptrack": packed / events if packed else None}


def build_without_clock(folder):
    """libseep-record.so whose stamps go on by one: what is left of the time is not the clock's."""
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    subprocess.run(["meson", "setup", "-Dc_args=-DSEEP_WITHOUT_CLOCK", folder, source],
                   stdout=subprocess.DEVNULL, check=True)
    subprocess.run(["ninja", "-C", folder, "libseep-record.so"], stdout=subprocess.DEVNULL, check=True)
    return os.path.join(folder, "libseep-record.so")


def measure_bounds(build, folder, programs, rounds):
    """Ratios to live mode, and their geometric means."""
    other = os.path.join(folder, "other")
    os.mkdir(other)
    for file in ("seep", "libseep.so"):
        shutil.copy(os.path.join(build, file), other)
    shutil.copy(build_without_clock(os.path.join(folder, "without-clock")), other)
    ways = {"recorded": (build, []), "no clock": (other, []), "--drop": (build, ["--drop"]), "both": (other, ["--drop"])}
    print("| program |", " | ".join(ways), "|\n| --- |", " | ".join("---:" for _ in ways), "|", flush=True)
    means = {way: [] for way in ways}
    for name, (command, stdin) in programs.items():
        ratios = {way: [] for way in ways}
        for _ in range(rounds):
            def timed_run(of_build, *arguments, command=command, stdin=stdin):
                trace = os.path.join(folder, "trace.seep")
                return run([os.path.join(of_build, "seep"), "run", "-q", "--scan", "no", *arguments, "-o", trace, "--"] + command, stdin)[0]
            of_live = timed_run(build)
            for way, (of_build, arguments) in ways.items():
                ratios[way].append(timed_run(of_build, "--mode", "record", *arguments) / of_live)
        for way in ways:
            means[way].append(statistics.median(ratios[way]))
        print("| %s | %s |" % (name, " | ".join("%.2f" % means[way][-1] for way in ways)), flush=True)
    print("| geometric mean | %s |" % " | ".join("%.2f" % mean(means[way]) for way in ways))


def measure_parquet(build, folder, programs):
    seep, trace, table = os.path.join(build, "seep"), os.path.join(folder, "recorded.seep"), os.path.join(folder, "events.parquet")
    print("| program | rows | bytes/row | us/row |\n| --- | ---: | ---: | ---: |")
    sizes = []
    for name, (command, stdin) in programs.items():
        run([seep, "run", "-q", "--scan", "no", "--mode", "record", "-o", trace, "--"] + command, stdin)
        rows = int(subprocess.run([seep, "sql", "--csv", trace, "select count(*) from event"], stdout=subprocess.PIPE, check=True).stdout.split()[-1])
        _, cpu = run([seep, "export", "--format", "parquet", trace, "-o", table], None)
        sizes.append(os.path.getsize(table) / rows)
        print("| %s | %s | %.2f | %.2f |" % (name, format(rows, ","), sizes[-1], cpu * 1e6 / rows), flush=True)
    print("| geometric mean | | %.2f | |" % mean(sizes))


def written_alone(folder):
    """Bytes and number of the events in the files of the library: what stands before the image of the heap."""
    size = events = 0
    for file in os.listdir(folder):
        with open(os.path.join(folder, file), "rb") as raw:
            at = 16
            while len(head := os.pread(raw.fileno(), 24, at)) == 24:
                kind, length, _, nr = struct.unpack("<QQII", head)
                if kind == 2**64 - 2:
                    size, events = size + length + 16, events + nr
                elif kind >= 2**64 - 3:
                    break
                at += 16 + length
    return size, events


def timed(seep, trace):
    """Seconds of CPU that one pass over the events takes: of history, less what opening the file takes. There are no debug files
    beside the programs: to decompress that of libc takes as long as a million events."""
    def cpu(*command):
        before = cpu_of_children()
        subprocess.run([seep, *command, trace], stdout=subprocess.DEVNULL, check=True, env=dict(os.environ, SEEP_DEBUG_DIR=empty))
        return cpu_of_children() - before
    with tempfile.TemporaryDirectory() as empty:
        return max(cpu("history", "--top", "1") - cpu("report", "--top", "1"), 0.001)


def heaptrack(folder, command, stdin):
    if not shutil.which("heaptrack"):
        return None
    run(["heaptrack", "-o", os.path.join(folder, "heaptrack")] + command, stdin)
    files = [file for file in os.listdir(folder) if file.startswith("heaptrack.")]
    sizes = [os.path.getsize(os.path.join(folder, file)) for file in files]
    for file in files:
        os.unlink(os.path.join(folder, file))
    return sum(sizes)


def mean(values):
    return math.exp(sum(math.log(max(value, 1e-9)) for value in values) / len(values))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--build", required=True)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--bounds", action="store_true")
    arguments.add_argument("--parquet", action="store_true")
    options = arguments.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "server.c"), "w", encoding="utf-8") as file:
            file.write(SERVER)
        server = os.path.join(folder, "server")
        subprocess.run(["gcc", "-O1", "-fno-builtin", "-o", server, os.path.join(folder, "server.c")], check=True)
        programs = dict(PROGRAMS, **{"server, random sizes": ([server], None)})
        found = {name: program for name, program in programs.items() if shutil.which(program[0][0])}
        if options.bounds:
            measure_bounds(os.path.abspath(options.build), folder, found, options.rounds)
            return 0
        if options.parquet:
            measure_parquet(os.path.abspath(options.build), folder, found)
            return 0
        print("| program | events | bytes/event | alone | time / live mode | CPU / live mode | ns/event over it | alone / live mode | "
              "read, events/us | heaptrack, bytes/event |")
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        for name, (command, stdin) in programs.items():
            if not shutil.which(command[0]):
                print("skipped: no", command[0], file=sys.stderr)
                continue
            row = measure(os.path.abspath(options.build), folder, name, command, stdin, options.rounds)
            rows.append(row)
            print("| %s | %s%s | %.2f | %.1f | %.2f | %.2f | %.0f | %.2f | %.0f | %s |" % (
                name, format(row["events"], ","), " (%d lost)" % row["lost"] if row["lost"] else "", row["bytes"], row["alone"], row["over"],
                row["cpu"], row["ns"], row["alone_over"], row["read"], "%.2f" % row["heaptrack"] if row["heaptrack"] else "-"), flush=True)
    print("| geometric mean | | %.2f | %.1f | %.2f | %.2f | | %.2f | %.0f | |" % (
        mean([row["bytes"] for row in rows]), mean([row["alone"] for row in rows]), mean([row["over"] for row in rows]),
        mean([row["cpu"] for row in rows]), mean([row["alone_over"] for row in rows]), mean([row["read"] for row in rows])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
