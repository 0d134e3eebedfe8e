# SPDX-License-Identifier: BSD-2-Clause
"""The page of `seep html` in Firefox: it opens, draws, searches, zooms and takes a range, without an error on its console."""
import json
import os
import re
import shutil
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))


@pytest.fixture(scope="module")
def firefox():
    path = shutil.which("firefox-esr") or shutil.which("firefox")
    if not path:
        pytest.skip("firefox is not installed (tools/install-deps.sh web)")
    return path


@pytest.fixture(scope="module")
def seen(build, seep, modules, firefox, tmp_path_factory):
    folder = tmp_path_factory.mktemp("firefox")
    environment = {name: value for name, value in os.environ.items() if name == "SEEP_DEBUG_DIR" or (not name.startswith("SEEP_") and name != "LD_PRELOAD")}
    environment.update(MALLOC_PERTURB_="0", HOME=str(folder), MOZ_CRASHREPORTER_DISABLE="1")

    def call(*command, **more):
        done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240, **more)
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-3000:]
        return done.stdout

    shop = os.path.join(build, "tests", "web", "shop")
    call(seep, "run", "-q", "-o", "shop.seep", "--", shop, "1500")
    call(seep, "run", "-q", "-o", "grown.seep", "--interval", "100ms", "--", shop, "1500", "600")
    call(os.path.join(build, "tests", "web", "page_traces"), "hostile", "hostile.seep")
    files = {"shots": os.path.join(build, "web", "shots")}
    os.makedirs(files["shots"], exist_ok=True)
    for name in ("shop", "grown", "hostile"):
        files[name] = str(folder / (name + ".html"))
        call(seep, "html", name + ".seep", "-o", files[name])
    totals = json.loads(call(seep, "report", "--json", "shop.seep"))["totals"]
    return json.loads(call("node", os.path.join(HERE, "firefox.mjs"), modules, firefox, input=json.dumps(files).encode())), totals


def result(seen, name):
    found = seen[0][name]
    assert "error" not in found, found["error"]
    assert found["troubles"] == []
    return found


def test_first_screen(seen):
    found = result(seen, "first screen")
    assert found["health"].startswith("Complete") and len(found["tiles"]) == 5
    assert found["root"] == seen[1]["live_bytes"] and found["colours"] > 4


def test_search_and_zoom(seen):
    found = result(seen, "search and zoom")
    assert re.match(r"(\d+(\.\d)?|<0\.1)% matches", found["matched"]) and 0 < found["rows"] <= 3
    assert found["zoomed"].count(".") == 1 and "z=" + found["zoomed"] in found["link"]
    assert "load_picture" in found["up"] and "main" not in found["up"] and "add_note" in found["functions"]


def test_a_dragged_range(seen):
    found = result(seen, "range")
    a, b = (int(index) for index in found["range"].split("-"))
    assert a < b and found["root"] == found["totals"][b] - found["totals"][a]


def test_hostile_names_are_text(seen):
    found = result(seen, "hostile")
    assert found["ran"] is None and "<script>ran=1</script>" in found["shown"]
