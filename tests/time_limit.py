# SPDX-License-Identifier: BSD-2-Clause
"""Ends a test that hangs, with all programs it started, so that the others run and the suite tells which one it was.

A `with subprocess.Popen(…)` whose body fails waits for its program, which may wait for the test: so the programs are
killed first, and then the test fails at the line where it was.
"""
import contextlib
import os
import signal

import pytest

SECONDS = 400  # of one test: the longest takes 60 on a slow machine


def _parents():
    """{pid: parent} of all processes."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open("/proc/%s/stat" % name, "rb") as file:
                parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
    return parents


def _descendants(of):
    parents = _parents()
    found = {of}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return found - {of}
        found |= more


@contextlib.contextmanager
def limit(seconds=None):
    """Fails the test that runs longer than `seconds` of wall time. Main thread only; uses SIGALRM."""
    seconds = float(seconds or os.environ.get("SEEP_TEST_SECONDS") or SECONDS)

    def end(_number, _frame):
        for pid in _descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        pytest.fail("took over %g s: ended with all programs that it started" % seconds)

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
