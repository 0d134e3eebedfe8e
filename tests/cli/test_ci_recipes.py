# SPDX-License-Identifier: BSD-2-Clause
"""The recipes of docs/ci.md that can be run here, run as they stand there: make, CTest, Meson, pytest."""
import os
import re
import subprocess
import xml.etree.ElementTree

import pytest
from small_programs import program_source

PARSE = program_source("ci_recipes_parse.c")
CLEAN, LEAKY = PARSE.replace("LEAK", "0"), PARSE.replace("LEAK", "48")


@pytest.fixture
def page(root):
    with open(os.path.join(root, "docs", "ci.md"), encoding="utf-8") as file:
        return file.read()


def recipe(page, heading, language):
    """The code blocks of a language under a heading: fenced, or "" for what is indented."""
    text = re.search(r"^## %s\n(.*?)(?=^## |\Z)" % heading, page, re.M | re.S).group(1)
    if language:
        return re.findall(r"^```%s\n(.*?)^```" % language, text, re.M | re.S)
    outside = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return [line[4:] for line in outside.splitlines() if line.startswith("    ")]


@pytest.fixture
def shell(tmp_path, seep, run):
    """shell(command): in tmp_path, with seep in the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "seep").symlink_to(seep)
    path = "%s:/usr/bin:/bin" % folder
    return lambda command: run("/bin/sh", "-c", command, env={"PATH": path, "DESTDIR": None}, cwd=tmp_path)


def write(folder, **files):
    for name, text in files.items():
        (folder / name).write_text(text)


def test_make(shell, require, page, tmp_path):
    require("make")
    (tmp_path / "tests").mkdir()
    makefile, = recipe(page, "make", "make")
    for name, source, status in (("parse", CLEAN, 0), ("parse", LEAKY, 2)):
        write(tmp_path / "tests", **{name + ".c": source, "serve.c": CLEAN})
        for program in ("parse", "serve"):
            subprocess.run(["gcc", "-g", "-O1", "-o", program, program + ".c"], check=True, cwd=str(tmp_path / "tests"))
        (tmp_path / "Makefile").write_text(makefile)
        done = shell("make check")
        assert done.returncode == status, done
        assert (status == 0) == ("48 bytes in 1 block leaked" not in done.stderr)


def test_ctest(shell, require, page, tmp_path):
    require("ctest")
    recipe_text, = recipe(page, "CTest", "cmake")
    write(tmp_path, **{"CMakeLists.txt": "cmake_minimum_required(VERSION 3.13)\nproject(p C)\nenable_testing()\n" + recipe_text})
    for source, passed, failed in ((CLEAN, "100% tests passed", 0), (LEAKY, "50% tests passed", 1)):
        write(tmp_path, **{"parse_test.c": source})
        done = shell("cmake -S . -B b -DCMAKE_BUILD_TYPE=Debug >log 2>&1 && cmake --build b >>log 2>&1 && ctest --test-dir b")
        assert passed in done.stdout, done
        root = xml.etree.ElementTree.parse(str(tmp_path / "b" / "parse.xml")).getroot()
        assert root.get("failures") == str(failed)


def test_ctest_with_a_launcher(shell, require, page, tmp_path):
    require("ctest")
    launcher, emulator, build = recipe(page, "CTest", "")
    version = subprocess.run(["cmake", "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout.split()[2].split(".")
    configure = launcher if (int(version[0]), int(version[1])) >= (3, 29) else emulator
    write(tmp_path, **{"CMakeLists.txt": "cmake_minimum_required(VERSION 3.13)\nproject(p C)\nenable_testing()\n"
                                         "add_executable(parse_test parse_test.c)\nadd_test(NAME parse COMMAND parse_test)\n"})
    write(tmp_path, **{"parse_test.c": CLEAN})
    done = shell(configure + " >log 2>&1 && " + build)
    assert done.returncode == 0 and "100% tests passed" in done.stdout, done
    write(tmp_path, **{"parse_test.c": LEAKY})
    done = shell(build)
    assert done.returncode != 0 and "48 bytes in 1 block leaked" in done.stdout, done


def test_meson(shell, require, page, tmp_path):
    require("meson")
    recipe_text, = recipe(page, "Meson", "meson")
    line, = recipe(page, "Meson", "")
    write(tmp_path, **{"meson.build": "project('p', 'c')\n" + recipe_text, "parse_test.c": CLEAN})
    done = shell("meson setup build >log 2>&1 && " + line)
    assert done.returncode == 0, done
    write(tmp_path, **{"parse_test.c": LEAKY})
    done = shell(line)
    assert done.returncode != 0
    with open(tmp_path / "build" / "meson-logs" / "testlog-seep.txt", encoding="utf-8") as log:
        assert "48 bytes in 1 block leaked" in log.read()


def test_pytest(shell, page, tmp_path):
    test, = recipe(page, "pytest", "python")
    write(tmp_path, **{"test_parse_leaks.py": test, "parse.c": CLEAN})
    for source, status in ((CLEAN, 0), (LEAKY, 1)):
        write(tmp_path, **{"parse.c": source})
        done = shell("gcc -g -O1 -o parse parse.c && /usr/bin/python3 -m pytest -q -p no:cacheprovider test_parse_leaks.py")
        assert done.returncode == status, done
        assert (status == 0) == ("48 bytes in 1 block leaked" not in done.stdout)


def test_python_extension(shell, page, tmp_path):
    line, = recipe(page, "pytest", "")
    write(tmp_path, **{"parse.c": program_source("ci_recipes_python_extension.c"),
                       "test_parse.py": "import ctypes, os\nlib = ctypes.CDLL('./_parse.so')\ndef test_parse():\n"
                                        "    for i in range(9):\n        lib.parse(int(os.environ['LEAK']))\n"})
    subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", "-o", "_parse.so", "parse.c"], check=True, cwd=str(tmp_path))
    line = line.replace("python3", "/usr/bin/python3 -B").replace("-m pytest", "-m pytest -q -p no:cacheprovider")
    done = shell("LEAK=0 " + line)
    assert done.returncode == 0 and "nothing leaked" in done.stderr, done
    done = shell("LEAK=1 " + line)
    assert done.returncode == 1, done
    assert re.search(r"4(32|80|84) bytes in (9|8) blocks? leaked|384 bytes in 8 blocks leaked", done.stderr), done.stderr


# What `make tests` makes in the recipes of the code hosts.
MAKE_TESTS = "tests: tests/all\ntests/all: parse.c\n\tmkdir -p tests && gcc -g -O1 -o $@ $<\n"


def run_steps(shell, commands):
    """The status of the first command that fails, as a server has it, and all output."""
    said = ""
    for command in commands:
        done = shell(command)
        said += done.stdout + done.stderr
        if done.returncode:
            return done.returncode, said
    return 0, said


def files_named(step):
    return [value for value in step.get("with", {}).values() if isinstance(value, str) and value.startswith("seep.")]


@pytest.mark.parametrize("source, status", [(CLEAN, 0), (LEAKY, 1)], ids=["clean", "leaky"])
def test_github_actions(shell, page, tmp_path, source, status):
    yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")
    workflow, = recipe(page, "GitHub Actions", "yaml")
    job = yaml.safe_load(workflow)["jobs"]["leaks"]
    assert job["permissions"] == {"security-events": "write"} and job["runs-on"]
    steps = job["steps"]
    assert all(re.fullmatch(r"[\w.-]+/[\w./-]+@v\d+", step["uses"]) for step in steps if "uses" in step)
    write(tmp_path, **{"Makefile": MAKE_TESTS, "parse.c": source})
    got, said = run_steps(shell, [step["run"] for step in steps if "run" in step])
    assert got == status, said
    assert (len(re.findall(r"^::error ", said, re.M)) > 0) == bool(status), said
    # What later steps upload, also after a failure, has been written.
    uploads = [step for step in steps if files_named(step)]
    assert len(uploads) == 2 and all(step["if"] == "always()" for step in uploads)
    assert all((tmp_path / name).stat().st_size for step in uploads for name in files_named(step))


@pytest.mark.parametrize("source, status", [(CLEAN, 0), (LEAKY, 1)], ids=["clean", "leaky"])
def test_gitlab(shell, page, tmp_path, source, status):
    yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")
    pipeline, = recipe(page, "GitLab", "yaml")
    job = yaml.safe_load(pipeline)["leaks"]
    write(tmp_path, **{"Makefile": MAKE_TESTS, "parse.c": source})
    got, said = run_steps(shell, job["script"])
    assert got == status, said
    assert job["artifacts"]["when"] == "always"
    suites = xml.etree.ElementTree.parse(str(tmp_path / job["artifacts"]["reports"]["junit"])).getroot()
    assert int(suites.get("failures")) == status
