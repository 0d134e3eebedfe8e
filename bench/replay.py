#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""How near a replay is: the peak of heap memory of real programs under glibc, and of their replay.

    /usr/bin/python3 bench/replay.py [--build build] [--touch pages|recorded] [NAME...]

The program's is the most that /proc/PID/smaps has of anonymous memory in [heap] and mappings without a name, looked at all the
time, in the highest of three runs; servers have glibc as their allocator, and the same load each time. The compiler, of a large source
(cc1plus), a small one (cc1plus-small) and an empty main (cc1plus-empty), has glibc:mmap_max=0, and its replay too, and [heap] alone
counts: mappings are of its own collector, and glibc makes none. The replay's is peak_rss_bytes of seep replay.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import tempfile
import time

SQL = ("create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 300000)"
       "insert into t select x, hex(randomblob(20)) from c; select count(*) from t order by b;")
PROGRAMS = {
    "jq": ["jq", "-n", '[range(300000) | {a: ., b: "x\\(.)"}] | length'],
    "sqlite3": ["sqlite3", ":memory:", SQL],
    "python3": ["/usr/bin/python3", "-c", "d = {i: str(i) * 3 for i in range(200000)}; l = [list(range(20)) for _ in range(20000)]"],
    "perl": ["perl", "-e", 'my %h; for my $i (1..400000) { $h{$i} = "x" x ($i % 100); } print scalar(keys %h)'],
}
EMPTY = "int main() {}\n"
SMALL = "#include <map>\nstd::map<int, int> m;\nint main() { m[1] = 2; return m.size(); }\n"
SOURCE = "#include <regex>\n#include <map>\n#include <iostream>\nint main() { std::regex r(\"a+b\"); std::cout << 1; }\n"


# Servers: what starts one, and what loads it. glibc before what they were built with.
NGINX = "daemon off; master_process off; error_log /dev/null; pid %s/pid;"
SERVERS = {
    "redis": (lambda folder: ["redis-server", "--port", "0", "--unixsocket", folder + "/s", "--save", "", "--appendonly", "no"],
              lambda folder: ["redis-benchmark", "-s", folder + "/s", "-q", "-n", "100000", "-r", "100000", "-d", "100", "-t",
                              "set,lpush,hset,zadd,get"]),
    "nginx": (lambda folder: ["nginx", "-p", folder, "-c", folder + "/nginx.conf", "-g", NGINX % folder],
              lambda folder: ["ab", "-q", "-c", "200", "-n", "20000", "http://127.0.0.1:18765/page"]),
}
NGINX_CONF = """events { worker_connections 1024; }
http { access_log off; client_body_temp_path %(folder)s/b; proxy_temp_path %(folder)s/p; fastcgi_temp_path %(folder)s/f;
 uwsgi_temp_path %(folder)s/u; scgi_temp_path %(folder)s/c;
 server { listen 127.0.0.1:18765; root %(folder)s; location = /page { gzip on; gzip_types text/plain; default_type text/plain; } } }
"""


def is_ready(name, folder):
    if name == "redis":
        return os.path.exists(folder + "/s")
    return subprocess.run(["curl", "-s", "-o", "/dev/null", "http://127.0.0.1:18765/page"]).returncode == 0


def serve(name, folder, before, environment, look):
    """Starts the server behind `before`, loads it, ends it; look() is called meanwhile with its pid. Returns what look() gave at most."""
    start, load = SERVERS[name]
    with open(folder + "/nginx.conf", "w", encoding="ascii") as file:
        file.write(NGINX_CONF % {"folder": folder})
    with open(folder + "/page", "w", encoding="ascii") as file:
        file.write("a line of text that is sent\n" * 2000)
    process = subprocess.Popen([*before, *start(folder)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL)
    while not is_ready(name, folder):
        assert process.poll() is None, "%s does not start" % name
        time.sleep(0.05)
    pid = process.pid
    if before:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
            pid = int(file.read().split()[0])
    loader, peak = subprocess.Popen(load(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), 0
    while loader.poll() is None:
        peak = max(peak, look(pid))
        time.sleep(0.01)
    os.kill(pid, signal.SIGTERM)
    process.wait()
    return peak


def compiler(folder, name, text):
    """cc1plus itself, on a source that is preprocessed: the driver would be another process."""
    source, ready = os.path.join(folder, name + ".cpp"), os.path.join(folder, name + ".ii")
    with open(source, "w", encoding="ascii") as file:
        file.write(text)
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


def libc():
    with open("/proc/self/maps", encoding="utf-8") as file:
        return next(line.split()[-1] for line in file if line.rstrip().endswith("libc.so.6"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--touch", default="")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    seep = os.path.abspath(os.path.join(options.build, "seep"))
    environment = dict(os.environ, PYTHONMALLOC="malloc")
    touch = ["--touch", options.touch] if options.touch else []
    print("| program | calls | real KiB | replay KiB | difference |\n| --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        sources = {"cc1plus": SOURCE, "cc1plus-small": SMALL, "cc1plus-empty": EMPTY}
        compilers = {name: compiler(folder, name, source) for name, source in sources.items()}
        programs = dict(PROGRAMS, **compilers, **SERVERS)
        for name, command in programs.items():
            if options.names and name not in options.names:
                continue
            trace, allocator = os.path.join(folder, name + ".seep"), "glibc"
            record = [seep, "run", "-q", "--scan", "no", "--mode", "record", "-o", trace]
            if name in SERVERS:
                of_glibc = dict(environment, LD_PRELOAD=libc())
                real = max(serve(name, folder, [], of_glibc, lambda pid: heap_now(pid, ["[heap]", ""])) for _ in range(3))
                serve(name, folder, [*record, "--allocator", "glibc", "--"], environment, lambda pid: 0)
            else:
                names, own = ["[heap]", ""], environment
                if name in compilers:
                    names, allocator = ["[heap]"], "glibc:mmap_max=0"
                    own = dict(environment, GLIBC_TUNABLES="glibc.malloc.mmap_max=0")
                real = max(heap_peak(command, own, names) for _ in range(3))
                subprocess.run([*record, "--", *command], check=True, env=own, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            done = subprocess.run([seep, "replay", trace, "--json", "--rounds", "3", *touch, "--allocator", allocator],
                                  check=True, capture_output=True)
            result = json.loads(done.stdout)
            replayed = result["allocators"][0]["peak_rss_bytes"] / 1024
            print("| %s | %s | %s | %s | %+.1f %% |" % (name, format(result["calls"], ","), format(real, ","),
                                                      format(int(replayed), ","), (replayed / real - 1) * 100), flush=True)


if __name__ == "__main__":
    main()
