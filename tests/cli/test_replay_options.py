# SPDX-License-Identifier: BSD-2-Clause
"""seep replay where it is called wrongly."""
import pytest


@pytest.mark.parametrize("words, status, said", [
    ([], 2, "FILE"),
    (["--rounds", "2", "x.seep"], 2, "--rounds"),
    (["--touch", "all", "x.seep"], 2, "--touch"),
    (["--order", "exakt", "x.seep"], 2, "exact"),
    (["--generate", "x.c", "--allocator", "glibc", "x.seep"], 2, "--generate"),
    (["nonesuch.seep"], 1, "nonesuch.seep"),
])
def test_wrong_use(run, seep, words, status, said):
    done = run(seep, "replay", *words)
    assert done.returncode == status and not done.stdout
    assert said in done.stderr and done.stderr.count("\n") == 1, done
