# SPDX-License-Identifier: BSD-2-Clause
"""Resident memory, and the time a program takes to start."""
import json
import os
import subprocess

import common
from common import figure, interleave, say
from micro import run_one

BLOCKS = 10_000_000


def run_memory(context):
    blocks = BLOCKS // 10 if context.quick else BLOCKS
    results = {"blocks": [], "threads": []}
    peers = [] if context.quick else ["lsan-gcc", "lsan-clang", "heaptrack raw", "memcheck"]
    tools = [context.tools[n] for n in ["untraced", "seep"] + peers if n in context.tools]
    runs = min(context.runs, 3)
    for size in (24, 32, 100):
        name = "%s live blocks of %d bytes" % (format(blocks, ","), size)
        say(name)
        taken = interleave([t for t in tools if size == 32 or t.name in ("untraced", "seep")], runs,
                           lambda t: run_one(context, t, "memory", ["blocks", str(blocks), str(size)], 120), name)
        results["blocks"].append({"case": name, "blocks": blocks, "size": size, "tools": summary(taken)})
    few, many = 10, 510
    say("memory of a thread")
    for count in (few, many):
        taken = interleave([t for t in tools if t.name != "memcheck"], runs,
                           lambda t: run_one(context, t, "memory", ["threads", str(count)], 60), "threads")
        results["threads"].append({"threads": count, "tools": summary(taken)})
    return results


def summary(taken):
    return {tool: values if "failed" in values else {key: figure([one[key] for one in values]) for key in values[0]}
            for tool, values in taken.items()}


def run_start(context):
    """Start-up and end of /bin/true, in microseconds; the commands in turn, hundreds of times."""
    empty = os.path.join(context.folder, "empty.so")
    if not common.compile_one(["gcc", "-shared", "-fPIC"], os.path.join(common.BENCH, "peers", "empty.c"), empty):
        raise SystemExit("bench: peers/empty.c does not compile")
    out = os.path.join(context.scratch, "true.seep")
    true = common.program("true")
    commands = {"untraced": [true], "empty preload": ["LD_PRELOAD=" + empty, true],
                "seep": ["LD_PRELOAD=" + context.library, "SEEP_OUT=" + out, true]}
    if "seep run" in context.tools:
        commands["seep run"] = [context.seep, "run", "-q", "-o", out, "--", true]
    count = 40 if context.quick else 100 * context.runs
    results = spawn(context, commands, count)
    slow = {"untraced": [true]}
    if "heaptrack" in context.tools:
        slow["heaptrack"] = [common.program("heaptrack"), "-o", os.path.join(context.scratch, "true"), true]
    if "memcheck" in context.tools:
        slow["memcheck"] = [common.program("valgrind"), "-q", true]
    if not context.quick and len(slow) > 1:
        slower = spawn(context, slow, 10)
        results.update({name: slower[name] for name in slow if name != "untraced"})
    return {"microseconds": results}


def spawn(context, commands, count):
    say("start-up, %d times: %s" % (count, ", ".join(commands)))
    words = []
    for command in commands.values():
        words += (["::"] if words else []) + command
    done = subprocess.run([context.plain["spawn"], str(count)] + words, env=context.environment, timeout=300,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          cwd=context.scratch, check=False)
    # What the commands print comes first.
    lines = [line for line in done.stdout.decode("utf-8", "replace").splitlines() if line.startswith("[[")]
    if done.returncode != 0 or not lines:
        reason = done.stderr.decode("utf-8", "replace").strip()[-200:] or "status %d" % done.returncode
        say("  failed: " + reason)
        return {name: {"failed": reason} for name in commands}
    took = json.loads(lines[-1])
    if len(took) != len(commands):
        raise SystemExit("bench: spawn ran %d commands of %d" % (len(took), len(commands)))
    return {name: figure(values) for name, values in zip(commands, took)}
