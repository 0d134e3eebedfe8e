# SPDX-License-Identifier: BSD-2-Clause
"""seep diff and seep mark: marks, snapshots, runs, versions of a program; wrong use."""
import csv
import json
import os
import re
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import messages  # noqa: E402
import report_json  # noqa: E402
import schema  # noqa: E402
from small_programs import program_source  # noqa: E402

# LINES moves all code down, EXTRA puts an allocation before the others: what a new version does.
SOURCE = program_source("diff_versions.c")


@pytest.fixture
def build(tmp_path, require):
    def build_program(name, lines="", extra="", options=("-O1",)):
        source = tmp_path / (name + ".c")
        source.write_text(SOURCE.replace("// LINES", lines).replace("// EXTRA", extra))
        program = tmp_path / name
        done = subprocess.run([require("gcc"), "-g", *options, str(source), "-o", str(program)],
                              stderr=subprocess.PIPE)
        assert done.returncode == 0, done.stderr
        return program
    return build_program


class Traced:
    """A program under seep that does one step for each number it is told."""

    def __init__(self, seep, program, trace, *options):
        self.process = subprocess.Popen([seep, "run", "-q", "-o", str(trace), *options, "--", str(program)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.trace, self.pid = str(trace), None

    def step(self, n):
        self.process.stdin.write("%d\n" % n)
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "ok\n"
        with open("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)) as file:
            self.pid = file.read().split()[0]
        return self

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        self.process.stdout.close()
        return self.trace


def diff(run, seep, root, *args, status=0):
    done = run(seep, "diff", "--json", *args)
    assert done.returncode == status, done
    got = json.loads(done.stdout)
    with open(os.path.join(root, "docs", "diff.schema.json")) as file:
        shape = json.load(file)
    assert not schema.check(got, shape, shape)
    return report_json.spread(got)


def rows(got):
    """Of the program's own stacks: (function, via) and the change."""
    return {(row["stack"][0]["function"], row["via"], row["stack"][0]["line"]): row
            for row in got["rows"] if row["stack"] and row["stack"][0]["function"] in ("grow", "serve")}


def test_marks_of_a_running_process(run, seep, root, build, tmp_path):
    traced = Traced(seep, build("app"), tmp_path / "app.seep").step(10)
    done = run(seep, "mark", traced.pid, "ten")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    traced.step(5)
    assert run(seep, "mark", traced.pid, "again").returncode == 0
    live = diff(run, seep, root, traced.pid + "@ten", traced.pid)
    assert live["totals"]["live_bytes"] == 500 + 305 + 500 + 700
    traced.step(2)
    assert run(seep, "mark", traced.pid, "again").returncode == 0
    traced.step(1)
    trace = traced.end()

    got = diff(run, seep, root, trace + "@ten", trace + "@again#1")
    changed = {key[:2]: row["live_bytes"] for key, row in rows(got).items() if row["change"] != "same"}
    assert changed == {("grow", "malloc"): 500, ("serve", "malloc"): changed["serve", "malloc"], ("serve", "calloc"): 500}
    assert got["changes"]["grew"] == 4 and got["changes"]["new"] == 0 and got["changes"]["gone"] == 0
    assert got["same_program"] and got["same_sampling"]
    # the last of that name, and the end
    got = diff(run, seep, root, trace + "@again", trace)
    (row,) = [row for key, row in rows(got).items() if key[0] == "grow"]
    assert (row["live_bytes"], row["allocations"], row["old"]["live_bytes"], row["new"]["live_bytes"]) == (100, 1, 1700, 1800)
    back = diff(run, seep, root, trace, trace + "@again")
    assert back["totals"]["live_bytes"] == -got["totals"]["live_bytes"] and back["changes"]["shrank"] == 4
    report = json.loads(run(seep, "report", "--json", trace).stdout)
    assert [mark["name"] for mark in report["marks"]] == ["ten", "again", "again"]
    assert all(mark["thread"] is None for mark in report["marks"])

    done = run(seep, "diff", trace + "@ten", trace, "--top", "1")
    assert done.returncode == 0
    assert "\n#1   +800 bytes live in +8 blocks  1,000 -> 1,800\n    malloc: +8 allocations" in done.stdout or \
        "bytes live in +3 blocks" in done.stdout, done.stdout
    assert "more changed: --top 0 shows all" in done.stdout
    done = run(seep, "diff", trace + "@none", trace)
    assert done.returncode == 1 and messages.NO_MARK % "none" + " (its marks are ten, again, again)" in done.stderr
    done = run(seep, "diff", trace + "@ten", trace, "--csv", "--by", "function", "--function", "grow")
    assert done.stdout.splitlines()[1].startswith("grew,800,8,8,800,0,0,1000,1800,") and done.stdout.splitlines()[1].endswith(",grow")


def test_rows_refer_to_stacks(run, seep, build, tmp_path):
    """JSON and CSV have each frame and each stack once, and CSV says the same as JSON."""
    trace = Traced(seep, build("app"), tmp_path / "app.seep").step(3).end()
    got = json.loads(run(seep, "diff", "--json", trace, trace).stdout)
    assert len({json.dumps(frame) for frame in got["frames"]}) == len(got["frames"])
    assert len({tuple(stack) for stack in got["stacks"]}) == len(got["stacks"])
    table = list(csv.DictReader(run(seep, "diff", "--csv", trace, trace).stdout.splitlines()))
    sites = [row for row in table if row["row"] == "site"]
    assert [int(row["stack"]) for row in sites] == [row["stack"] for row in got["rows"]]
    assert sites[0]["function"] == got["frames"][got["stacks"][got["rows"][0]["stack"]][0]]["function"]
    stacks = [row for row in table if row["row"] == "stack"]
    assert [int(row["caller"] or -1) for row in stacks] == [stack[1] for stack in got["stacks"]]
    assert [row["function"] or None for row in stacks] == \
        [got["frames"][stack[0]]["function"] for stack in got["stacks"]]


def test_a_new_version_of_a_program(run, seep, root, build, tmp_path):
    old = Traced(seep, build("server"), tmp_path / "old.seep").step(3).end()
    # Code moved by ten lines, one allocation came before the others, and the file has another name.
    new = Traced(seep, build("server-2", "\n" * 10, "keep = malloc(40);"), tmp_path / "new.seep").step(4).end()
    got = diff(run, seep, root, old, new)
    seen = rows(got)
    assert not got["same_program"]
    assert [row["live_bytes"] for key, row in seen.items() if key[0] == "grow"] == [100]
    assert [row["live_bytes"] for key, row in seen.items() if key[1] == "calloc"] == [0]
    # serve: 40 is new, 700 is as it was (same size), 303 became 304 or is one gone and one new.
    malloc = sorted(row["live_bytes"] for key, row in seen.items() if key[:2] == ("serve", "malloc"))
    assert sum(malloc) == 41 and 0 in malloc
    assert all(row["moved"] for row in seen.values() if row["old"] and row["new"])
    assert got["changes"]["gone"] == 0


# Allocations that share a source line, and a version that has the same ones on lines of their own.
SHARED_LINE = program_source("diff_shared_line.c")


@pytest.mark.parametrize("moved, first, between, changes", [
    ("\n\n", "", "\n\n", {"same": 2}),
    ("", "", "\n", {"same": 2}),
    ("", " make(99);", "", {"same": 2, "new": 1}),
])
def test_allocations_that_share_a_line(run, seep, root, require, tmp_path, moved, first, between, changes):
    """By the order of their code, where lines do not tell; offsets of another build are not the same places."""
    traces = []
    for name, parts in (("old", ("", "", "")), ("new", (moved, first, between))):
        folder = tmp_path / name
        folder.mkdir()
        source = SHARED_LINE
        for word, part in zip(("// MOVED", "/* FIRST */", "/* BETWEEN */"), parts):
            source = source.replace(word, part)
        (folder / "app.c").write_text(source)
        subprocess.run([require("gcc"), "-g", "-O1", "app.c", "-o", "app"], check=True, cwd=folder)
        traces.append(tmp_path / (name + ".seep"))
        assert run(seep, "run", "-q", "-o", traces[-1], "--", folder / "app").returncode == 0
    got = diff(run, seep, root, *traces)
    assert {change: nr for change, nr in got["changes"].items() if nr} == changes, got["rows"]


def test_the_same_and_different_things(run, seep, root, build, tmp_path):
    app = build("app")
    whole = Traced(seep, app, tmp_path / "a.seep").step(3).end()
    again = Traced(seep, app, tmp_path / "b.seep").step(3).end()
    sampled = Traced(seep, app, tmp_path / "s.seep", "--sample", "64").step(3).end()
    other = tmp_path / "other.seep"
    assert run(seep, "run", "-q", "-o", other, "cat", "/dev/null").returncode == 0
    done = run(seep, "diff", whole, whole)
    assert done.returncode == 0 and "Both are the same: nothing can differ." in done.stdout
    assert "Nothing changed." in done.stdout
    got = diff(run, seep, root, whole, again, "--error-exitcode", "9")
    assert not any(nr for change, nr in got["changes"].items() if change not in ("same", "empty")), got["changes"]
    assert got["totals"]["live_bytes"] == 0
    # Changes that there are none of are not listed, nor an order of nothing.
    assert "\nsites: %d as before\n" % got["changes"]["same"] in run(seep, "diff", whole, again).stdout
    assert run(seep, "diff", whole, other).returncode == 0
    got = diff(run, seep, root, whole, other)
    assert not got["same_program"] and got["changes"]["gone"] >= 4
    # Python allocates many times as much, which no share says well.
    plenty = tmp_path / "plenty.seep"
    assert run(seep, "run", "-q", "-o", plenty, "--", sys.executable, "-S", "-c",
               "for i in range(600000): bytearray(600)").returncode == 0
    times = re.search(r"^  allocated bytes .*  ([\d.,]+) times$", run(seep, "diff", whole, plenty).stdout, re.M)
    assert times and float(times[1].replace(",", "")) >= 10, times
    assert re.search(r"^  allocations .*  \d+,\d{3} times$", run(seep, "diff", other, plenty).stdout, re.M)
    done = run(seep, "diff", whole, sampled)
    assert "different sampling" in done.stdout
    more = Traced(seep, app, tmp_path / "m.seep").step(4).end()
    diff(run, seep, root, whole, more, "--error-exitcode", "9", status=9)
    diff(run, seep, root, more, whole, "--error-exitcode", "9")
    for by in ("function", "file", "line", "module", "thread", "size", "process"):
        got = diff(run, seep, root, whole, more, "--by", by)
        assert got["totals"]["live_bytes"] == 101 and sum(row["live_bytes"] for row in got["rows"]) == 101, by


LEAKS = program_source("diff_leaks.c")


@pytest.fixture
def leaky(run, seep, require, tmp_path):
    """Builds the program that can leak, and runs it with one word."""
    def trace(name, word="keep", *options):
        (tmp_path / "w.c").write_text(LEAKS)
        subprocess.run([require("gcc"), "-g", *(options or ["-O1"]), "w.c", "-o", "w"], check=True, cwd=tmp_path)
        assert run(seep, "run", "-q", "-o", tmp_path / name, "--", tmp_path / "w", word).returncode == 0
        return str(tmp_path / name)
    return trace


def test_a_program_that_starts_to_leak(run, seep, root, leaky):
    """The same blocks are live at the end of both, but of the second run they are lost."""
    old, new = leaky("old.seep"), leaky("new.seep", "leak")
    text = run(seep, "diff", old, new).stdout
    assert "Nothing changed" not in text, text
    assert "\nsites: 1 now lost\n" in text and "\n    now lost: 4,000 bytes in 40 blocks\n" in text, text
    lines = [line.split() for line in text.splitlines()]
    assert ["lost", "bytes", "0", "4,000", "+4,000"] in lines and ["lost", "blocks", "0", "40", "+40"] in lines, text
    assert ["peak", "bytes", "4,000", "4,000", "0"] in lines, text
    got = diff(run, seep, root, old, new)
    assert (got["totals"]["live_bytes"], got["totals"]["lost_bytes"], got["totals"]["lost_blocks"]) == (0, 4000, 40)
    assert (got["old"]["peak_bytes"], got["new"]["peak_bytes"]) == (4000, 4000)
    (row,) = [row for row in got["rows"] if row["change"] == "worse"]
    assert (row["lost_bytes"], row["old"]["lost_bytes"], row["new"]["lost_bytes"]) == (4000, 0, 4000)
    back = run(seep, "diff", new, old).stdout
    assert "\nsites: 1 less lost\n" in back and "no longer lost: 4,000 bytes" in back and "Nothing changed" not in back, back
    by = run(seep, "diff", "--by", "function", old, new).stdout
    assert "\nfunctions: 1 now lost\n" in by, by
    gate = run(seep, "diff", "--csv", "--error-exitcode", "9", old, new)
    assert gate.returncode == 9 and gate.stderr == "seep: diff: more is lost in 1 row (--error-exitcode)\n", gate
    table = [row for row in csv.DictReader(gate.stdout.splitlines()) if row["row"] == "site" and row["change"] == "worse"]
    assert [(row["lost_bytes"], row["lost_blocks"], row["possibly_lost_bytes"]) for row in table] == [("4000", "40", "0")]
    assert run(seep, "diff", "--error-exitcode", "9", new, old).returncode == 0


def test_a_leak_that_is_known_is_not_lost(run, seep, root, leaky, tmp_path):
    """The program's own list and --suppressions hold for a diff as for a report."""
    (tmp_path / "a.supp").write_text("leak:fill\n")
    for flags, more, lost in ((["-O1"], [], 4000), (["-O1"], ["--suppressions", tmp_path / "a.supp"], 0),
                              (["-O1", "-DKNOWN"], [], 0), (["-O1", "-DKNOWN"], ["--no-default-suppressions"], 4000)):
        old, new = leaky("old.seep", "keep", *flags), leaky("new.seep", "leak", *flags)
        got = diff(run, seep, root, old, new, *more)
        assert (got["totals"]["live_bytes"], got["totals"]["lost_bytes"]) == (0, lost), (flags, more)
        assert got["changes"]["worse"] == (1 if lost else 0)
        assert run(seep, "diff", "--error-exitcode", "9", *more, old, new).returncode == (9 if lost else 0)


def test_only_one_was_scanned(run, seep, root, leaky, tmp_path):
    old = leaky("old.seep")
    assert run(seep, "run", "-q", "--scan", "no", "-o", tmp_path / "new.seep", "--", tmp_path / "w", "leak").returncode == 0
    got = diff(run, seep, root, old, str(tmp_path / "new.seep"))
    assert got["totals"]["lost_bytes"] is None and got["totals"]["old"]["lost_bytes"] == 0
    assert got["totals"]["new"]["lost_bytes"] is None
    text = run(seep, "diff", old, tmp_path / "new.seep").stdout
    assert "Only the old one was scanned for leaks: what is lost cannot be compared.\n" in text, text


def test_what_holds_nothing_is_not_as_before(run, seep, root, leaky, tmp_path):
    old = leaky("old.seep")
    other = tmp_path / "other.seep"
    assert run(seep, "run", "-q", "-o", other, "cat", "/dev/null").returncode == 0
    got = diff(run, seep, root, old, str(other))
    assert got["changes"]["empty"] > 0
    for row in got["rows"]:
        holds = any(side and side["live_blocks"] for side in (row["old"], row["new"]))
        assert (row["change"] == "empty") == (not holds), row


def test_a_program_that_was_rebuilt_in_place(run, seep, root, leaky, tmp_path):
    """The old binary is gone: that is said, with what to do, and doing it helps."""
    old = leaky("old.seep")
    (tmp_path / "kept").mkdir()
    os.link(tmp_path / "w", tmp_path / "kept" / "w")
    (tmp_path / "w").unlink()
    new = leaky("new.seep", "keep", "-O0", "-fno-inline")
    text = run(seep, "diff", old, new).stdout
    got = diff(run, seep, root, old, new)
    why, = [module["why"] for module in got["old"]["without_symbols"] if module["module"] == "w"]
    assert "another build" in why
    assert "\nold: no symbols: w (%s)\n" % why in text and "new: no symbols: w" not in text, text
    assert "--sysroot DIR\n" in text, text
    assert "new: no symbols: w (%s)" % why in run(seep, "diff", new, old).stdout
    helped = run(seep, "diff", "--sysroot", tmp_path / "kept", old, new).stdout
    assert "no symbols: w" not in helped and "1 as before" in helped, helped


def test_wrong_use(run, seep, tmp_path):
    bad = tmp_path / "bad.seep"
    bad.write_text("this is no trace")
    for command, operands, status, words in (
            ("diff", ["x.seep"], 2, "is missing"), ("diff", [], 2, "is missing"),
            ("diff", ["/nonexistent", "/nonexistent"], 1, "/nonexistent"), ("diff", [str(bad), str(bad)], 1, messages.NOT_A_TRACE),
            *(("diff", [*option, "a", "b"], 2, "%s is for one trace" % option[0]) for option in (["--blocks"], ["--pid", "1"], ["--limit", "1G"])),
            ("diff", ["--sort", "age", "a", "b"], 2, "no change to sort by"),
            ("diff", ["--json", "--csv", "a", "b"], 2, messages.EXCLUDE),
            ("mark", ["1"], 2, "is missing"), ("mark", ["x", "name"], 2, "PID is a number"),
            ("mark", ["0", "name"], 1, "no process 0"), ("mark", ["1", "a@b"], 2, "no @ and no #"),
            ("mark", ["1", ""], 2, "mark: " + messages.NAME_IS_EMPTY), ("mark", ["1", "x" * 256], 2, "at most 255 bytes"),
            ("mark", [str(os.getpid()), "name"], 1, "is not traced")):
        done = run(seep, command, *operands)
        assert done.returncode == status, done
        assert words in done.stderr and done.stderr.count("\n") == 1 and not done.stdout, done.stderr


FINDINGS = {  # runs, and what is said of them: kind, value, place, value of the place
    ("10 10 0 0", "1000 10 0 0"): [("live", 99000, "add", 99000)],
    ("1000 10 0 0", "10 10 0 0"): [("live", -99000, "add", -99000)],
    ("10 10 0 0", "10 30 5 0"): [("lost", 320, "lose", 320), ("live", 10320, "other", 10000)],
    ("10 30 5 0", "60 0 5 0"): [("live", -10000, "other", -15000)],
    ("10 10 0 0", "10 10 0 900"): [("live", 0, None, 0), ("allocations", 900, "churn", 900)],
    ("10 10 0 0", "15 9 0 0"): [("live", 0, "add", 500)],
    ("10 26 0 0", "110 10 125 0"): [("lost", 8000, "lose", 8000), ("live", 10000, "add", 10000)],
}


@pytest.mark.parametrize("runs", FINDINGS, ids=" to ".join)
def test_what_changed_most_is_said_first(run, seep, root, tmp_path, require, runs):
    (tmp_path / "changes.c").write_text(program_source("diff_findings.c"))
    subprocess.run([require("gcc"), "-g", "-O0", "-fno-builtin", "-o", "changes", "changes.c"], check=True, cwd=tmp_path)
    for name, amounts in zip(("old.seep", "new.seep"), runs):
        assert run(seep, "run", "-q", "-o", name, "./changes", *amounts.split()).returncode == 0
    whole = diff(run, seep, root, "old.seep", "new.seep")
    found = [(f["kind"], f["value"], f["place"], f["place_value"]) for f in whole["findings"]]
    expected = FINDINGS[runs]
    assert [(kind, value, part) for kind, value, _, part in found] == [(kind, value, part) for kind, value, _, part in expected], whole["findings"]
    assert [place and place.split(" (")[0] for _, _, place, _ in found] == [place for _, _, place, _ in expected], whole["findings"]
    text = re.sub(r"\s+", " ", run(seep, "diff", "old.seep", "new.seep").stdout)
    before_totals = text.split(" totals ")[0]
    assert all(f["text"] in before_totals for f in whole["findings"]), text
    # Where all is from one place, none is from others.
    assert not [f["text"] for f in whole["findings"] if "all from" in f["text"] and "; " in f["text"]]
    # By function its name is the place.
    (by, *_) = diff(run, seep, root, "--by", "function", "old.seep", "new.seep")["findings"]
    assert by["place"] == expected[0][2], by
