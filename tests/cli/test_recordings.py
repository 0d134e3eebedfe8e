# SPDX-License-Identifier: BSD-2-Clause
"""Commands that read recordings: right use, wrong use, and what they say of files that have no events."""
import json
import os
import subprocess

import pytest


def made(build, folder, *options):
    trace = folder / "ls.seep"
    subprocess.run([os.path.join(build, "seep"), "run", "-q", *options, "-o", trace, "--", "/bin/ls", "/"], check=True,
                   stdout=subprocess.DEVNULL)
    return trace


@pytest.fixture(scope="module")
def recording(build, tmp_path_factory):
    return made(build, tmp_path_factory.mktemp("recording"), "--mode", "record")


@pytest.fixture(scope="module")
def plain(build, tmp_path_factory):
    return made(build, tmp_path_factory.mktemp("plain"))


def one_line(done, status, *words):
    assert done.returncode == status and done.stderr.count("\n") == 1, done
    for word in words:
        assert word in done.stderr, done


def test_history(run, seep, recording, plain):
    done = run(seep, "history", recording)
    assert done.returncode == 0 and "until" in done.stdout and "lived" in done.stdout, done
    (process,) = json.loads(run(seep, "history", recording, "--json", "--parts", "3").stdout)["processes"]
    assert len(process["timeline"]) == 3
    one_line(run(seep, "history", plain), 1, "what it did over time is not in it", "--mode record")
    one_line(run(seep, "history", "/nonexistent.seep"), 1, "/nonexistent.seep")
    one_line(run(seep, "history", recording, "--parts", "0"), 2, "--parts")
