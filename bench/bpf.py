# SPDX-License-Identifier: BSD-2-Clause
"""What the BPF commands cost: a pair of malloc and free under seep attach, beside the way of bcc's memleak; and a
find over a tree in the page cache under seep kernel. Needs root.

Probes belong to a file, and a traced libc is slower for everyone, so the program has a loader and a libc of its own.
"""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile

import common
from common import Failed, figure, say

# name, options of seep attach, what it is
ATTACHED = [
    ("seep attach", []),
    ("seep attach, uprobe.multi", ["--probes", "multi"]),
    ("seep attach, perf events", ["--probes", "perf"]),
    ("seep attach -s 100", ["-s", "100"]),
]
DEPTHS = (10, 30)
TREES = ["/usr/share", "/usr/lib"]
KERNEL = [("seep kernel", []), ("seep kernel -C", ["-C"]), ("seep kernel -s 10", ["-s", "10"]),
          ("seep kernel -s 10000000", ["-s", "10000000"])]


# ---- seep attach --------------------------------------------------------------------------------------


class Private:
    """A copy of a program whose loader and libraries no other program uses."""

    def __init__(self, program):
        # Short: its name has to fit where the loader's was.
        self.folder = tempfile.mkdtemp(prefix="s", dir="/tmp")
        self.program = os.path.join(self.folder, "p")
        listing = common.output_of(["ldd", program])
        for path in re.findall(r"(/\S+)", listing):
            name = "l" if "ld-linux" in path else os.path.basename(path)
            shutil.copy(os.path.realpath(path), os.path.join(self.folder, name))
        image = open(program, "rb").read()
        loader = re.search(rb"/lib64/ld-linux-x86-64\.so\.2\0", image).group(0)
        with open(self.program, "wb") as file:
            file.write(image.replace(loader, os.path.join(self.folder, "l").encode().ljust(len(loader), b"\0"), 1))
        os.chmod(self.program, 0o755)
        self.libc = os.path.join(self.folder, "libc.so.6")

    def environment(self, environment):
        return dict(environment, LD_LIBRARY_PATH=self.folder)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def offset_of(path, symbol):
    """Where the function is in the file: its address, less that of its segment, and more of the segment's place."""
    symbols = common.output_of(["readelf", "-W", "--dyn-syms", path])
    address = int(re.search(r"([0-9a-f]+)\s+\d+ FUNC\s+GLOBAL\s+DEFAULT\s+\d+ %s@@" % symbol, symbols).group(1), 16)
    for line in common.output_of(["readelf", "-lW", path]).splitlines():
        words = line.split()
        if words[:1] == ["LOAD"] and "E" in line:
            place, start, size = (int(words[i], 16) for i in (1, 2, 4))
            if start <= address < start + size:
                return address - start + place
    raise Failed("%s is in no segment of %s" % (symbol, path))


class Tracer:
    """A tool that says a line when its probes are in place, and goes when it is told to."""

    def __init__(self, command, ready, environment):
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        line = self.process.stdout.readline().decode("utf-8", "replace")
        if not line.startswith(ready):
            self.close()
            raise Failed(line.strip()[:80] or "it says nothing")

    def close(self):
        """What it said."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            out, _ = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, _ = self.process.communicate()
        return out.decode("utf-8", "replace")


def one_pair(private, context, depth, start):
    """Nanoseconds of a pair; start(pid): the Tracer, or None. Failed where the tracer lost something."""
    process = subprocess.Popen([private.program, "-a", "-d", str(depth), "-n", "200000"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=private.environment(context.environment))
    tracer = None
    try:
        while private.libc not in open("/proc/%d/maps" % process.pid, encoding="utf-8").read():
            pass
        tracer = start(process.pid)
        out, _ = process.communicate(b"\n", timeout=120)
        ns = json.loads(out)["ns"]
        said = tracer.close() if tracer else ""
        if "INCOMPLETE" in said:
            raise Failed("events were lost")
        return ns
    finally:
        if tracer and tracer.process.poll() is None:
            tracer.close()
        if process.poll() is None:
            process.kill()
            process.communicate()


def memleak_way(context):
    """Command of the peer without the process, or None."""
    peers = os.path.join(common.BENCH, "peers")
    loader, programs = (os.path.join(context.folder, "memleak_way" + end) for end in ("", ".bpf.o"))
    triplet = common.first_line(["gcc", "-print-multiarch"])
    done = subprocess.run(["clang", "-O2", "-g", "-target", "bpf", "-mcpu=v3", "-ffreestanding", "-idirafter", "/usr/include/" + triplet, "-c",
                           os.path.join(peers, "memleak_way.bpf.c"), "-o", programs], stderr=subprocess.PIPE, check=False)
    if done.returncode or not common.compile_one(["gcc", "-O2", "-D_GNU_SOURCE"], os.path.join(peers, "memleak_way.c"),
                                                 loader, ["-lbpf"]):
        say("skipped: the way of memleak, its programs do not compile")
        return None
    return [loader, programs]


def pairs_of(context, private):
    seep = lambda options: lambda pid: Tracer([context.seep, "attach"] + options + [str(pid), "1000s"],
                                              "Attaching to pid", context.environment)
    tools = [("untraced", lambda pid: None)] + [(name, seep(options)) for name, options in ATTACHED]
    peer = memleak_way(context)
    if peer:
        offsets = [str(offset_of(private.libc, name)) for name in ("malloc", "free")]
        tools.append(("memleak's way", lambda pid: Tracer(peer[:1] + peer[1:] + [str(pid), private.libc] + offsets,
                                                          "ready", context.environment)))
    cases = []
    for depth in DEPTHS:
        say("a pair at depth %d" % depth)
        values, failed = {name: [] for name, _ in tools}, {}
        for number in range(context.runs):
            for name, start in tools if number % 2 == 0 else tools[::-1]:
                if name in failed:
                    continue
                try:
                    values[name].append(one_pair(private, context, depth, start))
                except Failed as trouble:
                    failed[name] = str(trouble)
                    say("  %s failed: %s" % (name, trouble))
        cases.append({"case": "depth %d" % depth, "tools": {
            name: {"failed": failed[name]} if name in failed else {"ns": figure(values[name])} for name, _ in tools}})
    return cases


# ---- seep kernel --------------------------------------------------------------------------------------


def cpu_of_find(context):
    """The least of three: what the page cache had to give up in between counts in one of them only."""
    least = None
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["find"] + TREES, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=context.environment,
                       check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        least = took if least is None else min(least, took)
    return least


def find_under_kernel(context):
    say("find " + " ".join(TREES))
    values, failed = {"untraced": []}, {}
    for _ in range(context.runs):
        cpu_of_find(context)
        values["untraced"].append(cpu_of_find(context))
        for name, options in KERNEL:
            if name in failed:
                continue
            try:
                tracer = Tracer([context.seep, "kernel"] + options + ["1000s"], "Attaching", context.environment)
            except Failed as trouble:
                failed[name] = str(trouble)
                continue
            values.setdefault(name, []).append(cpu_of_find(context))
            tracer.close()
    files = len(common.output_of(["find"] + TREES).splitlines())
    return {"files": files, "tools": {name: {"failed": failed[name]} if name in failed else {"cpu_s": figure(values[name])}
                                      for name in ["untraced"] + [name for name, _ in KERNEL]}}


def run_bpf(context):
    if os.geteuid() != 0 or not context.seep:
        raise Failed("it needs root, and a build with the tool")
    private = Private(context.plain["pairs"])
    try:
        return {"pairs": pairs_of(context, private), "find": find_under_kernel(context)}
    finally:
        private.close()
