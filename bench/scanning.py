# SPDX-License-Identifier: BSD-2-Clause
"""How fast `seep scan` is: bytes looked through a second, and many blocks with who holds them.

The tool works on one core. Its CPU time is what counts here, and all of it does: starting, reading the image, the
scan, the report. The pause is by the clock, and so it is only as good as the machine is quiet.
"""
import json
import os
import signal
import subprocess
import time

from common import Failed, figure, say, take

READY_S = 600


class Heap:
    """The workload, traced, waiting with its heap built."""

    def __init__(self, context, words, program="heap"):
        environment = dict(context.environment, LD_PRELOAD=context.library,
                           SEEP_OUT=os.path.join(context.scratch, "heap.seep"))
        self.process = subprocess.Popen([context.plain[program]] + words, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, cwd=context.scratch)

    def __enter__(self):
        os.set_blocking(self.process.stdout.fileno(), False)
        end = time.monotonic() + READY_S
        while not self.process.stdout.read():
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit("bench: the heap to scan is not built")
            time.sleep(0.02)
        return self.process.pid

    def __exit__(self, *trouble):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def scan_once(context, pid):
    taken = take(context, [context.seep, "scan", str(pid), "--json", "--top", "1"], context.environment, 300)
    with open(taken.output, encoding="utf-8") as file:
        leaks = json.load(file)["leaks"]
    blocks = sum(leaks[kind]["blocks"] for kind in ("lost", "indirect", "possible", "reachable"))
    if leaks["lost"]["blocks"] or leaks["unread_bytes"]:
        raise Failed("%d blocks lost" % leaks["lost"]["blocks"])
    return {"cpu_s": taken.cpu_s, "wall_s": taken.wall_s, "pause_s": leaks["pause_s"], "rss_kib": taken.rss_kib,
            "blocks": blocks, "read_bytes": leaks["read_bytes"], "holders": len(leaks["holders"])}


def cases(quick):
    """[name, arguments of the workload]"""
    many = 1_000_000 if quick else 10_000_000
    count = format(many, ",")
    return [["%s blocks, every 10th points anywhere" % count, [str(many), "10"]],
            ["%s blocks, all of them point anywhere" % count, [str(many), "1"]],
            ["buffers of 4 KiB", [str((64 if quick else 512) << 8), "buffers", "4096"]],
            ["buffers of 1 MiB", [str(256 if quick else 2048), "buffers", "1048576"]]]


def run_scan(context):
    results = []
    runs = min(context.runs, 3)
    for name, words in cases(context.quick):
        say(name)
        with Heap(context, words) as pid:
            try:
                runs_of_it = [scan_once(context, pid) for _ in range(runs)]
            except Failed as trouble:
                say("  failed: %s" % trouble)
                continue
        case = {"case": name, "blocks": runs_of_it[0]["blocks"], "read_bytes": runs_of_it[0]["read_bytes"],
                "buffers": words[1] == "buffers"}
        for key in ("cpu_s", "wall_s", "pause_s", "rss_kib"):
            case[key] = figure([one[key] for one in runs_of_it])
        case["gib_per_s"] = figure([one["read_bytes"] / 2**30 / one["cpu_s"] for one in runs_of_it])
        case["bytes_per_block"] = figure([one["rss_kib"] * 1024 / one["blocks"] for one in runs_of_it])
        results.append(case)
    return {"cases": results}
