# SPDX-License-Identifier: BSD-2-Clause
"""What the parts of the benchmark share: building workloads, running a command under a tool, figures.

A figure is {"median", "min", "max", "runs"}; a run that could not be had is {"failed": reason}.
"""
import json
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess

BENCH = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(BENCH)


class Failed(Exception):
    """A run that gave no figure; the text says why, in a few words."""


def say(text):
    print(text, flush=True)


def figure(values):
    values = sorted(values)
    return {"median": statistics.median(values), "min": values[0], "max": values[-1], "runs": len(values)}


def program(name):
    """Path of a system program, or None. Wrapper scripts earlier on PATH do not count."""
    for folder in ("/usr/bin", "/usr/sbin", "/usr/local/bin"):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    return shutil.which(name)


def output_of(command):
    """All that the command prints, or an empty string when it is missing or fails."""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60, check=False).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired):
        return ""


def first_line(command):
    text = output_of(command).strip()
    return text.splitlines()[0] if text else "?"


def clean_environment():
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("SEEP_", "LSAN_", "LD_", "MALLOC_", "PYTHON"))}
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "DEBUGINFOD_URLS", "DISPLAY", "WAYLAND_DISPLAY"):
        environment.pop(name, None)
    environment["LC_ALL"] = "C.UTF-8"
    environment["PATH"] = "/usr/bin:/usr/sbin:/bin:/sbin"
    return environment


# ---- the machine --------------------------------------------------------------------------------------


def machine():
    model = re.search(r"model name\s*:\s*(.+)", open("/proc/cpuinfo", encoding="utf-8").read())
    total = re.search(r"MemTotal:\s*(\d+)", open("/proc/meminfo", encoding="utf-8").read())
    release = re.search(r'PRETTY_NAME="(.+)"', open("/etc/os-release", encoding="utf-8").read())
    flags = open("/proc/cpuinfo", encoding="utf-8").read()
    return {"processor": model.group(1) if model else platform.machine(),
            "cores": len(os.sched_getaffinity(0)), "virtual": "hypervisor" in flags,
            "memory_gib": round(int(total.group(1)) / 2**20, 1) if total else None,
            "kernel": platform.release(), "system": release.group(1) if release else "?",
            "libc": " ".join(platform.libc_ver()), "load_before": round(os.getloadavg()[0], 2)}


def commit():
    name = first_line(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"])
    changed = output_of(["git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no", "src"]).strip()
    return name + (" with changes" if changed else "")


# ---- the workloads ------------------------------------------------------------------------------------

COMMON_FLAGS = ["-g", "-O2", "-D_GNU_SOURCE", "-pthread", "-fno-optimize-sibling-calls"]
# Of gcc: it must not make copies of functions for known arguments, nor one function of two equal ones.
GCC_FLAGS = ["-fno-ipa-cp", "-fno-ipa-icf"]
# What traced programs look like: no frame pointers. LeakSanitizer unwinds by frame pointers only, so its
# builds have them; else its stacks would be cut after a frame or two.
VARIANTS = {
    "plain": ("gcc", "g++", ["-fomit-frame-pointer"]),
    "lsan-gcc": ("gcc", "g++", ["-fsanitize=leak", "-fno-omit-frame-pointer"]),
    "lsan-clang": ("clang", "clang++", ["-fsanitize=leak", "-fno-omit-frame-pointer"]),
}


def build_workloads(folder):
    """Compiles all workloads in all variants: {variant: {name: path}}. A variant that this machine's
    compilers cannot build is left out, and said."""
    os.makedirs(folder, exist_ok=True)
    built = {}
    sources = sorted(os.listdir(os.path.join(BENCH, "workloads")))
    for variant, (c_compiler, cxx_compiler, flags) in VARIANTS.items():
        programs = {}
        for source in sources:
            stem, extension = os.path.splitext(source)
            compiler = {".c": c_compiler, ".cpp": cxx_compiler}.get(extension)
            if not compiler or (variant != "plain" and stem in ("launch", "spawn")):
                continue
            common = COMMON_FLAGS + (GCC_FLAGS if compiler.startswith("g") else [])
            target = os.path.join(folder, "%s-%s" % (stem, variant))
            if not compile_one([compiler] + common + flags, os.path.join(BENCH, "workloads", source), target):
                programs = None
                break
            programs[stem] = target
        if programs is None:
            if variant == "plain":
                raise SystemExit("bench: the workloads do not compile")
            say("skipped: %s, this machine has no compiler for it" % variant)
        else:
            built[variant] = programs
    return built


def compile_one(compiler, source, target, libraries=()):
    """True when it could be compiled."""
    header = os.path.join(BENCH, "workloads", "bench.h")
    newest = max(os.path.getmtime(path) for path in (source, header, os.path.abspath(__file__),
                                                     os.path.join(BENCH, "workloads", "pairs.c")))
    if os.path.exists(target) and os.path.getmtime(target) > newest:
        return True
    try:
        done = subprocess.run(compiler + [source, "-o", target] + list(libraries), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
    except OSError:
        return False
    if done.returncode != 0:
        say("bench: %s" % done.stdout.decode("utf-8", "replace")[-600:])
    return done.returncode == 0


# ---- running ------------------------------------------------------------------------------------------


class Taken:
    """What one run took."""

    def __init__(self, status, wall_s, cpu_s, rss_kib, output):
        self.status, self.wall_s, self.cpu_s, self.rss_kib, self.output = status, wall_s, cpu_s, rss_kib, output


def take(context, command, environment, timeout, preload=None, stdin=None, cwd=None):
    """Runs the command by way of `launch`; Failed when it takes too long or does not end with status 0."""
    result = os.path.join(context.scratch, "launch.json")
    output = os.path.join(context.scratch, "output")
    if os.path.exists(result):
        os.remove(result)
    environment = dict(environment)
    if preload:
        environment["BENCH_PRELOAD"] = preload
    with open(stdin or os.devnull, "rb") as source, open(output, "wb") as sink, \
            open(output + ".err", "wb") as errors:
        process = subprocess.Popen([context.plain["launch"], result] + command, env=environment, stdin=source,
                                   stdout=sink, stderr=errors, cwd=cwd or context.scratch,
                                   start_new_session=True)
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Failed("over %d s" % timeout) from None
        finally:
            # Also what a tool may have left behind; the session has no other processes.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
    try:
        figures = json.load(open(result, encoding="utf-8"))
    except (OSError, ValueError):
        raise Failed("did not run") from None
    if figures["status"] != 0:
        detail = open(output + ".err", "rb").read().decode("utf-8", "replace").strip().splitlines()
        raise Failed("exit status %d%s" % (figures["status"], ": " + detail[-1][:80] if detail else ""))
    return Taken(figures["status"], figures["wall_s"], figures["cpu_s"], figures["rss_kib"], output)


def interleave(tools, runs, once, label):
    """{tool name: list of what once(tool) returned}, or {"failed": reason}; round by round, so that what
    disturbs the machine for a while disturbs all alike. Tools with fewer runs take part in the first
    rounds; a tool that failed is not tried again."""
    values = {tool.name: [] for tool in tools}
    failed = {}
    for number in range(runs):
        # Every second round in the opposite order: no tool always runs after the same one.
        for tool in tools if number % 2 == 0 else list(reversed(tools)):
            if number >= tool.runs(runs) or tool.name in failed:
                continue
            try:
                values[tool.name].append(once(tool))
            except Failed as trouble:
                failed[tool.name] = str(trouble)
                say("  %s under %s failed: %s" % (label, tool.name, trouble))
    return {name: {"failed": failed[name]} if name in failed else values[name] for name in values}
