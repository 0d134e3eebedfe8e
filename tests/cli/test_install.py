# SPDX-License-Identifier: BSD-2-Clause
"""What `make install` puts where, and that the tool works from there."""
import json
import os

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


def test_the_installed_tool_finds_the_installed_library(installed, run, tmp_path):
    done = run(os.path.join(installed, "bin", "seep"), "run", "-o", tmp_path / "x.seep", "--json", "--report",
               tmp_path / "x.json", "--", "/bin/ls", "/", env={"SEEP_LIBRARY": None})
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "x.json").read_text())
    assert report["totals"]["allocations"] > 0
    assert os.path.getsize(tmp_path / "x.seep") > 0
