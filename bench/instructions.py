#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""How many instructions one operation costs inside libseep.so, counted by callgrind.

Unlike times, counts do not depend on how busy the machine is, so they can guard the hot path in an
ordinary test: instructions.json holds the counts of the last accepted state, and a case that needs
over 3 % more fails. Each case runs twice, with different numbers of operations; the difference of
what libseep.so executed, divided by the difference of operations, is free of start-up and end.
Instructions of the program and of libc do not count.

    instructions.py --build DIR             compare; exit status 1 when a case has grown
    instructions.py --build DIR --update    accept what is

Exit status 77 with the reason printed when it cannot count here: no valgrind, or a compiler or CPU
for which no counts are committed.
"""
import argparse
import concurrent.futures
import json
import os
import platform
import re
import subprocess
import sys
import tempfile

import common

COMMITTED = os.path.join(common.BENCH, "instructions.json")
GROWTH = 0.03
SKIPPED = 77
STRINGS_BYTES = 2048  # of environment and arguments of what is counted

# name: program, arguments, operations of the short and the long run. Multiples of the ring and of what
# repeats in a case, so that both runs do the same mixture.
CASES = {
    "pair, depth 5": ("pairs", ["-d", "5"], 6400, 19200),
    "pair, depth 20": ("pairs", ["-d", "20"], 6400, 19200),
    "pair, depth 60": ("pairs", ["-d", "60"], 6400, 19200),
    "pair, depth 200": ("pairs", ["-d", "200"], 6400, 19200),
    "path changes in 1 frame": ("pairs", ["-s", "change", "-k", "1"], 3200, 9600),
    "path changes in 3 frames": ("pairs", ["-s", "change", "-k", "3"], 3200, 9600),
    "path changes in 10 frames": ("pairs", ["-s", "change", "-k", "10"], 3200, 9600),
    "recursion to 64": ("pairs", ["-s", "recursion"], 3200, 9600),
    "256 sites": ("pairs", ["-s", "sites", "-d", "41", "-b", "8"], 2560, 7680),
    "calloc and free": ("pairs", ["-s", "calloc"], 6400, 19200),
    "realloc": ("pairs", ["-s", "realloc"], 6400, 19200),
    "new and delete": ("pairs_cxx", [], 6400, 19200),
    "pair, two threads": ("pairs", ["-j", "2"], 6400, 19200),
    "recorded pair, depth 5": ("pairs", ["-d", "5"], 6400, 19200),
    "recorded realloc": ("pairs", ["-s", "realloc"], 6400, 19200),
}


def is_recorded(name):
    """Every event goes into a ring, which is long enough for all: neither a tool nor a file is in the count."""
    return name.startswith("recorded ")


def count_in_library(path, library):
    """Sum of the instructions that callgrind's file attributes to the library, callees not included."""
    names = {}
    inside = after_call = False
    total = 0
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            match = re.match(r"ob=\((\d+)\)(?: (.*))?$", line)
            if match:
                if match.group(2):
                    names[match.group(1)] = match.group(2)
                inside = os.path.basename(names[match.group(1)]) == library
            elif re.match(r"cob=\((\d+)\) ", line):
                match = re.match(r"cob=\((\d+)\) (.*)$", line)
                names[match.group(1)] = match.group(2)
            elif line.startswith("calls="):
                after_call = True  # the next line is the cost of the callee
            elif line[0] in "0123456789+-*":
                fields = line.split()
                if inside and not after_call and len(fields) > 1:
                    total += int(fields[1])
                after_call = False
    return total


def run_counted(program, arguments, operations, library, recorded, folder):
    if recorded:
        library = library.replace("libseep.so", "libseep-record.so")
    with tempfile.TemporaryDirectory(dir=folder) as own:
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "LD_PRELOAD": library,
                       "SEEP_OUT": os.path.join(own, "out.seep")}
        if recorded:
            environment.update(SEEP_MODE="record", SEEP_SOCKET=os.path.join(own, "none"))
        counts = os.path.join(own, "callgrind.out")
        threads = int(arguments[arguments.index("-j") + 1]) if "-j" in arguments else 1
        command = [common.program("valgrind"), "--tool=callgrind", "--callgrind-out-file=" + counts,
                   program] + arguments + ["-n", str(operations // threads)]
        # Recent stacks are kept by where they lie: so what the kernel puts above them is always as long.
        environment["FILL"] = "." * (STRINGS_BYTES - sum(map(len, [*environment.values(), program, *arguments])))
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120, check=False)
        if done.returncode != 0 or not os.path.exists(counts):
            raise SystemExit("instructions: %s\n%s" % (" ".join(command), done.stdout.decode("utf-8", "replace")[-2000:]))
        total = count_in_library(counts, os.path.basename(library))
        if total == 0:
            raise SystemExit("instructions: callgrind saw nothing of %s" % library)
        return total


def count_all(library, folder, jobs):
    built = {}
    for stem, extension, compiler in (("pairs", ".c", "gcc"), ("pairs_cxx", ".cpp", "g++")):
        built[stem] = os.path.join(folder, "counted-" + stem)
        flags = common.COMMON_FLAGS + common.GCC_FLAGS + common.VARIANTS["plain"][2]
        if not common.compile_one([compiler] + flags, os.path.join(common.BENCH, "workloads", stem + extension),
                                  built[stem]):
            raise SystemExit("instructions: %s does not compile" % stem)
    counts = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {name: [pool.submit(run_counted, built[program], arguments, operations, library, is_recorded(name), folder)
                          for operations in (few, many)]
                   for name, (program, arguments, few, many) in CASES.items()}
        for name, (short, long) in running.items():
            few, many = CASES[name][2:]
            counts[name] = round((long.result() - short.result()) / (many - few), 1)
    return counts


def circumstances():
    """What the counts depend on besides the source: they are compared only where these are the same."""
    return {"cpu": os.uname().machine, "compiler": common.first_line(["gcc", "-dumpfullversion"]),
            "libc": " ".join(platform.libc_ver())}


def compare(old, new):
    """(text lines, whether any grew)"""
    lines = ["%-28s %9s %9s %8s" % ("instructions in libseep.so", "committed", "now", "")]
    grown = False
    for name in list(new) + [name for name in old if name not in new]:
        if name not in old or name not in new:
            lines.append("%-28s %9s %9s  %s" % (name, old.get(name, "-"), new.get(name, "-"),
                                                "not committed" if name not in old else "no such case"))
            grown = True
            continue
        change = new[name] / old[name] - 1
        verdict = "GROWN" if change > GROWTH else "less, run --update" if change < -GROWTH else ""
        grown = grown or change > GROWTH
        lines.append("%-28s %9.1f %9.1f %+7.1f%% %s" % (name, old[name], new[name], change * 100, verdict))
    return lines, grown


def main():
    parser = argparse.ArgumentParser(description="Counts instructions per operation inside libseep.so.")
    parser.add_argument("--build", default=os.path.join(common.ROOT, "build"))
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--update", action="store_true", help="make what is counted now the committed state")
    options = parser.parse_args()
    if not common.program("valgrind"):
        print("instructions: valgrind is not installed, so nothing can be counted")
        return SKIPPED
    # It cannot while some tool has a probe in the dynamic loader's file: `seep attach`, for one.
    if subprocess.run([common.program("valgrind"), "--tool=none", "-q", "/bin/true"], stdin=subprocess.DEVNULL,
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print("instructions: valgrind cannot run /bin/true here at present, so nothing can be counted")
        return SKIPPED
    library = os.path.join(os.path.abspath(options.build), "libseep.so")
    if not os.path.exists(library):
        library = os.path.join(os.path.abspath(options.build), "src/tracee/preload/libseep.so")
    if not os.path.exists(library):
        raise SystemExit("instructions: %s has no libseep.so: run 'make build' first" % options.build)
    here = circumstances()
    committed = json.load(open(COMMITTED, encoding="utf-8")) if os.path.exists(COMMITTED) else {}
    if not options.update and committed.get("circumstances") != here:
        print("instructions: the committed counts are for %s, here is %s" % (committed.get("circumstances"), here))
        return SKIPPED
    folder = os.path.join(os.path.abspath(options.build), "bench")
    os.makedirs(folder, exist_ok=True)
    counts = count_all(library, folder, options.jobs)
    lines, grown = compare(committed.get("counts", {}), counts)
    print("\n".join(lines))
    if options.update:
        with open(COMMITTED, "w", encoding="utf-8") as file:
            json.dump({"circumstances": here, "counts": counts}, file, indent=1)
            file.write("\n")
        return 0
    if grown:
        print("A case costs over %d %% more than committed. If that is meant: make bench-instructions UPDATE=1"
              % (GROWTH * 100))
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
