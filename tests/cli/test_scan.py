# SPDX-License-Identifier: BSD-2-Clause
"""seep scan: wrong use, and words that depend on options. What it finds is tests/live/test_reachability.py."""
import re
import subprocess

import pytest

import messages
from small_programs import program_source

PROGRAM = program_source("scan_program.c")


@pytest.fixture
def trace(run, seep, require, tmp_path):
    """Of a process with one block that is held, of one byte, and one that is possibly lost."""
    (tmp_path / "app.c").write_text(PROGRAM)
    subprocess.run([require("gcc"), "-g", "-O1", "app.c", "-o", "app"], check=True, cwd=tmp_path)
    assert run(seep, "run", "-q", "-o", tmp_path / "app.seep", "--", tmp_path / "app").returncode == 0
    return tmp_path / "app.seep"


@pytest.mark.parametrize("kinds, shown", [(None, True), ("reachable", True), ("lost,reachable", True), ("possible", False),
                                          ("lost,indirect", False)])
def test_top_holders_are_for_who_asks_for_what_is_held(run, seep, trace, kinds, shown):
    done = run(seep, "report", trace, *(["--kind", kinds] if kinds else []))
    assert done.returncode == 0 and "\nleaks " in done.stdout
    assert ("\ntop holders " in done.stdout) == shown and ("global char *held " in done.stdout) == shown


def test_one_is_not_several(run, seep, trace):
    done = run(seep, "report", "--blocks", trace)
    assert re.search(r"block 0x[0-9a-f]+ +1 byte   reachable", done.stdout) and "reachable: 1 byte in 1 block" in done.stdout, done.stdout
    assert not re.search(r"(?<![\d,.])1 (bytes|blocks|allocations|sites|threads)\b", done.stdout), done.stdout


def test_wrong_use(run, seep):
    for operands, status, words in ((["x.core"], 1, "cannot open"), ([""], 2, messages.NAME_IS_EMPTY), ([], 2, "is missing"),
                                    (["1", "2"], 2, "unexpected argument"), (["--roots", "all", "0"], 1, "no process"),
                                    (["--roots", "some", "1"], 2, "unknown value"),
                                    (["--kind", "gone", "1"], 2, "--kind: unknown value 'gone'")):
        done = run(seep, "scan", *operands)
        assert done.returncode == status, done
        assert words in done.stderr and done.stderr.count("\n") == 1 and not done.stdout, done.stderr
