#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Where the processor time of a short process goes: perf samples of bash subshells under `seep run`, by what the
kernel was asked for. Shares are of all samples less those of the same subshells without seep. Needs perf and root."""
import argparse
import collections
import os
import subprocess
import sys
import tempfile

HZ = 10000
CALL = "__x64_sys_", "__do_sys_"
SHOWN = 10


def kind_of(stack):
    """What one sample is: the call, the page fault, or the program itself. The stack begins with the innermost."""
    kernel = [name for name, file in stack if "kernel" in file]
    for name in kernel:
        if "exc_page_fault" in name:
            return "page faults"
    for name in reversed(kernel):
        for start in CALL:
            if name.startswith(start):
                return name[len(start):]
    if any(name.startswith("ret_from_fork") for name in kernel):
        return "clone"
    return "read, write, mmap and other calls" if kernel else "its own code"


def samples(data, name):
    """Samples of the processes of that name, by kind."""
    text = subprocess.run(["perf", "script", "-i", data, "--comm", name, "-F", "comm,ip,sym,dso"], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode(errors="replace")
    found = collections.Counter()
    for sample in text.split("\n\n"):
        stack = []
        for line in sample.splitlines():
            parts = line.split(None, 1)
            if line.startswith("\t") and len(parts) == 2:
                symbol, _, file = parts[1].rpartition(" (")
                stack.append((symbol.split("+")[0], file.rstrip(")")))
        if stack:
            found[kind_of(stack)] += 1
    return found


def record(folder, command):
    data = os.path.join(folder, "perf.data")
    subprocess.run(["perf", "record", "-q", "-a", "-g", "-e", "cpu-clock", "-F", str(HZ), "-o", data, "--"] + command,
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return data


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--children", type=int, default=1000)
    options = parser.parse_args()
    loop = "for ((i = 0; i < %d; i++)); do (:); done" % options.children
    with tempfile.TemporaryDirectory() as folder:
        # Names of their own, because all processors are sampled.
        tool, shell = os.path.join(folder, "account-tool"), os.path.join(folder, "account-bash")
        os.symlink(os.path.abspath(os.path.join(options.build, "seep")), tool)
        os.symlink("/bin/bash", shell)
        plain = samples(record(folder, [shell, "-c", loop]), "account-bash")
        data = record(folder, [tool, "run", "-q", "-o", os.path.join(folder, "out.seep"), "--", shell, "-c", loop])
        child, own = samples(data, "account-bash"), samples(data, "account-tool")
    child.subtract(plain)
    everything = sum(child.values()) + sum(own.values())
    for name, found in (("child and its library", child), ("tool", own)):
        whole = sum(found.values())
        shown = found.most_common(SHOWN)
        rest = whole - sum(nr for _, nr in shown)
        us = whole * 1e6 / HZ / options.children
        print("%-34s %5.1f %%  %7.0f us a child" % (name, 100 * whole / everything, us))
        for kind, nr in shown + [("the rest", rest)]:
            print("  %-32s %5.1f %%" % (kind, 100 * nr / everything))
    return 0


if __name__ == "__main__":
    sys.exit(main())
