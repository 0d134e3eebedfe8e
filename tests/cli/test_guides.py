# SPDX-License-Identifier: BSD-2-Clause
"""docs/guides, and the five minutes of the README: every command runs, and prints what the page shows, but for numbers.

SEEP_GUIDES_WRITE=1 writes what they print now into the pages: read the diff.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

from libraries import library
from small_programs import program_source

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "guides")
PAGES = ["find-a-leak", "cut-the-peak", "tame-churn", "watch-a-server", "gate-ci", "a-device", "a-container", "the-kernel"]
ROOT_ONLY = {"a-container", "the-kernel"}
LINES = 20  # of a command's output that a page shows, unless its block says another number
MARK = "--- end of a command ---"


def blocks(text):
    """(start, end, most lines, lines that are compared, body) of each block of the console: "```console 8 2"."""
    for found in re.finditer(r"^```console ?(\d*) ?(\d*)\n(.*?)^```$", text, re.M | re.S):
        yield found.start(3), found.end(3), int(found.group(1) or LINES), int(found.group(2) or 1000), found.group(3)


def steps(body):
    """(command, lines that it is shown to print) of a block."""
    found = []
    for line in body.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def run_all(commands, folder, environment):
    """What each prints, standard error with it. One shell, so that a variable and a job live on."""
    script = "".join("{ %s\n} 2>&1\necho; echo '%s'\n" % (command, MARK) for command in commands)
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=110)
    parts = done.stdout.decode("utf-8", "replace").split("\n%s\n" % MARK)
    assert len(parts) == len(commands) + 1, done.stdout[-3000:]
    return [part.rstrip("\n").splitlines() if part.strip() else [] for part in parts[:-1]]


def shape(line):
    """A line without what differs from run to run: numbers with their units, and how wide columns are."""
    line = re.sub(r"0x[0-9a-f]+", "#", line)
    line = re.sub(r"[+-]?\d[\d,.:TZ-]*( ?([KMGT]i?B|B|ns|us|ms|s|min|h|%)\b%?)?", "#", line)
    line = re.sub(r"(# ?)+", "# ", re.sub(r"\bover #", "#", line))
    return re.sub(r"\s+", " ", re.sub(r"-{3,}", "-", line)).strip()


@pytest.fixture
def environment(tmp_path, seep, libseep):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "seep").symlink_to(seep)
    for name in os.listdir(FOLDER):
        if name.endswith(".c"):
            shutil.copy(os.path.join(FOLDER, name), tmp_path)
    return {"PATH": "%s:/usr/sbin:/usr/bin:/bin" % (tmp_path / "bin"), "HOME": "/proc/nonexistent", "LC_ALL": "C.UTF-8", "TERM": "dumb",
            "LIBSEEP": libseep}


SSHD = """
ListenAddress 127.0.0.1:{port}
HostKey {folder}/ssh/host
AuthorizedKeysFile {folder}/ssh/me.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
SetEnv PATH={folder}/there:/usr/bin:/bin
ForceCommand cd {folder}/there && exec sh -c "$SSH_ORIGINAL_COMMAND"
"""
SSH = """
Host device
HostName 127.0.0.1
Port {port}
IdentityFile {folder}/ssh/me
IdentitiesOnly yes
UserKnownHostsFile {folder}/ssh/known
StrictHostKeyChecking no
LogLevel ERROR
"""


@pytest.fixture
def device(tmp_path, environment, seep):
    """A host of the name that the page has: a real sshd with keys, a port and a folder of its own."""
    for program in ("sshd", "ssh", "ssh-keygen", "musl-gcc"):
        if not shutil.which(program, path=environment["PATH"]):
            pytest.skip("%s is not installed" % program)
    build, root = os.path.dirname(seep), os.path.join(FOLDER, "..", "..")
    subprocess.run([os.path.join(root, "tools", "agent.sh"), build], check=True, timeout=600)
    environment["AGENT"] = os.path.join(build, "seep-agent")
    (tmp_path / "ssh").mkdir()
    (tmp_path / "there").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name, text in (("sshd_config", SSHD), ("config", SSH)):
        (tmp_path / "ssh" / name).write_text(text.format(port=port, folder=tmp_path))
    for name in ("host", "me"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "ssh" / name], check=True)
    if os.getuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)  # sshd wants its empty folder
    (tmp_path / "bin" / "ssh").write_text("#!/bin/sh\nexec /usr/bin/ssh -F %s/ssh/config \"$@\"\n" % tmp_path)
    (tmp_path / "bin" / "ssh").chmod(0o755)
    server = subprocess.Popen([shutil.which("sshd", path=environment["PATH"]), "-D", "-e", "-f", tmp_path / "ssh" / "sshd_config"],
                              stderr=open(tmp_path / "ssh" / "log", "w"))

    def listens():
        with socket.socket() as there:
            return there.connect_ex(("127.0.0.1", port)) == 0

    end = time.monotonic() + 60
    while not listens():
        if time.monotonic() > end:
            server.kill()
            pytest.fail("sshd does not listen: " + (tmp_path / "ssh" / "log").read_text())
        time.sleep(0.1)
    yield
    server.terminate()
    server.wait()


@pytest.mark.parametrize("name", PAGES)
def test_guide(name, tmp_path, environment, request):
    if name == "a-device":
        request.getfixturevalue("device")
    if name in ROOT_ONLY and os.getuid():
        pytest.skip("only root attaches")
    if name in ROOT_ONLY:
        request.getfixturevalue("whole_machine")  # its probes would disturb Valgrind
    path = os.path.join(FOLDER, name + ".md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    found = [(block, step) for block in blocks(text) for step in steps(block[4])]
    assert found
    printed = run_all([command for _, (command, _) in found], tmp_path, environment)
    printed = [[line.replace(str(tmp_path), "/home/me") for line in lines] for lines in printed]
    if os.environ.get("SEEP_GUIDES_WRITE"):
        write(path, text, found, printed)
        return
    for (block, (command, shown)), lines in zip(found, printed):
        cut = shown[-1:] == ["..."] or len(shown) > block[3]
        wanted = [shape(line) for line in shown if line != "..."][:block[3]]
        now = [shape(line) for line in lines]
        assert now[:len(wanted)] == wanted and (cut or len(now) == len(wanted)), "%s\n%s" % (command, "\n".join(lines))


def write(path, text, found, printed):
    new, at = "", 0
    for block in blocks(text):
        body = ""
        for (of, (command, _)), lines in zip(found, printed):
            if of == block:
                body += "$ %s\n" % command + "".join(line.rstrip() + "\n" for line in lines[:block[2]])
                body += "...\n" if len(lines) > block[2] else ""
        new, at = new + text[at:block[0]] + body, block[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(new + text[at:])


def test_every_guide_is_run():
    assert sorted(name[:-3] for name in os.listdir(FOLDER) if name.endswith(".md") and name != "README.md") == sorted(PAGES)


OF_A_PROCESS = re.compile(r"sudo|\b31724\b")


def readme():
    with open(os.path.join(FOLDER, "..", "..", "README.md"), encoding="utf-8") as file:
        return file.read()


def readme_steps():
    return [step for body in re.findall(r"^```\n([$] .*?)^```$", readme(), re.M | re.S) for step in steps(body)]


def test_the_readme(tmp_path, environment):
    """The commands of its five minutes that need no running process, on the program that it shows; "..." stands for any lines.
    test_the_readme_of_a_process runs the others."""
    for tool in ("gcc", "jq"):
        if not shutil.which(tool):
            pytest.skip("%s is not installed" % tool)
    (tmp_path / "shop.c").write_text(re.search(r"^```c\n(.*?)^```$", readme(), re.M | re.S).group(1))
    shown = [step for step in readme_steps() if not OF_A_PROCESS.search(step[0])]
    commands = [command.replace("$PWD/libseep.so", "$LIBSEEP") for command, _ in shown]
    assert len(commands) == 8, commands
    for (command, lines), printed in zip(shown, run_all(commands, tmp_path, environment)):
        at = 0
        shapes = [shape(line) for line in printed]
        for line in filter(None, map(shape, lines)):
            if line != "...":
                assert line in shapes[at:], (command, line, printed)
                at += shapes[at:].index(line) + 1


# ---- the README's table: which command for which question ----------------------------------------------------------------

# By command of the table: text to append so that the command ends, and a pattern of its output. Words in capitals stand for
# files, a block, and a process that runs under seep.
ANSWERS = {
    "seep run ./app": ("", r"^leaks +272 KiB lost in 10,000 blocks, all from read_order \(shop\.c:"),
    "seep check ./app": ("", r"leaked, more than --max-leaked 0"),
    "seep report --sort peak FILE": ("", r"most .*peak.* first"),
    "seep report FILE@peak": ("", r"read_order \(shop\.c:"),
    "seep report --sort temporary FILE": ("", r"^No allocation was freed at once\."),
    "seep html FILE -o OUT.html": ("&& head -c 15 OUT.html", r"^<!DOCTYPE html>"),
    "seep plot FILE": ("", r"[▁▂▃▄▅▆▇█]"),
    "seep report PID": ("", r"make \(waits\.c:"),
    "sudo seep attach PID": ("100ms 1", r"Top \d+ stacks with outstanding allocations"),
    "seep scan PID": ("", r"^ +reachable +\d+ "),
    "seep whois PID ADDRESS": ("", r"make \(waits\.c:"),
    "seep growth PID": ("--interval 10ms --count 7", r"^growth .* snapshots? in "),
    "seep diff OLD NEW": ("", r"1 grew.*\n(.*\n)*.*read_order \(shop\.c:"),
    "seep mark PID NAME": ("&& seep report PID@NAME --json | grep '\"NAME\"'", r'"name": ?"NAME"'),
    "seep report --rss PID": ("", r"resident"),
    "sudo seep attach --cgroup PATH": ("100ms 1", r"Top \d+ stacks with outstanding allocations"),
    "seep run --mode record": ("-q -o recorded ./app && seep history recorded", r"^.*read_order|30,00\d"),
    "seep history FILE": ("", r"30,00\d|allocations"),
    "seep sql FILE 'select …'": ("", r"^30001$"),
    "seep run --allocator glibc,jemalloc ./app": ("", r"^jemalloc "),
    "seep replay FILE": ("--rounds 3", r"^replayed program, pid \d+: \d|^replayed "),
    "seep advise FILE": ("--rounds 4", r" calls, which take "),
    "sudo seep kernel": ("100ms 1", r"outstanding"),
    "seep report --tree FILE": ("", r"272 KiB +98\.6% .*read_order"),
    "seep top PID": ("--once -i 50ms", r" 100 .* make:\d+$"),
    "seep connect PID": ("<<<'sites 3'", r"make \(waits\.c:"),
    "seep top ssh://HOST/PID": ("--once -i 50ms", r" 100 .* make:\d+$"),
    "seep connect ssh://HOST/PID": ("-e 'sites 3'", r"make \(waits\.c:"),
    "seep serve --http PID": ("", r"^http://127\.0\.0\.1:\d+/"),
    "seep export --format NAME FILE": ("", r"^_start;.*;main;read_order;\S+ 278890$"),
}
# The same for the commands of the five minutes that need a running process, in their order; ten seconds are shortened.
ANSWERS_OF_A_PROCESS = {
    "seep report 31724 --by function --top 3": ("", r"\bmake\b"),
    "seep snap 31724 -o now.seep": ("&& seep report now.seep", r"make \(waits\.c:"),
    "seep mark 31724 warm": ("&& seep report 31724@warm --json", r'"name": ?"warm"'),
    "seep diff 31724@warm 31724": ("", r"Nothing changed"),
    "seep growth 31724 --interval 10s": ("--count 7", r"^growth .* snapshots? in "),
    "sudo seep attach 31724 10s": ("1", r"Top \d+ stacks with outstanding allocations"),
    "sudo seep attach --cgroup /sys/fs/cgroup/system.slice/app.service --output app.seep":
        ("100ms 1 && seep report app.seep", r"^health: "),
}
ELSEWHERE = {  # tests that run these
    "(gdb) seep holders head->next": "cli/test_gdb.py", "seep whois": "cli/test_gdb.py", "seep leaks": "cli/test_gdb.py",
    "sudo seep attach --all": "live/test_attach.py",  # reads all programs of the machine
    "sudo seep service enable UNIT": "live/test_service.py",  # needs a running systemd
}


def table_of_questions():
    table = readme().split("## Which command for which question")[1].split("\n## ")[0]
    rows = [line.split("|")[2] for line in table.splitlines() if line.startswith("| ") and not line.startswith("| ---")][1:]
    assert len(rows) >= 20
    return [command for row in rows for command in re.findall(r"`([^`]+)`", row)]


def test_every_question_is_answered():
    commands = table_of_questions()
    assert sorted(commands) == sorted([*ANSWERS, *ELSEWHERE]) and len(set(commands)) == len(commands)
    for command, name in ELSEWHERE.items():
        with open(os.path.join(FOLDER, "..", "..", "tests", name)) as file:
            words = re.sub(r"^\(gdb\) |^sudo ", "", command).split()
            assert re.search(r"\b%s\b" % words[1], file.read()), (command, name)


@pytest.fixture(scope="module")
def questioned(tmp_path_factory, seep, libseep):
    """question(command): what it prints, on a process of its own that waits, with the README's program and recordings of it."""
    folder = tmp_path_factory.mktemp("questions")
    (folder / "shop.c").write_text(re.search(r"^```c\n(.*?)^```$", readme(), re.M | re.S).group(1))
    (folder / "waits.c").write_text(program_source("cross_waits.c"))
    (folder / "bin").mkdir()
    (folder / "bin" / "seep").symlink_to(seep)
    (folder / "bin" / "sudo").write_text("#!/bin/sh\nexec \"$@\"\n")
    (folder / "bin" / "ssh").write_text("#!/bin/sh\nfor last; do :; done\nexec sh -c \"$last\"\n")  # to this machine
    for name in ("sudo", "ssh"):
        (folder / "bin" / name).chmod(0o755)
    environment = {"PATH": "%s:/usr/sbin:/usr/bin:/bin" % (folder / "bin"), "HOME": "/proc/nonexistent", "LC_ALL": "C.UTF-8", "TERM": "dumb",
                   **{name: value for name, value in os.environ.items() if name == "SEEP_DEBUG_DIR"}}

    def call(script, **more):
        return subprocess.run(["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=110, **more).stdout.decode("utf-8", "replace")

    built = call("gcc -g -o app shop.c && gcc -w -g -o waits waits.c && seep run -q --mode record -o FILE ./app && "
                 "sed 's/10000/5000/' shop.c >fewer.c && gcc -g -o fewer fewer.c && seep run -q -o OLD ./fewer && seep run -q -o NEW ./app")
    waits = subprocess.Popen([seep, "run", "-q", "-o", "waits.seep", "./waits"], cwd=folder, env=environment, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    pid = waits.stdout.readline().decode().strip()
    assert pid.isdigit(), built
    address = re.search(r"0x[0-9a-f]{6,}", call("seep report --blocks --function make " + pid)).group()
    words = {"PID": pid, "31724": pid, "10s": "100ms", "ADDRESS": address, "HOST": "localhost", "select …": "select count(*) from event"}

    def question(command, more, until=None):
        real = "%s %s" % (command, more)
        for word, value in words.items():
            real = re.sub(r"(?<![\w.])%s(?!\w)" % re.escape(word), lambda _: value, real)
        if command.startswith("seep export"):
            real = real.replace("NAME", "folded")
        if until is None:
            return call(real)
        process = subprocess.Popen(["bash", "-c", "exec " + real], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        first = process.stdout.readline().decode()
        process.send_signal(until)
        process.communicate(timeout=110)
        return first

    yield question
    waits.communicate(b"\n", timeout=110)


@pytest.fixture
def group(tmp_path):
    """A control group with one process, which allocates."""
    top = next((line.split()[1] for line in open("/proc/self/mounts") if line.split()[2] == "cgroup2"), None)
    if not top:
        pytest.skip("cgroup2 is not mounted: no control group")
    folder = os.path.join(top, "seep-question-%d" % os.getpid())
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("no control group can be made here")
    inside = subprocess.Popen(["sh", "-c", "while :; do read line <%s/none 2>/dev/null; done" % tmp_path], cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        with open(os.path.join(folder, "cgroup.procs"), "w") as file:
            file.write(str(inside.pid))
        yield folder
    finally:
        inside.kill()
        inside.wait()
        os.rmdir(folder)


@pytest.mark.parametrize("command", ANSWERS)
def test_a_question_is_answered(command, questioned, request):
    if command.startswith("sudo"):
        if os.getuid():
            pytest.skip("only root attaches")
        request.getfixturevalue("whole_machine")  # its probes would disturb Valgrind
    if "jemalloc" in command:
        library("libjemalloc.so.2")
    more, wanted = ANSWERS[command]
    command = command.replace("PATH", request.getfixturevalue("group")) if "PATH" in command else command
    printed = questioned(command, more, signal.SIGINT if "serve" in command else None)
    assert re.search(wanted, printed, re.M), printed


def test_the_readme_of_a_process(questioned):
    assert [step[0] for step in readme_steps() if OF_A_PROCESS.search(step[0])] == [*ANSWERS_OF_A_PROCESS]
    for command, (more, wanted) in ANSWERS_OF_A_PROCESS.items():
        if not command.startswith("sudo"):
            printed = questioned(command, more)
            assert re.search(wanted, printed, re.M), (command, printed)


@pytest.mark.parametrize("command", [command for command in ANSWERS_OF_A_PROCESS if command.startswith("sudo")])
def test_the_readme_attaches(command, questioned, request):
    if os.getuid():
        pytest.skip("only root attaches")
    request.getfixturevalue("whole_machine")  # its probes would disturb Valgrind
    more, wanted = ANSWERS_OF_A_PROCESS[command]
    command = re.sub(r"/sys/fs/cgroup\S*", lambda _: request.getfixturevalue("group"), command)
    printed = questioned(command, more)
    assert re.search(wanted, printed, re.M), printed
