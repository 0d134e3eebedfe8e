#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Who held the memory at the peak: seep beside heaptrack, site by site.

A program is run once: `seep run --allocator` puts heaptrack's library behind seep's, so both see the same calls. The
events of heaptrack are counted here, up to the first moment with the most bytes. Their sum must be what heaptrack_print
has at the peak. A site is its innermost DEPTH frames as offsets in modules: names of both tools differ, offsets do not. A
difference is a share of the peak: that of the site that differs most, and of all sites together. A program fails if the
former is above AIM and above the error that the report tells.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

import common
import inputs
from common import Failed, program, say

# heaptrack keeps 64 frames, and the two unwinders may end apart at the outermost ones.
DEPTH = 16
HEAPTRACK = "/usr/lib/heaptrack/libheaptrack_preload.so"
INTERPRET = "/usr/lib/heaptrack/libexec/heaptrack_interpret"
AIM = 1.0


def own(folder, suffix, text):
    return inputs.write(os.path.join(folder, "in" + suffix), text)


LUA = "local t = {} for i = 1, 30000 do t[i] = {i, tostring(i), k = 'x' .. i} end print(#t)"
AWK = 'BEGIN { for (i = 0; i < 40000; i++) a[i % 9000] = i "x" a[(i * 7) % 900]; n = asort(a, b); print n, length(b[n]) }'
GRAPH = "digraph { %s }" % " ".join("n%d -> n%d;" % (i, i * 7 % 90) for i in range(300))
XML = "<a>%s</a>" % "".join("<b c='%d'>t<d>%d</d></b>" % (i, i * 31 % 977) for i in range(9000))
PHP = '$a = []; for ($i = 0; $i < 40000; $i++) $a[] = ["k$i" => str_repeat("x", $i % 50)]; usort($a, fn($x, $y) => key($x) <=> key($y)); echo count($a);'
PROGRAMS = {
    "cc1": lambda folder: [cc1(), "-quiet", "-O1", inputs.c_source(os.path.join(folder, "in.i"), 40), "-o", "/dev/null"],
    "cc1plus": lambda folder: [cc1("plus"), "-quiet", "-O0", inputs.cxx_source(os.path.join(folder, "in.ii")), "-o", "/dev/null"],
    "clang": lambda folder: ["clang", "-cc1", "-O1", "-emit-obj", inputs.c_source(os.path.join(folder, "in.i"), 40), "-o", "/dev/null"],
    "dot": lambda folder: ["dot", "-Tplain", own(folder, ".dot", GRAPH)],
    "gawk": lambda folder: ["gawk", AWK],
    "git": lambda folder: ["git", "-C", common.ROOT, "--no-pager", "log", "-n", "300", "--stat"],
    "jq": lambda folder: ["jq", "map(.value) | add", inputs.records(os.path.join(folder, "in.json"))],
    "lua": lambda folder: ["lua5.4", "-e", LUA],
    "objdump": lambda folder: ["objdump", "-dl", program("xmllint") or "/bin/true"],
    "perl": lambda folder: ["perl", inputs.perl_script(os.path.join(folder, "in.pl"))],
    "php": lambda folder: ["php", "-n", "-r", PHP],
    "python3": lambda folder: ["/usr/bin/python3", "-S", inputs.python_script(os.path.join(folder, "in.py"))],
    "sqlite3": lambda folder: ["sqlite3", ":memory:", ".read " + inputs.sql(os.path.join(folder, "in.sql"))],
    "xmllint": lambda folder: ["xmllint", "--noout", "--format", own(folder, ".xml", XML)],
    "z3": lambda folder: ["z3", own(folder, ".smt2", "(declare-const x Int)(declare-const y Int)(assert (> (* x x y) 5000))"
                                                     "(assert (< (+ x y) 90))(assert (= (mod x 7) 3))(check-sat)(get-model)")],
}
# A program that chooses by chance, by its address space or by the lengths of the environment does the same in each run.
SETTINGS = {"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0", "PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc", "USE_ZEND_ALLOC": "0",
            "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}


def cc1(language=""):
    path = common.output_of(["gcc", "-print-prog-name=cc1" + language]).strip()
    return path if os.path.isabs(path) else "cc1" + language


def ran(command, environment, **more):
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=300, check=False, **more)
    if done.returncode:
        raise Failed("%s ended with %d: %s" % (command[0], done.returncode, done.stderr.decode("utf-8", "replace")[-200:]))
    return done.stdout


class Held:
    """Bytes at the peak by site. A site is a tuple of (module, offset), innermost frame first."""

    def __init__(self, rows):
        self.sites, self.names = collections.Counter(), {}
        for frames, held, name in rows:
            self.sites[frames] += held
            self.names.setdefault(frames, name)
        self.total = sum(self.sites.values())


def traced(seep, folder, command, environment):
    """What seep and what heaptrack have at the peak of one process, and the peak that seep tells."""
    trace, raw = os.path.join(folder, "a.seep"), os.path.join(folder, "a.raw")
    ran([seep, "run", "-q", "--scan", "no", "--children", "ignore", "--allocator", HEAPTRACK, "-o", trace, "--"] + command,
        dict(environment, DUMP_HEAPTRACK_OUTPUT=raw), stdout=subprocess.DEVNULL)
    report = json.loads(ran([seep, "report", trace, "--json", "--full-paths"], environment, stdout=subprocess.PIPE))
    ours = Held(seep_rows(report))
    with open(raw, encoding="utf-8", errors="replace") as file:
        theirs = Held(heaptrack_rows(file, os.path.basename(os.path.realpath(command[0]))))
    printed = heaptrack_peak(folder, raw, environment)
    if printed != theirs.total:
        raise Failed("heaptrack_print has %d bytes at the peak, its events %d" % (printed, theirs.total))
    return ours, theirs, report["totals"]


def seep_rows(report):
    for site in report["sites"]:
        node, name, frames = site["stack"], None, []
        while node >= 0 and len(frames) < DEPTH:
            frame, node = report["stacks"][node]
            frame = report["frames"][frame]
            name = name or frame["function"]
            # An inlined function has the place of its caller. heaptrack has the byte before.
            if not frame["inlined"]:
                frames.append((os.path.basename(frame["module"] or "?"), frame["offset"] - 1))
        if site["at_peak_bytes"]:
            yield tuple(frames), site["at_peak_bytes"], name


def heaptrack_peak(folder, raw, environment):
    """The bytes that heaptrack_print has at the peak, all sites together."""
    folded, interpreted = os.path.join(folder, "a.folded"), os.path.join(folder, "a.txt")
    with open(raw, "rb") as events, open(interpreted, "wb") as file:
        subprocess.run([INTERPRET], stdin=events, stdout=file, stderr=subprocess.DEVNULL, check=True, env=environment, timeout=300)
    ran(["heaptrack_print", "-f", interpreted, "-p0", "-a0", "-T0", "--disable-builtin-suppressions", "-F", folded,
         "--flamegraph-cost-type", "peak"], environment, stdout=subprocess.DEVNULL)
    with open(folded, encoding="utf-8", errors="replace") as file:
        return sum(int(line.rsplit(" ", 1)[1]) for line in file)


def heaptrack_rows(lines, name):
    """What its events (`heaptrack --raw`) have at the first moment with the most bytes."""
    modules, traces, blocks, live = [], [None], {}, collections.Counter()
    now = peak = 0
    since_peak = collections.Counter()

    def place(address):
        # heaptrack tells of a library that is opened later only after blocks of its constructors.
        for path, base, end in reversed(modules):
            if base <= address < end:
                return os.path.basename(path), address - base
        return "?", address

    for line in lines:
        kind, _, rest = line.rstrip("\n").partition(" ")
        if kind == "+":
            size, trace, address = (int(word, 16) for word in rest.split(" "))
            blocks[address] = (size, trace)
            live[trace] += size
            since_peak[trace] += size
            now += size
            if now > peak:
                peak = now
                since_peak.clear()
        elif kind == "-":
            size, trace = blocks.pop(int(rest, 16), (0, 0))
            live[trace] -= size
            since_peak[trace] -= size
            now -= size
        elif kind == "t":
            address, parent = (int(word, 16) for word in rest.split(" "))
            traces.append((address, parent))
        elif kind == "m":
            length, _, rest = rest.partition(" ")
            if rest == "-":
                continue
            path, words = rest[:int(length, 16)], [int(word, 16) for word in rest[int(length, 16):].split()]
            ends = [words[i] + words[i + 1] for i in range(1, len(words) - 1, 2)]
            modules.append((name if path == "x" else path, words[0], words[0] + max(ends)))
    for trace in set(live) | set(since_peak):
        held = live[trace] - since_peak[trace]
        if not held:
            continue
        frames, node = [], trace
        while node and len(frames) < DEPTH:
            frame, node = traces[node]
            if place(frame)[0] != "libseep.so":
                frames.append(place(frame))
        yield tuple(frames), held, None


def compare(ours, theirs):
    """(bytes of difference, site), the largest first."""
    return sorted(((abs(ours.sites[site] - theirs.sites[site]), site) for site in set(ours.sites) | set(theirs.sites)), reverse=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--rows", type=int, default=0, help="print the sites that differ most")
    parser.add_argument("programs", nargs="*", help="of: " + ", ".join(PROGRAMS))
    options = parser.parse_args()
    seep = os.path.abspath(os.path.join(options.build, "seep"))
    environment = dict(common.clean_environment(), **SETTINGS)
    say("| program | peak, seep | peak, heaptrack | seep says: within | sites at the peak | sites of heaptrack | the site that differs most | all sites |")
    say("| --- | --- | --- | --- | --- | --- | --- | --- |")
    over = 0
    for name in options.programs or PROGRAMS:
        with tempfile.TemporaryDirectory(prefix="seep-peaks-") as folder:
            try:
                command = PROGRAMS[name](folder)
                if not program(command[0]):
                    say("%s: not installed" % name)
                    continue
                command = [program(command[0])] + command[1:]
                ours, theirs, totals = traced(seep, folder, command, environment)
            except (Failed, subprocess.SubprocessError) as error:
                say("%s: %s" % (name, error))
                over += 1
                continue
        differences = compare(ours, theirs)
        worst, together = differences[0][0], sum(row[0] for row in differences)
        say("| {} | {:,} | {:,} | {:,} | {:,} | {:,} | {:.2f} % | {:.2f} % |".format(
            name, totals["peak_bytes"], theirs.total, totals["peak_error_bytes"], len(ours.sites), len(theirs.sites), 100 * worst / theirs.total, 100 * together / theirs.total))
        over += worst > max(AIM / 100 * theirs.total, totals["peak_error_bytes"])
        for difference, site in differences[:options.rows]:
            if difference:
                say("    seep {:,} heaptrack {:,}  {} {}".format(ours.sites[site], theirs.sites[site], ours.names.get(site) or "",
                                                                 " < ".join("%s+0x%x" % frame for frame in site)))
    return over > 0


if __name__ == "__main__":
    sys.exit(main())
