#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How quickly a page opens: bench/page.py [--build DIR] [--runs N] [--sites N,N] [--peers]

Makes traces of so many sites in stacks of about 50 frames (tests/web/page_traces), with 64 moments and without, and opens their
pages in a fresh Chromium each time. With --peers the same stacks in speedscope (npm, of web/) and d3-flame-graph (npm, into
a temporary folder), each within two minutes or not at all, and the first view of ours beside them. Medians of the runs, from navigation; p95 of all redraws. Needs what tests/web needs.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def modules_of(build):
    for folder in (os.path.join(build, "web"), os.path.join(ROOT, "web")):
        if os.path.isdir(os.path.join(folder, "node_modules")):
            return folder
    raise SystemExit("page.py: no node_modules: run the tests of tests/web first, or npm ci in web/")


def peers(options, chromium, modules):
    seep, limit = os.path.join(options.build, "seep"), 120
    print("| sites | seep s | speedscope s | d3-flame-graph s |")
    print("| ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "install", "--loglevel=error", "--no-audit", "--no-fund", "--prefix", folder, "d3@7", "d3-flame-graph@4"],
                       check=True, stdout=subprocess.DEVNULL)
        for sites in options.sites.split(","):
            trace, page = os.path.join(folder, "t.seep"), os.path.join(folder, "page.html")
            files = {name: os.path.join(folder, "t." + name) for name in ("folded", "speedscope")}
            subprocess.run([os.path.join(options.build, "tests/web/page_traces"), "sites", sites, "0", trace], check=True)
            subprocess.run([seep, "html", trace, "-o", page], check=True)
            for name, path in files.items():
                subprocess.run([seep, "export", trace, "--format", name, "-o", path], check=True)
            runs = []
            for _ in range(options.runs):  # side by side, so that a busy machine is busy for all
                ours = subprocess.run(["node", os.path.join(ROOT, "bench", "page.mjs"), modules, chromium, page], stdout=subprocess.PIPE, check=True)
                theirs = subprocess.run(["node", os.path.join(ROOT, "bench", "page_peers.mjs"), modules, chromium, folder, files["folded"],
                                         files["speedscope"], str(limit)], stdout=subprocess.PIPE, check=True)
                runs.append({"seep": json.loads(ours.stdout)["first"], **json.loads(theirs.stdout)})

            def median(name):
                times = [run[name] for run in runs]
                return "not in %d" % limit if None in times else "%.2f" % (statistics.median(times) / 1e3)
            print("| %s | %s | %s | %s |" % (sites, median("seep"), median("speedscope"), median("d3-flame-graph")), flush=True)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--sites", default="10000,100000")
    parser.add_argument("--peers", action="store_true")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium:
        raise SystemExit("page.py: chromium is not installed")
    modules = modules_of(options.build)
    if options.peers:
        return peers(options, chromium, modules)
    print("| sites | moments | html s | file MB | first view s | all ready s | renderer CPU s | redraw p95 ms | search p95 ms | drag p95 ms | memory MB |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for sites in options.sites.split(","):
            for moments in ("0", "64"):
                trace, page = os.path.join(folder, "t.seep"), os.path.join(folder, "page.html")
                subprocess.run([os.path.join(options.build, "tests/web/page_traces"), "sites", sites, moments, trace], check=True)
                begin = time.monotonic()
                subprocess.run([os.path.join(options.build, "seep"), "html", trace, "-o", page], check=True)
                made = time.monotonic() - begin
                runs = []
                for _ in range(options.runs):
                    done = subprocess.run(["node", os.path.join(ROOT, "bench", "page.mjs"), modules, chromium, page],
                                          stdout=subprocess.PIPE, check=True, timeout=600)
                    runs.append(json.loads(done.stdout))
                median = lambda key: statistics.median(run[key] for run in runs)

                def p95(key):
                    every = sorted(value for run in runs for value in run[key])
                    return "%.0f" % every[int(0.95 * (len(every) - 1))] if every else "-"
                print("| %s | %s | %.1f | %.1f | %.2f | %.2f | %.2f | %s | %s | %s | %.0f |" % (
                    sites, moments, made, os.path.getsize(page) / 1e6, median("first") / 1e3, median("ready") / 1e3, median("cpu") / 1e3,
                    p95("redraw"), p95("search"), p95("drag"), median("memory") / 1e6), flush=True)


if __name__ == "__main__":
    main()
