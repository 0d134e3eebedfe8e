# SPDX-License-Identifier: BSD-2-Clause
"""seep growth, and what seep run looks at while it runs: options, wrong use, the golden snapshots."""
import json
import os
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import messages  # noqa: E402
import schema  # noqa: E402
from small_programs import program_source  # noqa: E402


@pytest.fixture
def call(seep):
    def call_seep(*args):
        return subprocess.run([seep, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=60)
    return call_seep


@pytest.fixture
def grown(root):
    return os.path.join(root, "tests", "golden", "v1-grown.seep")


@pytest.mark.parametrize("args, message", [
    (["growth"], "growth: of what?"),
    (["growth", "--interval", "5ms", "1"], "--interval: less than 10ms"),
    (["growth", "--count", "4", "1"], "--count 4: too few looks to say what grows (7 are needed, 20 are good)"),
    (["growth", "--interval", "soon", "1"], "--interval: bad value 'soon'"),
    (["growth", "--intervall", "1s", "1"], "did you mean '--interval'?"),
    (["growth", "--error-exitcode", "0", "x"], "--error-exitcode: '0' is too small"),
    (["growth", "--limit", "much", "x"], "--limit: bad value 'much'"),
    (["run", "--interval", "1us", "true"], "--interval: less than 10ms"),
    (["run", "--count", "3", "true"], "there is no --interval"),
    (["run", "--interval", "1s", "--count", "0", "true"], "--count: '0' is too small"),
    (["run", "--snap-at", "0%", "true"], "--snap-at: '0' is too small"),
    (["run", "--snap-at", "101%", "true"], "--snap-at: '101' is too big"),
    (["run", "--snap-at", "half", "true"], "--snap-at: bad value 'half'"),
    (["run", "--snap-at", "0", "true"], "--snap-at: '0' is too small"),
    (["run", "--snap-at", "%", "true"], "--snap-at: bad value '%'"),
])
def test_wrong_use(call, args, message):
    done = call(*args)
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 2 and done.stdout == b"" and len(lines) == 1, done
    assert message in lines[0]


def test_no_such_process(call):
    done = call("growth", "99999999")
    assert done.returncode == 1 and done.stderr.startswith(b"seep: no process 99999999"), done


def test_golden_snapshots(call, root, grown):
    done = call("growth", "--json", grown)
    assert done.returncode == 0, done
    value = json.loads(done.stdout)
    with open(os.path.join(root, "docs", "report.schema.json"), encoding="utf-8") as file:
        rules = json.load(file)
    assert schema.check(value, rules, rules) == []
    growth = value["growth"]
    assert len(growth["snapshots"]) == 12 and growth["limit"] == "memory.max of /caf\xe9"
    assert growth["snapshots"][0]["rss_bytes"] is None and growth["snapshots"][11]["rss_bytes"] == 11 * 4096
    site = value["sites"][0]["growth"]
    assert (site["first_bytes"], site["last_bytes"]) == (64, 768)
    done = call("growth", "--limit", "1M", grown)
    assert done.returncode == 0 and b"12 snapshots in" in done.stdout, done


def test_by_and_top(call, grown):
    done = call("growth", "--by", "function", grown)
    assert done.returncode == 0 and b"fastest growth first" in done.stdout, done
    done = call("growth", "--top", "0", grown)
    assert done.returncode == 0 and b"#1" in done.stdout, done


def test_a_trace_is_not_replaced_by_what_is_made_of_it(call, grown, tmp_path):
    trace, before = tmp_path / "own.seep", open(grown, "rb").read()
    trace.write_bytes(before)
    (tmp_path / "picture.svg").symlink_to(trace)
    read = f"{messages.INPUT_OF_IT} ({messages.NAME_ANOTHER})".encode()
    for words, said in ((["growth", trace, "-o", trace], read), (["shrink", grown, trace, "-o", trace], read),
                        (["html", trace, "-o", trace], f"{messages.NOT_WRITTEN_OVER} ({messages.NAME_ANOTHER}".encode()),
                        (["export", "--format", "csv", trace, "-o", trace], messages.NOT_WRITTEN_OVER.encode()),
                        (["plot", trace, "-o", tmp_path / "picture.svg"], messages.NOT_WRITTEN_OVER.encode()),
                        (["plot", trace, "-o", tmp_path / "none" / "a.svg"], f"(make its folder, or {messages.NAME_ANOTHER})".encode())):
        done = call(*words)
        assert done.returncode in (1, 2) and said in done.stderr and done.stderr.count(b"\n") == 1, (words, done)
        assert trace.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["own.seep", "picture.svg"]


def test_a_process_is_no_recording(seep, call, tmp_path):
    program = subprocess.Popen([seep, "run", "-q", "-o", tmp_path / "a.seep", "sh", "-c", "echo $$; read line"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    pid = program.stdout.readline().decode().strip()
    for command in (["replay"], ["advise"], ["export", "--format", "parquet", "-o", tmp_path / "p"]):
        done = call(*command, pid)
        assert done.returncode == 1 and b"a running process has no recording of its events (name a" in done.stderr, done
    program.communicate(b"\n")
    assert program.returncode == 0 and not (tmp_path / "p").exists()


def test_rows_of_several_sites_are_told_from_sites(call, tmp_path):
    """Three sites grow, in two rows. Before, "2 sites" stood below "sites: 3 growing", with no word about why."""
    subprocess.run(["gcc", "-g", "-O0", "-x", "c", "-o", tmp_path / "app", "-"], input=program_source("growth_two_on_a_line.c").encode(), check=True)
    trace = tmp_path / "app.seep"
    assert call("run", "-q", "--mode", "record", "-o", trace, "--", tmp_path / "app").returncode == 0
    text = call("growth", trace).stdout.decode()
    assert "sites: 3 growing" in text and "2 sites that grow without bound" in text, text
    assert "Sites whose stacks read the same are one row" in text, text
    text = call("report", "--sort", "temporary", trace).stdout.decode()
    assert "1 site with temporary allocations, most" in text and "#2" not in text, text
    assert "more ha" in text and " none: --top 0 shows " in text, text
    assert "#2" in call("report", "--sort", "temporary", "--top", "0", trace).stdout.decode()
