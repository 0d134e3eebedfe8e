# SPDX-License-Identifier: BSD-2-Clause
"""seep within gdb, which loads the script with libseep.so: of a process that it holds, and of its core file."""
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

COMMANDS = ["seep leaks", "seep whois tree->right", "seep holders ((struct pair*)tree->right)->right", "seep holders ~mask",
            "seep holders 0x10", "seep whois", "seep leaks many"]


@pytest.fixture(scope="module")
def gdb():
    path = shutil.which("gdb")
    if not path:
        pytest.skip("gdb is not installed")
    done = subprocess.run([path, "-batch", "-nx", "-ex", "python print(6 * 7)"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if b"42" not in done.stdout:
        pytest.skip("this gdb has no Python")
    return path


def ask(gdb, build, *arguments, commands):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SEEP_") and name != "LD_PRELOAD"}
    environment["DEBUGINFOD_URLS"] = ""
    words = [gdb, "-batch", "-nx", "-iex", "add-auto-load-safe-path " + build, *arguments]
    for number, command in enumerate(commands):
        words += ["-ex", "echo == %d\\n" % number, "-ex", command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, timeout=120)
    parts = re.split(r"^== \d+\n", done.stdout.decode("utf-8", "replace"), flags=re.M)
    assert len(parts) == len(commands) + 1, done.stdout
    return parts[1:]


def check(answers):
    leaks, whois, holders, lost, none, empty, many = answers[:7]
    assert "5,000 bytes leaked in 1 block" in leaks and "leaf_that_is_lost (held.c:" in leaks and "next:" not in leaks
    assert "16 bytes, by calloc" in whois and "join (held.c:" in whois and "reachable" in whois
    assert re.match(r"0x[0-9a-f]+: block of 2000 bytes from leaf_of_right, reachable\n  global struct pair \*tree \(held\.c:\d+\) in held\n"
                    r"    -> block of 16 B \(struct pair\) from join", holders), holders
    assert "block of 16 bytes from lose, lost\nno pointer to it anywhere" in lost
    assert "no live block at 0x10" in none and "no ADDRESS" in empty and "takes a number" in many


def test_a_process_that_gdb_holds_and_its_core(gdb, build, seep, tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SEEP_")}
    environment["MALLOC_PERTURB_"] = "0"
    held = os.path.join(build, "tests", "web", "held")
    run = subprocess.Popen([seep, "run", "-q", "-o", tmp_path / "held.seep", "--", held], stdout=subprocess.PIPE, env=environment, start_new_session=True)
    try:
        assert run.stdout.readline() == b"ready\n"
        pid = open("/proc/%d/task/%d/children" % (run.pid, run.pid)).read().split()[0]
        deadline = time.monotonic() + 30
        while open("/proc/%s/stat" % pid).read().rpartition(")")[2].split()[0] != "S" and time.monotonic() < deadline:
            time.sleep(0.01)
        core = str(tmp_path / "held.core")
        subprocess.run([seep, "snap", pid, "-o", tmp_path / ("seep.held.%s.seep" % pid)], check=True, stdout=subprocess.DEVNULL, env=environment)
        answers = ask(gdb, build, "-p", pid, commands=COMMANDS + ["generate-core-file " + core])
        if "ptrace: Operation not permitted" in answers[0]:
            pytest.skip("gdb may not attach here: it needs rights")
        check(answers)
        assert open("/proc/%s/stat" % pid).read().rpartition(")")[2].split()[0] == "S", "the process goes on"
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    check(ask(gdb, build, held, "-c", core, commands=COMMANDS))
    assert not [name for name in os.listdir("/tmp") if name.startswith("seep-gdb-") and os.stat(os.path.join("/tmp", name)).st_uid == os.getuid()
                and os.path.exists(os.path.join("/tmp", name, "core"))], "cores are removed"


def test_without_a_program_it_says_so(gdb, root):
    script = os.path.join(root, "tools", "gdb", "libseep.so-gdb.py")
    (answer,) = ask(gdb, root, "-ex", "source " + script, commands=["seep leaks"])
    assert "no process and no core file" in answer
