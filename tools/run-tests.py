#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Builds seep, runs all tests, and counts them one by one.

What runs: the meson tests (unit, oracle, golden, fuzz replay) and the pytest suites (cli, live, hostile, random, corpus, golden,
lint) on the ordinary build; the meson tests and the pytest suites of SANITIZED on a build with clang,
AddressSanitizer and UBSan. That build is made and tested while the tests of the first one leave a processor
idle. Both builds treat warnings as errors.

A test that is skipped must be expected so on this machine: tests/expected_skips.txt.

A cmocka program counts as its tests; one that dies counts as a failure whatever it printed before.

Most pytest suites start real programs, servers and browsers beside each other, so that a few failures may be
the machine's: up to AGAIN failed tests run once more, alone, when all others have ended. One that passes then is
listed as UNSTABLE with its failure, and is a defect to mend. So is a pytest that was killed, whose tests all run once more. The
last line is always 'N passed, N failed, N skipped'. Exit status 0 only when something passed and
nothing failed.
"""
import argparse
import collections
import concurrent.futures
import functools
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import skips  # noqa: E402

PYTEST_SUITES = ["cross", "live", "hostile", "random", "corpus", "oracle", "web", "golden", "cli", "lint"]  # long ones first
# Of cli and golden what takes memory and input of others apart: files, recordings, programs, links, names.
SANITIZED = ["golden/test_trace.py"] + ["cli/test_%s.py" % name for name in (
    "run", "check", "diff", "recordings", "export", "whois", "scan", "reports", "html", "plot", "sysroot", "serve",
    "connect_options", "first_answers", "peak_of_many", "replay_options", "advise_options")]
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:abort_on_error=0",
              "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}  # for the programs of that build
# Tests of those files that look at other programs more than at seep.
NOT_SANITIZED = ["cli/test_recordings.py::test_ctrl_c_as_soon_as_there_is_a_prompt",  # no LeakSanitizer under strace
                 "cli/test_recordings.py::test_modules_with_one_hash_cost_no_search",  # no AddressSanitizer under Valgrind
                 "cli/test_run.py::test_few_descriptors",
                 "cli/test_export.py::test_large_outputs_are_written_in_large_parts",
                 "cli/test_plot.py::test_png_is_drawn",  # fontconfig keeps some memory at the end
                 "cli/test_check.py::test_sarif_is_read_by_types_made_from_the_schema"]
# What make check runs beside the meson tests: something of every command and of the library, in a minute.
FAST = ["cli/test_run.py", "cli/test_check.py", "cli/test_scan.py", "cli/test_diff.py", "cli/test_reports.py",
        "cli/test_whois.py", "lint/test_lint.py", "lint/test_libseep.py", "lint/test_commands.py",
        "lint/test_coverage.py", "lint/test_runner.py", "live/test_exit_scan.py", "live/test_mappings.py",
        "live/test_own_malloc.py", "live/test_segments.py", "live/test_one_word.py", "live/test_musl.py"]
AGAIN = 4  # more failures than these are no accident
DEAREST = 24  # files of tests whose processor time is told
FULL_FAILURES = 25  # of these all output is shown, of the others the end

Result = collections.namedtuple("Result", "suite name status detail")  # status: passed, failed, skipped

results = []
unstable = []    # results that failed and passed when they ran again
seconds = collections.Counter()  # of processor time, by part of the whole
dearest = collections.Counter()  # the same by file of tests
pytest_ids = {}  # (suite, name) of a test: what pytest calls it, the variables that it needs
meson_runs = {}  # (suite, name) of a meson test: what meson tells of it, options of run()
started = time.monotonic()


def say(text):
    print(text, flush=True)


def record(suite, name, status, detail=""):
    results.append(Result(suite, name, status, detail.strip()))


def clean_environment():
    environment = dict(os.environ)
    # meson and others set it to a random value; seep's tests trace malloc and want it quiet.
    environment["MALLOC_PERTURB_"] = "0"
    environment["LC_ALL"] = "C.UTF-8"
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    # make's own: a make that a test starts must not wait for our job tokens.
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "NO_COLOR", "DEBUGINFOD_URLS", "LD_PRELOAD"):
        environment.pop(name, None)
    for name in [name for name in environment if name.startswith("SEEP_")]:
        environment.pop(name)
    return environment


def end_with_all_it_started(pid):
    """Waits for the end of a process that leads a group. Where a signal ended it, its group is killed: what it started may
    wait for it, and keep its output open."""
    if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT).si_code != os.CLD_EXITED:
        os.killpg(pid, signal.SIGKILL)


def run(command, timeout, part=None, **options):
    """(exit status, output). A process that takes too long is killed with all it started: (None, output)."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True, **options)
    late = []
    timer = threading.Timer(timeout, lambda: (late.append(True), os.killpg(process.pid, signal.SIGKILL)))
    timer.start()
    waiter = threading.Thread(target=end_with_all_it_started, args=(process.pid,))
    waiter.start()
    with process.stdout:
        output = process.stdout.read().decode("utf-8", "replace")
    waiter.join()
    timer.cancel()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if part:
        seconds[part] += used.ru_utime + used.ru_stime
    return None if late else process.returncode, output


# ---- building ----


# Only with what others leave: nice, and so that it counts between sessions too where they are scheduled as groups.
ASIDE = ["sh", "-c", '{ echo 19 >/proc/self/autogroup; } 2>/dev/null; exec nice -n 19 "$@"', "aside"]


def build(name, directory, meson_options, environment, jobs, before=()):
    """Configures if need be and builds. A build that fails is a failed test."""
    begin = time.monotonic()
    setup = ["meson", "setup", directory] + meson_options
    if os.path.exists(os.path.join(directory, "build.ninja")):
        setup = ["meson", "configure", directory] + [o for o in meson_options if o.startswith("-D")]
    part = "build " + name
    status, output = run([*before, *setup], 2400, part, cwd=ROOT, env=environment)
    if status == 0:
        status, output = run([*before, "ninja", "-C", directory, "-j", str(jobs)], 2400, part, cwd=ROOT, env=environment)
    if status != 0:
        record("build", name, "failed", describe(status) + "\n" + output)
        return False
    record("build", name, "passed")
    say("build %s: done in %.0f s" % (name, time.monotonic() - begin))
    return True


# ---- meson tests ----


def count_cmocka(suite, program, status, output):
    """Records each test of one cmocka program; False when the output is not cmocka's."""
    if not re.search(r"^\[=+\] Running \d+ test", output, re.M):
        return False
    announced = sum(int(n) for n in re.findall(r"^\[=+\] Running (\d+) test", output, re.M))
    seen = failed = 0
    running, lines = None, []
    for line in output.splitlines():
        match = re.match(r"\[ +(RUN|OK|FAILED|SKIPPED|ERROR) +\] (\S+)", line)
        if match and match.group(1) == "RUN":
            if running:
                record(suite, program + "." + running, "failed", "died here\n" + "\n".join(lines))
                seen, failed = seen + 1, failed + 1
            running, lines = match.group(2), []
        elif match and running and match.group(2) == running:
            kind = {"OK": "passed", "SKIPPED": "skipped"}.get(match.group(1), "failed")
            record(suite, program + "." + running, kind, "\n".join(lines) if kind != "passed" else "")
            seen, failed = seen + 1, failed + (kind == "failed")
            running = None
        elif running:
            lines.append(line)
    if running:
        record(suite, program + "." + running, "failed", "died here\n" + "\n".join(lines))
        seen, failed = seen + 1, failed + 1
    if seen < announced:
        record(suite, program, "failed", "%d of %d tests ran\n%s" % (seen, announced, output))
    elif status != 0 and not failed:
        record(suite, program, "failed", "%s although no test failed\n%s" % (describe(status), output))
    return True


def describe(status):
    if status is None:
        return "took too long, killed"
    if status < 0:
        named = -status in list(signal.Signals)  # of the real-time signals only the first and the last
        return "killed by " + (signal.Signals(-status).name if named else "signal %d" % -status)
    return "exit status %d" % status


def record_meson_test(suite, test, status, output):
    if status is not None and count_cmocka(suite, test["name"], status, output):
        return
    if test["protocol"] != "exitcode":
        record(suite, test["name"], "failed", "protocol %s is not known here" % test["protocol"])
    elif status == 0:
        record(suite, test["name"], "passed")
    elif status == 77:
        record(suite, test["name"], "skipped", output)
    else:
        record(suite, test["name"], "failed", describe(status) + "\n" + output)


def run_meson_test(prefix, test, environment, slowness, before):
    suite = prefix + (test["suite"][0].split(":")[-1] if test["suite"] else "meson")
    environment = dict(environment, **test["env"])
    how = dict(timeout=(test["timeout"] or 30) * slowness, part=prefix + "meson tests", env=environment, cwd=test["workdir"] or ROOT)
    meson_runs[suite, test["name"]] = test, how
    record_meson_test(suite, test, *run([*before, *test["cmd"]], **how))


def run_meson_tests(prefix, directory, environment, options, slowness, before=()):
    begin = time.monotonic()
    status, output = run(["meson", "introspect", "--tests", directory], 60, cwd=ROOT, env=environment)
    if status != 0:
        record("build", prefix + "tests of " + directory, "failed", output)
        return
    tests = json.loads(output)
    if options.order == "random":
        random.Random(options.seed).shuffle(tests)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(run_meson_test, prefix, test, environment, slowness, before) for test in tests]
        for future in running:
            future.result()
    say("%smeson tests: done in %.0f s" % (prefix, time.monotonic() - begin))


# ---- pytest ----


def run_pytest(prefix, directory, suites, environment, options, before=()):
    begin = time.monotonic()
    folders = [os.path.join("tests", suite) for suite in suites
               if suite.endswith(".py") or any(f.startswith("test_") and f.endswith(".py")
                      for f in os.listdir(os.path.join(ROOT, "tests", suite)))]
    if not folders:
        return
    report = os.path.join(directory, "pytest.xml")
    if os.path.exists(report):
        os.remove(report)
    running = tempfile.mkdtemp(prefix="seep-running-")
    environment = dict(environment, SEEP_BUILD=os.path.join(ROOT, directory), SEEP_TEST_RUNNING=running)
    remember_tests(folders, environment, options)
    if options.order == "random":
        environment["SEEP_TEST_SEED"] = str(options.seed)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=" + report]
    if options.jobs > 1 and has_module("xdist"):
        # Whole files: what a file makes once for its tests is made once. Two workers a processor, because many tests wait
        # for what they started. With three, waits and retries take a tenth more processor time, and the run as much longer.
        command += ["-n", str(2 * options.jobs), "--dist", "loadfile"]
    if prefix:
        command += [word for test in NOT_SANITIZED for word in ("--deselect", "tests/" + test)]
    kills = kills_for_memory()
    status, output = run([*before, *command, *folders], 2400, prefix + "pytest", cwd=ROOT, env=environment)
    if status is not None and status < 0:
        death = Result(prefix + "pytest", " ".join(folders), "failed", describe_death(status, running, kills) + "\n" + output[-8000:])
        say("%spytest: %s; all of it runs again" % (prefix, describe(status)))
        status, output = run([*before, *command, *folders], 2400, prefix + "pytest", cwd=ROOT, env=environment)
        if status in (0, 1):
            unstable.append(death)
        else:
            results.append(death)
    shutil.rmtree(running, ignore_errors=True)  # a worker that was killed may still be at its end
    count = 0
    if os.path.exists(report):
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            count_pytest_case(prefix, case, directory)
            count += 1
    # 0: all passed, 1: some failed; anything else, or no report, is trouble of its own.
    if status not in (0, 1) or count == 0:
        record(prefix + "pytest", " ".join(folders), "failed", describe(status) + "\n" + output[-8000:])
    say("%spytest: done in %.0f s" % (prefix, time.monotonic() - begin))


def kills_for_memory():
    """How many processes the kernel has killed since its start because memory was short. Some tests have such a process."""
    with open("/proc/vmstat", encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("oom_kill "))


def describe_death(status, running, kills):
    """What may tell who killed pytest: the test of each worker, and whether memory was short."""
    lines = [describe(status), "processes killed for memory meanwhile: %d" % (kills_for_memory() - kills)]
    for worker in sorted(os.listdir(running)):
        with open(os.path.join(running, worker), encoding="utf-8") as file:
            lines.append("%s was at %s" % (worker, file.read()))
    with open("/proc/meminfo", encoding="ascii") as file:
        lines += [line.strip() for line in file if line.startswith(("MemTotal:", "MemAvailable:", "Shmem:"))]
    return "\n".join(lines)


def remember_tests(folders, environment, options):
    """Translates the tests once, not once in each worker: that takes longer than to read them."""
    folder = os.path.join(ROOT, options.build, "pycache")
    environment["PYTHONPYCACHEPREFIX"] = folder
    environment.pop("PYTHONDONTWRITEBYTECODE")
    if options.jobs > 1 and not os.path.isdir(folder):
        run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", *folders], 600, "pytest", cwd=ROOT,
            env=environment)


def passes_alone(suite, test, how):
    """By the same rules as before: a program that leaves its tests early may exit with 0."""
    nr = len(results)
    record_meson_test(suite, test, *run(test["cmd"], **how))
    again = results[nr:]
    del results[nr:]
    return all(result.status == "passed" for result in again)


def alone(result, environment):
    """What runs a failed test alone and says whether it passes. None: it is no test."""
    if (result.suite, result.name) in pytest_ids:
        test, variables = pytest_ids[result.suite, result.name]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]

        def passes():
            status, output = run(command, timeout=600, cwd=ROOT, env=dict(environment, **variables))
            return status == 0 and re.search(r"(?<!\d)1 passed\b", output)  # and was not skipped
        return passes
    runs = (meson_runs.get((result.suite, name)) for name in (result.name, result.name.rpartition(".")[0]))
    return next((functools.partial(passes_alone, result.suite, *one) for one in runs if one), None)


def try_again(environment):
    """Runs the few failed tests once more, one after the other."""
    failed = [result for result in results if result.status == "failed"]
    how = [alone(result, environment) for result in failed]
    if not 0 < len(failed) <= AGAIN or None in how:
        return
    for result, passes in zip(failed, how):
        if passes():
            results[results.index(result)] = result._replace(status="passed")
            unstable.append(result)


def count_pytest_case(prefix, case, directory):
    parts = case.get("classname", "").split(".")
    suite = prefix + (parts[1] if len(parts) > 1 and parts[0] == "tests" else "pytest")
    name = "%s::%s" % (parts[-1], case.get("name"))
    dearest[prefix + "/".join(parts[1:])] += sum(float(p.get("value")) for p in case.iter("property")
                                                 if p.get("name") == "processor_time")
    variables = dict(SANITIZERS if prefix else {}, SEEP_BUILD=os.path.join(ROOT, directory))
    pytest_ids[suite, name] = "/".join(parts) + ".py::" + case.get("name"), variables
    for tag, status in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
        child = case.find(tag)
        if child is not None:
            detail = child.get("message") or ""
            if status == "failed":
                detail = (child.text or "") + "".join("\n" + (o.text or "") for o in case.findall("system-out")
                                                      + case.findall("system-err"))
            record(suite, name, status, detail)
            return
    record(suite, name, "passed")


def has_module(name):
    status, _ = run([sys.executable, "-c", "import " + name], 60)
    return status == 0


def check_skips(rules, environment, is_whole):
    """A test that is skipped where it was not before is a failure."""
    found = [skips.Skip(r.suite + " " + r.name, " ".join(r.detail.split())) for r in results if r.status == "skipped"]
    wrong = skips.check(rules, found, skips.Machine(environment), is_whole)
    if wrong:
        record("skips", "the set of skipped tests", "failed", "\n".join(wrong) + "\nWhat may be skipped where is in tests/expected_skips.txt")
    else:
        record("skips", "the set of skipped tests", "passed")


def check_leftovers(before):
    """A test works in a folder of its own: what appears in the source tree's top is a failure."""
    left = sorted(set(os.listdir(ROOT)) - set(before))
    if left:
        record("leftovers", "the top of the source tree", "failed", "new files: " + " ".join(left))
    else:
        record("leftovers", "the top of the source tree", "passed")


# ---- the whole ----


def print_results():
    by_suite = collections.OrderedDict()
    for result in results:
        by_suite.setdefault(result.suite, collections.Counter())[result.status] += 1
    say("")
    for suite, counts in by_suite.items():
        say("%-24s %4d passed, %d failed, %d skipped"
            % (suite, counts["passed"], counts["failed"], counts["skipped"]))
    for result in results:
        if result.status == "skipped":
            say("SKIPPED %s %s: %s" % (result.suite, result.name,
                                       " ".join(result.detail.split()) or "NO REASON GIVEN"))
    failures = [result for result in results if result.status == "failed"]
    for i, result in enumerate(failures):
        say("\nFAILED %s %s" % (result.suite, result.name))
        if i < FULL_FAILURES:
            say("    " + result.detail[-8000:].replace("\n", "\n    "))
        else:
            say("    %s" % " ".join(result.detail[-300:].split()))
    for result in unstable:
        say("\nUNSTABLE %s %s: failed, and passed when it ran again" % (result.suite, result.name))
        say("    " + result.detail[-8000:].replace("\n", "\n    "))
    counts = collections.Counter(result.status for result in results)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    say("\nprocessor time: " + ", ".join("%s %.0f s" % part for part in seconds.items()))
    say("the dearest files: " + ", ".join("%s %.0f s" % file for file in dearest.most_common(DEAREST)))
    say("%.0f seconds (%.0f of processor time)"
        % (time.monotonic() - started, used.ru_utime + used.ru_stime))
    return "%d passed, %d failed, %d skipped" % (counts["passed"], counts["failed"], counts["skipped"])


def parse_arguments():
    parser = argparse.ArgumentParser(description="Build seep and run its tests.")
    parser.add_argument("--jobs", type=int, default=max(2, os.cpu_count() or 2))
    parser.add_argument("--order", choices=["fixed", "random"], default="fixed")
    parser.add_argument("--seed", type=int, help="of the random order; default: one that is printed")
    parser.add_argument("--werror", choices=["true", "false"], default="true")
    parser.add_argument("--build", default="build-test", help="build directory (default build-test)")
    parser.add_argument("--sanitized-build", default="build-sanitized")
    parser.add_argument("--no-sanitizers", action="store_true", help="leave the second build out")
    parser.add_argument("--fast", action="store_true", help="what make check runs: a part, on the ordinary build")
    options = parser.parse_args()
    if options.jobs < 1:
        parser.error("--jobs must be at least 1")
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1 << 31)
    return options


def test_sanitized(werror, environment, options):
    """The second build and its tests, with what the others leave of the processors."""
    if options.fast:
        return
    if options.no_sanitizers:
        record("build", "clang with sanitizers", "skipped", "left out by --no-sanitizers")
        return
    if not shutil.which("clang"):
        record("build", "clang with sanitizers", "skipped", "there is no clang here")
        return
    clang = dict(environment, CC="clang", CXX="clang++")
    # gdwarf-4: addr2line of binutils 2.40 misreads the inlined functions of clang in DWARF 5.
    # b_lundef: the sanitizers' symbols come from the executable.
    # -no-pie: the 250,000 relocations of each start of seep take a sixth of its time.
    # optimization=0: to optimize what the sanitizers put in takes six times as long as to compile it.
    flags = [werror, "-Dtests=enabled", "-Db_sanitize=address,undefined", "-Db_lundef=false", "-Doptimization=0", "-Dc_args=-gdwarf-4",
             "-Dc_link_args=-no-pie", "-Di386=disabled"]
    if build("clang with sanitizers", options.sanitized_build, flags, clang, options.jobs, ASIDE):
        environment = dict(environment, **SANITIZERS)
        run_meson_tests("sanitized ", options.sanitized_build, environment, options, 6, ASIDE)
        run_pytest("sanitized ", options.sanitized_build, SANITIZED, environment, options, ASIDE)


def main():
    options = parse_arguments()
    environment = clean_environment()
    before = os.listdir(ROOT) + [options.build, options.sanitized_build]
    if options.order == "random":
        say("random order, seed %d (again: make test ORDER=random SEED=%d)" % (options.seed, options.seed))

    werror = "-Dwerror=" + options.werror
    with concurrent.futures.ThreadPoolExecutor(1) as aside:
        # At once: meson, and the links at the end of a build, leave a processor idle.
        sanitized = aside.submit(test_sanitized, werror, environment, options)
        ordinary = build("gcc", options.build, [werror, "-Dtests=enabled", "-Dtool_names=true"], environment, options.jobs)
        if ordinary:
            run_meson_tests("", options.build, environment, options, 2)
            run_pytest("", options.build, FAST if options.fast else PYTEST_SUITES, environment, options)
        sanitized.result()

    if ordinary:
        try_again(environment)
        rules = skips.read(os.path.join(ROOT, "tests", "expected_skips.txt"))
        seep = os.path.join(ROOT, options.build, "seep")
        check_skips(rules, dict(environment, SEEP=seep), not options.fast and not options.no_sanitizers)
        check_leftovers(before)
    line = print_results()
    counts = collections.Counter(result.status for result in results)
    # Builds alone are no tests.
    tested = sum(1 for r in results if r.status == "passed" and r.suite != "build")
    if not tested:
        say("no test passed: that cannot be right")
    with open(os.path.join(ROOT, options.build, "summary.txt") if os.path.isdir(
            os.path.join(ROOT, options.build)) else os.devnull, "w", encoding="utf-8") as file:
        file.write(line + "\n")
    say(line)
    return 0 if tested and not counts["failed"] else 1


if __name__ == "__main__":
    sys.exit(main())
