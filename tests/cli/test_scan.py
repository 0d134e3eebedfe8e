# SPDX-License-Identifier: BSD-2-Clause
"""seep scan: wrong use. What it finds is tests/live/test_reachability.py."""


def test_wrong_use(run, seep):
    for operands, status, words in ((["x.core"], 1, "is no PID"), ([], 2, "is missing"),
                                    (["1", "2"], 2, "unexpected argument"), (["--roots", "all", "0"], 1, "no process"),
                                    (["--roots", "some", "1"], 2, "unknown value"),
                                    (["--kind", "gone", "1"], 2, "--kind: bad value")):
        done = run(seep, "scan", *operands)
        assert done.returncode == status, done
        assert words in done.stderr and done.stderr.count("\n") == 1 and not done.stdout, done.stderr
