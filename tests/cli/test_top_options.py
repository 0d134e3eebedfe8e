# SPDX-License-Identifier: BSD-2-Clause
"""The options of seep top; what its screens show is in tests/live/test_top.py and tests/unit/test_screen.c."""
import os
import subprocess

import pytest


@pytest.fixture(scope="module")
def shop(root, tmp_path_factory):
    """Compiled here: a sanitized build has no programs to trace."""
    program = tmp_path_factory.mktemp("shop") / "shop"
    subprocess.run(["gcc", "-g", "-w", "-fno-builtin", "-pthread", "-o", program, os.path.join(root, "tests", "live", "shop.c")],
                   check=True)
    return program


@pytest.fixture(scope="module")
def trace(seep, shop, tmp_path_factory):
    out = tmp_path_factory.mktemp("trace") / "shop.seep"
    subprocess.run([seep, "run", "-q", "-o", out, "--", shop], input=b"churn 10\n5\n", stdout=subprocess.DEVNULL, check=False)
    assert out.exists()
    return str(out)


def test_a_trace_as_text(run, seep, trace):
    done = run(seep, "top", trace)
    assert done.returncode == 0 and " FILE " in done.stdout and not done.stderr
    assert len(done.stdout.splitlines()) <= 24 and max(map(len, done.stdout.splitlines())) <= 80


TABS = ["sites", "functions", "lines", "modules", "threads", "processes", "leaks", "log"]
ORDERS = ["live", "rate", "since", "blocks", "allocations", "temporary"]


@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize("sort", ORDERS)
def test_every_tab_in_every_order(run, seep, trace, tab, sort):
    done = run(seep, "top", "--by", tab, "--sort", sort, "--ascii", "--rows", "40", trace, env={"COLUMNS": "120"})
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert done.stdout.isascii() and "[%d]" % (1 + TABS.index(tab)) in done.stdout


def test_a_filter(run, seep, trace):
    assert "main" in run(seep, "top", "--by", "functions", trace).stdout + run(seep, "top", trace).stdout
    done = run(seep, "top", "--filter", "no such function(", trace)
    assert done.returncode == 0 and "nothing is like the filter" in done.stdout


@pytest.mark.parametrize("arguments, message", [
    ([], "PID|FILE"),
    (["--by", "site", "1"], "sites"),
    (["--sort", "size", "1"], "since"),
    (["-i", "1ms", "1"], "50ms"),
    (["1", "2"], "behind --"),
])
def test_wrong_use(run, seep, arguments, message):
    done = run(seep, "top", *arguments)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize("command", ["top", "serve"])
def test_a_program_that_cannot_be_run(run, seep, tmp_path, command):
    (tmp_path / "text").write_text("no program")
    for name, message in (("absent", "No such file or directory"), ("text", "Permission denied")):
        done = run(seep, command, "--", str(tmp_path / name))
        assert done.returncode == 1 and done.stderr.startswith(f"seep: cannot run '{tmp_path / name}': {message} ("), done.stderr
        assert done.stderr.count("\n") == 1 and not done.stdout, done
