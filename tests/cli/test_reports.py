# SPDX-License-Identifier: BSD-2-Clause
"""The golden reports of tests/golden: JSON against docs/report.schema.json, CSV with a real CSV reader."""
import copy
import csv
import glob
import json
import os

import pytest

import schema

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(os.path.dirname(HERE), "golden")
REPORTS = sorted(glob.glob(os.path.join(GOLDEN, "report-*.json")))
TABLES = sorted(glob.glob(os.path.join(GOLDEN, "report-*.csv")))


@pytest.fixture(scope="module")
def rules(root):
    with open(os.path.join(root, "docs", "report.schema.json"), encoding="utf-8") as file:
        return json.load(file)


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
def test_json_follows_the_schema(rules, path):
    assert schema.check(load(path), rules, rules) == []


@pytest.mark.parametrize("path", REPORTS, ids=os.path.basename)
def test_sites_add_up_to_totals(path):
    report = load(path)
    for process in report.get("processes", [report]):
        if process["sites_left_out"]:
            continue
        for key in ("live_blocks", "live_bytes", "allocations", "allocated_bytes", "frees", "freed_bytes", "temporary"):
            assert sum(site[key] for site in process["sites"]) == process["totals"][key], key


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
    assert broken(lambda r: r["seep"].update(schema=2))
    assert broken(lambda r: r.update(surprise=1))
    assert broken(lambda r: r["sites"][0]["stack"][0].pop("offset"))
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
    assert '(cache, "new".cpp:10)' in rows[0]["stack"]
    assert rows[1]["function"] == r"evil\x1b]0;title\x07\n\u{202e}desrever\xff"
    assert int(rows[0]["live_bytes"]) == 144
