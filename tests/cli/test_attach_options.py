# SPDX-License-Identifier: BSD-2-Clause
"""seep attach: what it says to wrong use. What it does is in tests/live/test_attach.py."""
import pytest


@pytest.mark.parametrize("words, complaint", [
    ([], "which process?"),
    (["-p", "1", "-c", "app"], "--pid and --command exclude one another"),
    (["-c", "app 'x"], "a quote is not closed"),
    (["-c", "  "], "no word in it"),
    (["1", "soon"], "INTERVAL: bad value 'soon'"),
    (["1", "0"], "INTERVAL is longer than nothing"),
    (["1", "1s", "0"], "COUNT: '0' is too small"),
    (["-p", "1", "1s", "2", "3"], "one operand too many: '3'"),
    (["1", "--buffer", "5000"], "--buffer: 5000 bytes"),
    (["1", "-z", "10", "-Z", "5"], "--min-size 10 is more than --max-size 5"),
    (["1", "--sort", "siez"], "did you mean 'size'?"),
])
def test_wrong_use(seep, run, words, complaint):
    done = run(seep, "attach", *words)
    assert done.returncode == 2, done.stderr
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_no_such_process(seep, run):
    done = run(seep, "attach", "2147483646")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
