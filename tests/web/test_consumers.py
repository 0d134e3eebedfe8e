# SPDX-License-Identifier: BSD-2-Clause
"""Files of seep export in programs that are not ours and need a browser or Node.js; the others are in tests/cli/test_export.py."""
import json
import os
import re
import signal
import subprocess
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))


def clean():
    environment = {name: value for name, value in os.environ.items() if name == "SEEP_DEBUG_DIR" or (not name.startswith("SEEP_") and name != "LD_PRELOAD")}
    environment["MALLOC_PERTURB_"] = "0"
    return environment


def call(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, env=clean())
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-3000:]
    return done.stdout.decode()


@pytest.fixture
def consume(modules, chromium):
    return lambda *words: json.loads(call("node", os.path.join(HERE, "consume.mjs"), modules, chromium, *words))


@pytest.fixture(scope="module")
def trace(build, seep, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("consumers") / "shop.seep")
    call(seep, "run", "-q", "-o", path, "--", os.path.join(build, "tests", "web", "shop"), "300")
    return path


@pytest.fixture(scope="module")
def totals(seep, trace):
    return json.loads(call(seep, "report", "--json", trace))["totals"]


@pytest.fixture(scope="module")
def held(build, seep, tmp_path_factory):
    """A heap snapshot of held.c, and what seep scan says of the same process."""
    folder = tmp_path_factory.mktemp("held")
    run = subprocess.Popen([seep, "run", "-q", "-o", folder / "held.seep", "--", os.path.join(build, "tests", "web", "held")],
                           stdout=subprocess.PIPE, env=clean(), start_new_session=True)
    try:
        assert run.stdout.readline() == b"ready\n"
        pid = open("/proc/%d/task/%d/children" % (run.pid, run.pid)).read().split()[0]
        deadline = time.monotonic() + 30
        while open("/proc/%s/stat" % pid).read().rpartition(")")[2].split()[0] != "S" and time.monotonic() < deadline:
            time.sleep(0.01)
        call(seep, "export", pid, "--format", "heapsnapshot", "-o", str(folder / "held.heapsnapshot"))
        report = json.loads(call(seep, "scan", pid, "--json"))
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    return str(folder / "held.heapsnapshot"), report


def test_heapsnapshot(held, consume):
    """Chrome's own engine: sizes add up, each block is retained by whom the source says, its stack is the report's."""
    path, report = held
    found = consume("snapshot", path)
    assert found["total"] == report["totals"]["live_bytes"] == 16 + 16 + 1000 + 2000 + 3000 + 16 + 5000

    def named(pattern, nr=1):
        nodes = [node for node in found["nodes"] if re.search(pattern, node["name"])]
        assert len(nodes) == nr, (pattern, [node["name"] for node in found["nodes"]])
        return nodes[0] if nr == 1 else sorted(nodes, key=lambda node: -node["retained"])
    (tree, shared, lost), (outer, inner) = (named(r"\btree\b"), named("shared_by_two"), named(r"^\(lost")), named(r"^join \(held\.c:\d+\)", 2)
    assert (tree["retained"], outer["retained"], inner["retained"]) == (16 + 16 + 1000 + 2000, 16 + 16 + 1000 + 2000, 16 + 2000)
    assert (lost["retained"], named("^lose")["retained"], named("^leaf_that_is_lost")["retained"]) == (5016, 5016, 5000)
    assert shared["retained"] == 0 and named("^leaf_of_both")["retained"] == 3000
    assert [at["from"] for at in outer["retainers"]] == [tree["name"]] and "struct pair" in tree["name"]
    assert inner["retainers"] == [{"type": "element", "name": "8", "from": outer["name"]}]  # the second member
    both = {(at["type"], at["from"]) for at in named("^leaf_of_both")["retainers"]}
    assert both == {("element", shared["name"]), ("element", inner["name"]), ("weak", named("^lose")["name"])}
    assert named("^leaf_of_right")["stack"][:2] == ["leaf_of_right", "build"]
    assert {holder["retained_bytes"] for holder in report["leaks"]["holders"]} >= {tree["retained"], 3000}


def test_heapsnapshot_needs_the_pointers(run, seep, trace, held, tmp_path):
    """Of a trace, which has none, the one line says where they are; and filters would make lost blocks of held ones."""
    done = run(seep, "export", trace, "--format", "heapsnapshot", "-o", str(tmp_path / "out"))
    assert done.returncode == 1 and "does not keep who points to whom" in done.stderr and "seep export PID" in done.stderr
    assert not os.listdir(tmp_path)


def test_dhat_in_its_viewer(seep, trace, totals, consume, tmp_path):
    viewer = "/usr/libexec/valgrind/dh_view.html"
    if not os.path.exists(viewer):
        pytest.skip("dh_view.html is not installed (valgrind)")
    call(seep, "export", trace, "--format", "dhat", "-o", str(tmp_path / "shop.json"))
    found = consume("dhat", str(tmp_path / "shop.json"), viewer)
    assert found["troubles"] == []
    text = re.sub(r"\s+", " ", found["text"])
    top = text[text.index("PP 1/"):]
    for title, size, nr in (("Total", "allocated_bytes", "allocations"), ("At t-end", "live_bytes", "live_blocks")):
        assert re.search(r"%s: %s bytes \(100%%.*?\) in %s blocks" % (title, format(totals[size], ","), format(totals[nr], ",")), top), top[:600]
    assert "render_page (shop.c:" in text


def test_speedscope_in_its_page(seep, trace, totals, consume, tmp_path):
    call(seep, "export", trace, "--format", "speedscope", "--sort", "allocations", "-o", str(tmp_path / "shop.speedscope.json"))
    found = consume("speedscope", str(tmp_path / "shop.speedscope.json"), str(tmp_path / "opened.js"))
    assert found["troubles"] == []
    assert "1allocations" + format(totals["allocations"], ",") in found["rows"], found["rows"][:8]  # its list of profiles
    assert any(row.endswith("live blocks" + format(totals["live_blocks"], ",")) for row in found["rows"])
    assert any(re.search(r"\d%\)\s+render_page$", row) for row in found["rows"])
