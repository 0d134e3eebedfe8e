# SPDX-License-Identifier: BSD-2-Clause
"""--sysroot: names of a program whose files are elsewhere, of the same build only."""
import os
import re
import shutil
import subprocess

import pytest

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "coming_from.c")


@pytest.fixture(scope="module")
def moved(tmp_path_factory, seep):
    """The trace of a program that has been moved to root/bin, away from target/opt/bin."""
    folder = tmp_path_factory.mktemp("sysroot")
    for name in ("target/opt/bin", "root/bin", "other/opt/bin"):
        (folder / name).mkdir(parents=True)
    app = folder / "target/opt/bin/app"
    build = ["gcc", "-g", "-O1", "-fno-builtin", "-Wl,--build-id", SOURCE, "-o"]
    subprocess.run([*build, app], check=True)
    subprocess.run([seep, "run", "-q", "-o", folder / "app.seep", app], check=True)
    shutil.move(app, folder / "root/bin/app")
    subprocess.run([*build, folder / "other/opt/bin/app", "-DCLEAN"], check=True)
    return folder


def test_without_it_the_file_is_gone(run, seep, moved):
    done = run(seep, "report", str(moved / "app.seep"))
    assert done.returncode == 0 and re.search(r"app \(file is [a-z ]+\)", done.stdout) and "lose (" not in done.stdout, done


@pytest.mark.parametrize("command", [["report"], ["scan"], ["export", "--format", "folded"], ["report", "--tree"]])
def test_a_part_of_the_path_is_enough(run, seep, moved, command):
    done = run(seep, *command, "--sysroot", str(moved / "root"), str(moved / "app.seep"))
    assert done.returncode == 0 and "lose" in done.stdout, done
    if command == ["report"]:
        assert "lose (coming_from.c:" in done.stdout and "no symbols: app" not in done.stdout, done


def test_the_page_and_the_console_have_it_too(run, seep, moved, tmp_path):
    done = run(seep, "connect", "--sysroot", str(moved / "root"), "-e", "sites 3", str(moved / "app.seep"))
    assert done.returncode == 0 and "lose" in done.stdout, done
    done = run(seep, "html", "--sysroot", str(moved / "root"), str(moved / "app.seep"), "-o", str(tmp_path / "page.html"))
    assert done.returncode == 0, done


def test_another_build_is_never_used(run, seep, moved):
    done = run(seep, "report", "--sysroot", str(moved / "other"), str(moved / "app.seep"))
    assert done.returncode == 0 and "lose (" not in done.stdout, done
    assert "no symbols: app" in done.stdout, done


def test_a_root_that_is_not_there(run, seep, moved):
    done = run(seep, "report", "--sysroot", "/nowhere/at/all", str(moved / "app.seep"))
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "/nowhere/at/all" in done.stderr, done


@pytest.mark.parametrize("folder, words", [("/nowhere/at/all", "SEEP_DEBUG_DIR: /nowhere/at/all: No such file"),
                                           ("debug", "SEEP_DEBUG_DIR is ignored: 'debug' is no absolute path"),
                                           ("/etc/passwd", "SEEP_DEBUG_DIR: /etc/passwd: Not a directory")])
def test_a_debug_folder_that_is_not_there_is_told_of(run, seep, moved, folder, words):
    done = run(seep, "report", str(moved / "app.seep"), env={"SEEP_DEBUG_DIR": folder})
    assert done.returncode == 0 and done.stdout.startswith("health: ") and done.stderr.count("\n") == 1, done
    assert done.stderr.startswith("seep: " + words) and "(name a folder of debug files, or unset it)" in done.stderr, done
    # Another root has debug files of its own, so the variable is not used.
    assert not run(seep, "report", "--sysroot", str(moved), str(moved / "app.seep"), env={"SEEP_DEBUG_DIR": folder}).stderr


def test_debug_files_need_not_be_compressed(run, seep, moved):
    """The other tests use uncompressed debug files of the C library, if these are installed."""
    as_installed = run(seep, "report", "--json", str(moved / "app.seep"), env={"SEEP_DEBUG_DIR": None})
    assert as_installed.returncode == 0 and '"module":"libc.so.6"' in as_installed.stdout, as_installed
    assert run(seep, "report", "--json", str(moved / "app.seep")).stdout == as_installed.stdout
    if "SEEP_DEBUG_DIR" in os.environ:
        none = run(seep, "report", "--json", str(moved / "app.seep"), env={"SEEP_DEBUG_DIR": str(moved)})
        assert none.returncode == 0 and none.stdout != as_installed.stdout, none
