# SPDX-License-Identifier: BSD-2-Clause
"""seep advise where it is called wrongly."""
import pytest


@pytest.mark.parametrize("words, status, said", [
    ([], 2, "FILE"),
    (["--rounds", "3", "x.seep"], 2, "--rounds"),
    (["--round", "x.seep"], 2, "--rounds"),
    (["nonesuch.seep"], 1, "nonesuch.seep"),
])
def test_wrong_use(run, seep, words, status, said):
    done = run(seep, "advise", *words)
    assert done.returncode == status and not done.stdout
    assert said in done.stderr and done.stderr.count("\n") == 1, done
