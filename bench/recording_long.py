#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A recording of a billion events, and what it takes to open it, to go to a moment of it and to read all of it in 512 MB.

    recording_long.py --build DIR [--events N] [--file FILE] [--memory MB] [--alone]

The limit is a control group's where systemd-run makes one, else that of the address space, which is the stricter one. --file keeps
the recording, or takes one that is there. With --alone the library writes it without the tool. CPU seconds (user and system) are of the whole command, symbols included.
"""
import argparse
import os
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path


def limited(command, megabytes):
    """The command under the limit, and what has to be done in its process before."""
    scope = ["systemd-run", "--quiet", "--scope", "-p", f"MemoryMax={megabytes}M", "-p", "MemorySwapMax=0"]
    if shutil.which("systemd-run") and subprocess.run([*scope, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        return [*scope, *command], None
    return command, lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


def measure(what, command, megabytes):
    command, before = limited(command, megabytes)
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=before)
    _, status, used = os.wait4(child.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, command
    print(f"| {what} | {used.ru_utime + used.ru_stime:.2f} | {used.ru_maxrss / 1024:.0f} |", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--build", required=True)
    arguments.add_argument("--events", type=int, default=1_000_000_000)
    arguments.add_argument("--file")
    arguments.add_argument("--memory", type=int, default=512)
    arguments.add_argument("--alone", action="store_true")
    options = arguments.parse_args()
    seep = os.path.join(options.build, "seep")
    with tempfile.TemporaryDirectory() as folder:
        trace = options.file or os.path.join(folder, "long.seep")
        if not os.path.exists(trace):
            program = os.path.join(folder, "billion")
            source = Path(__file__).parent / "workloads/billion.c"
            subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-o", program, source], check=True)
            tool = [] if options.alone else [seep, "run", "-q", "--scan", "no", "--mode", "record", "-o", trace, "--"]
            library = os.path.join(os.path.abspath(options.build), "libseep-record.so")
            alone = {"SEEP_MODE": "record", "SEEP_OUT": trace, "LD_PRELOAD": library} if options.alone else {}
            subprocess.run([*tool, program, str(options.events)], stdout=subprocess.DEVNULL, check=True, env=dict(os.environ, **alone))
        question = "select round(max(duration_ns) / 1e9, 1) from process"
        length = float(subprocess.run([seep, "sql", "--csv", trace, question], stdout=subprocess.PIPE, check=True).stdout.split()[-1])
        print(f"{os.path.getsize(trace) / 1e6:.0f} MB, {length} s; limit {options.memory} MB\n")
        print("| | CPU, s | memory, MB |\n| --- | ---: | ---: |")
        measure("`seep report`, the end", [seep, "report", trace], options.memory)
        for part in (0.01, 0.3, 0.7, 0.99):
            measure(f"`--at`, {part:.0%} of the run", [seep, "report", "--at", f"{length * part}s", trace], options.memory)
        measure("`--at peak`", [seep, "report", "--at", "peak", trace], options.memory)
        question = f"select count(*) from event where at_ns between {length * 5e8:.0f} and {length * 5e8 + 1e7:.0f}"
        measure("`seep sql`, 10 ms of it", [seep, "sql", trace, question], options.memory)
        measure("`seep history`, all of it", [seep, "history", trace], options.memory)


if __name__ == "__main__":
    main()
