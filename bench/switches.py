#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a switch of `seep run` costs: the same with and without it, side by side, as ratios.

    switches.py free-stacks|wipe-freed --build DIR [--runs N]

Pairs of one malloc and one free are of the micro benchmark (workloads/pairs.c), in CPU time; the programs
are real ones, in CPU time and resident memory. Ratios are taken within a round; the median counts.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile

import common
from common import Failed, say, take

PAIRS = {
    "pair, depth 5": ["-d", "5"],
    "pair, depth 20": ["-d", "20"],
    "pair, depth 60": ["-d", "60"],
    "path changes in 3 frames": ["-s", "change", "-k", "3"],
    "4,096 sites, depth 41": ["-s", "sites", "-d", "41", "-b", "12"],
    "realloc": ["-s", "realloc"],
    "pair, sampled": ["-d", "20"],
}
SAMPLED = ("pair, sampled",)
PROGRAMS = {
    "perl": ["perl", "-e", "my %h; for my $i (0 .. 300000) { $h{$i % 5000} .= chr(65 + $i % 26) x 9; "
             "$h{$i % 5000} = '' if length $h{$i % 5000} > 900 } print scalar keys %h"],
    "sqlite3": ["sqlite3", ":memory:", "with recursive c(x) as (select 1 union all select x + 1 from c where x < 200000) "
                "select count(distinct printf('%d%d', x * 7919 % 65536, x)) from c;"],
    "jq": ["jq", "-n", "[range(150000) | {k: tostring, v: (. * 3)}] | group_by(.v % 97) | length"],
    "python3": ["python3", "-c", "import json; x = [str(i) * 3 for i in range(300000)]; "
                "[json.loads(json.dumps(x[i:i + 100])) for i in range(0, 100000, 100)]"],
    "cc1plus -O1": ["g++", "-O1", "-S", "-o", "/dev/null", "-x", "c++", "-"],
}
STDIN = {"cc1plus -O1": "#include <map>\n#include <string>\n#include <regex>\n#include <iostream>\n"
                        "std::map<std::string, std::regex> m;\nint main() { m[\"a\"] = \"b*\"; std::cout << m.size(); }\n"}
WAYS = ("untraced", "traced", "with it")
SWITCHES = {"free-stacks": "SEEP_FREE_STACKS", "wipe-freed": "SEEP_WIPE"}


class Context:
    def __init__(self, build, scratch, switch):
        self.scratch, self.setting = scratch, SWITCHES[switch]
        self.library = os.path.join(os.path.abspath(build), "libseep.so")
        self.built = common.build_workloads(os.path.join(os.path.abspath(build), "bench"))
        self.plain = self.built["plain"]


def one(context, command, way, stdin, settings):
    environment = dict(common.clean_environment(), **settings)
    if way != "untraced":
        environment["SEEP_OUT"] = os.path.join(context.scratch, "%p.seep")
    if way == "with it":
        environment[context.setting] = "1"
    return take(context, command, environment, 120, None if way == "untraced" else context.library, stdin)


def pair(context, name, way):
    command = [context.plain["pairs"]] + PAIRS[name] + ["-t", "100"]
    taken = one(context, command, way, None, {"SEEP_SAMPLE": "524288"} if name in SAMPLED and way != "untraced" else {})
    with open(taken.output, encoding="utf-8") as file:
        return json.load(file)["cpu_ns"], taken.rss_kib


def program(context, name, way):
    stdin = None
    if name in STDIN:
        stdin = os.path.join(context.scratch, "input")
        with open(stdin, "w", encoding="utf-8") as file:
            file.write(STDIN[name])
    taken = one(context, PROGRAMS[name], way, stdin, {"PYTHONMALLOC": "malloc"} if name == "python3" else {})
    return taken.cpu_s * 1e9, taken.rss_kib


def measure(context, name, once, runs, unit):
    rounds = []
    for number in range(runs):
        order = WAYS if number % 2 == 0 else WAYS[::-1]
        rounds.append({way: once(context, name, way) for way in order})
    times = {way: statistics.median(r[way][0] for r in rounds) for way in WAYS}
    ratio = statistics.median(r["with it"][0] / r["traced"][0] for r in rounds)
    memory = statistics.median(r["with it"][1] / r["traced"][1] for r in rounds)
    say("%-26s %9.1f %9.1f %9.1f %s %8.2f %8.2f" % (name, *(times[way] / unit[0] for way in WAYS), unit[1], ratio, memory))


def main():
    parser = argparse.ArgumentParser(description="What a switch of seep run costs.")
    parser.add_argument("switch", choices=SWITCHES)
    parser.add_argument("--build", default=os.path.join(common.ROOT, "build"), help="the build to measure")
    parser.add_argument("--runs", type=int, default=5, help="rounds (default 5)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="seep-bench.") as scratch:
        context = Context(options.build, scratch, options.switch)
        say("%-26s %9s %9s %9s %s %8s %8s" % ("CPU time", *WAYS, "  ", "ratio", "memory"))
        try:
            for name in PAIRS:
                measure(context, name, pair, options.runs, (1, "ns"))
            for name in PROGRAMS:
                if not common.program(name.split()[0].replace("cc1plus", "g++")):
                    say("skipped: %s is not installed" % name)
                    continue
                measure(context, name, program, options.runs, (1e6, "ms"))
        except Failed as trouble:
            sys.exit("switches: %s" % trouble)


if __name__ == "__main__":
    main()
