# SPDX-License-Identifier: BSD-2-Clause
"""How long reports and exports of big traces take, and in how much memory: of many sites (tests/golden/big_trace.c makes
them), and of many processes."""
import os
import subprocess

import common
from scanning import Heap

TRACES = (("1,000 sites, 80 deep", 1000, 80), ("15,000 sites, 80 deep", 15000, 80),
          ("100,000 sites, 300 deep", 100000, 300))
PROCESSES = 1000
SUBSHELLS = "for ((i = 0; i < %d; i++)); do (:); done" % PROCESSES
FORMATS = ("text", "tree", "json", "csv", "pprof", "otlp", "folded", "sqlite", "dhat", "speedscope", "callgrind", "massif",
           "heaptrack", "dot")


def measure(context, title, name, words):
    runs = [common.take(context, [context.seep] + words, context.environment, 600) for _ in range(context.runs)]
    case = {"trace": title, "what": name, "bytes": os.path.getsize(runs[-1].output),
            "wall_s": common.figure([run.wall_s for run in runs]), "cpu_s": common.figure([run.cpu_s for run in runs]),
            "rss_kib": common.figure([run.rss_kib for run in runs])}
    common.say("reports: %s, %s: %.2f s (CPU %.2f s), %.0f MiB, %d bytes" % (
        title, name, case["wall_s"]["median"], case["cpu_s"]["median"], case["rss_kib"]["median"] / 1024, case["bytes"]))
    return case


def commands(trace, picture):
    return [(name, ["report", trace, "--format", name]) for name in FORMATS] + [
        ("by function", ["report", trace, "--by", "function"]), ("by line", ["report", trace, "--by", "line"]),
        ("suppressions", ["report", trace, "--gen-suppressions=lsan"]), ("html", ["html", trace, "-o", "-"]),
        ("plot", ["plot", trace, "--what", "flame", "-o", picture]),
        ("sql", ["sql", trace, "select sum(live_bytes) from site"]), ("growth", ["growth", trace, trace]),
        ("diff", ["diff", trace, trace]), ("diff json", ["diff", trace, trace, "--json"])]


def measure_all(context, title, trace):
    picture = os.path.join(context.scratch, "big.svg")
    return [measure(context, title, name, words) for name, words in commands(trace, picture)]


def run_reports(context):
    made = os.path.join(os.path.dirname(context.seep), "tests", "golden", "big_trace") if context.seep else ""
    if not os.path.exists(made):
        raise common.Failed("this build has no tests/golden/big_trace")
    trace = os.path.join(context.scratch, "big.seep")
    cases = []
    for title, sites, depth in TRACES:
        subprocess.run([made, trace, str(sites), str(depth)], check=True, stdout=subprocess.DEVNULL)
        cases += measure_all(context, title, trace)
        # A process with this number of sites, each with one block: bench/workloads/held.c.
        with Heap(context, [str(sites), str(depth)], "held") as pid:
            cases.append(measure(context, title, "scan", ["scan", str(pid)]))
    subprocess.run([made, trace, "100000", "300", "-", "64"], check=True, stdout=subprocess.DEVNULL)
    cases.append(measure(context, "100,000 sites, 64 moments", "html", ["html", trace, "-o", "-"]))
    if common.program("bash"):
        subprocess.run([context.seep, "run", "-q", "-o", trace, "--", common.program("bash"), "-c", SUBSHELLS], check=True,
                       env=context.environment)
        cases += measure_all(context, "{:,} processes".format(PROCESSES), trace)
    return {"cases": cases}
