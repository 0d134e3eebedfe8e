# SPDX-License-Identifier: BSD-2-Clause
"""How long reports and exports of big traces take (tests/golden/big_trace.c makes them), and in how much memory."""
import os
import subprocess

import common
from scanning import Heap

TRACES = (("1,000 sites, 80 deep", 1000, 80), ("15,000 sites, 80 deep", 15000, 80),
          ("100,000 sites, 300 deep", 100000, 300))
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


def run_reports(context):
    made = os.path.join(os.path.dirname(context.seep), "tests", "golden", "big_trace") if context.seep else ""
    if not os.path.exists(made):
        raise common.Failed("this build has no tests/golden/big_trace")
    trace = os.path.join(context.scratch, "big.seep")
    cases = []
    for title, sites, depth in TRACES:
        subprocess.run([made, trace, str(sites), str(depth)], check=True, stdout=subprocess.DEVNULL)
        commands = [(name, ["report", trace, "--format", name]) for name in FORMATS] + [
            ("suppressions", ["report", trace, "--gen-suppressions=lsan"]), ("diff", ["diff", trace, trace]),
            ("diff json", ["diff", trace, trace, "--json"])]
        cases += [measure(context, title, name, words) for name, words in commands]
        # A process with this number of sites, each with one block: bench/workloads/held.c.
        with Heap(context, [str(sites), str(depth)], "held") as pid:
            cases.append(measure(context, title, "scan", ["scan", str(pid)]))
    return {"cases": cases}
