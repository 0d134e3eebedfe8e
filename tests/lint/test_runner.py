# SPDX-License-Identifier: BSD-2-Clause
"""tools/run-tests.py counts right: a test that dies, a skip without a reason, nothing at all."""
import importlib.util
import os
import re
import signal
import types
import xml.etree.ElementTree as ElementTree

import pytest
import time_limit


@pytest.fixture
def runner(root):
    """A fresh copy of the script as a module."""
    spec = importlib.util.spec_from_file_location("run_tests", os.path.join(root, "tools", "run-tests.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def statuses(runner):
    return [(result.name, result.status) for result in runner.results]


GOOD = """[==========] Running 2 test(s).
[ RUN      ] test_a
[       OK ] test_a
[ RUN      ] test_b
[       OK ] test_b
[==========] 2 test(s) run.
[  PASSED  ] 2 test(s).
"""


def test_cmocka_tests_count_one_by_one(runner):
    assert runner.count_cmocka("unit", "x", 0, GOOD)
    assert statuses(runner) == [("x.test_a", "passed"), ("x.test_b", "passed")]


def test_a_failed_test_counts_once(runner):
    output = GOOD.replace("[       OK ] test_b", "[  ERROR   ] --- 1 != 2\n[  FAILED  ] test_b")
    assert runner.count_cmocka("unit", "x", 1, output)
    assert statuses(runner) == [("x.test_a", "passed"), ("x.test_b", "failed")]
    assert "1 != 2" in runner.results[1].detail


def test_a_program_that_dies_is_a_failure(runner):
    assert runner.count_cmocka("unit", "x", -11, GOOD[:GOOD.index("[       OK ] test_b")])
    assert statuses(runner) == [("x.test_a", "passed"), ("x.test_b", "failed")]


@pytest.mark.parametrize("status, told", [(-9, "killed by SIGKILL"), (-40, "killed by signal 40"), (3, "exit status 3"), (None, "took too long, killed")])
def test_each_end_has_words(runner, status, told):
    assert runner.describe(status) == told


def test_a_program_that_dies_between_tests_is_a_failure(runner):
    assert runner.count_cmocka("unit", "x", -6, GOOD[:GOOD.index("[ RUN      ] test_b")])
    assert statuses(runner) == [("x.test_a", "passed"), ("x", "failed")]


def test_a_program_that_dies_after_its_tests_is_a_failure(runner):
    assert runner.count_cmocka("unit", "x", 23, GOOD)
    assert [status for _, status in statuses(runner)] == ["passed", "passed", "failed"]


def test_a_skip_keeps_its_reason(runner):
    output = GOOD.replace("[       OK ] test_b", "no such file here\n[  SKIPPED ] test_b")
    assert runner.count_cmocka("unit", "x", 0, output)
    assert runner.results[1].status == "skipped" and "no such file" in runner.results[1].detail


def test_other_output_is_not_taken_for_cmocka(runner):
    assert not runner.count_cmocka("unit", "x", 0, "all good\n")
    assert statuses(runner) == []


def test_pytest_results(runner):
    cases = """<testsuite><testcase classname="tests.cli.test_x" name="a"/>
      <testcase classname="tests.cli.test_x" name="b"><failure message="no">trace</failure></testcase>
      <testcase classname="tests.cli.test_x" name="c"><error message="worker died">trace</error></testcase>
      <testcase classname="tests.live.test_y" name="d"><skipped message="no z3"/></testcase></testsuite>"""
    for case in ElementTree.fromstring(cases):
        runner.count_pytest_case("", case, "build")
    assert [(r.suite, r.status) for r in runner.results] == [
        ("cli", "passed"), ("cli", "failed"), ("cli", "failed"), ("live", "skipped")]
    assert runner.results[3].detail == "no z3"


def test_what_takes_too_long_is_killed_with_its_children(runner):
    status, output = runner.run(["sh", "-c", "echo begun; sleep 600 & wait"], 2)
    assert status is None and output == "begun\n"


def test_what_runs_aside_has_the_lowest_priority(runner):
    lowest = min(19, os.nice(0) + 19)  # who runs the tests may have raised them
    assert runner.run([*runner.ASIDE, "nice"], 60) == (0, "%d\n" % lowest)
    assert runner.run([*runner.ASIDE, "sh", "-c", "exit 3"], 60) == (3, "")


class Machine:
    """One that has all that there is, but gdb."""

    def lacks(self, command, word):
        return command == "false" or word == "gdb"


def wrong_skips(runner, rows, *found, is_whole=True, tmp_path):
    path = tmp_path / "skips.txt"
    path.write_text("# A comment.\n\n" + "\n".join(rows) + "\n")
    rules = runner.skips.read(path)
    return runner.skips.check(rules, [runner.skips.Skip(*skip) for skip in found], Machine(), is_whole)


ROWS = ["false | live test_x::b | never", "command -v $1 | grep -q . | .* | (\\w+) is not installed"]
NEVER = ("live test_x::b", "never")


def test_skips_that_are_expected_are_no_failure(runner, tmp_path):
    assert wrong_skips(runner, ROWS, NEVER, ("cli test_y::a", "gdb is not installed"), tmp_path=tmp_path) == []
    assert wrong_skips(runner, ROWS, NEVER, ("sanitized cli test_y::a", "gdb is not installed"), tmp_path=tmp_path) == []


def test_a_test_that_stops_running_is_a_failure(runner, tmp_path):
    there, = wrong_skips(runner, ROWS, NEVER, ("cli test_y::a", "jq is not installed"), tmp_path=tmp_path)
    assert there.startswith("cli test_y::a is skipped, which is not expected here: jq")
    other, = wrong_skips(runner, ROWS, NEVER, ("cli test_y::a", "gdb is ill"), tmp_path=tmp_path)
    assert other.startswith("cli test_y::a is skipped")
    assert len(wrong_skips(runner, ROWS, NEVER, ("live test_x::c", "never"), tmp_path=tmp_path)) == 1


def test_a_skip_that_is_over_is_taken_out_of_the_list(runner, tmp_path):
    stale, = wrong_skips(runner, ROWS, tmp_path=tmp_path)
    assert "no test is skipped by it any more" in stale
    assert wrong_skips(runner, ROWS, is_whole=False, tmp_path=tmp_path) == []


def test_what_is_left_in_the_source_tree_is_a_failure(runner, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "ROOT", str(tmp_path))
    (tmp_path / "README").touch()
    runner.check_leftovers(["README", "build"])
    (tmp_path / "seep.7.seep").touch()
    runner.check_leftovers(["README", "build"])
    assert [result.status for result in runner.results] == ["passed", "failed"]
    assert runner.results[1].detail == "new files: seep.7.seep"


def test_the_list_of_skips_can_be_read(runner, root):
    rules = runner.skips.read(os.path.join(root, "tests", "expected_skips.txt"))
    assert len(rules) > 20 and any(rule.command == "false" for rule in rules)
    for rule in rules:
        assert runner.run(["sh", "-n", "-c", rule.command], 60) == (0, ""), rule.line


def test_what_is_installed_is_known(runner, root):
    """A skip because a program or library is missing is not expected if it is installed."""
    rules = runner.skips.read(os.path.join(root, "tests", "expected_skips.txt"))
    names = ("sh", "libc.so.6", "no-such-program", "libnone.so.0")
    skips = [runner.skips.Skip("cli test_y::a", f"{name} is not installed") for name in names]
    wrong = runner.skips.check(rules, skips, runner.skips.Machine(os.environ), is_whole=False)
    assert [line.rsplit(": ", 1)[1] for line in wrong] == ["sh is not installed", "libc.so.6 is not installed"]


def tried_again(runner, tmp_path, monkeypatch, body):
    folder = tmp_path / "tests" / "live"
    folder.mkdir(parents=True)
    (folder / "test_x.py").write_text(body)
    monkeypatch.setattr(runner, "ROOT", str(tmp_path))
    case = '<testcase classname="tests.live.test_x" name="test_a"><failure message="no">the first time</failure></testcase>'
    runner.count_pytest_case("", ElementTree.fromstring(case), "build")
    runner.try_again(dict(os.environ))
    return [r.status for r in runner.results], [r.detail for r in runner.unstable]


def test_one_that_passes_alone_is_listed(runner, tmp_path, monkeypatch):
    body = "def test_a():\n    pass\n"
    assert tried_again(runner, tmp_path, monkeypatch, body) == (["passed"], ["the first time"])


def test_one_that_fails_alone_too_is_a_failure(runner, tmp_path, monkeypatch):
    body = "def test_a():\n    assert False\n"
    assert tried_again(runner, tmp_path, monkeypatch, body) == (["failed"], [])


def test_one_that_is_skipped_alone_is_a_failure(runner, tmp_path, monkeypatch):
    body = "import pytest\n\ndef test_a():\n    pytest.skip('not today')\n"
    assert tried_again(runner, tmp_path, monkeypatch, body) == (["failed"], [])


def test_a_unit_test_that_passes_alone_is_listed(runner, tmp_path):
    """The test fails once, as one that fails beside others: it passes if there is a file that its first run makes."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\ncd %s\n[ -e ran ] && echo '%s' || { touch ran; echo '%s'; exit 1; }\n"
                       % (tmp_path, GOOD, GOOD.replace("[       OK ] test_b", "[  FAILED  ] test_b")))
    program.chmod(0o755)
    test = {"suite": ["seep:unit"], "name": "x", "env": {}, "cmd": [str(program)], "timeout": 30, "workdir": None, "protocol": "exitcode"}
    runner.run_meson_test("", test, dict(os.environ), 1, ())
    assert statuses(runner) == [("x.test_a", "passed"), ("x.test_b", "failed")]
    runner.try_again(dict(os.environ))
    assert statuses(runner) == [("x.test_a", "passed"), ("x.test_b", "passed")]
    assert [result.name for result in runner.unstable] == ["x.test_b"]


def test_a_unit_test_that_leaves_early_alone_too_is_a_failure(runner, tmp_path):
    """The program leaves its tests early, and its exit status is 0."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho '%s'\n" % GOOD[:GOOD.index("[ RUN      ] test_b")])
    program.chmod(0o755)
    test = {"suite": ["seep:unit"], "name": "x", "env": {}, "cmd": [str(program)], "timeout": 30, "workdir": None, "protocol": "exitcode"}
    runner.run_meson_test("", test, dict(os.environ), 1, ())
    runner.try_again(dict(os.environ))
    assert statuses(runner) == [("x.test_a", "passed"), ("x", "failed")]
    assert not runner.unstable


KILLS = """
import os
import signal

def test_kills_its_parent():
    if not os.path.exists("ran"):
        open("ran", "x").close()
        signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 9)  # conftest.py refuses os.kill()
        while True:
            pass

def test_kills_nobody_else():
    for number in (0, -1, 1, os.getpid(), os.getppid()):
        try:
            os.kill(number, 9)
        except AssertionError:
            continue
        assert False
"""


@pytest.mark.parametrize("ends", [True, False])
def test_a_pytest_that_is_killed_runs_again(runner, root, tmp_path, monkeypatch, ends):
    """The run says what is known of the end of pytest, also if pytest is killed each time."""
    (tmp_path / "tests" / "live").mkdir(parents=True)
    for name in ("conftest.py", "time_limit.py", "debug_files.py"):
        (tmp_path / "tests" / name).symlink_to(os.path.join(root, "tests", name))
    (tmp_path / "tests" / "live" / "test_x.py").write_text(KILLS if ends else KILLS.replace('"x"', '"w"').replace('exists("ran")', 'exists("no")'))
    (tmp_path / "build").mkdir()
    monkeypatch.setattr(runner, "ROOT", str(tmp_path))
    monkeypatch.setattr(runner, "has_module", lambda _: True)
    options = types.SimpleNamespace(order="fixed", jobs=2, build="build")
    runner.run_pytest("", str(tmp_path / "build"), ["live"], runner.clean_environment(), options)
    told = runner.unstable if ends else runner.results
    assert [status for _, status in statuses(runner)] == (["passed"] * 2 if ends else ["failed"] * 2)
    assert "killed by SIGKILL\nprocesses killed for memory meanwhile: " in told[0].detail
    assert "was at tests/live/test_x.py::test_kills_its_parent" in told[0].detail and "MemAvailable: " in told[0].detail


def test_many_failures_are_no_accident(runner, tmp_path, monkeypatch):
    for i in range(runner.AGAIN):
        runner.record("unit", "x%d" % i, "failed")
        runner.meson_runs["unit", "x%d" % i] = {"name": "x%d" % i, "cmd": ["true"], "protocol": "exitcode"}, dict(timeout=9)
    statuses_then, unstable = tried_again(runner, tmp_path, monkeypatch, "def test_a():\n    pass\n")
    assert set(statuses_then) == {"failed"} and not unstable


def test_what_is_left_out_of_the_sanitized_build_is_there(runner, root):
    """A name that is gone would leave nothing out, without a word. One that is gone of SANITIZED ends pytest."""
    for test in runner.NOT_SANITIZED:
        file, _, function = test.partition("::")
        assert file in runner.SANITIZED, test
        with open(os.path.join(root, "tests", file), encoding="utf-8") as source:
            assert "def %s(" % function in source.read(), test


def test_processor_time_is_told_by_part(runner):
    assert runner.run(["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"], 60, "a loop") == (0, "")
    assert runner.seconds["a loop"] > 0
    case = """<testsuite><testcase classname="tests.cli.test_x" name="a"><properties>
      <property name="processor_time" value="1.5"/></properties></testcase></testsuite>"""
    runner.count_pytest_case("", ElementTree.fromstring(case)[0], "build")
    assert runner.dearest == {"cli/test_x": 1.5}


HANGS = """
import select
import subprocess
import time

def test_hangs():
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout.read(1) == b"never"

def test_goes_on():
    for _ in range(18):
        select.select([], [], [], 0.2)
        until = time.process_time() + 0.01
        while time.process_time() < until:
            pass
"""


def test_a_test_that_hangs_fails_and_one_that_goes_on_does_not(root, tmp_path, run):
    (tmp_path / "tests").mkdir()
    for name in ("conftest.py", "time_limit.py", "debug_files.py"):
        (tmp_path / "tests" / name).symlink_to(os.path.join(root, "tests", name))
    (tmp_path / "tests" / "test_hang.py").write_text(HANGS)
    done = run("/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", env={"SEEP_TEST_SECONDS": "3"})
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout, done.stdout
    # A busy machine makes the limit longer.
    limit = re.search(r"took over ([\d.]+) s: ended", done.stdout)
    assert limit and 3 <= float(limit[1]) < 60, done.stdout


def test_a_test_that_takes_no_time_costs_no_look_at_all_processes(monkeypatch):
    monkeypatch.setattr(time_limit, "_processes", lambda: pytest.fail("it looked at all processes"))
    with time_limit.limit(1000):
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
