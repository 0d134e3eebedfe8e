# SPDX-License-Identifier: BSD-2-Clause
"""Ends a test that hangs, with all programs it started, so that the others run and the suite tells which one it was.

A `with subprocess.Popen(…)` whose body fails waits for its program, which may wait for the test: so the programs are
killed first, and then the test fails at the line where it was.
"""
import contextlib
import os
import resource
import signal

import pytest

SECONDS = 400  # of one test: the longest takes 60 on a slow machine
MOST = 5  # times that, for a test that goes on: its processes take processor time, and have not had SECONDS of it
GOES_ON = 0.02  # of the time between two looks


def _processes():
    """{pid: (parent, seconds of processor time, its ended children's too)} of all processes."""
    processes, tick = {}, os.sysconf("SC_CLK_TCK")
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open("/proc/%s/stat" % name, "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            processes[int(name)] = int(fields[1]), sum(map(int, fields[11:15])) / tick
    return processes


def _descendants(of):
    parents = {pid: parent for pid, (parent, _) in _processes().items()}
    found = {of}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return found - {of}
        found |= more


def _own_processor_time():
    """The time of this process and its ended children. A look at all processes would take as long as a short test."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def _processor_time():
    """Of this process and all that it started."""
    ours = _descendants(os.getpid()) | {os.getpid()}
    return sum(seconds for pid, (_, seconds) in _processes().items() if pid in ours)


@contextlib.contextmanager
def limit(seconds=None):
    """Fails the test that hangs: that runs longer than `seconds` of wall time, and does not go on. On a busy machine a test
    that goes on may take longer. Main thread only; uses SIGALRM."""
    seconds = float(seconds or os.environ.get("SEEP_TEST_SECONDS") or SECONDS)
    between = seconds / 4
    first = last = _own_processor_time()  # a program that runs on from before is another test's
    wall = 0

    def end(_number, _frame):
        nonlocal last, wall
        now, before, wall = _processor_time(), last, wall + between
        last = now
        if wall < seconds or (now - before > GOES_ON * between and now - first < seconds and wall < MOST * seconds):
            return
        for pid in _descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        pytest.fail("took over %g s: ended with all programs that it started" % wall)

    handler = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, between, between)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
