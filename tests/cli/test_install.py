# SPDX-License-Identifier: BSD-2-Clause
"""What `make install` puts where, and that the tool works from there."""
import json
import os
import re
import urllib.parse

import pytest


@pytest.fixture
def installed(run, require, build, tmp_path):
    """The prefix under a staging folder that everything was installed to."""
    done = run(require("meson"), "install", "-C", build, "--no-rebuild", "--destdir", tmp_path / "stage", cwd=build)
    assert done.returncode == 0, done.stdout + done.stderr
    places = [folder for folder, _, files in os.walk(tmp_path / "stage") if folder.endswith("/bin") and "seep" in files]
    assert len(places) == 1, done.stdout
    return os.path.dirname(places[0])


def test_everything_is_there(installed):
    files = set()
    for folder, _, names in os.walk(installed):
        files |= {os.path.relpath(os.path.join(folder, name), installed) for name in names}
    assert "bin/seep" in files
    assert [path for path in files if path.startswith("lib") and path.endswith("/seep/libseep.so")], files
    for path in ("share/man/man1/seep.1", "share/man/man1/seep-run.1", "share/man/man1/seep-report.1",
                 "share/bash-completion/completions/seep", "share/zsh/site-functions/_seep",
                 "share/fish/vendor_completions.d/seep.fish", "share/doc/seep/LICENSE", "share/doc/seep/README.md"):
        assert path in files, path


def headings(path):
    """The anchors of a document, as GitHub makes them."""
    with open(path, encoding="utf-8") as file:
        lines = re.sub(r"```.*?```", "", file.read(), flags=re.DOTALL).splitlines()
    texts = [line.lstrip("#").strip().lower() for line in lines if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", text).replace(" ", "-") for text in texts}


def test_links_of_the_installed_documents(installed, root):
    """All documents and schemas are there, and every relative link leads to a file, and to a heading of it."""
    place = os.path.join(installed, "share", "doc", "seep")
    for name in os.listdir(os.path.join(root, "docs")):
        if name.endswith((".md", ".json")):
            assert os.path.exists(os.path.join(place, "docs", name)), name
    nr_links = 0
    for folder, _, names in os.walk(place):
        for name in names:
            if not name.endswith(".md"):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = re.sub(r"```.*?```", "", file.read(), flags=re.DOTALL)
            for link in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r"(?:src|href)=\"([^\"]+)\"", text):
                url = urllib.parse.urlsplit(link)
                if url.scheme:
                    continue
                target = os.path.join(folder, urllib.parse.unquote(url.path)) if url.path else os.path.join(folder, name)
                assert os.path.exists(target), (name, link)
                assert not url.fragment or url.fragment in headings(target), (name, link)
                nr_links += 1
    assert nr_links > 20


def test_all_manual_pages_are_installed(installed, root):
    assert set(os.listdir(os.path.join(root, "docs", "man"))) == set(os.listdir(os.path.join(installed, "share", "man", "man1")))


def test_manual_pages_refer_to_what_is_installed(installed):
    folder = os.path.join(installed, "share", "man", "man1")
    place = os.path.join(installed, "share", "doc", "seep")
    named = set()
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            named |= set(re.findall(r"\bdocs/[\w.-]+\.(?:md|json)", file.read().replace("\\-", "-")))
    assert len(named) > 3
    for name in named:
        assert os.path.exists(os.path.join(place, name)), name


def test_the_installed_tool_finds_the_installed_library(installed, run, tmp_path):
    done = run(os.path.join(installed, "bin", "seep"), "run", "-o", tmp_path / "x.seep", "--json", "--report",
               tmp_path / "x.json", "--", "/bin/ls", "/", env={"SEEP_LIBRARY": None})
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "x.json").read_text())
    assert report["totals"]["allocations"] > 0
    assert os.path.getsize(tmp_path / "x.seep") > 0


def test_uninstall_leaves_what_was_there_before(run, require, root, build, tmp_path):
    """Twice: with files of others in the same folders, which stay, and all of ours are gone."""
    require("meson")
    stage = tmp_path / "stage"
    for _ in range(2):
        other = stage / "usr/local/share/man/man1/other.1"
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_text("of somebody else")
        before = sorted(str(path) for path in stage.rglob("*") if path.is_file())
        done = run("meson", "install", "-C", build, "--no-rebuild", "--destdir", stage, cwd=build)
        assert done.returncode == 0, done.stdout + done.stderr
        assert len([path for path in stage.rglob("*") if path.is_file()]) > len(before) + 30
        done = run(os.path.join(root, "tools", "uninstall.sh"), build, stage)
        assert done.returncode == 0 and done.stdout.startswith("removed "), done
        assert sorted(str(path) for path in stage.rglob("*") if path.is_file()) == before
        assert not list(stage.rglob("*seep*"))


def test_make_install_makes_all_that_it_installs(run, require, build):
    """`ninja ready` is what `make build` and `make install` call."""
    installed = json.loads(run(require("meson"), "introspect", "--installed", build).stdout)
    made = {os.path.relpath(path, build) for path in installed if os.path.realpath(path).startswith(os.path.realpath(build) + "/")}
    made = {path for path in made if not path.startswith("meson-private/")}  # by meson setup
    done = run(require("ninja"), "-C", build, "-t", "commands", "ready")
    words = set(done.stdout.split())
    missing = {path for path in made if path not in words and os.path.dirname(path) not in words}  # completions: their folder
    assert done.returncode == 0 and len(made) > 5 and not missing, (missing, done.stderr)
