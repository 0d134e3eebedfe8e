# SPDX-License-Identifier: BSD-2-Clause
"""The page of `seep html` in a real browser: drive.mjs opens, clicks, types and measures, and this file compares.

Needs Debian's chromium and, once for a build directory, npm's packages of web/package-lock.json. Without them the tests of the
browser are skipped and say why; the others run anywhere.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WEB = os.path.join(ROOT, "web")
UNITS = ["B", "KiB", "MiB", "GiB"]


def binary(build, name):
    path = os.path.join(build, "tests", "web", name)
    assert os.path.exists(path), "%s is not built: ninja -C %s tests/web/%s" % (path, build, name)
    return path


def snap(build, seep, folder, call):
    """snapped.seep, of a shop that is at work."""
    with shop_at_work(build, seep, folder) as pids:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for pid in pids():
                if subprocess.run([seep, "snap", pid, "-o", folder / "snapped.seep"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
                    return
    pytest.fail("seep snap did not find the shop")


@pytest.fixture(scope="session")
def traces(build, seep, tmp_path_factory):
    """Traces by name."""
    folder = tmp_path_factory.mktemp("traces")
    environment = {name: value for name, value in os.environ.items() if name == "SEEP_DEBUG_DIR" or (not name.startswith("SEEP_") and name != "LD_PRELOAD")}
    environment["MALLOC_PERTURB_"] = "0"

    def call(*command):
        done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        assert done.returncode == 0, done.stderr.decode()

    call(seep, "run", "-q", "-o", "shop.seep", "--", binary(build, "shop"), "1500")
    call(seep, "run", "-q", "-o", "newer.seep", "--", binary(build, "shop"), "2600")
    call(seep, "run", "-q", "-o", "family.seep", "--", "/bin/sh", "-c", "ls / >/dev/null; ls /usr >/dev/null; true")
    call(seep, "run", "-q", "-o", "grown.seep", "--interval", "100ms", "--", binary(build, "shop"), "1500", "1000")
    call(seep, "run", "-q", "--mode", "record", "-o", "recorded.seep", "--", binary(build, "shop"), "300", "300")
    call(seep, "run", "-q", "--mode", "record", "-o", "marked.seep", "--", binary(build, "strange"), "</title><script>window.ran=6</script>")
    snap(build, seep, folder, call)
    call(binary(build, "page_traces"), "hostile", "hostile.seep")
    call(binary(build, "page_traces"), "sites", "300", "12", "many.seep")
    make = os.path.join(build, "tests", "golden", "make_traces")
    call(make, "make", "empty", "empty.seep")
    return {name: str(folder / (name + ".seep")) for name in ("shop", "newer", "family", "grown", "many", "hostile", "empty", "snapped", "recorded", "marked")}


@pytest.fixture(scope="session")
def pages(seep, traces, tmp_path_factory):
    """Pages by name, broken ones among them."""
    folder = tmp_path_factory.mktemp("pages")

    def make(name, *sources):
        out = folder / (name + ".html")
        done = subprocess.run([seep, "html", *sources, "-o", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        assert done.returncode == 0 and not done.stdout and not done.stderr, done.stderr.decode()
        return str(out)

    files = {name: make(name, traces[name]) for name in ("shop", "family", "grown", "many", "hostile", "empty", "snapped", "recorded")}
    files["sourced"] = make("sourced", traces["shop"], "--embed-sources")
    files["marked"] = make("marked", traces["marked"], "--embed-sources")
    files["strange"] = files["hostile"]
    files["folded"] = make("folded", traces["many"], "--max-size", "%d" % (os.path.getsize(files["many"]) - 20000))
    files["folded diff"] = make("folded diff", traces["many"], traces["many"], "--max-size", "1K")
    files["diff"] = make("diff", traces["shop"], traces["newer"])
    whole = open(files["shop"], encoding="utf-8").read()
    data = re.search(r'id="seep-sites">([^<]*)<', whole).group(1)
    for name, other in (("cut", data[:len(data) // 8 * 4]), ("garbled", data[:200] + "AAAA" + data[204:]), ("none", "")):
        files[name] = str(folder / (name + ".html"))
        with open(files[name], "w", encoding="utf-8") as file:
            file.write(whole.replace(data, other))
    return files


@contextlib.contextmanager
def shop_at_work(build, seep, folder):
    """What tells the processes of seep run and their children."""
    environment = {name: value for name, value in os.environ.items() if name == "SEEP_DEBUG_DIR" or (not name.startswith("SEEP_") and name != "LD_PRELOAD")}
    environment["MALLOC_PERTURB_"] = "0"
    shop = subprocess.Popen([seep, "run", "-q", "-o", folder / "live.seep", "--", binary(build, "shop"), "100000000", "1000"], env=environment,
                            start_new_session=True)
    try:
        yield lambda: open("/proc/%d/task/%d/children" % (shop.pid, shop.pid)).read().split()
    finally:
        os.killpg(shop.pid, signal.SIGKILL)
        shop.wait()


@contextlib.contextmanager
def live_server(build, seep, folder):
    """The address of the page of a shop that is at work."""
    server = None
    with shop_at_work(build, seep, folder) as pids:
        deadline = time.monotonic() + 60
        while server is None and time.monotonic() < deadline:
            for pid in pids():
                one = subprocess.Popen([seep, "serve", "--http", pid], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                address = one.stdout.readline().strip()  # nothing where it is not traced yet
                if address:
                    server = one
                    break
                one.wait()
        assert server, "seep serve did not find the shop"
        try:
            yield address
        finally:
            server.terminate()
            server.wait()


@contextlib.contextmanager
def folder_server(seep, folder):
    server = subprocess.Popen([seep, "serve", "--http", folder], stdout=subprocess.PIPE, text=True)
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


@pytest.fixture(scope="session")
def seen(pages, traces, build, seep, modules, chromium, tmp_path_factory):
    """What drive.mjs found, by check."""
    shots = os.path.join(build, "web", "shots")
    os.makedirs(shots, exist_ok=True)
    with live_server(build, seep, tmp_path_factory.mktemp("live")) as live, folder_server(seep, os.path.dirname(traces["shop"])) as folder:
        done = subprocess.run(["node", os.path.join(ROOT, "tests", "web", "drive.mjs"), modules, chromium],
                              input=json.dumps({**pages, "shots": shots, "live": live, "folder": folder}).encode(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=600)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-3000:]
    return json.loads(done.stdout)


def result(seen, name, troubles=True):
    found = seen[name]
    assert "error" not in found, found["error"]
    if troubles:
        assert found["troubles"] == [], name
    return found


def bytes_of(value):
    """As the text report and the page write it."""
    unit, value = 0, float(value)
    while value >= 999.5 and unit + 1 < len(UNITS) or unit == 0 and value >= 1024:
        value, unit = value / 1024, unit + 1
    return "%d B" % value if not unit else "%.*f %s" % (2 if value < 9.995 else 1 if value < 99.95 else 0, value, UNITS[unit])


# ---- what needs no browser ----


def test_the_checked_in_page_is_what_its_sources_make(modules, tmp_path):
    for name in ("src", "vendor"):
        shutil.copytree(os.path.join(WEB, name), tmp_path / name)
    shutil.copy(os.path.join(WEB, "build.mjs"), tmp_path)
    shutil.copy(os.path.join(WEB, "package.json"), tmp_path)
    os.symlink(os.path.join(modules, "node_modules"), tmp_path / "node_modules")
    done = subprocess.run(["node", "build.mjs", "made.html"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout.decode()
    made, kept = (tmp_path / "made.html").read_bytes(), open(os.path.join(WEB, "page.html"), "rb").read()
    assert made == kept, "web/page.html is not what web/src makes: cd web && npm ci && npm run build"
    assert len(kept) <= 200_000


def test_nothing_makes_elements_of_text():
    for folder, _, names in os.walk(os.path.join(WEB, "src")):
        for name in names:
            text = open(os.path.join(folder, name), encoding="utf-8").read()
            for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "http://", "https://"):
                assert forbidden not in text, "%s: %s" % (name, forbidden)


def test_lock_file_names_no_addresses():
    lock = json.load(open(os.path.join(WEB, "package-lock.json"), encoding="utf-8"))
    for name, package in lock["packages"].items():
        assert "resolved" not in package, name
        assert not name or "integrity" in package, name


def test_page_is_one_file_without_foreign_text(pages):
    page = open(pages["hostile"], encoding="utf-8").read()
    assert page.count("<script") == 3 and page.count("</script>") == 3
    assert not re.search("<h1>prog|ran=1|onerror|/opt/", page)


# ---- figures ----


def report(seep, *arguments):
    done = subprocess.run([seep, *arguments, "--json"], stdout=subprocess.PIPE, check=True, timeout=120)
    return json.loads(done.stdout)


def stacks_of(whole):
    """site -> its frames, innermost first, in either form of the JSON report."""
    if "stacks" not in whole:
        return lambda site: site["stack"]

    def frames(site):
        out, node = [], site["stack"]
        while node >= 0:
            out.append(whole["frames"][whole["stacks"][node][0]])
            node = whole["stacks"][node][1]
        return out
    return frames


def shown(text):
    """As the page shows text from outside."""
    hiding = "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
    text = re.sub(hiding, lambda m: {"\n": "\\n", "\t": "\\t"}.get(m[0], "\\u{%04x}" % ord(m[0])), text)
    return text if len(text) <= 400 else text[:399] + "…"


KINDS = [None, "lost", "indirect", "possible", "reachable"]
FIGURES = ("live_bytes", "live_blocks", "allocations", "allocated_bytes", "frees", "freed_bytes", "temporary", "peak_bytes")


def of_report(site, frames):
    # What is not known, as the peak of rows that are several sites, is 0 on the page.
    return ({name: site[name] or 0 for name in FIGURES}, site.get("at_peak_bytes") or 0, site["size_min"] or 0, site["size_max"] or 0, site["via"], site["kind"], site.get("partly", False),
            site.get("retained_bytes", 0),
            [(shown(f["function"]) if f["function"] else None, shown(f["file"] or ""), f["line"] or 0, shown(f["module"] or ""), f["inlined"])
             for f in frames(site)])


def of_page(site):
    nameless = re.compile(r".*\+0x[0-9a-f]+$", re.S)
    return ({name: site[name] for name in FIGURES}, site["at_peak_bytes"], site["size_min"], site["size_max"], site["via"], KINDS[site["kind"]], site["partly"], site["retained_bytes"],
            [(None if nameless.match(f["name"]) else f["name"], f["file"], f["line"], f["module"], f["inlined"]) for f in site["stack"]])


@pytest.mark.parametrize("name", ["shop", "hostile", "family"])
def test_every_site_has_the_figures_of_the_report(seen, seep, traces, name):
    found = result(seen, "figures of " + ("strange" if name == "hostile" else name))
    whole = report(seep, "report", traces[name], "--top", "0")
    frames = stacks_of(whole)
    order = lambda row: json.dumps(row)
    for index, process in enumerate(whole.get("processes", [whole])):
        expected = sorted((of_report(site, frames) for site in process["sites"]), key=order)
        on_page = sorted((of_page(site) for site in found["sites"] if site["process"] == index), key=order)
        assert len(expected) == len(on_page)
        for one, other in zip(expected, on_page):
            assert json.loads(order(one)) == json.loads(order(other))


def test_rows_of_several_processes_say_whose_they_are(seen):
    rows = result(seen, "stacks of family")["rows"]
    whose = [row["process"] for row in rows if len(row["sites"]) == 1]
    assert "sh" in {name.split()[1] for name in whose} and None not in whose
    assert set(result(seen, "figures of shop")["processes"]) == {None}


def test_what_several_processes_did_in_one_place_is_one_row(seen):
    found = result(seen, "stacks of family")
    sites = result(seen, "figures of family")["sites"]
    shared = [row for row in found["rows"] if len(row["sites"]) > 1]
    for row in found["rows"]:
        processes = [sites[site]["process"] for site in row["sites"]]
        assert len(set(processes)) == len(processes), row
        assert len({json.dumps([sites[site]["stack"], sites[site]["via"]]) for site in row["sites"]}) == 1
        assert row["values"] == [sum(column[site] for site in row["sites"]) for column in found["of"]]
        if row in shared:
            assert row["process"] == "%d processes" % len(processes)
    assert sorted(site for row in found["rows"] for site in row["sites"]) == list(range(len(sites))) and shared
    # Beside it are its processes, and each by itself has its own figures; the row stays marked.
    row = found["rows"][found["nr"]]
    assert "%d processes" % len(row["sites"]) in found["together"] and found["whose"] in found["together"]
    assert found["whose"] in found["one"]["detail"]
    assert "Freed" in found["one"]["detail"] and "Freed" not in found["together"]
    assert found["one"]["marked"] == row["key"]
    assert set(found["alone"]) == {None}


@pytest.mark.parametrize("by", ["function", "file", "line", "module"])
def test_groups_are_those_of_the_report(seen, seep, traces, by):
    groups = result(seen, "figures of shop")["groups"][by]
    whole = report(seep, "report", traces["shop"], "--top", "0", "--by", by)
    expected = {group["key"]: group for group in whole["groups"]}
    assert {group["key"] for group in groups} == set(expected)
    for group in groups:
        for figure in ("live_bytes", "live_blocks", "allocations", "allocated_bytes"):
            assert group[figure] == expected[group["key"]][figure], (by, group["key"], figure)


def test_threads_and_sizes_are_those_of_the_report(seen, seep, traces):
    tables = result(seen, "tables of shop")
    for table, by in (("threads", "thread"), ("sizes", "size")):
        expected = {group["key"]: group for group in report(seep, "report", traces["shop"], "--top", "0", "--by", by)["groups"]}
        assert {row["key"] for row in tables[table]} == set(expected) and expected
        for row in tables[table]:
            for figure in set(row) - {"key"}:
                assert row[figure] == expected[row["key"]][figure], (by, row)
    assert "net_bytes" in tables["threads"][0] and "live_bytes" in tables["sizes"][0]


def test_resident_memory_is_that_of_the_report(seen, seep, traces):
    rows = {row["bytes"] for row in result(seen, "tables of snapped")["resident"]}
    account = report(seep, "report", traces["snapped"], "--rss")["resident"]
    assert rows == set(account["rows"].values()) and sum(account["rows"].values()) == account["rss"] > 0


def test_lifetimes_are_those_of_the_history(seen, seep, traces):
    done = subprocess.run([seep, "history", "--json", "--top", "0", traces["recorded"]], stdout=subprocess.PIPE, check=True, timeout=120)
    (process,) = json.loads(done.stdout)["processes"]
    sites = [site for site in process["sites"] if site["lives"]]
    expected = [sum(site["lives"][i] for site in sites) for i in range(10)]
    rows = result(seen, "tables of recorded")["lives"]
    assert [row["freed_lives"] for row in rows] == expected and sum(expected) > 100
    assert rows[0]["key"] == "less than 1 µs" and rows[-1]["key"] == "100 s and more"
    page = sorted(site["freed"] for site in result(seen, "recorded")["sites"])
    assert sum(page) == sum(expected)


def test_a_recording_has_many_moments(seen, seep, traces):
    found = result(seen, "recorded")
    assert len(found["totals"]) == 1000 and found["totals"][-1] == report(seep, "report", traces["recorded"])["totals"]["live_bytes"]
    assert found["states"] == [found["totals"][i] for i in (0, 7, 8, -1)]


def test_boxes_of_holders_add_up(seen, seep, traces):
    """Each site once, below who holds it; what is lost below that word. The keyboard walks, and a click goes on to the holder."""
    found = result(seen, "by holder")
    boxes = found["boxes"]
    totals = report(seep, "report", traces["shop"])
    assert boxes[0]["weight"] == boxes[0]["below"] == totals["totals"]["live_bytes"]
    assert all(box["below"] <= box["weight"] for box in boxes)
    above = {(box["name"], box["above"]) for box in boxes}
    assert ("load_picture", "parse_item") in above and ("add_note", "lost: no pointer to it") in above, above
    (lost,) = [box for box in boxes if box["name"].startswith("lost")]
    assert lost["weight"] == totals["leaks"]["lost"]["bytes"] + totals["leaks"]["indirect"]["bytes"]
    assert any("struct session *sessions" in box["name"] and box["above"] == "all" for box in boxes)
    # A function may hold memory of itself: its boxes have one name, and details of their own.
    assert found["walkedDetail"] != found["nextDetail"] and {found["walked"], found["next"]} <= {box["name"] for box in boxes}
    assert re.match(r"\d+\.\d% matches", found["matched"]) and "v=held" in found["link"]


def test_callers_callees_and_sites_stand_beside_a_function(seen):
    found = result(seen, "around a function")
    assert len(found["note"]["Called by"]) == 1 and found["note"]["Called by"][0].endswith(" 42.0 KiB, 100.0%")
    assert found["note"]["Its sites"] == ["add_note (shop.c:80) 42.0 KiB"] and found["site"] == "add_note"
    lines = found["copied"].splitlines()
    assert lines[0] == "add_note (shop.c:80)" and lines[1] == "    add_note (shop.c:80) [shop]"
    assert any(line.startswith("    main (shop.c:") for line in lines)
    assert found["graph"] == ["sandwich", found["note"]["Called by"][0].split()[0]]


def test_sources_have_bytes_by_line(seen, seep, traces):
    """Only where they were asked for; the figures of lines are those of the report by line."""
    found = result(seen, "sources")
    assert found["title"].startswith("shop.c: live bytes by line") and "calloc(1, 4096u" in found["here"]
    assert "main" not in found["other"] and found["other"] != found["here"]
    own = {int(row[2]): row[0] for row in found["first"] if len(row) == 4 and row[0]}
    expected = report(seep, "report", traces["shop"], "--top", "0", "--by", "line")["groups"]
    lines = {int(group["key"].rpartition(":")[2]): bytes_of(group["live_bytes"]) for group in expected
             if group["key"].startswith("shop.c:") and group["live_bytes"]}
    assert own == lines and own
    none = result(seen, "no sources")
    assert (none["files"], none["shown"]) == (0, 0)


def test_first_screen_says_what_the_report_says(seen, seep, traces):
    tiles = " | ".join(result(seen, "figures of shop")["tiles"])
    whole = report(seep, "report", traces["shop"])
    totals, leaks = whole["totals"], whole["leaks"]
    for value in (totals["live_bytes"], totals["peak_bytes"], totals["allocated_bytes"], leaks["lost"]["bytes"] + leaks["indirect"]["bytes"]):
        assert bytes_of(value) in tiles
    assert "{:,} blocks".format(totals["live_blocks"]) in tiles and "{:,} allocations".format(totals["allocations"]) in tiles
    assert "{:,} events, nothing lost".format(whole["health"]["events"]) in seen["figures of shop"]["health"]
    # Its own sentences named another line of a cycle of lost blocks, and no cycles.
    said = {finding["kind"]: finding["text"] for finding in whole["findings"]}
    for kind, lead in (("leaks", ""), ("holds", "Live memory: ")):
        assert "%s%s." % (lead, said[kind]) in result(seen, "figures of shop")["findings"], kind
    # The peak is among them where much of it is gone again: there was no sentence for it.
    gone = totals["live_bytes"] < 0.9 * totals["peak_bytes"]
    assert gone == ("Peak: %s." % said["peak"] in result(seen, "figures of shop")["findings"])


def test_diff_has_the_figures_of_seep_diff(seen, seep, traces):
    found = result(seen, "figures of diff")
    whole = report(seep, "diff", traces["shop"], traces["newer"], "--top", "0")
    rows = whole["rows"]
    assert len(rows) == len(found["sites"])
    ours = sorted((s["live_bytes"] - s["old_live_bytes"], s["allocations"] - s["old_allocations"]) for s in found["sites"])
    assert ours == sorted((row["live_bytes"], row["allocations"]) for row in rows)
    names = ["same", "new", "gone", "grew", "shrank"]
    # The page compares what is held: what is lost, and what holds nothing on either side, is as before there.
    assert sorted(names[site["change"]] for site in found["sites"]) == sorted(row["change"] if row["change"] in names else "same" for row in rows)
    assert any("add_note (shop.c:" in text for text in found["findings"])


@pytest.mark.parametrize("name", ["folded", "folded diff"])
def test_small_sites_fold_and_totals_stay(seen, seep, traces, pages, name):
    found = result(seen, "figures of " + name)
    whole = report(seep, "report", traces["many"], "--top", "0")
    assert len(found["sites"]) < len(whole["sites"])
    for figure in ("live_bytes", "live_blocks", "allocations", "allocated_bytes", "frees", "freed_bytes", "temporary"):
        assert sum(site[figure] for site in found["sites"]) == sum(site[figure] for site in whole["sites"]), figure
        if name == "folded diff" and "freed" not in figure:
            assert sum(site["old_" + figure] for site in found["sites"]) == sum(site[figure] for site in whole["sites"]), figure
    folded = [site for site in found["sites"] if site["stack"] and site["stack"][0]["name"] == "(smaller sites)"]
    assert folded and len(found["sites"]) - len(folded) + sum(site["folded"] for site in folded) == len(whole["sites"])
    assert "folded into their callers" in found["health"]
    if name == "folded":
        assert os.path.getsize(pages["folded"]) <= os.path.getsize(pages["many"]) - 20000
        growth = whole["growth"]["live"]
        assert (found["totals"][0], found["totals"][-1]) == (growth["first_bytes"], growth["last_bytes"])


def test_graph_adds_up_by_each_measure(seen):
    found = result(seen, "graph adds up")
    assert found["wrong"] == []
    assert set(found["measures"]) >= {"live", "blocks", "lost", "retained", "allocated", "calls", "temporary"}
    for measure, sums in found["measures"].items():
        assert sums["total"] > 0 and sums["down"] == sums["up"] == sums["leaves"] == sums["total"], measure


def test_moments_are_those_of_the_report(seen, seep, traces):
    series = result(seen, "over time")["series"]
    growth = report(seep, "report", traces["grown"])["growth"]
    assert series["at"] == pytest.approx([snapshot["at_s"] for snapshot in growth["snapshots"]])
    assert series["rss"] == [snapshot["rss_bytes"] or 0 for snapshot in growth["snapshots"]]
    assert (series["totals"][0], series["totals"][-1]) == (growth["live"]["first_bytes"], growth["live"]["last_bytes"])


# ---- what a reader does ----


def test_a_range_filters_every_view(seen):
    found = result(seen, "over time")
    totals = found["series"]["totals"]
    for name in ("dragged", "stepped", "far"):
        look = found[name]
        a, b = (int(index) for index in look["range"].split("-"))
        assert a < b and look["measure"] == "range" and look["first"].startswith("Change")
        assert look["net"] == look["root"] == look["sums"] == totals[b] - totals[a], name
    dragged, stepped = (int(found[name]["range"].split("-")[1]) for name in ("dragged", "stepped"))
    assert stepped == dragged - 1
    assert abs(found["place"] - found["series"]["at"][dragged] / found["series"]["at"][-1]) < 0.1
    a, b = (int(index) for index in found["far"]["range"].split("-"))
    assert totals == sorted(totals) and totals[b] - totals[a] == totals[-1] - totals[0] > 0, "what only grows differs most from end to end"
    assert found["whole"]["range"] == "" and found["whole"]["measure"] == "live"
    assert found["peak"] >= max(totals), "the peak is at least what the highest moment had"


def test_all_by_keyboard(seen):
    found = result(seen, "keyboard")
    assert found["begin"] == "" and re.match(r"\d+(\.\d)?% matches|<0.1% matches", found["matched"])
    assert 0 < found["rows"] <= 3
    assert found["said"].startswith("__libc_start") and "100.0%" in found["said"]
    assert found["zoomed"].count(".") == 1 and "z=" + found["zoomed"] in found["link"]
    assert found["out"] != found["zoomed"] and found["back"] == found["zoomed"]
    assert "back to the whole" in found["sandwich"]
    assert found["detail"] in found["picked"]


def test_all_by_mouse(seen):
    found = result(seen, "mouse")
    assert found["tip"].startswith("serve") and "%" in found["tip"]
    assert "serve" in found["crumbs"] and "main" in found["crumbs"]
    assert "load_picture" in found["up"] and "main" not in found["up"]
    assert found["measure"] == "lost" and found["found"] == "add_note"
    assert "hidden: add_note" in found["hidden"] and found["gone"] is None and found["rootWeight"] > 0
    assert "add_note" in found["functions"]


def test_hostile_names_are_text(seen):
    found = result(seen, "hostile")
    assert found["ran"] is None and found["scripts"] == 3 and found["images"] == 0 and found["wide"] <= 0
    text = "\n".join(found["shown"])
    assert "<script>ran=1</script>" in text and "__proto__" in text and "\\u{202e}" in text and "\\u{001b}" in text
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e\u2066-\u2069\u2028]", text)
    assert max(len(name) for name in found["names"]) <= 400 and "constructor" in found["names"]


def test_hostile_marks_threads_and_sources_are_text(seen):
    found = result(seen, "marked")
    assert found["ran"] is None and found["scripts"] == 3 and found["images"] == 0 and found["wide"] <= 0
    assert found["clocks"] == [["1:43.5", "1:44.0", "1:44.5"], ["59.9 s", "1:00.0", "1:00.1"], ["2:00", "2:30", "3:00"]]
    assert found["marks"] == 8 and "window.ran=10</script>" in found["source"] and "<i>t\\u{001b}[31m</i>" in found["threads"]
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e]", found["threads"] + found["source"])


def test_nothing_else_may_run(seen):
    found = result(seen, "policy", troubles=False)
    assert found["refused"].startswith("script-src") and found["ran"] is None


def test_served_page_is_live(seen):
    found = result(seen, "live", troubles=False)
    assert found["title"] == "shop – seep" and found["view"] == "up" and "token=" in found["link"]
    assert found["total"][0] == found["total"][1] > 0
    assert "lacks its token" in found["refused"]
    assert found["troubles"] == [] or all("401" in trouble for trouble in found["troubles"])


def test_paper_is_light_and_has_what_it_needs(seen):
    found = result(seen, "paper")
    assert found["ink"] == "rgb(29, 33, 37)" and found["after"] == "rgb(227, 230, 232)"
    assert found["rows"] == 60 and found["wide"] <= 0 and found["toolbar"] == 0 and found["canvas"] < 703


def test_folder_is_served(seen, seep, traces):
    found = result(seen, "folder")
    assert sorted(found["names"]) == sorted(name for name in os.listdir(os.path.dirname(traces["shop"])) if name.endswith(".seep"))
    assert found["live"] == report(seep, "report", traces["shop"])["totals"]["live_bytes"]
    assert found["view"] == "up" and found["wide"] <= 0


@pytest.mark.parametrize("name", ["cut", "garbled", "none"])
def test_damaged_page_says_so(seen, name):
    found = result(seen, "damaged: " + name)
    assert "This page cannot be shown" in found["said"] and "the data" in found["said"] and not found["main"]


def test_trace_of_nothing_is_a_page(seen):
    found = result(seen, "empty")
    assert "Nothing to draw" in found["note"]


@pytest.mark.parametrize("name", ["light", "dark", "phone", "time", "range", "marks", "diff", "sandwich", "family", "strange", "holders", "source", "resident", "lifetimes", "legend"])
def test_views_are_sound(seen, name):
    """No serious finding of axe-core, nothing wider than the screen. The screenshots stay in the build directory."""
    found = result(seen, "view " + name)
    assert found["serious"] == [] and found["wide"] <= 0
