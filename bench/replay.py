#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""How near a replay is: the peak of heap memory of real programs under glibc, and of their replay.

    /usr/bin/python3 bench/replay.py [--build build]

The program's is the most that /proc/PID/smaps has of anonymous memory in [heap] and mappings without a name, looked at all the
time, in the highest of three runs; of cc1plus in [heap] alone, because its mappings are of its own collector. The replay's is
peak_rss_bytes of seep replay.
"""
import argparse
import json
import os
import re
import subprocess
import tempfile

SQL = ("create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 300000)"
       "insert into t select x, hex(randomblob(20)) from c; select count(*) from t order by b;")
PROGRAMS = {
    "jq": ["jq", "-n", '[range(300000) | {a: ., b: "x\\(.)"}] | length'],
    "sqlite3": ["sqlite3", ":memory:", SQL],
    "python3": ["/usr/bin/python3", "-c", "d = {i: str(i) * 3 for i in range(200000)}; l = [list(range(20)) for _ in range(20000)]"],
    "perl": ["perl", "-e", 'my %h; for my $i (1..400000) { $h{$i} = "x" x ($i % 100); } print scalar(keys %h)'],
}
SOURCE = "#include <regex>\n#include <map>\n#include <iostream>\nint main() { std::regex r(\"a+b\"); std::cout << 1; }\n"


def compiler(folder):
    """cc1plus itself, on a source that is preprocessed: the driver would be another process."""
    source, ready = os.path.join(folder, "a.cpp"), os.path.join(folder, "a.ii")
    with open(source, "w", encoding="ascii") as file:
        file.write(SOURCE)
    subprocess.run(["g++", "-E", source, "-o", ready], check=True)
    name = subprocess.run(["g++", "-print-prog-name=cc1plus"], check=True, capture_output=True, text=True).stdout.strip()
    return [name, "-fpreprocessed", "-quiet", "-O1", ready, "-o", "/dev/null"]


def heap_now(pid, names):
    total, counts = 0, False
    with open("/proc/%d/smaps" % pid, encoding="utf-8", errors="replace") as file:
        for line in file:
            found = re.match(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)$", line)
            if found:
                counts = found.group(1) in names
            elif counts and line.startswith("Anonymous:"):
                total += int(line.split()[1])
    return total


def heap_peak(command, environment, names):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=environment)
    peak = 0
    while process.poll() is None:
        try:
            peak = max(peak, heap_now(process.pid, names))
        except OSError:
            pass
    return peak


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    options = parser.parse_args()
    seep = os.path.join(options.build, "seep")
    environment = dict(os.environ, PYTHONMALLOC="malloc")
    print("| program | calls | real KiB | replay KiB | difference |\n| --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        programs = dict(PROGRAMS, cc1plus=compiler(folder))
        for name, command in programs.items():
            names = ["[heap]"] if name == "cc1plus" else ["[heap]", ""]
            real = max(heap_peak(command, environment, names) for _ in range(3))
            trace = os.path.join(folder, name + ".seep")
            subprocess.run([seep, "run", "-q", "--scan", "no", "--mode", "record", "-o", trace, "--", *command], check=True,
                           env=environment, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            done = subprocess.run([seep, "replay", trace, "--json", "--rounds", "3"], check=True, capture_output=True)
            result = json.loads(done.stdout)
            replayed = result["allocators"][0]["peak_rss_bytes"] / 1024
            print("| %s | %s | %s | %s | %+.1f %% |" % (name, format(result["calls"], ","), format(real, ","),
                                                      format(int(replayed), ","), (replayed / real - 1) * 100))


if __name__ == "__main__":
    main()
