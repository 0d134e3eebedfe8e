# SPDX-License-Identifier: BSD-2-Clause
"""The micro benchmark and the threads: our own workloads, which time themselves and print JSON."""
import json

from common import Failed, figure, interleave, say, take

# name, program, arguments, which peers, budget: what one operation is stands in pairs.c.
ALL = ("heaptrack", "heaptrack raw", "memcheck", "lsan-gcc", "lsan-clang", "unw_step")
FAST = ("heaptrack raw", "lsan-gcc", "lsan-clang")
PAIRS = [
    ("depth 5", "pairs", ["-d", "5"], ALL),
    ("depth 20", "pairs", ["-d", "20"], ALL),
    ("depth 60", "pairs", ["-d", "60"], ALL),
    ("depth 200", "pairs", ["-d", "200"], ALL),
    ("1 live block", "pairs", ["-l", "1"], ALL),
    ("1,000,000 live blocks", "pairs", ["-l", "1000000", "-t", "150"], FAST),
    ("path changes in 1 frame", "pairs", ["-s", "change", "-k", "1"], ALL),
    ("path changes in 3 frames", "pairs", ["-s", "change", "-k", "3"], ALL),
    ("path changes in 10 frames", "pairs", ["-s", "change", "-k", "10"], ALL),
    ("recursion to 64", "pairs", ["-s", "recursion"], ALL),
    ("C++ new and delete", "pairs_cxx", [], ALL),
    ("calloc", "pairs", ["-s", "calloc"], ALL),
    ("realloc", "pairs", ["-s", "realloc"], ALL),
]
# Each operation takes another of 2^n sites, in an order without neighbours; 41 frames deep.
SITES = [("%s sites" % format(1 << bits, ","), "pairs", ["-s", "sites", "-d", "41", "-b", str(bits)],
          ("heaptrack raw", "lsan-gcc", "lsan-clang") if bits < 20 else ("lsan-gcc", "lsan-clang"))
         for bits in (4, 8, 12, 16, 20)]
THREADS = [
    ("pairs, 1 thread", "pairs", ["-j", "1", "-w", "-t", "100"], ALL),
    ("pairs, 2 threads", "pairs", ["-j", "2", "-t", "100"], ALL),
    ("pairs, 64 threads (CPU time)", "pairs", ["-j", "64", "-n", "50000", "-l", "100"], FAST),
    ("short-lived threads, 1,000", "patterns", ["-p", "short", "-j", "8", "-n", "1000"], FAST),
    ("short-lived threads, 10,000", "patterns", ["-p", "short", "-j", "8", "-n", "10000"], FAST),
    ("producer and consumer", "patterns", ["-p", "handoff", "-j", "1", "-n", "400000"], FAST),
    ("batches freed elsewhere (xmalloc-like)", "patterns", ["-p", "exchange", "-j", "2", "-n", "400000"], FAST),
    ("server hand-over (larson-like)", "patterns", ["-p", "server", "-j", "2", "-n", "1000000"], FAST),
    ("shared slots (mstress-like)", "patterns", ["-p", "stress", "-j", "2", "-n", "400000"], FAST),
]


def run_one(context, tool, program, arguments, timeout):
    command, environment, preload = tool.wrap(context, [context.built[tool.variant][program]] + arguments,
                                              dict(context.environment))
    taken = take(context, command, environment, timeout, preload)
    # Some tools print lines of their own on the program's output.
    for line in open(taken.output, encoding="utf-8", errors="replace"):
        if line.startswith("{"):
            return json.loads(line)
    raise Failed("no result")


def run_cases(context, cases, runs, timeout=60):
    results = []
    for name, program, arguments, peers in cases:
        say("%s" % name)
        names = ["untraced", "seep", "seep sampled"] + ([] if context.quick else list(peers))
        tools = [context.tools[n] for n in names if n in context.tools]
        taken = interleave(tools, runs, lambda t: run_one(context, t, program, arguments, timeout), name)
        results.append({"case": name, "command": " ".join([program] + arguments), "tools": {
            tool: values if "failed" in values else
            {key: figure([one[key] for one in values]) for key in values[0]}
            for tool, values in taken.items()}})
    return results


def run_micro(context):
    return {"pairs": run_cases(context, PAIRS, context.runs), "sites": run_cases(context, SITES, context.runs)}


def run_threads(context):
    return {"cases": run_cases(context, THREADS, context.runs)}
