# SPDX-License-Identifier: BSD-2-Clause
"""docs/coming-from.md: every command of ours in it runs; what another tool says of the same program, seep says too."""
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from libraries import library
from small_programs import program_source

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "coming-from.md")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "coming_from.c")
# Those that exit with what they found: two lost blocks.
FINDS = {"--error-exitcode 9": 9, "--error-exitcode 23": 23}


def commands():
    """(section, command) of the right column of each table."""
    found, section = [], None
    with open(PAGE, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                section = line.strip("# \n")
            if section and section.startswith("Faults"):
                continue
            if line.startswith("| ") and not line.startswith("| ---"):
                right = line.split(" | ")[1]
                found += [(section, code) for code in re.findall(r"`([^`]+)`", right)
                          if re.match(r"(sudo )?seep |LD_PRELOAD=", code)]
    return found


COMMANDS = commands()


@pytest.fixture(scope="module")
def place(tmp_path_factory, seep, libseep):
    """A folder with all that the page names, and a traced process that waits."""
    folder = tmp_path_factory.mktemp("coming")
    for name, options in (("app", []), ("clean", ["-DCLEAN"])):
        subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", *options, "-o", folder / name, SOURCE], check=True)
    (folder / "my.supp").write_text("leak:of_no_function\n")
    (folder / "bin").mkdir()
    (folder / "bin" / "seep").symlink_to(seep)
    (folder / "mmleak.out").write_text("0x1000 0x4005d0 24\n0x2000 0x4005d0 32\n0x1000 0x4005e0\n")
    (folder / "mprof.log").write_text("malloc\t64\tA0\nfree\tA0\n")
    for trace, mode in (("app.seep", "live"), ("rec0.seep", "record")):
        subprocess.run([seep, "run", "-q", "--mode", mode, "-o", folder / trace, "./app"], cwd=folder, check=True)
    running = subprocess.Popen([seep, "run", "-q", "-o", folder / "long.seep", "./app", "wait"], cwd=folder, stdout=subprocess.PIPE)
    assert running.stdout.readline() == b"ready\n"
    pid = subprocess.run(["pgrep", "-P", str(running.pid)], stdout=subprocess.PIPE, check=True).stdout.split()[0].decode()
    untraced = subprocess.Popen(["./app", "wait"], cwd=folder, stdout=subprocess.PIPE)
    assert untraced.stdout.readline() == b"ready\n"
    yield folder, {"APP": "./app", "PID": pid, "FILE": "app.seep", "REC": "rec0.seep", "LIBSEEP": libseep,
                   "untraced": str(untraced.pid)}
    os.kill(int(pid), 9)
    untraced.kill()
    for process in (running, untraced):
        process.wait()
        process.stdout.close()


def test_the_page_has_commands_of_every_tool():
    sections = {section for section, _ in COMMANDS}
    assert len(COMMANDS) > 70
    assert sections == {"memcheck --leak-check", "massif, dhat", "heaptrack", "LeakSanitizer", "memray", "jemalloc's jeprof, gperftools",
                        "glibc's mtrace", "bcc's memleak", "mtrace-ng", "mleak", "mmleak", "mprof"}


@pytest.mark.parametrize("section, command", COMMANDS, ids=["%s: %s" % pair for pair in COMMANDS])
def test_command(place, section, command, tmp_path):
    folder, words = place
    if command.startswith("sudo "):
        if os.getuid():
            pytest.skip("only root attaches")
        command = command[len("sudo "):]
    if "service enable" in command:
        pytest.skip("needs a systemd: tests/live/test_service.py")
    if "jemalloc" in command:
        library("libjemalloc.so.2")
    if " attach " in command:
        command = re.sub(r"\bPID\b", words["untraced"], command)
    for word, value in words.items():
        command = re.sub(r"\b%s\b" % word, value, command)
    if re.search(r"\brun\b", command) and " -o " not in command:  # traces go to a folder of the test
        command = command.replace(" run ", " run -o %s/%%e.%%p.seep " % tmp_path)
    environment = {"PATH": "%s:/usr/sbin:/usr/bin:/bin" % (folder / "bin"), "HOME": "/proc/nonexistent", "LC_ALL": "C.UTF-8", "TERM": "dumb"}
    if command.startswith("seep serve "):  # goes on until it is interrupted
        with subprocess.Popen(command.split(), cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as serving:
            assert b"unix:" in serving.stdout.readline()
            serving.send_signal(signal.SIGINT)
            assert serving.wait(100) == 0
        return
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=100)
    wanted = next((status for option, status in FINDS.items() if option in command), 0)
    assert done.returncode == wanted, (command, done.returncode, done.stdout[-1500:], done.stderr[-1500:])
    if section in ("memcheck --leak-check", "mleak") and "--kind lost" in command:
        assert b"lose (coming_from.c:" in done.stdout and b"777" in done.stdout, done.stdout


@pytest.fixture(scope="module")
def ours(place, seep):
    folder, _ = place
    done = subprocess.run([seep, "report", "--json", "app.seep"], cwd=folder, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def need(name):
    if not shutil.which(name):
        pytest.skip(name + " is not installed")


def test_memcheck_says_the_same(place, ours, undisturbed):
    need("valgrind")
    done = subprocess.run(["valgrind", "--leak-check=full", "./app"], cwd=place[0], stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    lost = re.search(rb"definitely lost: ([\d,]+) bytes in ([\d,]+) blocks", done.stderr)
    assert lost, done.stderr[-2000:]
    assert [int(part.replace(b",", b"")) for part in lost.groups()] == [ours["leaks"]["lost"]["bytes"], ours["leaks"]["lost"]["blocks"]]
    total = re.search(rb"total heap usage: ([\d,]+) allocs, ([\d,]+) frees, ([\d,]+) bytes", done.stderr)
    assert [int(part.replace(b",", b"")) for part in total.groups()] == [
        ours["totals"]["allocations"], ours["totals"]["frees"], ours["totals"]["allocated_bytes"]]


def test_massif_has_the_same_peak(place, ours, undisturbed, tmp_path):
    need("valgrind")
    subprocess.run(["valgrind", "--tool=massif", "--peak-inaccuracy=0.0", "--massif-out-file=%s" % (tmp_path / "out"), "./app"],
                   cwd=place[0], check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    assert max(int(size) for size in re.findall(r"mem_heap_B=(\d+)", (tmp_path / "out").read_text())) == ours["totals"]["peak_bytes"]


def test_heaptrack_says_the_same(place, ours, tmp_path):
    need("heaptrack")
    subprocess.run(["heaptrack", "-o", str(tmp_path / "h"), "./app"], cwd=place[0], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    [file] = tmp_path.glob("h*")
    said = subprocess.run(["heaptrack_print", file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()
    # And one of its own: the pool of 72,704 bytes of the C++ library that heaptrack brings into the program.
    assert int(re.search(r"calls to allocation functions: (\d+)", said).group(1)) == ours["totals"]["allocations"] + 1
    temporary = int(re.search(r"temporary memory allocations: (\d+)", said).group(1))
    assert temporary in (ours["totals"]["temporary"], ours["totals"]["temporary"] + 1)


def test_glibcs_log_has_as_many_lines(place, ours, tmp_path):
    """glibc's own log of the same calls, by its debug library."""
    library = next((path for path in ("/usr/lib/x86_64-linux-gnu/libc_malloc_debug.so.0", "/lib64/libc_malloc_debug.so.0")
                    if os.path.exists(path)), None)
    if not library:
        pytest.skip("libc_malloc_debug.so.0 is not installed")
    need("gcc")
    (tmp_path / "start.c").write_text(program_source("coming_from_start.c"))
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "start.so", tmp_path / "start.c"], check=True)
    subprocess.run(["./app"], cwd=place[0], check=True,
                   env={"LD_PRELOAD": "%s:%s" % (library, tmp_path / "start.so"), "MALLOC_TRACE": str(tmp_path / "log")})
    lines = (tmp_path / "log").read_text().splitlines()
    assert sum(" + 0x" in line for line in lines) == ours["totals"]["allocations"]
    assert sum(" - 0x" in line for line in lines) == ours["totals"]["frees"]


def test_the_tests_that_it_names_are_there():
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    named = set()
    with open(PAGE, encoding="utf-8") as page:
        for line in page:
            named.update(re.findall(r"\| `(\w+/test_\w+\.(?:py|c))` (test_\w+) \|$", line))
    assert len(named) > 40
    for path, name in named:
        with open(os.path.join(tests, path), encoding="utf-8") as file:
            assert re.search(r"^(?:def|static void) %s\(" % name, file.read(), re.M), (path, name)
