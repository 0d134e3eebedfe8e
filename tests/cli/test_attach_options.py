# SPDX-License-Identifier: BSD-2-Clause
"""seep attach: what it says to wrong use. What it does is in tests/live/test_attach.py."""
import json

import pytest

import messages

WHICH = "--pid, --command, --cgroup and --all " + messages.EXCLUDE
ONE_TOO_MANY = "one operand too many: '3'"

@pytest.mark.parametrize("words, complaint", [
    ([], "which process?"),
    (["-p", "1", "-c", "app"], WHICH),
    (["-c", "app 'x"], "a quote is not closed"),
    (["-c", "  "], "no word in it"),
    (["1", "soon"], messages.BAD_INTERVAL % "soon"),
    (["--top", "1", "1s", "1", "--", "./app"], "'1s': INTERVAL and COUNT go with a PID"),
    (["1", "0"], "INTERVAL: 0 is too short (1s is a second)"),
    (["1", "1s", "0"], "COUNT: '0' is too small"),
    (["-p", "1", "1s", "2", "3"], ONE_TOO_MANY),
    (["1", "--buffer", "5000"], "--buffer: 5000 bytes"),
    (["1", "-z", "10", "-Z", "5"], messages.MIN_OVER_MAX),
    (["1", "--sort", "siez"], "did you mean 'size'?"),
    (["1", "-C", "-a"], messages.NO_SINGLE_BLOCKS),
    (["1", "-C", "-o", "10"], messages.ANY_AGE),
    (["--all", "--cgroup", "/"], WHICH),
    (["--all", "--children", "ignore"], "not with --children ignore"),
    (["--all", "--", "./app"], "without --all: seep attach -- ./app"),
    (["--pid", "1", "./app"], "name no PID: seep attach -- ./app"),
    (["--all", "1s", "2", "3"], ONE_TOO_MANY),
    (["1", "-t", "--json"], "--trace prints lines: not with --json"),
    (["1", "-q"], "nothing is shown, and nothing saved (save it with --output FILE)"),
    (["1", "-q", "--json", "--output", "x"], "--json prints reports: not with --quiet"),
    (["1", "--backend", "inject"], "auto, bpf"),
    (["1", "--source", "otel", "--scan"], "--scan needs every block: not with --source otel"),
    (["1", "--source", "otel", "-s", "10"], "--sample-rate is of calls: not with --source otel"),
    (["1", "--source", "otel", "-S", "je_"], "--symbols-prefix is of functions: not with --source otel"),
    (["1", "--source", "uprobes"], "auto, functions, otel"),
])
def test_wrong_use(seep, run, words, complaint):
    done = run(seep, "attach", *words)
    assert done.returncode == 2, done.stderr
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("path, complaint", [("/no/such/group", "No such file"), ("/usr", "no control group of version 2")])
def test_no_such_group(seep, run, path, complaint):
    done = run(seep, "attach", "--cgroup", path)
    assert done.returncode == 1
    # Without the rights there is another reason, which comes first.
    rows = json.loads(run(seep, "info", "--json").stdout)["bpf"]
    bad = any(row["verdict"] == "bad" for row in rows.values())
    assert ("BPF" if bad else complaint) in done.stderr, done.stderr


def test_no_such_process(seep, run):
    done = run(seep, "attach", "2147483646")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
