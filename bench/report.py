#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The table and the plots of raw results. Also by hand: report.py build/bench/performance.json [FOLDER]"""
import json
import math
import os
import sys

ORDER = ["untraced", "empty preload", "hooks that do nothing", "seep", "seep sampled", "seep run", "lsan-gcc", "lsan-clang", "lsan", "heaptrack", "heaptrack raw", "memcheck",
         "unw_step"]
COLOURS = {"untraced": "#888888", "seep": "#0b6e4f", "seep run": "#52b788", "seep sampled": "#95d5b2", "lsan-gcc": "#3a6ea5", "lsan-clang": "#7aa6d8",
           "lsan": "#3a6ea5", "heaptrack": "#d1495b", "heaptrack raw": "#e8889a", "memcheck": "#8d5a97", "unw_step": "#edae49"}


# ---- cells --------------------------------------------------------------------------------------------


def number(value):
    """Three significant digits, thousands grouped."""
    if value == 0 or math.isnan(value):
        return "0" if value == 0 else "?"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return format(round(value, digits), ",.%df" % min(digits, 2))


def cell(figure):
    if figure is None:
        return ""
    if "failed" in figure:
        return "failed (%s)" % figure["failed"].replace("|", "/")[:48]
    if figure["runs"] == 1:
        return number(figure["median"])
    return "%s (%s..%s)" % (number(figure["median"]), number(figure["min"]), number(figure["max"]))


def scaled(figure, factor):
    if figure is None or "failed" in figure:
        return figure
    return dict(figure, **{key: figure[key] * factor for key in ("median", "min", "max")})


def of(case, tool, key):
    """The figure, the failure, or None where the tool did not run."""
    found = case["tools"].get(tool)
    if found is None or "failed" in found:
        return found
    return found.get(key)


def median(case, tool, key):
    figure = of(case, tool, key)
    return None if figure is None or "failed" in figure else figure["median"]


def table(header, rows):
    text = [[str(word) for word in row] for row in [header] + rows]
    widths = [max(len(row[i]) for row in text) for i in range(len(header))]
    lines = ["| " + " | ".join(word.ljust(width) for word, width in zip(row, widths)) + " |" for row in text]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return lines


def columns(cases):
    seen = {tool for case in cases for tool in case["tools"]}
    return [tool for tool in ORDER if tool in seen]


def ratio(over, under):
    return number(over / under) if over is not None and under not in (None, 0) else ""


# ---- parts --------------------------------------------------------------------------------------------


def made(part):
    """When, on what and with which tools the part was measured."""
    stamp, machine = part["made"], part["made"]["machine"]
    lines = ["Measured %s at commit %s on %s%s, %d cores, %s GiB, %s, kernel %s, %s; load average before: %s; %d runs%s." % (
        stamp["date"], stamp["commit"], machine["processor"], " (virtual machine)" if machine["virtual"] else "",
        machine["cores"], machine["memory_gib"], machine["system"], machine["kernel"], machine["libc"],
        machine["load_before"], stamp["runs"], ", quick" if stamp["quick"] else ""), ""]
    return lines


def tools_table(stamp):
    rows = [[name, tool["what"], tool["version"] or ""] for name, tool in stamp["tools"].items() if name != "untraced"]
    return ["## Tools", ""] + table(["name", "what it is", "version"], rows) + [""]


def pairs_table(cases, key="ns"):
    names = columns(cases)
    extra = [name for name in ("heaptrack", "heaptrack raw", "unw_step") if name in names]
    header = ["case"] + names + ["seep / untraced"] + ["%s adds / seep adds" % name for name in extra]
    rows = []
    for case in cases:
        plain, traced = median(case, "untraced", key), median(case, "seep", key)
        row = [case["case"]] + [cell(of(case, name, key)) for name in names] + [ratio(traced, plain)]
        for name in extra:
            peer = median(case, name, key)
            known = None not in (peer, plain, traced) and traced > plain
            row.append(number((peer - plain) / (traced - plain)) if known else "")
        rows.append(row)
    return table(header, rows)


def micro_lines(part):
    lines = ["## Micro: one free and one malloc, nanoseconds of CPU time", ""] + made(part)
    lines += pairs_table(part["results"]["pairs"]) + [""]
    lines += ["## Sites: another of N call stacks at each operation, 41 frames deep, nanoseconds of CPU time", "",
              "Known sites:", ""] + pairs_table(part["results"]["sites"])
    lines += ["", "The first time at each site:", ""] + pairs_table(part["results"]["sites"], "first_ns")
    rows = [[case["case"]] + [cell(scaled(of(case, name, "rss_kib"), 1 / 1024)) for name in ("untraced", "seep")]
            for case in part["results"]["sites"]]
    return lines + ["", "Resident memory, MiB:", ""] + table(["case", "untraced", "seep"], rows) + [""]


def threads_lines(part):
    cases = part["results"]["cases"]
    lines = ["## Threads, nanoseconds of wall time per operation of a thread", ""] + made(part)
    lines += pairs_table([case for case in cases if "CPU" not in case["case"]]) + [""]
    lines += ["CPU nanoseconds per operation, all threads together (includes their start and end):", ""]
    lines += pairs_table(cases, "cpu_ns") + [""]
    rows = [[case["case"]] + [cell(scaled(of(case, name, "rss_kib"), 1 / 1024)) for name in ("untraced", "seep")]
            for case in cases]
    return lines + ["Resident memory at the end, MiB:", ""] + table(["case", "untraced", "seep"], rows) + [""]


def geometric(values):
    return math.exp(sum(math.log(value) for value in values) / len(values)) if values else None


def real_lines(part):
    cases = part["results"]
    names = [name for name in columns(cases) if name != "untraced"]
    lines = ["## Real programs: wall time over untraced", ""] + made(part)
    lines += real_table(cases, names, "ratio", "seconds")
    lines += ["", "CPU time over untraced (all threads; less disturbed where the machine was busy; of redis and nginx the "
              "server's alone):", ""] + real_table(cases, names, "cpu_ratio", "cpu_s")
    lines += ["", "Means of a tool are over the programs it could run. The output of every program under seep was "
              "compared with the untraced one's: %s." % sameness(cases), "",
              "Largest resident memory: untraced in MiB, and what tracing adds:", ""]
    rows = []
    for case in cases:
        row = [case["case"], cell(scaled(of(case, "untraced", "rss_kib"), 1 / 1024))]
        rows.append(row + [cell(scaled(of(case, name, "extra_rss_kib"), 1 / 1024)) for name in names])
    return lines + table(["program", "untraced, MiB"] + names, rows) + [""]


def real_table(cases, names, key, base):
    header = ["program", "untraced, s"] + names
    rows = [[case["case"], cell(of(case, "untraced", base))] + [cell(of(case, name, key)) for name in names]
            for case in cases]
    means, worsts, ran = ["geometric mean", ""], ["worst", ""], ["programs", ""]
    for name in names:
        values = [v for v in (median(case, name, key) for case in cases) if v is not None]
        means.append(number(geometric(values)) if values else "")
        worsts.append(number(max(values)) if values else "")
        ran.append("%d of %d" % (len(values), len(cases)))
    return table(header, rows + [means, worsts, ran])


def sameness(cases):
    ran = [case for case in cases if of(case, "seep", "ratio") and "failed" not in of(case, "seep", "ratio")]
    same = [case for case in ran if case["tools"]["seep"].get("same_output")]
    return "%d of %d are the same" % (len(same), len(cases))


def memory_lines(part):
    lines = ["## Memory", ""] + made(part) + ["Resident memory of many live blocks, MiB, and what a tool adds:", ""]
    cases = part["results"]["blocks"]
    names = columns(cases)
    rows = []
    for case in cases:
        plain = median(case, "untraced", "rss_kib")
        row = [case["case"]]
        for name in names:
            value = median(case, name, "rss_kib")
            text = cell(scaled(of(case, name, "rss_kib"), 1 / 1024))
            row.append(text if name == "untraced" or not value or not plain else
                       "%s: %+.0f %%" % (text, (value / plain - 1) * 100))
        rows.append(row)
    lines += table(["case"] + names, rows) + ["", "Of a thread that allocated at 8 stacks and waits, KiB:", ""]
    few, many = part["results"]["threads"]
    names = columns([few, many])
    row = ["resident memory per thread"]
    for name in names:
        values = median(few, name, "rss_kib"), median(many, name, "rss_kib")
        row.append(number((values[1] - values[0]) / (many["threads"] - few["threads"])) if None not in values else "failed")
    return lines + table(["case"] + names, [row]) + [""]


def start_lines(part):
    lines = ["## Start-up: /bin/true from spawn to exit, microseconds", ""] + made(part)
    took = part["results"]["microseconds"]
    plain = took["untraced"].get("median")
    rows = [[name, cell(took[name]), number(took[name]["median"] - plain) if "failed" not in took[name] and plain else ""]
            for name in ORDER if name in took]
    return lines + table(["", "microseconds", "more than untraced"], rows) + [""]


VERDICTS = ["growing", "plateau", "sawtooth", "steady", "shrinking"]


def processes_lines(part):
    cases = part["results"]["cases"]
    names = list(cases[0]["tools"])
    lines = ["## Processes: what a child costs, CPU time of all processes and the tool together", ""] + made(part)
    rows = []
    for case in cases:
        factor, unit = (1000, "ms") if case["a_child"] else (1, "s")
        rows.append([case["case"], unit] + [cell(scaled(of(case, name, "cpu_s"), factor)) for name in names])
    return lines + table(["case", ""] + names, rows) + [""]


def reports_lines(part):
    lines = ["## Reports and exports of big traces", ""] + made(part)
    for trace in dict.fromkeys(case["trace"] for case in part["results"]["cases"]):
        rows = [[case["what"], cell(case["wall_s"]), cell(case["cpu_s"]), cell(scaled(case["rss_kib"], 1 / 1024)),
                 number(case["bytes"] / 1e6)]
                for case in part["results"]["cases"] if case["trace"] == trace]
        lines += [trace + ":", ""] + table(["output", "s", "CPU s", "MiB", "MB written"], rows) + [""]
    return lines


def growth_lines(part):
    lines = ["## Growth: what is said of generated histories, of 1,000 each", ""] + made(part)
    for run in part["results"]["runs"]:
        rows = [[case["case"]] + [format(case[name], ",") for name in VERDICTS] +
                ["%.1f %% %s" % (case["growing"] / run["histories"] * 100, "found" if case["leaks"] else "false alarms")]
                for case in run["cases"]]
        lines += ["%d snapshots, seed %d:" % (run["points"], run["seed"]), ""]
        lines += table(["history"] + VERDICTS + ["said to grow"], rows) + [""]
    return lines + ["How the histories are drawn stands at the head of `bench/growth.c`.", ""]


def bpf_lines(part):
    cases, find_ = part["results"]["pairs"], part["results"]["find"]
    names = list(cases[0]["tools"])
    lines = ["## BPF: a pair of malloc and free under probes, nanoseconds of CPU time", ""] + made(part)
    rows = [[case["case"]] + [cell(of(case, name, "ns")) for name in names] for case in cases]
    lines += table(["case"] + names, rows)
    lines += ["", "All but the last keep a complete stack of each allocation, unwound without frame pointers; nothing was lost. The "
              "last column does what bcc's memleak does, whose stack is one frame here: `bench/peers/memleak_way.bpf.c`.", "",
              "`find` over %s files in the page cache under `seep kernel`, seconds of CPU time:" % format(find_["files"], ","), ""]
    plain = median(find_, "untraced", "cpu_s")
    rows = [[name, cell(of(find_, name, "cpu_s")), ratio(median(find_, name, "cpu_s"), plain)] for name in find_["tools"]]
    return lines + table(["", "seconds", "times untraced"], rows) + [""]


def scan_lines(part):
    lines = ["## Scan: `seep scan` of a process, all of the tool's CPU time", ""] + made(part)
    rows = [[case["case"], format(case["blocks"], ","), number(case["read_bytes"] / 2**30), cell(case["cpu_s"]), cell(case["wall_s"]),
             cell(case["pause_s"]), cell(case["gib_per_s"]), "" if case["buffers"] else cell(case["bytes_per_block"])]
            for case in part["results"]["cases"]]
    header = ["heap", "blocks", "GiB read", "CPU seconds", "seconds", "pause, s", "GiB/s", "bytes a block"]
    return lines + table(header, rows) + ["", "Blocks come with their classes, who holds them, and what they retain. Memory is the tool's "
                                          "resident peak over the number of blocks.", ""]


def parts_lines(part):
    result = part["results"]
    lines = ["## Parts: where the cost of an allocation and its free lies", ""] + made(part)
    names = list(result["times"][0]["tools"])
    lines += ["Nanoseconds of CPU time of a pair:", ""]
    lines += table(["case"] + names, [[case["case"]] + [cell(of(case, name, "ns")) for name in names] for case in result["times"]])
    lines += ["", "Instructions in libseep.so for one allocation and what comes with it (its free, once), by callgrind and the "
              "library's debugging information. Of the programs all from start to exit is in it.", ""]
    rows = []
    for case in result["counts"]:
        each = [case["instructions"].get(name, 0) / case["allocations"] for name in result["parts"]]
        rows.append([case["case"], number(sum(each))] + ["%.0f" % value if value >= 0.5 else "" for value in each])
    lines += table(["case", "all"] + result["parts"], rows)
    lines += ["", "How stacks repeat: of the allocations, those whose stack was not among the recent ones and had to be walked; "
              "and nodes of the tree that were new.", ""]
    rows = [[case["case"], format(case["allocations"], ","), "%.1f %%" % (100 * case["long"] / case["allocations"]),
             "%.1f %%" % (100 * case["walks"] / case["allocations"]), format(case["new_nodes"], ",")] for case in result["counts"]]
    return lines + table(["case", "allocations", "not by the short way", "walked", "new nodes"], rows) + [""]


# ---- targets ------------------------------------------------------------------------------------------


def find(cases, name):
    return next((case for case in cases if case["case"] == name), None)


def targets(results):
    """[what, wanted, measured, holds?] of what the figures at hand can decide."""
    rows = []

    def add(what, wanted, value, holds, unit=""):
        if value is not None:
            rows.append([what, wanted, number(value) + unit, "yes" if holds(value) else "NO"])

    if "micro" in results:
        cases = results["micro"]["results"]["pairs"]
        for depth, most in (("20", 2.5), ("60", 4)):
            case = find(cases, "depth " + depth)
            plain, traced = median(case, "untraced", "ns"), median(case, "seep", "ns")
            add("pair at depth %s over untraced" % depth, "at most %s" % most, traced / plain, lambda v, m=most: v <= m)
        case = find(cases, "depth 20")
        plain, traced = median(case, "untraced", "ns"), median(case, "seep", "ns")
        for peer, least in (("heaptrack", 20), ("heaptrack raw", 20), ("unw_step", 100)):
            value = median(case, peer, "ns")
            if value and traced > plain:
                add("cost %s adds over cost seep adds, depth 20" % peer, "at least %d" % least,
                    (value - plain) / (traced - plain), lambda v, l=least: v >= l)
        for peer in ("lsan-gcc", "lsan-clang"):
            over = [(median(c, "seep", "ns") / median(c, peer, "ns")) for c in cases if median(c, peer, "ns")]
            if over:
                add("seep over %s, the worst pair of all" % peer, "at most 1", max(over), lambda v: v <= 1)
            over = [(median(c, "seep", "ns") / median(c, peer, "ns")) for c in results["micro"]["results"]["sites"]
                    if median(c, peer, "ns")]
            if over:
                add("seep over %s, another of many sites each time, worst" % peer, "at most 1", max(over),
                    lambda v: v <= 1)
    if "threads" in results:
        cases = results["threads"]["results"]["cases"]
        one, two = find(cases, "pairs, 1 thread"), find(cases, "pairs, 2 threads")
        for key, clock in (("ns", "wall"), ("cpu_ns", "CPU")):
            for name in ("untraced", "seep", "heaptrack raw"):
                if median(one, name, key) and median(two, name, key):
                    add("%s time of an operation, 2 threads over 1: %s" % (clock, name), "at most 1.1" if name == "seep" else "",
                        median(two, name, key) / median(one, name, key), lambda v: v <= 1.1)
        few, many = find(cases, "short-lived threads, 1,000"), find(cases, "short-lived threads, 10,000")
        add("resident memory after 10,000 threads over that after 1,000", "at most 1.05",
            median(many, "seep", "rss_kib") / median(few, "seep", "rss_kib"), lambda v: v <= 1.05)
    if "real" in results:
        cases = results["real"]["results"]
        for name in ("seep", "seep run"):
            values = [v for v in (median(case, name, "ratio") for case in cases) if v is not None]
            if values:
                add("real programs, geometric mean: %s" % name, "at most 1.15", geometric(values), lambda v: v <= 1.15)
                add("real programs, worst: %s" % name, "at most 1.40", max(values), lambda v: v <= 1.4)
        values = [v for v in (median(case, "hooks that do nothing", "ratio") for case in cases) if v is not None]
        if values:
            add("real programs, worst: hooks that do nothing", "", max(values), lambda v: True)
        values = [v for v in (median(case, "seep sampled", "ratio") for case in cases) if v is not None]
        if values:
            add("real programs, worst: seep sampled at 512 KiB", "at most 1.02", max(values), lambda v: v <= 1.02)
        over = [median(c, "seep", "extra_rss_kib") - 5120 - 0.1 * median(c, "untraced", "rss_kib") for c in cases
                if median(c, "seep", "extra_rss_kib") is not None]
        if over:
            add("real programs, extra memory less 5 MiB and 10 %, worst", "at most 0", max(over) / 1024,
                lambda v: v <= 0, " MiB")
    if "memory" in results:
        for case in results["memory"]["results"]["blocks"]:
            if case["size"] in (24, 32):
                add("extra memory, " + case["case"], "at most 30 %",
                    (median(case, "seep", "rss_kib") / median(case, "untraced", "rss_kib") - 1) * 100,
                    lambda v: v <= 30, " %")
        few, many = results["memory"]["results"]["threads"]
        each = [(median(many, n, "rss_kib") - median(few, n, "rss_kib")) / (many["threads"] - few["threads"])
                for n in ("seep", "untraced")]
        add("extra memory of a thread", "at most 64 KiB", each[0] - each[1], lambda v: v <= 64, " KiB")
    if "start" in results:
        took = results["start"]["results"]["microseconds"]
        if "failed" not in took["seep"]:
            add("start-up of /bin/true, the library", "at most 1,000 us", took["seep"]["median"] - took["empty preload"]["median"],
                lambda v: v <= 1000, " us")
        if "seep run" in took and "failed" not in took["seep run"]:
            add("start-up of /bin/true, the whole tool", "at most 3,000 us",
                took["seep run"]["median"] - took["untraced"]["median"], lambda v: v <= 3000, " us")
    for run in results.get("growth", {"results": {"runs": []}})["results"]["runs"]:
        for case in run["cases"] if run["points"] == 20 else []:
            share = case["growing"] / run["histories"] * 100
            if case["leaks"]:
                add("growth found, %s, 20 snapshots" % case["case"], "at least 95 %", share, lambda v: v >= 95, " %")
            else:
                add("false alarms of growth, %s, 20 snapshots" % case["case"], "at most 1 %", share, lambda v: v <= 1, " %")
    if "bpf" in results:
        for case in results["bpf"]["results"]["pairs"]:
            plain, peer = median(case, "untraced", "ns"), median(case, "memleak's way", "ns")
            for name in case["tools"]:
                value = median(case, name, "ns")
                if name.startswith("seep") and None not in (plain, peer, value) and "-s" not in name:
                    add("what %s adds to a pair over what memleak's way adds, %s" % (name, case["case"]), "at most 0.33",
                        (value - plain) / (peer - plain), lambda v: v <= 0.333)
        case = results["bpf"]["results"]["find"]
        if median(case, "seep kernel", "cpu_s"):
            add("find in the page cache under seep kernel over untraced", "at most 1.8",
                median(case, "seep kernel", "cpu_s") / median(case, "untraced", "cpu_s"), lambda v: v <= 1.8)
    for case in results.get("scan", {"results": {"cases": []}})["results"]["cases"]:
        if case["buffers"]:
            add("scan, GiB a second of CPU time, %s" % case["case"], "at least 1", case["gib_per_s"]["median"], lambda v: v >= 1)
        else:
            if case["blocks"] >= 10_000_000:
                add("scan with holders, CPU time, %s" % case["case"], "at most 5 s", case["cpu_s"]["median"], lambda v: v <= 5, " s")
            add("scan, memory of the tool, %s" % case["case"], "at most 200 B", case["bytes_per_block"]["median"],
                lambda v: v <= 200, " B")
    for row in rows:
        row[3] = row[3] if row[1] else ""
    return table(["target", "wanted", "measured", "met"], rows) if rows else []


# ---- plots --------------------------------------------------------------------------------------------


def plot_lines(plt, path, title, x_label, cases, positions, key="ns", log_x=True):
    figure, axes = plt.subplots(figsize=(7, 4.2))
    for name in columns(cases):
        points = [(x, of(case, name, key)) for x, case in zip(positions, cases)]
        points = [(x, value) for x, value in points if value and "failed" not in value]
        if points:
            xs = [x for x, _ in points]
            axes.plot(xs, [v["median"] for _, v in points], marker="o", label=name, color=COLOURS.get(name))
            axes.fill_between(xs, [v["min"] for _, v in points], [v["max"] for _, v in points], alpha=0.15,
                              color=COLOURS.get(name), linewidth=0)
    axes.set_yscale("log")
    if log_x:
        axes.set_xscale("log")
    axes.set(title=title, xlabel=x_label, ylabel="nanoseconds per operation")
    finish(plt, figure, axes, path)


def plot_bars(plt, path, title, labels, series, y_label, log=True):
    """series: {tool: list of figures or None}"""
    figure, axes = plt.subplots(figsize=(max(7, 0.75 * len(labels)), 4.6))
    width = 0.8 / max(1, len(series))
    for number_, (name, figures) in enumerate(series.items()):
        at = [(i, f) for i, f in enumerate(figures) if f and "failed" not in f]
        axes.bar([i - 0.4 + width * (number_ + 0.5) for i, _ in at], [f["median"] for _, f in at], width * 0.92, label=name,
                 color=COLOURS.get(name), yerr=[[f["median"] - f["min"] for _, f in at], [f["max"] - f["median"] for _, f in at]],
                 error_kw={"elinewidth": 0.7, "capsize": 1.5})
    axes.set_xticks(range(len(labels)), labels, rotation=35, ha="right")
    if log:
        axes.set_yscale("log")
    axes.set(title=title, ylabel=y_label)
    finish(plt, figure, axes, path)


def finish(plt, figure, axes, path):
    axes.grid(True, which="major", axis="y", alpha=0.3)
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    # No date and fixed ids: the same figures give the same file.
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def plots(results, folder):
    try:
        import matplotlib
    except ImportError:
        print("skipped: the plots, python3-matplotlib is not installed")
        return []
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "seep"
    from matplotlib import pyplot as plt
    os.makedirs(folder, exist_ok=True)
    at = lambda name: os.path.join(folder, "performance-%s.svg" % name)
    if "micro" in results:
        pairs, sites = results["micro"]["results"]["pairs"], results["micro"]["results"]["sites"]
        depths = [5, 20, 60, 200]
        plot_lines(plt, at("depth"), "A malloc and free pair by stack depth", "frames",
                   [find(pairs, "depth %d" % depth) for depth in depths], depths)
        changes = [1, 3, 10]
        plot_lines(plt, at("change"), "A pair whose call path changes each time, depth 20", "innermost frames that change",
                   [case for case in pairs if case["case"].startswith("path changes")], changes)
        lives = [1, 1000, 1000000]
        plot_lines(plt, at("live"), "A pair by live blocks, depth 20", "live blocks",
                   [find(pairs, name) for name in ("1 live block", "depth 20", "1,000,000 live blocks")], lives)
        plot_lines(plt, at("sites"), "A pair by distinct sites, 41 frames, no two alike in a row", "sites", sites,
                   [int(case["case"].split()[0].replace(",", "")) for case in sites])
    if "threads" in results:
        cases = results["threads"]["results"]["cases"]
        plot_bars(plt, at("threads"), "CPU time per operation with threads", [case["case"] for case in cases],
                  {name: [of(case, name, "cpu_ns") for case in cases] for name in columns(cases)}, "CPU ns per operation")
    if "real" in results:
        cases = results["real"]["results"]
        plot_bars(plt, at("real"), "Real programs: wall time over untraced", [case["case"] for case in cases],
                  {name: [of(case, name, "ratio") for case in cases] for name in columns(cases) if name != "untraced"},
                  "times untraced")
    if "memory" in results:
        cases = results["memory"]["results"]["blocks"]
        plot_bars(plt, at("memory"), "Resident memory of many live blocks", [case["case"] for case in cases],
                  {name: [scaled(of(case, name, "rss_kib"), 1 / 1024) for case in cases] for name in columns(cases)},
                  "MiB", log=False)
    return sorted(name for name in os.listdir(folder) if name.startswith("performance-"))


# ------------------------------------------------------------------------------------------------------

PARTS = {"micro": micro_lines, "threads": threads_lines, "real": real_lines, "memory": memory_lines, "start": start_lines,
         "processes": processes_lines, "growth": growth_lines, "bpf": bpf_lines, "scan": scan_lines, "parts": parts_lines,
         "reports": reports_lines}


def write(results, output):
    lines = ["# Performance: the table", "", "Made by `make bench`; do not edit. A figure is a median, with",
             "the range of its runs in brackets. What the figures mean is in [performance.md](performance.md).", ""]
    lines += ["## Targets", ""] + targets(results) + [""]
    for name, part in PARTS.items():
        if name in results:
            lines += part(results[name])
    newest = max(results.values(), key=lambda part: part["made"]["date"])
    lines += tools_table(newest["made"])
    images = plots(results, os.path.join(output, "img"))
    if images:
        lines += ["## Plots", ""] + ["![%s](img/%s)" % (name[len("performance-"):-4], name) for name in images]
    with open(os.path.join(output, "performance-table.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as source:
        write(json.load(source), sys.argv[2] if len(sys.argv) > 2 else os.path.dirname(os.path.abspath(sys.argv[1])))
