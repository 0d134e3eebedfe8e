# SPDX-License-Identifier: BSD-2-Clause
"""seep plot: pictures have the figures of the report, foreign names stay text, PNG is drawn or the one line says why not."""
import ctypes.util
import json
import os
import re
import struct
import subprocess
import xml.dom.minidom
import zlib

import pytest

from small_programs import program_source

UNITS = ["B", "KiB", "MiB", "GiB"]


def bytes_of(value):
    unit, value = 0, float(value)
    while value >= 999.5 and unit + 1 < len(UNITS) or unit == 0 and value >= 1024:
        value, unit = value / 1024, unit + 1
    return "%d B" % value if not unit else "%.*f %s" % (2 if value < 9.995 else 1 if value < 99.95 else 0, value, UNITS[unit])


@pytest.fixture(scope="module")
def traces(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plot")
    make = os.path.join(build, "tests", "web", "page_traces")
    assert os.path.exists(make), "%s is not built" % make
    for name, arguments in (("many", ("sites", "300", "12")), ("hostile", ("hostile",))):
        subprocess.run([make, *arguments, folder / (name + ".seep")], check=True)
    return {name: str(folder / (name + ".seep")) for name in ("many", "hostile")}


@pytest.fixture
def aged(build, seep, run, tmp_path):
    done = run(seep, "run", "-q", "--age", "-o", "shop.seep", "--", os.path.join(build, "tests", "web", "shop"), "100")
    assert done.returncode == 0, done.stderr
    return str(tmp_path / "shop.seep")


def report(run, seep, *arguments):
    done = run(seep, "report", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def texts(svg):
    document = xml.dom.minidom.parseString(svg)
    assert document.documentElement.tagName == "svg"
    return [node.firstChild.data for node in document.getElementsByTagName("text") if node.firstChild], document


def test_timeline_has_the_moments_of_the_report(run, seep, traces):
    growth = report(run, seep, traces["many"])["growth"]
    done = run(seep, "plot", traces["many"])
    assert done.returncode == 0 and not done.stderr
    lines = done.stdout.splitlines()
    most = max(snapshot["live_bytes"] for snapshot in growth["snapshots"])
    assert lines[0] == "program (pid 4711): live bytes over time by function"
    assert lines[1].startswith("12 moments in 55 min 00 s, at most %s live" % bytes_of(most))
    assert sum("█" in line for line in lines) > 7 and "mark at 10 min 00 s: loaded" in done.stdout
    assert re.search(r"\(\d+ smaller\)$", lines[-1])
    drawn = run(seep, "plot", traces["many"], "-o", "-")
    words, document = texts(drawn.stdout)
    assert lines[1] in words and "loaded" in words and "<b>warm</b>" in words
    # The areas lie on one another: at each moment their heights add up to the total.
    areas = [path.getAttribute("d") for path in document.getElementsByTagName("path") if path.getAttribute("d").endswith("Z")]
    assert len(areas) == 8
    points = [[tuple(map(float, point.split())) for point in re.split("[ML]", area.rstrip("Z")) if point] for area in areas]
    moments = len(growth["snapshots"])
    heights = [sum(area[2 * moments - 1 - m][1] - area[m][1] for area in points) for m in range(moments)]
    totals = [snapshot["live_bytes"] for snapshot in growth["snapshots"]]
    for height, total in zip(heights, totals):
        assert height == pytest.approx(total * heights[-1] / totals[-1], abs=0.2)


def test_names_of_the_timeline_are_those_of_the_report(run, seep, tmp_path):
    done = subprocess.run(["g++", "-g", "-O1", "-x", "c++", "-o", tmp_path / "shelf", "-"], input=program_source("plot_shelf.cpp"), text=True)
    assert done.returncode == 0
    assert run(seep, "run", "-q", "--mode", "record", "-o", "shelf.seep", "./shelf").returncode == 0
    short, long = "shelf::put(std::string const&)", "shelf::put(std::__cxx11::basic_string<"
    done = run(seep, "plot", "shelf.seep")
    assert short in done.stdout and long not in done.stdout, done
    assert long in run(seep, "plot", "--full-names", "shelf.seep").stdout


def test_filters_are_those_of_the_report(run, seep, traces):
    some = run(seep, "plot", traces["many"], "--function", "^session::", "--by", "module")
    assert some.returncode == 0 and "of what the options let through" in some.stdout and "by module" in some.stdout
    none = run(seep, "plot", traces["many"], "--pid", "1")
    assert none.returncode == 1 and "process" in none.stderr


def test_sizes_are_those_of_the_report(run, seep, aged):
    done = run(seep, "plot", aged, "--what", "sizes")
    assert done.returncode == 0
    groups = report(run, seep, aged, "--by", "size", "--top", "0")["groups"]
    blocks = {int(group["key"].split("..")[0]): group["live_blocks"] for group in groups}
    shown = {}
    for line in done.stdout.splitlines()[4:]:
        found = re.match(r" *(\d+) (?:to \d+ )?(B|KiB)(?: to \d+ KiB)? +(0|[\d.]+ \w+)  [^\d]* +([\d,]+) ", line)
        assert found, line
        shown[int(found[1]) * (1024 if found[2] == "KiB" else 1)] = int(found[4].replace(",", ""))
    assert {low: nr for low, nr in shown.items() if nr} == {low: nr for low, nr in blocks.items() if nr}
    words, _ = texts(run(seep, "plot", aged, "--what", "sizes", "-o", "-").stdout)
    totals = report(run, seep, aged)["totals"]
    assert "live bytes, %s in all" % bytes_of(totals["live_bytes"]) in words
    assert "allocations, {:,} in all".format(totals["allocations"]) in words


def test_ages_are_those_of_the_report(run, seep, aged, traces):
    done = run(seep, "plot", aged, "--what", "ages", "-o", "-")
    words, _ = texts(done.stdout)
    totals = report(run, seep, aged)["totals"]
    assert "live blocks, {:,} in all".format(totals["live_blocks"]) in words
    for what in ("ages", "sizes"):
        none = run(seep, "plot", traces["many"], "--what", what)
        assert none.returncode == 1 and "does not keep its live blocks one by one" in none.stderr, none.stderr


def test_ages_that_are_not_kept(build, run, seep, tmp_path):
    done = run(seep, "run", "-q", "-o", "shop.seep", "--", os.path.join(build, "tests", "web", "shop"), "10")
    assert done.returncode == 0, done.stderr
    none = run(seep, "plot", "shop.seep", "--what", "ages")
    assert none.returncode == 1 and "no block has its age" in none.stderr and "--age" in none.stderr
    assert "FILE@peak" in none.stderr


def test_filters_that_nothing_matches(run, seep, aged):
    for what in ("ages", "sizes", "flame"):
        none = run(seep, "plot", aged, "--what", what, "--older", "100h", "-o", "-")
        assert none.returncode == 1 and "nothing in" in none.stderr and "matches the filters" in none.stderr, none.stderr
        assert "--age" not in none.stderr and "--sort" not in none.stderr, none.stderr
    for tree in ("--tree", "--tree=callers"):
        none = run(seep, "report", aged, tree, "--older", "100h")
        assert none.returncode == 0 and "Nothing matches the filters." in none.stdout, none.stdout
        assert ": 0, from" not in none.stdout


def test_boxes_of_a_flame_graph_are_as_wide_as_their_share(run, seep, aged):
    done = run(seep, "plot", aged, "--what", "flame", "--sort", "allocations", "-o", "-")
    assert done.returncode == 0, done.stderr
    words, document = texts(done.stdout)
    total = report(run, seep, aged)["totals"]["allocations"]
    assert "allocations: {:,}".format(total) in words and "main" in words
    boxes = {}
    for box in document.getElementsByTagName("rect"):
        if box.firstChild:
            boxes.setdefault(box.firstChild.firstChild.data, []).append(float(box.getAttribute("width")) + 0.6)
    (main,) = [widths for tip, widths in boxes.items() if tip.startswith("main in shop: ")]
    assert main[0] == pytest.approx(1200 - 2 * 16, rel=0.01)
    for tip, widths in boxes.items():
        nr = re.search(r": ([\d,]+), [<\d.]+%$", tip)
        assert nr, tip
        assert widths[0] == pytest.approx(1168 * int(nr[1].replace(",", "")) / total, abs=0.9), tip


def test_foreign_names_are_text(run, seep, traces):
    done = run(seep, "plot", traces["hostile"], "--what", "flame", "-o", "-")
    words, document = texts(done.stdout)
    assert "C and C++ runtime" not in words, "the legend has what is not drawn"
    assert "<script>ran=1</script>" in words and not document.getElementsByTagName("script")
    assert not document.getElementsByTagName("img") and "__proto__" in words
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", done.stdout)


def pixels(path):
    """Width, height and the rows of a PNG, each with its filter byte in front."""
    whole = path.read_bytes()
    assert whole.startswith(b"\x89PNG\r\n\x1a\n") and whole.endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", whole[16:24])
    data, at = b"", 8
    while at < len(whole):
        (nr,) = struct.unpack(">I", whole[at:at + 4])
        if whole[at + 4:at + 8] == b"IDAT":
            data += whole[at + 8:at + 8 + nr]
        at += 12 + nr
    return width, height, zlib.decompress(data)


def has_cairo(run, seep):
    return "cairo" not in run(seep, "info").stdout and ctypes.util.find_library("cairo")


@pytest.mark.parametrize("what", ["timeline", "sizes", "flame"])
def test_png_is_drawn(run, seep, traces, aged, tmp_path, what):
    if not has_cairo(run, seep):
        pytest.skip("there is no cairo (libcairo2-dev)")
    done = run(seep, "plot", aged if what == "sizes" else traces["many"], "--what", what, "-o", "x.png")
    if "there is no font" in done.stderr:
        pytest.skip("there is no font (fonts-dejavu-core)")
    assert done.returncode == 0 and not done.stderr, done.stderr
    width, height, data = pixels(tmp_path / "x.png")
    assert width == 2400 and height > 300 and len(data) == height * (width * 3 + 1)
    assert len(set(data)) > 20  # something is drawn


def test_without_the_library_the_one_line_says_so(run, seep, traces, tmp_path):
    (tmp_path / "libcairo.so.2").write_text("no library")
    done = run(seep, "plot", traces["many"], "-o", "x.png", env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert done.returncode == 1 and "cairo" in done.stderr and "-o FILE.svg" in done.stderr
    assert not (tmp_path / "x.png").exists()


def test_wrong_use(run, seep, traces, tmp_path):
    for arguments, words in ((("-o", "x.gif"), "neither .svg nor .png"), (("--what", "flame"), "-o OUT.svg"),
                             (("--what", "sizes", "--by", "module"), "--by"), (("--json",), "--json"),
                             (("--by", "thread"), "by thread"), (("--what", "pie"), "timeline")):
        done = run(seep, "plot", traces["many"], *arguments)
        assert done.returncode == 2 and words in done.stderr, done.stderr
    none = run(seep, "plot", traces["hostile"], "-o", "x.svg")
    assert none.returncode == 1 and "over time" in none.stderr and "--interval" in none.stderr
    full = run(seep, "plot", traces["many"], "-o", "/dev/full")
    assert full.returncode == 2
    os.symlink("/dev/full", tmp_path / "full.svg")
    full = run(seep, "plot", traces["many"], "-o", "full.svg")
    assert full.returncode == 1 and "cannot write full.svg" in full.stderr
    assert sorted(os.listdir(tmp_path)) == ["full.svg"]
