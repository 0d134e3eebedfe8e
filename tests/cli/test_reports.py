# SPDX-License-Identifier: BSD-2-Clause
"""The golden reports of tests/golden: JSON against docs/report.schema.json, CSV with a real CSV reader."""
import copy
import csv
import glob
import json
import os

import pytest

import messages
import report_json
import schema

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(os.path.dirname(HERE), "golden")
REPORTS = sorted(path for path in glob.glob(os.path.join(GOLDEN, "report-*.json")) if os.path.basename(path).count(".") == 1)
TABLES = sorted(glob.glob(os.path.join(GOLDEN, "report-*.csv")))


def rules_of(root, name):
    with open(os.path.join(root, "docs", name), encoding="utf-8") as file:
        return json.load(file)


@pytest.fixture(scope="module")
def rules(root):
    return rules_of(root, "report.schema.json")


def load(path):
    with open(path, encoding="utf-8") as file:
        pairs_seen = []

        def unique(pairs):
            keys = [key for key, _ in pairs]
            assert len(keys) == len(set(keys)), keys
            pairs_seen.append(len(keys))
            return dict(pairs)
        return json.load(file, object_pairs_hook=unique)


def test_there_are_golden_reports():
    assert len(REPORTS) >= 5 and len(TABLES) >= 3


@pytest.mark.parametrize("path", REPORTS, ids=os.path.basename)
def test_json_follows_the_schema(root, path):
    rules = rules_of(root, "report-1.schema.json" if path.endswith("-1.json") else "report.schema.json")
    assert schema.check(load(path), rules, rules) == []


@pytest.mark.parametrize("name", ["leaky", "family"])
def test_both_schemas_say_the_same(name):
    """The tables of schema 2, put in place, are the stacks of schema 1."""
    new = report_json.spread(load(os.path.join(GOLDEN, "report-%s.json" % name)))
    old = load(os.path.join(GOLDEN, "report-%s-1.json" % name))
    nr = 0
    for one, other in zip(new.get("processes", [new]), old.get("processes", [old]), strict=True):
        assert [site["stack"] for site in one["sites"]] == [site["stack"] for site in other["sites"]]
        assert one["totals"] == other["totals"] and one["health"] == other["health"]
        nr += len(one["sites"])
    assert nr


@pytest.mark.parametrize("path", REPORTS, ids=os.path.basename)
def test_tables_have_nothing_twice_and_nothing_unused(path):
    report = load(path)
    if report["seep"]["schema"] < 2:
        return
    frames = [json.dumps(frame) for frame in report["frames"]]
    stacks = [tuple(node) for node in report["stacks"]]
    assert len(set(frames)) == len(frames) and len(set(stacks)) == len(stacks)
    assert {frame for frame, _ in stacks} == set(range(len(frames)))
    assert all(caller < i for i, (_, caller) in enumerate(stacks))


@pytest.mark.parametrize("path", REPORTS, ids=os.path.basename)
def test_sites_add_up_to_totals(path):
    report = load(path)
    for process in report.get("processes", [report]):
        for key in ("live_blocks", "live_bytes", "allocations", "allocated_bytes", "frees", "freed_bytes", "temporary"):
            of_sites = sum(site[key] for site in process["sites"])
            assert of_sites <= process["totals"][key] if process["sites_left_out"] else of_sites == process["totals"][key], key


def test_the_checker_finds_faults(rules):
    good = load(os.path.join(GOLDEN, "report-leaky.json"))

    def broken(change):
        bad = copy.deepcopy(good)
        change(bad)
        return schema.check(bad, rules, rules)
    assert not broken(lambda r: None)
    assert broken(lambda r: r["totals"].pop("frees"))
    assert broken(lambda r: r["totals"].update(frees=-1))
    assert broken(lambda r: r["totals"].update(frees=True))
    assert broken(lambda r: r["totals"].update(frees=None))
    assert broken(lambda r: r["seep"].update(schema=1))
    assert broken(lambda r: r.update(surprise=1))
    assert broken(lambda r: r["frames"][0].pop("offset"))
    assert broken(lambda r: r["process"].update(exit={"code": 0, "signal": 1}))


@pytest.mark.parametrize("path", TABLES, ids=os.path.basename)
def test_csv_has_as_many_fields_in_every_row(path):
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    rows = list(csv.reader(text.splitlines(keepends=True), strict=True))
    assert rows and {len(row) for row in rows} == {len(rows[0])}
    assert len(rows) == text.count("\n"), "a row is more than one line"
    assert len(set(rows[0])) == len(rows[0])


def test_csv_keeps_names_whole():
    with open(os.path.join(GOLDEN, "report-strange.csv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    assert rows[0]["function"].startswith("std::vector<std::map<std::__cxx11::basic_string<char>, int> >::")
    assert ('cache, "new".cpp', "10") in [(row["file"], row["line"]) for row in rows if row["row"] == "stack"]
    assert rows[1]["function"] == r"evil\x1b]0;title\x07\n\u{202e}desrever\xff"
    assert int(rows[0]["live_bytes"]) == 144


def test_csv_stacks_lead_to_their_callers():
    with open(os.path.join(GOLDEN, "report-leaky.csv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    stacks = {row["stack"]: row for row in rows if row["row"] == "stack"}
    sites = [row for row in rows if row["row"] == "site"]
    assert sites and stacks and len(sites) + len(stacks) == len(rows)
    ends = []
    for site in sites:
        if not site["stack"]:  # it has no frame
            assert not site["function"] and not site["module"]
            continue
        assert stacks[site["stack"]]["function"] == site["function"]
        node, depth = site["stack"], 0
        while node:
            last, node, depth = node, stacks[node]["caller"], depth + 1
            assert depth <= len(stacks), "a circle"
        ends.append(stacks[last]["function"])
    assert len(ends) == 4 and set(ends) == {"__libc_start_main"}


def test_a_filter_that_matches_nothing_does_not_say_that_nothing_leaks(run, seep):
    path = os.path.join(GOLDEN, "v1-tiny.seep")
    everything = run(seep, "report", path)
    nothing = run(seep, "report", path, "--function", "no_such_function")
    matches = "that matches the filters"
    assert matches not in everything.stdout
    assert "nothing " + matches in nothing.stdout and "all was freed" not in nothing.stdout, nothing


@pytest.mark.parametrize("command", ["report {0}", "diff --json {0} {0}", "export --format folded {0}", "sql {0} 'select 1'",
                                     "top --once {0}"])
def test_a_closed_output_is_an_error_and_no_file_takes_its_place(run, seep, command):
    trace = os.path.join(GOLDEN, "v1-tiny.seep")
    done = run("sh", "-c", "%s %s >&-" % (seep, command.format(trace)))
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done
    assert done.stderr.startswith("seep: " + messages.CANNOT_PRINT + "Bad file descriptor"), done


def test_a_program_finds_closed_what_was_closed(run, seep, tmp_path):
    look = "import os, sys; sys.exit(5 if not os.path.exists('/proc/self/fd/1') else 6)"
    done = run("sh", "-c", '%s run -q -o %s -- /usr/bin/python3 -S -c "%s" >&-' % (seep, tmp_path / "x.seep", look))
    assert done.returncode == 5, done


@pytest.mark.parametrize("form", ["--json", "--json=1"])
def test_a_report_that_cannot_be_made_prints_nothing(run, seep, form):
    """No process of the trace kept its blocks. The error comes before the first byte is written."""
    done = run(seep, "report", os.path.join(GOLDEN, "v1-family.seep"), "--by", "size", form)
    assert done.returncode == 1 and "--by size needs the live blocks" in done.stderr
    assert done.stdout == ""


def test_the_sum_of_suppressions_stops_at_the_largest_number(run, seep):
    done = run(seep, "report", os.path.join(GOLDEN, "v1-huge.seep"), "--format", "lsan")
    assert done.returncode == 0 and done.stderr == ""
    assert "# 0 bytes in 9,223,372,036,854,775,807 blocks" in done.stdout
    assert " bytes in -" not in done.stdout


def test_little_address_space(run, seep, sanitized, tmp_path):
    """libdw crashes where an allocation of its own fails: it is not called where there is no room."""
    if sanitized:
        pytest.skip("AddressSanitizer needs more address space")
    trace, limited = tmp_path / "t.seep", 'ulimit -v "$0"; exec "$@"'
    run(seep, "run", "-q", "--scan", "no", "-o", trace, "--", seep, "report", "x")  # has much debug information
    said = set()
    for kib in range(22000, 40000, 2000):
        done = run("sh", "-c", limited, str(kib), seep, "report", "--format", "json", trace)
        assert done.returncode in (0, 1) and done.stderr.count("\n") == done.returncode, (kib, done)
        said.add(done.stderr)
    assert "seep: out of memory\n" in said, said
