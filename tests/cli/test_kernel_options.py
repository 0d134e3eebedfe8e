# SPDX-License-Identifier: BSD-2-Clause
"""seep kernel: what it says to wrong use. What it does is in tests/live/test_kernel.py."""
import pytest

import messages


@pytest.mark.parametrize("words, complaint", [
    (["soon"], messages.BAD_INTERVAL % "soon"),
    (["0"], "INTERVAL: 0 is too short (1s is a second)"),
    (["1s", "0"], "COUNT: '0' is too small"),
    (["1s", "2", "3"], "unexpected argument '3'"),
    (["-z", "10", "-Z", "5"], messages.MIN_OVER_MAX),
    (["-C", "-a"], messages.NO_SINGLE_BLOCKS),
    (["-C", "--output", "x.seep"], "--combined-only keeps no single blocks: not with --output"),
    (["-C", "--by", "process"], "--combined-only keeps figures of stacks only: not with --by process"),
    (["--csv", "--json"], "--csv and --json do not go together"),
    (["-C", "-o", "10"], messages.ANY_AGE),
    (["--max-blocks", "0"], "--max-blocks: '0' is too small"),
    (["--sort", "siez"], "did you mean 'size'?"),
    (["-s", "0"], "too small"),
])
def test_wrong_use(seep, run, words, complaint):
    done = run(seep, "kernel", *words)
    assert done.returncode == 2, done.stderr
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
