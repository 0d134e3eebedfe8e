# SPDX-License-Identifier: BSD-2-Clause
"""seep run and seep snap: exit statuses, signals, what the program sees of us, what happens when things fail."""
import errno
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import time

import pytest

import messages
import report_json
from small_programs import program_source

COVERS = [
    ('exec of a set-user-ID program', 'declared', 'test_set_user_id_program', 'the loader ignores LD_PRELOAD for it'),
    ('programs of another architecture', 'declared', 'test_program_for_another_processor',
     'libseep.so is for one; it is built for AArch64 too'),
    ("LD_PRELOAD of the user's own", 'covered', 'test_preload_of_the_user_stays', ''),
]

PYTHON = "/usr/bin/python3"
SH = "/bin/sh"
CANNOT_SAVE = "%s: cannot save the trace there"
BOTH = "%s: both the trace (-o) and the report (--report)"
NEEDS_A_SCAN = "--kind needs a scan, and with %s none is made"
PATIENCE_S = 60


@pytest.fixture
def traced(run, seep, libseep, tmp_path):
    """traced(*command, options=[...]): seep run -q with the trace in tmp_path; .processes() reads it."""

    def run_traced(*command, options=(), **kwargs):
        trace = tmp_path / "trace.seep"
        done = run(seep, "run", "-q", "-o", trace, *options, "--", *command, **kwargs)
        done.trace = trace
        done.processes = lambda: processes_of(run, seep, trace)
        return done

    return run_traced


@pytest.fixture
def open_folder():
    """A folder that other users may enter, unlike tmp_path."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="seep-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def processes_of(run, seep, source):
    done = run(seep, "report", source, "--json")
    assert done.returncode == 0, done.stderr
    report = report_json.spread(json.loads(done.stdout))
    return report.get("processes", [report])


def one_line(text, *parts):
    assert text.count("\n") == 1 and text.endswith("\n"), text
    for part in parts:
        assert part in text, text


class Background:
    """A command in a process group of its own, for tests that send signals."""

    def __init__(self, *command, cwd, env=None):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SEEP_")}
        # A tool that is killed leaves its folder behind: let that be where the test's files are.
        environment.update({"TMPDIR": str(cwd), "XDG_RUNTIME_DIR": "", "MALLOC_PERTURB_": "0"}, **(env or {}))
        self.process = subprocess.Popen([str(word) for word in command], cwd=cwd, env=environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.communicate()

    def end(self):
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out.decode(), err.decode()


def wait_for(path):
    """The text of a file, once it is there and ends with a newline."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if path.exists() and path.read_text().endswith("\n"):
            return path.read_text()
        time.sleep(0.01)
    pytest.fail("%s did not come" % path)


# ---- exit status ---------------------------------------------------------------------------------

@pytest.mark.parametrize("status", [0, 1, 2, 3, 126, 127, 255])
def test_exit_status_is_the_programs(traced, status):
    done = traced(SH, "-c", "exit %d" % status)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")
    assert done.processes()[0]["process"]["exit"] == {"code": status}


@pytest.mark.parametrize("name", ["TERM", "KILL", "SEGV", "ABRT", "PIPE", "HUP"])
def test_killed_by_a_signal(traced, name):
    number = getattr(signal, "SIG" + name)
    done = traced(SH, "-c", "kill -%s $$" % name)
    assert done.returncode == 128 + number
    assert done.processes()[0]["process"]["exit"] == {"signal": number}


def test_not_found(traced):
    done = traced("no-such-program-anywhere")
    assert done.returncode == 127
    one_line(done.stderr, "cannot run 'no-such-program-anywhere': " + messages.NOT_IN_PATH)
    assert not done.trace.exists()


def test_path_not_found(traced, tmp_path):
    done = traced(tmp_path / "nothing")
    assert done.returncode == 127
    one_line(done.stderr, "nothing': No such file or directory (no file has this path: ")


def test_empty_name(traced):
    done = traced("")
    assert done.returncode == 127
    one_line(done.stderr, "cannot run '': " + messages.NAME_IS_EMPTY)


def test_not_executable(traced, tmp_path):
    file = tmp_path / "data"
    file.write_text("#!/bin/sh\nexit 0\n")
    file.chmod(0o644)
    done = traced(file)
    assert done.returncode == 126
    one_line(done.stderr, "data': Permission denied", "chmod +x")


def test_not_executable_in_path(traced, tmp_path):
    file = tmp_path / "seep-test-data"
    file.write_text("#!/bin/sh\nexit 0\n")
    done = traced("seep-test-data", env={"PATH": "%s:%s" % (tmp_path, os.environ["PATH"])})
    assert done.returncode == 126
    one_line(done.stderr, "'seep-test-data': Permission denied")


def test_folder(traced, tmp_path):
    done = traced(tmp_path)
    assert done.returncode == 126
    one_line(done.stderr, "Is a directory")


def test_text_without_interpreter_line(traced, tmp_path):
    file = tmp_path / "script"
    file.write_text("echo this must not run\n")
    file.chmod(0o755)
    done = traced(file)
    assert (done.returncode, done.stdout) == (126, "")
    one_line(done.stderr, "script': not a program", "#!/bin/sh")


def test_interpreter_that_does_not_exist(traced, tmp_path):
    file = tmp_path / "script"
    file.write_text("#!/no/such/interpreter -x\n")
    file.chmod(0o755)
    done = traced(file)
    assert done.returncode == 126
    one_line(done.stderr, "its interpreter '/no/such/interpreter' does not exist")


def test_program_for_another_processor(traced, tmp_path):
    file = tmp_path / "foreign"
    content = bytearray(open("/bin/true", "rb").read())
    content[18:20] = struct.pack("=H", 22)  # EM_S390
    file.write_bytes(content)
    file.chmod(0o755)
    done = traced(file)
    assert done.returncode == 126
    one_line(done.stderr, "it is made for another processor")


def test_empty_path_element_is_this_folder(traced, tmp_path):
    file = tmp_path / "here"
    file.write_text("#!/bin/sh\nexit 4\n")
    file.chmod(0o755)
    assert traced("here", env={"PATH": ":/bin:/usr/bin"}).returncode == 4


def test_wrong_use(run, seep):
    done = run(seep, "run")
    assert done.returncode == 2
    one_line(done.stderr)
    done = run(seep, "run", "--no-such-option", "true")
    assert done.returncode == 2
    one_line(done.stderr, "--no-such-option")
    assert run(seep, "run", "--children", "eat", "true").returncode == 2


def test_options_of_the_program_are_its_own(traced):
    done = traced("/bin/echo", "-q", "--json", "--", "-o")
    assert done.stdout == "-q --json -- -o\n"
    assert done.processes()[0]["process"]["args"] == ["/bin/echo", "-q", "--json", "--", "-o"]


# ---- what the program sees ----------------------------------------------------------------------

SELF = """
import os, resource, signal
print(sorted(os.listdir('/proc/self/fd'), key=int)[:-1])
print([line for line in open('/proc/self/status') if line.startswith(('SigBlk', 'SigIgn'))])
print(resource.getrlimit(resource.RLIMIT_NOFILE))
print(os.getpgrp() == os.getppid() or 'own group', os.getcwd())
print(sorted(name for name in os.environ if name.startswith('SEEP_')))
"""


def test_program_runs_as_without_seep(run, traced):
    plain = run(PYTHON, "-c", SELF).stdout.splitlines()
    done = traced(PYTHON, "-c", SELF, env={"SEEP_DEBUG_DIR": None})
    assert done.stderr == ""
    seen = done.stdout.splitlines()
    assert seen[:3] == plain[:3]
    assert seen[4] == "['SEEP_SCAN', 'SEEP_SOCKET']"


def test_preload_of_the_user_stays(traced, libseep):
    done = traced(SH, "-c", "echo $LD_PRELOAD", env={"LD_PRELOAD": "libc.so.6", "ASAN_OPTIONS": "verify_asan_link_order=0"})
    assert done.stdout == "%s:libc.so.6\n" % os.path.realpath(libseep)


def test_standard_streams_pass_through(traced):
    done = traced("/bin/cat", input="a\nb")
    assert (done.returncode, done.stdout) == (0, "a\nb")
    done = traced(SH, "-c", "echo out; echo err >&2")
    assert (done.stdout, done.stderr) == ("out\n", "err\n")


def test_ignored_signals_stay_ignored(traced):
    done = traced(SH, "-c", "trap '' INT HUP; exec %s -c '%s'" % (
        PYTHON, "import signal; print(int(signal.getsignal(signal.SIGINT)), int(signal.getsignal(signal.SIGHUP)))"))
    assert done.stdout == "1 1\n"


# ---- the report and the trace --------------------------------------------------------------------

def test_report_goes_to_stderr_and_trace_to_the_folder(run, seep, libseep, tmp_path):
    done = run(seep, "run", SH, "-c", "echo out")
    assert (done.returncode, done.stdout) == (0, "out\n")
    assert "allocations" in done.stderr
    traces = [name for name in os.listdir(tmp_path) if name.endswith(".seep")]
    assert len(traces) == 1
    assert traces[0].startswith("seep.sh.") and traces[0][len("seep.sh."):-len(".seep")].isdigit()


def test_no_trace_is_replaced_that_was_not_named(run, seep, libseep, tmp_path):
    """A file of the usual name that is there stays; what -o names is replaced. Of the library alone too."""
    script = "echo mine >seep.%s.$$.seep; echo $$"
    pid = run(seep, "run", "-q", SH, "-c", script % "sh").stdout.strip()
    assert (tmp_path / ("seep.sh.%s.seep" % pid)).read_text() == "mine\n"
    assert processes_of(run, seep, tmp_path / ("seep.sh.%s.2.seep" % pid))[0]["process"]["pid"] == int(pid)
    (tmp_path / "named.seep").write_text("old")
    assert run(seep, "run", "-q", "-o", "named.seep", SH, "-c", ":").returncode == 0
    assert processes_of(run, seep, tmp_path / "named.seep")
    name = os.path.basename(os.path.realpath(SH))
    pid = run("/usr/bin/env", "LD_PRELOAD=%s" % libseep, SH, "-c", script % name).stdout.strip()
    assert (tmp_path / ("seep.%s.%s.seep" % (name, pid))).read_text() == "mine\n"
    assert processes_of(run, seep, tmp_path / ("seep.%s.%s.2.seep" % (name, pid)))


def test_name_of_the_trace(run, seep, libseep, tmp_path):
    assert run(seep, "run", "-q", "-o", "a-%e-%%-%p-%x", "/bin/true").returncode == 0
    names = os.listdir(tmp_path)
    assert len(names) == 1
    start, middle, end = names[0].partition("a-true-%-")
    assert start == "" and middle and end.endswith("-%x") and end[:-3].isdigit()


def test_a_name_that_is_shown_otherwise_is_not_raw_in_the_name_of_the_trace(run, seep, libseep, tmp_path):
    (tmp_path / "bin").mkdir()
    program = os.path.join(os.fsencode(tmp_path), b"bin", "n\u00e4h\x1b[31m\n\u202e\x7f".encode() + b"\xff")
    shutil.copy("/bin/sleep", program)
    os.mkdir(tmp_path / "traces")
    assert run(seep, "run", "-q", "-o", "traces/%e", os.fsdecode(program), "0").returncode == 0
    assert run(seep, "connect", "-e", "save", "n\u00e4h_[31m" + "_" * 6, cwd=tmp_path / "traces").returncode == 0
    names = sorted(os.listdir(tmp_path / "traces"))
    assert names[0] == "n\u00e4h_[31m" + "_" * 6 and re.fullmatch(r"seep\.n\u00e4h_\[31m_{6}\.\d+\.snap\.seep", names[1]), names


def test_trace_on_standard_output(run, seep, libseep, tmp_path):
    done = run(seep, "run", "-q", "-o", "-", "/bin/true", binary=True)
    assert done.returncode == 0
    (tmp_path / "x.seep").write_bytes(done.stdout)
    assert processes_of(run, seep, tmp_path / "x.seep")[0]["process"]["exe"].endswith("/true")


@pytest.mark.parametrize("place", ["/dev/full"])
def test_trace_that_cannot_be_written(run, seep, libseep, place):
    done = run(seep, "run", "-o", place, SH, "-c", "exit 3")
    assert done.returncode == 3
    lines = [line for line in done.stderr.splitlines() if line.startswith("seep: ")]
    assert len(lines) == 1 and place in lines[0], done.stderr
    assert "allocations" in done.stderr
    done = run(seep, "run", "-q", "-o", place, SH, "-c", "exit 3")
    assert done.returncode == 3
    one_line(done.stderr, place)
    done = run(seep, "run", "--mode", "record", "-o", place, SH, "-c", "exit 3")
    assert done.returncode == 3 and "health: INCOMPLETE" in done.stderr, done.stderr
    one_line("".join(line for line in done.stderr.splitlines(True) if line.startswith("seep: ")), place)
    done = run(seep, "run", "-q", "-o", place, "/bin/true")  # what was asked for is not there: no success
    assert done.returncode == 1
    one_line(done.stderr, place)


@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_trace_without_a_place(run, seep, libseep, quiet):
    done = run(seep, "run", *quiet, "-o", "/no/such/folder/x.seep", SH, "-c", "echo started")
    assert (done.returncode, done.stdout) == (1, "")
    one_line(done.stderr, CANNOT_SAVE % "/no/such/folder", "not started")


@pytest.mark.parametrize("output, said", [
    (["-o", "folder"], "folder: is a directory"),
    (["-o", "/proc/x.seep"], CANNOT_SAVE % "/proc"),
    (["-o", "dangling.seep"], "dangling.seep: a symbolic link to nothing"),
    (["-o", "z.seep", "--report", "z.seep"], BOTH % "z.seep"),
    (["-o", "z.seep", "--report", "folder/../z.seep"], BOTH % "z.seep"),
    (["-o", "link.seep", "--report", "old.seep"], BOTH % "link.seep"),
])
def test_bad_place_is_said_before_the_run(run, seep, libseep, tmp_path, output, said):
    (tmp_path / "folder").mkdir()
    (tmp_path / "old.seep").write_text("a trace of before")
    (tmp_path / "link.seep").symlink_to("old.seep")
    (tmp_path / "dangling.seep").symlink_to("nowhere/x.seep")
    done = run(seep, "run", *output, SH, "-c", "echo started")
    assert (done.stdout, done.returncode in (1, 2)) == ("", True)
    one_line(done.stderr, said, "not started")
    assert sorted(os.listdir(tmp_path)) == ["dangling.seep", "folder", "link.seep", "old.seep"]
    assert (tmp_path / "old.seep").read_text() == "a trace of before"


@pytest.mark.parametrize("options, said", [
    (["--sort", "growth"], messages.GROWTH_NEEDS_SNAPSHOTS),
    (["--scan", "no", "--kind", "lost"], NEEDS_A_SCAN % "--scan no"),
    (["--sample", "4K", "--kind", "lost"], NEEDS_A_SCAN % "--sample"),
])
def test_what_cannot_be_shown_is_said_before_the_run(run, seep, libseep, options, said):
    done = run(seep, "run", *options, SH, "-c", "echo started")
    assert (done.returncode, done.stdout) == (2, "")
    one_line(done.stderr, said, "not started")
    done = run(seep, "run", "-q", *options, SH, "-c", "echo started")
    assert (done.returncode, done.stdout, done.stderr) == (0, "started\n", "")


def test_what_was_freed_at_exit_needs_no_other_option(run, seep, libseep):
    done = run(seep, "run", "--sort", "exit", "ls", "/")  # it leaves by exit(), where a shell does not
    assert done.returncode == 0 and messages.FREED_ONLY_AT_EXIT in done.stderr


def test_a_report_that_could_not_be_made_is_no_success(run, seep, libseep):
    for own in (0, 3):
        done = run(seep, "run", "--since", "nomark", SH, "-c", "exit %d" % own)
        assert done.returncode == (own or 1)
        one_line(done.stderr, messages.NO_MARK % "nomark")
    done = run(seep, "run", "--report", "/dev/full", "true")
    assert done.returncode == 1
    one_line(done.stderr, messages.CANNOT_WRITE_REPORT % "/dev/full")
    run(seep, "run", "-q", "--scan", "no", "-o", "x.seep", "true")
    done = run(seep, "report", "--kind", "lost", "x.seep")
    assert done.returncode == 1 and "use 'seep scan PID'" not in done.stderr
    one_line(done.stderr, messages.NEEDS_A_SCAN, "'seep run' makes one when a process leaves")


def test_folder_that_takes_no_trace(run, seep, libseep):
    done = run(seep, "run", SH, "-c", "echo started", cwd="/proc")
    assert (done.returncode, done.stdout) == (1, "")
    one_line(done.stderr, CANNOT_SAVE % ".", "not started")
    done = run(seep, "check", SH, "-c", "echo started", cwd="/proc")
    assert "started" in done.stdout  # keeps no trace


def test_trace_through_a_link(run, seep, libseep, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.seep").symlink_to("folder/x.seep")
    (tmp_path / "folder" / "x.seep").write_text("")
    done = run(seep, "run", "-o", "link.seep", "--report", "/dev/null", SH, "-c", "exit 3")
    assert (done.returncode, done.stderr) == (3, "")
    assert os.listdir(tmp_path / "folder") == ["x.seep"] and (tmp_path / "link.seep").is_symlink()


SYNCS = program_source("run_syncs.c")


@pytest.mark.parametrize("seconds,synced", [(0, False), (1.1, True)])
def test_trace_of_a_short_run_does_not_wait_for_the_disk(run, seep, libseep, require, tmp_path, seconds, synced):
    require("gcc")
    (tmp_path / "syncs.c").write_text(SYNCS)
    assert run("gcc", "-w", "-shared", "-fPIC", tmp_path / "syncs.c", "-o", tmp_path / "syncs.so").returncode == 0
    (tmp_path / "synced").write_text("")
    clock = {} if synced else {"SLOW_CLOCK": "1"}
    done = run(seep, "run", "-q", "-o", "x.seep", SH, "-c", "sleep %s" % seconds,
               env={"LD_PRELOAD": tmp_path / "syncs.so", "SYNCED": tmp_path / "synced", **clock})
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "x.seep").stat().st_size > 100
    assert ((tmp_path / "synced").stat().st_size == 1) == synced


@pytest.mark.parametrize("other", [["--json"], ["--csv"], ["--report", "r.txt"]])
def test_quiet_and_a_report(run, seep, libseep, tmp_path, other):
    done = run(seep, "run", "-q", *other, SH, "-c", "echo started")
    assert (done.returncode, done.stdout) == (2, "")
    one_line(done.stderr, "-q means no report", other[0])
    assert not (tmp_path / "r.txt").exists()


def test_health_of_a_program_that_was_not_traced(run, seep, libseep, tmp_path):
    program = compile_c(tmp_path, "unseen", "-static")
    done = run(seep, "run", "-o", "unseen.seep", program)
    assert done.stderr.startswith("health: NOT TRACED — "), done.stderr
    assert run(seep, "report", "unseen.seep").stdout.startswith("health: NOT TRACED — ")
    assert processes_of(run, seep, tmp_path / "unseen.seep")[0]["health"]["complete"] is False


def test_health_of_a_program_without_allocations(run, seep, libseep):
    assert run(seep, "run", "/bin/true").stderr.startswith("health: complete — 0 events")


def test_health_of_a_trace_that_was_cut(run, seep, libseep, tmp_path, traced):
    whole = traced("/bin/ls").trace.read_bytes()
    (tmp_path / "cut.seep").write_bytes(whole[:-40])
    done = run(seep, "report", "cut.seep")
    assert done.stdout.startswith("health: INCOMPLETE — the trace was cut at "), done.stdout


def test_exec_in_the_tree(run, seep, libseep):
    done = run(seep, "run", SH, "-c", "exec sh -c 'exec sh -c \"exec ls\"'")
    assert "health: complete" in done.stderr and "note:" not in done.stderr
    assert done.stderr.count("└─ exec ") == 3, done.stderr


def test_equal_notes_are_one_line(run, seep, libseep, tmp_path):
    static = compile_c(tmp_path, "still", "-static")
    done = run(seep, "run", SH, "-c", "%s; %s; :" % (static, static))
    assert done.stderr.count(messages.STATIC_BINARY % static) == 1, done.stderr
    assert "2 processes: not traced: " in done.stderr


def test_long_command_lines_are_cut(run, seep, libseep):
    done = run(seep, "run", "/bin/true", "x" * 3000)
    assert "... (2,0" in done.stderr and " more characters)" in done.stderr
    assert max(len(line) for line in done.stderr.splitlines()) < 1200


def test_report_into_a_file(run, seep, libseep, tmp_path):
    done = run(seep, "run", "--report", "r.json", "--json", "-o", "x.seep", "/bin/true")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["process"]["exit"] == {"code": 0}
    assert report["totals"]["allocations"] == processes_of(run, seep, tmp_path / "x.seep")[0]["totals"]["allocations"]


def test_report_on_standard_output(run, seep, libseep):
    done = run(seep, "run", "--report", "-", "--json", "/bin/true")
    assert json.loads(done.stdout)["process"]["exit"] == {"code": 0}
    assert done.stderr == ""


def test_report_that_cannot_be_written(run, seep, libseep, tmp_path):
    done = run(seep, "run", "--report", "/no/such/folder/r", SH, "-c", "echo started")
    assert (done.returncode, done.stdout) == (1, "")
    one_line(done.stderr, messages.CANNOT_WRITE_REPORT % "/no/such/folder/r", "not started")
    done = run(seep, "run", "--report", "/dev/full", SH, "-c", "exit 3")
    assert done.returncode == 3
    one_line(done.stderr, messages.CANNOT_WRITE_REPORT % "/dev/full" + ": No space left on device")


def test_error_exitcode(run, seep, require, traced, tmp_path):
    def compiled(name, text, *flags):
        require("gcc")
        (tmp_path / (name + ".c")).write_text(text)
        done = run("gcc", "-w", *flags, tmp_path / (name + ".c"), "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
        return str(tmp_path / name)

    def code(*command, options=()):
        return traced(*command, options=["--error-exitcode", "9", *options]).returncode

    assert code(SH, "-c", "kill -KILL $$") == 137
    assert code("no-such-program") == 127
    # dash keeps blocks at its end, and holds them
    assert code(SH, "-c", "exit 0") == 0
    assert code(SH, "-c", "exit 0", options=["--kind", "reachable"]) == 9
    assert code(SH, "-c", "exit 0", options=["--scan", "no"]) == 9
    assert code(SH, "-c", "exit 3", options=["--sample", "1K"]) in (3, 9)
    leaky = compiled("leaky", program_source("run_leaky.c"), "-O0")
    assert code(leaky) == 9
    assert code(leaky, options=["--kind", "possible,reachable"]) == 0
    assert code(SH, "-c", "%s; exit 0" % leaky) == 9
    # What is only possibly lost is told, and counts when it is asked for: as with seep check.
    middle = compiled("middle", program_source("run_error_exitcode.c"),
                      "-O0")
    assert code(middle) == 0
    assert code(middle, options=["--kind", "lost,indirect,possible"]) == 9
    assert run(seep, "check", middle).returncode == 0
    assert run(seep, "check", "--kind", "lost,indirect,possible", middle).returncode == 1
    static = compiled("static", program_source("empty_main.c"), "-static")
    done = traced(static, options=["--error-exitcode", "9"])
    assert done.returncode == 9 and "was not traced" in done.stderr


def test_sample(traced):
    code = "keep = [bytes(1000) for i in range(20000)]"
    done = traced(PYTHON, "-c", code, options=["--sample", "16K"], env={"PYTHONMALLOC": "malloc"})
    process = done.processes()[0]
    assert process["health"]["sample_bytes"] == 16384
    assert not process["totals"]["peak_exact"]
    # An estimate: 20 MB in blocks of 1 kB are some 1,300 samples; a factor of 1,024 would show.
    assert 10e6 < process["totals"]["allocated_bytes"] < 60e6
    assert 10e3 < process["totals"]["allocations"] < 300e3


def test_depth(traced):
    done = traced(PYTHON, "-c", "print(1)", options=["--depth", "3"])
    assert done.returncode == 0
    process = done.processes()[0]
    assert process["sites"] and all(len([f for f in site["stack"] if not f["inlined"]]) <= 4
                                    for site in process["sites"])


DEEP = program_source("run_deep.c")


def test_stack_deeper_than_can_be_kept(run, seep, libseep, tmp_path):
    (tmp_path / "deep.c").write_text(DEEP)
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-fno-optimize-sibling-calls", "-o", "deep", "deep.c"], check=True, cwd=tmp_path)
    done = run(seep, "run", "-o", "deep.seep", "./deep")
    assert done.returncode == 0
    assert "cut 1 (depth): the stack was deeper than 16384 frames, the most that can be kept" in done.stderr
    assert "--depth" not in done.stderr
    done = run(seep, "run", "--depth", "100", "-o", "deep.seep", "./deep")
    assert re.search("cut 1 [(]depth[)].* --depth", done.stderr), done.stderr


def test_recursion_deeper_than_can_be_kept(run, seep, libseep, tmp_path):
    """A stack grows from that of the level before it, cut or not: no stack is walked whole for each allocation. A cut stack has
    at least a quarter of the most frames. Further out, stacks are whole again."""
    (tmp_path / "deeper.c").write_text(program_source("run_deeper.c"))
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-fno-optimize-sibling-calls", "-o", "deeper", "deeper.c"], check=True, cwd=tmp_path)
    done = run(seep, "run", "--scan", "no", "--json", "--report", "deeper.json", "-o", "deeper.seep", "-T", "0", "./deeper")
    assert done.returncode == 0, done
    report = json.loads((tmp_path / "deeper.json").read_text())
    assert report["health"]["lost"] == {}
    assert report["totals"]["allocations"] == 2 * 376
    depths = []
    for _, outer in report["stacks"]:
        depths.append(1 + (depths[outer] if outer >= 0 else 0))

    def innermost(site):
        return report["frames"][report["stacks"][site["stack"]][0]]["function"]

    for function in ("way_in", "way_out"):
        sites = [site for site in report["sites"] if innermost(site) == function]
        cut = {depths[site["stack"]] for site in sites if site["cut"] == "depth"}
        assert min(cut) > 4096 and max(cut) <= 16384 and len(cut) > 50, (function, min(cut), max(cut), len(cut))
        assert sum(site["allocations"] for site in sites if not site["cut"]) >= (250 if function == "way_in" else 60)
    assert report["health"]["cut"] == {"depth": sum(site["cut"] == "depth" for site in report["sites"])}


def test_report_of_a_recursion_with_lines_takes_what_one_without_does(run, seep, libseep, tmp_path):
    """752 sites have up to 16,384 frames, nearly all the same one. When each frame with a line was judged by name for each site, the
    report took ten times as long."""
    (tmp_path / "deeper.c").write_text(program_source("run_deeper.c"))
    took = {}
    for debug in ("-g0", "-g"):
        build = ["gcc", "-O1", debug, "-fno-builtin", "-fno-optimize-sibling-calls", "-o", "deeper", "deeper.c"]
        subprocess.run(build, check=True, cwd=tmp_path)
        assert run(seep, "run", "-q", "--scan", "no", "-o", f"deeper{debug}.seep", "-T", "0", "./deeper").returncode == 0
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        assert run(seep, "report", f"deeper{debug}.seep").returncode == 0
        took[debug] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert took["-g"] < 4 * took["-g0"], took


# ---- the library ---------------------------------------------------------------------------------

def test_library_that_is_missing(run, seep):
    done = run(seep, "run", SH, "-c", "echo started", env={"SEEP_LIBRARY": "/no/such/libseep.so"})
    assert (done.returncode, done.stdout) == (1, "")
    one_line(done.stderr, "/no/such/libseep.so", "SEEP_LIBRARY")


def test_tool_alone_in_a_folder(run, seep, tmp_path):
    shutil.copy(seep, tmp_path / "seep")
    done = run(tmp_path / "seep", "run", "/bin/true")
    assert done.returncode == 1
    one_line(done.stderr, "libseep.so " + messages.NOT_BESIDE, "SEEP_LIBRARY")


def test_library_with_a_colon_in_its_path(run, seep, libseep, tmp_path):
    """ld.so splits LD_PRELOAD at this character, so LD_PRELOAD names a link. Programs may use the link after the run."""
    place = tmp_path / "a: b é'"
    place.mkdir()
    shutil.copy(libseep, place)
    shutil.copy(seep, place)
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir(mode=0o700)
    if os.geteuid() == 0:
        first = pathlib.Path("/run")

    def links(folder):
        return [link for link in folder.glob("seep-library-*") if link.is_symlink() and link.readlink() == place]

    try:
        for _ in range(2):
            done = run(place / "seep", "run", "--top", "1", "sh", "-c", "/bin/true; exit 3",
                       env={"XDG_RUNTIME_DIR": first, "TMPDIR": second}, cwd=tmp_path)
            assert done.returncode == 3 and "nothing lost" in done.stderr and "ld.so" not in done.stderr, done.stderr
            assert len(links(first)) == 1 and not links(second)
        # A link that is not ours, or leads elsewhere, is not used.
        name = links(first)[0]
        name.unlink()
        name.symlink_to(tmp_path)
        done = run(place / "seep", "run", "/bin/true", env={"XDG_RUNTIME_DIR": first, "TMPDIR": second}, cwd=tmp_path)
        assert done.returncode == 0 and "nothing lost" in done.stderr and len(links(second)) == 1, done.stderr
        name.unlink()
    finally:
        for link in links(first):
            link.unlink()


def test_installed_under_lib_seep(run, seep, libseep, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib" / "seep").mkdir(parents=True)
    shutil.copy(seep, tmp_path / "bin" / "seep")
    shutil.copy(libseep, tmp_path / "lib" / "seep" / "libseep.so")
    assert run(tmp_path / "bin" / "seep", "run", "-q", "-o", "x.seep", "/bin/true").returncode == 0
    done = run(tmp_path / "bin" / "seep", "run", "-q", "-o", "x.seep", SH, "-c", "echo $LD_PRELOAD")
    assert done.stdout == "%s\n" % (tmp_path / "lib" / "seep" / "libseep.so")


# ---- programs that cannot be traced: never an empty report without a reason -------------------------

def compile_c(tmp_path, name, *flags):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("gcc is not installed")
    source = tmp_path / (name + ".c")
    source.write_text(program_source("run_five.c"))
    done = subprocess.run([compiler, "-O0", "-o", str(tmp_path / name), str(source), *flags],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        pytest.skip("cannot link %s: %s" % (" ".join(flags), done.stdout.decode().splitlines()[-1]))
    return tmp_path / name


def notes_of(process):
    return " / ".join(process["health"]["notes"])


@pytest.mark.parametrize("flags", [["-static"], ["-static-pie", "-fPIE"]])
def test_static_program(traced, tmp_path, flags):
    done = traced(compile_c(tmp_path, "still", *flags))
    assert (done.returncode, done.stderr) == (5, "")
    process, = done.processes()
    assert process["health"]["events"] == 0
    assert process["process"]["exit"] == {"code": 5}
    assert process["process"]["exe"] == str(tmp_path / "still")
    assert messages.STATIC_BINARY % (tmp_path / "still") in notes_of(process)


def test_static_program_says_so_in_the_text(run, seep, libseep, tmp_path):
    done = run(seep, "run", compile_c(tmp_path, "still", "-static"))
    assert done.returncode == 5
    assert "static binary" in done.stderr


def test_set_user_id_program(traced, open_folder):
    if os.geteuid() != 0:
        pytest.skip("needs root to make a program of another user")
    if os.statvfs(open_folder).f_flag & os.ST_NOSUID:
        pytest.skip("%s is mounted nosuid" % open_folder)
    program = compile_c(open_folder, "raised")
    os.chown(program, 65534, 65534)
    os.chmod(program, 0o4755)
    done = traced(program)
    process, = done.processes()
    assert process["health"]["events"] == 0
    assert "is set-user-ID" in notes_of(process)


def test_program_that_went_on_untraced(traced, tmp_path):
    static = compile_c(tmp_path, "still", "-static")
    done = traced(SH, "-c", "exec " + str(static))
    assert done.returncode == 5
    process = done.processes()[0]
    assert process["process"]["exit"] == {"code": 5}
    assert messages.STATIC_BINARY % static in notes_of(process)


def test_script_is_traced_through_its_interpreter(traced, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nexit 4\n")
    script.chmod(0o755)
    done = traced(script)
    assert done.returncode == 4
    assert done.processes()[0]["health"]["events"] > 0


# ---- children ------------------------------------------------------------------------------------

def test_children_are_followed(traced):
    done = traced(SH, "-c", "/bin/ls / >/dev/null; /bin/ls / > /dev/null; exit 3")
    assert done.returncode == 3
    processes = done.processes()
    assert processes[0]["process"]["exe"].endswith("sh")
    assert len([p for p in processes if p["process"]["exe"].endswith("/ls")]) == 2


def test_children_are_ignored(traced):
    done = traced(SH, "-c", "/bin/ls / >/dev/null; exit 3", options=["--children", "ignore"])
    assert done.returncode == 3
    assert not [p for p in done.processes() if p["process"]["exe"].endswith("/ls")]


def test_exec_is_the_last_image(traced):
    done = traced(SH, "-c", "exec /bin/ls /")
    processes = done.processes()
    assert processes[0]["process"]["exe"].endswith("/ls")
    assert processes[0]["process"]["exit"] == {"code": 0}
    before, = [p for p in processes[1:] if p["process"]["went_on"]]
    assert processes[0]["process"]["origin"] == "exec" and not processes[0]["process"]["went_on"]
    assert before["process"]["pid"] == processes[0]["process"]["pid"]
    assert before["process"]["exit"] is None


def test_a_life_comes_before_the_one_that_it_went_on_as(traced):
    done = traced(SH, "-c", "sh -c 'exec sh -c \"exec /bin/ls /\"'; true")
    processes = done.processes()
    pid, = {p["process"]["pid"] for p in processes if p["process"]["exe"].endswith("/ls")}
    lives = [p["process"] for p in processes if p["process"]["pid"] == pid]
    assert [life["went_on"] for life in lives] in ([True, True, False], [True, True, True, False]), lives
    assert [life["start"] for life in lives] == sorted(life["start"] for life in lives), lives


def test_times_may_have_a_fraction(traced):
    assert traced("/bin/true", options=["--interval", "0.5s"]).returncode == 0


def test_many_children(traced):
    # More than the 64 images that are held at once: the ended ones are read while the program runs.
    script = "i=0; while [ $i -lt 80 ]; do /bin/ls / >/dev/null; i=$((i+1)); done"
    done = traced(SH, "-c", script)
    assert (done.returncode, done.stderr) == (0, "")
    processes = done.processes()
    assert len([p for p in processes if p["process"]["exe"].endswith("/ls")]) == 80
    assert all(p["process"]["exit"] == {"code": 0} for p in processes if p["process"]["exe"].endswith("/ls"))


def test_few_descriptors(run, seep, libseep, tmp_path):
    script = "i=0; while [ $i -lt 60 ]; do /bin/ls / >/dev/null; i=$((i+1)); done"
    done = run(SH, "-c", 'ulimit -n 40; exec "$@"', "sh", seep, "run", "-q", "-o", "x.seep", SH, "-c", script)
    assert (done.returncode, done.stderr) == (0, "")
    processes = processes_of(run, seep, tmp_path / "x.seep")
    assert len([p for p in processes if p["process"]["exe"].endswith("/ls")]) == 60


def limited_files(kib, seep, *rest):
    """A command under a hard limit of file size. bash counts in KiB, other shells may not."""
    return ["/bin/bash", "-c", 'ulimit -f %d; exec "$@"' % kib, "bash", seep, *rest]


def test_small_files_do_not_kill_the_tool(run, seep, libseep):
    done = run(*limited_files(0, seep, "run", "-q", "-o", "x.seep", SH, "-c", "exit 5"))
    assert done.returncode == 5
    one_line(done.stderr, "x.seep", os.strerror(errno.EFBIG))
    assert messages.FILES_AT_MOST % "0 KiB" in done.stderr and messages.MAKE_ROOM not in done.stderr, done
    done = run(*limited_files(10000, seep, "info"))
    assert done.returncode == 0, done.stderr
    assert "ulimit -f unlimited" in done.stdout


def test_a_small_limit_is_in_bytes_and_the_way_out_in_no_unit(run, seep, libseep):
    """dash counts 512 bytes where bash counts KiB: one of dash was "0 KiB", and N of the advice was half of it there."""
    done = run("prlimit", "--fsize=100:100", seep, "run", "-o", "x.seep", "--report", "-", SH, "-c", "exit 5")
    assert done.returncode == 5 and messages.FILES_AT_MOST % "100 bytes" in done.stdout, done
    one_line(done.stderr, "x.seep", os.strerror(errno.EFBIG))
    assert messages.FILES_AT_MOST % "100 bytes" in done.stderr, done
    done = run("prlimit", "--fsize=100:4096", seep, "run", "-q", "-o", "x.seep", SH, "-c", "exit 5")
    (advice,) = re.findall(r"\): (.*)\)\n$", done.stderr)
    for shell in "/bin/bash", SH:
        limits = run("prlimit", "--fsize=100:4096", shell, "-c", advice + "; prlimit --fsize --raw --noheadings -o SOFT").stdout
        assert limits == "4096\n", (shell, advice, limits)


def test_program_dies_of_its_own_file_limit(run, seep, libseep):
    script = "printf x >big; exit 3"
    for trap, status in (("", 128 + signal.SIGXFSZ), ("trap '' XFSZ; ", 3)):
        command = "ulimit -f 0; %s exec \"$@\"" % trap
        words = ["/bin/bash", "-c", command, "bash"]
        program = ["/bin/bash", "-c", script]
        plain = run(*words, *program)
        done = run(*words, seep, "run", "-q", "-o", "-", *program)
        assert plain.returncode == (status if status < 128 else 128 - status)
        assert done.returncode == status


def test_small_files_are_named_as_the_reason(run, seep, libseep):
    done = run(*limited_files(60000, seep, "run", "-o", "x.seep", SH, "-c", "exit 5"))
    assert done.returncode == 5
    assert "NOT TRACED" in done.stderr
    assert messages.FILES_AT_MOST % "60000 KiB" in done.stderr and "'ulimit -f unlimited'" in done.stderr
    done = run(*limited_files(88064, seep, "run", "-o", "x.seep", SH, "-c", "exit 5"))
    assert done.returncode == 5
    assert "health: complete" in done.stderr
    done = run("/bin/bash", "-c", 'ulimit -S -f 60000; exec "$@"', "bash", seep, "run", "-o", "x.seep", SH, "-c", "exit 5")
    assert "health: complete" in done.stderr


def test_no_args(run, seep, tmp_path):
    """Arguments may be passwords: with --no-args no file has them, of the program and of what it starts."""
    for options, has in ([], True), (["--no-args"], False):
        done = run(seep, "check", "-o", "x.seep", "--junit", "x.xml", "--sarif", "x.sarif", "--max-leaked", "1G", *options, "--",
                   SH, "-c", "/bin/echo sec''ret >/dev/null; :", "sesame-open")
        assert done.returncode == 0, done
        for name in "x.xml", "x.sarif":
            assert ("sesame-open" in (tmp_path / name).read_text()) == has, name
        report = run(seep, "report", "--json", "x.seep").stdout
        assert ("sesame-open" in report, "secret" in report) == (has, has)
        processes = json.loads(report)
        for process in processes.get("processes", [processes]):
            assert process["process"]["args"], process  # its name stays


def test_no_args_of_looks(run, seep, libseep, tmp_path):
    process = subprocess.Popen([SH, "-c", "echo ready; read line; :", "sesame-open"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env={"LD_PRELOAD": libseep, "SEEP_OUT": str(tmp_path / "alone")})
    assert process.stdout.readline() == b"ready\n"
    for words, rest in (["snap", "-o"], []), (["scan", "-o"], []), (["attach", "--output"], ["100ms", "1"]):
        for options, has in ([], True), (["--no-args"], False):
            done = run(seep, *words, "x.seep", *options, process.pid, *rest)
            if words[0] == "attach" and done.returncode == 1 and "BPF" in done.stderr:
                continue
            assert done.returncode == 0, done
            assert (tmp_path / "x.seep").stat().st_mode & 0o777 == 0o600
            report = run(seep, "report", "--json", "x.seep").stdout
            assert ("sesame-open" in report) == has and '"args":["' in report, words
    process.communicate()


def test_who_may_read_what_is_written(run, seep):
    """Traces are their user's; what CI servers read is for those that the umask lets in."""
    for mode in "live", "record":
        script = 'umask 027; rm -f x.*; %s run -q --mode %s -o x.seep /bin/true; %s check -o x.check --junit x.xml --sarif x.sarif ' \
                 '--report x.txt /bin/true; for i in x.*; do stat -c "%%n %%a" $i; done' % (seep, mode, seep)
        modes = dict(line.split() for line in run(SH, "-c", script).stdout.splitlines() if line.startswith("x."))
        assert modes == {"x.seep": "600", "x.check": "600", "x.xml": "640", "x.sarif": "640", "x.txt": "640"}


def test_child_that_is_still_running(run, seep, traced, tmp_path):
    code = "import time; open('pid', 'w').write('\\n'); time.sleep(%d)" % PATIENCE_S
    script = "%s -c \"%s\" >/dev/null 2>&1 & echo $!; while [ ! -s pid ]; do sleep 0.05; done" % (PYTHON, code)
    done = traced(SH, "-c", script, options=["--no-wait"])
    child = int(done.stdout)
    try:
        assert done.returncode == 0
        running, = [p for p in done.processes() if p["process"]["pid"] == child and report_json.codes(p) == ["still_running"]]
        assert running["process"]["exit"] is None
        later = run(seep, "report", "--json", child)
        assert later.returncode == 0, later.stderr
        os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)


# ---- signals -------------------------------------------------------------------------------------

WAITS = "trap 'exit 5' INT; trap 'exit 6' TERM; trap 'exit 7' HUP; trap 'exit 8' QUIT; echo $$ >pid; " \
        "while :; do sleep 0.05; done"


@pytest.mark.parametrize("name,status", [("INT", 5), ("QUIT", 8)])
def test_signals_of_the_terminal_are_the_programs(seep, libseep, tmp_path, run, name, status):
    with Background(seep, "run", "-q", "-o", "x.seep", SH, "-c", WAITS, cwd=tmp_path) as tool:
        wait_for(tmp_path / "pid")
        os.killpg(tool.process.pid, getattr(signal, "SIG" + name))
        assert tool.end()[:2] == (status, "")  # the shell may tell of the sleep that it lost
    assert processes_of(run, seep, tmp_path / "x.seep")[0]["process"]["exit"] == {"code": status}


def test_ctrl_c_that_the_program_does_not_catch(seep, libseep, tmp_path, run):
    script = "echo $$ >pid; exec sleep %d" % PATIENCE_S
    with Background(seep, "run", "-q", "-o", "x.seep", SH, "-c", script, cwd=tmp_path) as tool:
        wait_for(tmp_path / "pid")
        os.killpg(tool.process.pid, signal.SIGINT)
        assert tool.end() == (130, "", "")
    assert processes_of(run, seep, tmp_path / "x.seep")[0]["process"]["exit"] == {"signal": 2}


@pytest.mark.parametrize("name,status", [("TERM", 6), ("HUP", 7)])
def test_signals_to_the_tool_are_handed_on(seep, libseep, tmp_path, name, status):
    place = tmp_path / "t"
    place.mkdir()
    with Background(seep, "run", "-q", "-o", "x.seep", SH, "-c", WAITS, cwd=tmp_path,
                    env={"TMPDIR": str(place), "XDG_RUNTIME_DIR": ""}) as tool:
        wait_for(tmp_path / "pid")
        assert os.listdir(place)
        tool.process.send_signal(getattr(signal, "SIG" + name))
        assert tool.end() == (status, "", "")
    assert os.listdir(place) == []


def test_tool_is_killed(seep, libseep, tmp_path):
    script = "echo $$ >pid; while [ ! -e go ]; do sleep 0.05; done; /bin/ls / >/dev/null; echo end $? >end"
    with Background(seep, "run", "-q", "-o", "x.seep", SH, "-c", script, cwd=tmp_path) as tool:
        wait_for(tmp_path / "pid")
        tool.process.kill()
        tool.process.wait()
        (tmp_path / "go").touch()
        assert wait_for(tmp_path / "end") == "end 0\n"


def test_nothing_is_left_behind(run, seep, libseep, tmp_path):
    place = tmp_path / "t"
    place.mkdir()
    env = {"TMPDIR": place, "XDG_RUNTIME_DIR": None}
    for command in ["/bin/true"], [SH, "-c", "kill -9 $$"], ["/etc/passwd"], ["nothing"], [str(tmp_path)]:
        run(seep, "run", "-q", "-o", "/dev/null", *command, env=env)
        assert os.listdir(place) == []


def test_long_names_of_folders(run, seep, libseep, tmp_path):
    place = tmp_path / ("x" * 120)
    place.mkdir()
    done = run(seep, "run", "-q", "-o", "x.seep", "/bin/ls", "/", env={"TMPDIR": place, "XDG_RUNTIME_DIR": place})
    assert done.returncode == 0
    assert processes_of(run, seep, tmp_path / "x.seep")[0]["health"]["events"] > 0


# ---- hostile peers -------------------------------------------------------------------------------

JUNK = r"""
import array, os, socket, struct
def hello(data, fds=()):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.connect(os.environ['SEEP_SOCKET'])
    if data is not None:
        peer.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))] if fds else [])
    return peer
good = struct.pack('=QIIQ', 0x0a474d4950454553, 1, os.getpid() + 100000, 1 << 20)
memory = os.memfd_create('x')
hello(None).close()                       # says nothing
keep = hello(None)                        # says nothing, stays
hello(b'').close()
hello(b'short', [memory]).close()
hello(good).close()                       # no descriptor
hello(good, [os.open('/', os.O_RDONLY)]).close()
hello(good[:8] + struct.pack('=I', 9) + good[12:], [memory]).close()
hello(b'x' * 100, [memory, memory, memory]).close()
os.write(memory, b'not an image' * 1000)
if os.fork() == 0:
    hello(good, [memory]).close()         # a child with an image that is none
    os._exit(0)
os.wait()
"""


def test_junk_at_the_socket(traced):
    done = traced(PYTHON, "-c", JUNK)
    assert (done.returncode, done.stderr) == (0, "")
    process = done.processes()[0]
    assert {"messages_refused", "images_unreadable"} <= set(report_json.codes(process)), process["health"]
    assert "1 image " in notes_of(process)


# ---- seep snap -----------------------------------------------------------------------------------

SLEEPER = "import time, sys; keep = [bytes(1000) for i in range(1000)]; open('ready', 'w').write('\\n'); time.sleep(%d)" \
          % PATIENCE_S


@pytest.fixture
def sleeper(seep, libseep, tmp_path):
    """A traced process that sleeps: its pid."""
    script = "echo $$ >pid; exec %s -S -c \"%s\"" % (PYTHON, SLEEPER)
    with Background(seep, "run", "-q", "-o", "end.seep", SH, "-c", script, cwd=tmp_path) as tool:
        pid = int(wait_for(tmp_path / "pid"))
        wait_for(tmp_path / "ready")
        tool.pid = pid
        yield tool


def test_snap(run, seep, tmp_path, sleeper):
    done = run(seep, "snap", sleeper.pid)
    assert (done.returncode, done.stderr) == (0, "")
    name = done.stdout.strip()
    assert name.startswith("seep.python3") and name.endswith(".%d.snap.seep" % sleeper.pid)
    process, = processes_of(run, seep, tmp_path / name)
    before = (tmp_path / name).read_bytes()
    assert run(seep, "snap", sleeper.pid).stdout.strip() == name.replace(".snap.seep", ".snap.2.seep")
    assert run(seep, "snap", sleeper.pid).stdout.strip() == name.replace(".snap.seep", ".snap.3.seep")
    assert (tmp_path / name).read_bytes() == before
    assert process["process"]["pid"] == sleeper.pid
    assert process["process"]["exit"] is None
    assert process["totals"]["live_bytes"] > 1000 * 1000
    assert run(seep, "snap", sleeper.pid, "-o", "b.seep").stdout == "b.seep\n"
    os.kill(sleeper.pid, signal.SIGTERM)
    assert sleeper.end()[0] == 128 + signal.SIGTERM
    process = processes_of(run, seep, tmp_path / "end.seep")[0]
    assert process["process"]["exit"] == {"signal": int(signal.SIGTERM)}


def test_snap_on_standard_output(run, seep, tmp_path, sleeper):
    done = run(seep, "snap", sleeper.pid, "-o", "-", binary=True)
    assert done.returncode == 0
    (tmp_path / "x.seep").write_bytes(done.stdout)
    assert processes_of(run, seep, tmp_path / "x.seep")[0]["process"]["pid"] == sleeper.pid


def test_report_of_a_pid(run, seep, sleeper):
    process, = processes_of(run, seep, sleeper.pid)
    assert process["totals"]["live_bytes"] > 1000 * 1000


def test_snap_by_another_user(seep, sleeper, require, run, open_folder):
    if os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    copy = open_folder / "seep"
    shutil.copy(seep, copy)
    done = run(require("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups", copy, "snap", sleeper.pid,
               cwd=open_folder)
    assert done.returncode == 1
    one_line(done.stderr, "process %d cannot be looked at: Permission denied" % sleeper.pid, "another user")


def test_snap_of_what_is_not_traced(run, seep):
    done = run(seep, "snap", os.getpid())
    assert done.returncode == 1
    one_line(done.stderr, "process %d" % os.getpid(), messages.NOT_TRACED, "seep run")


@pytest.mark.parametrize("pid", ["999999999", "0", "99999999999999999999"])
def test_snap_of_no_process(run, seep, pid):
    done = run(seep, "snap", pid)
    assert done.returncode == 1
    one_line(done.stderr, "no process " + pid)


def test_snap_of_a_name(run, seep):
    done = run(seep, "snap", "firefox")
    assert done.returncode == 2
    one_line(done.stderr, "firefox")


def test_snap_of_a_process_that_has_ended(run, seep):
    child = subprocess.Popen(["/bin/true"])  # a zombie until it is waited for
    end = time.monotonic() + PATIENCE_S
    while "Z" not in open("/proc/%d/stat" % child.pid).read().split(")")[1] and time.monotonic() < end:
        time.sleep(0.01)
    done = run(seep, "snap", child.pid)
    child.wait()
    assert done.returncode == 1
    one_line(done.stderr, "has ended")


def test_snap_that_cannot_be_written(run, seep, sleeper):
    done = run(seep, "snap", sleeper.pid, "-o", "/no/such/folder/x")
    assert done.returncode == 1
    one_line(done.stderr, "/no/such/folder/x")


def test_small_stack(run, seep, require, tmp_path):
    """Reading debug info takes more stack than there is; the program keeps the limit that it was given."""
    require("gcc")
    (tmp_path / "small.c").write_text(program_source("run_small_stack.c"))
    subprocess.run(["gcc", "-g", "-w", "-fno-builtin", "small.c", "-o", "small"], check=True, cwd=tmp_path, timeout=PATIENCE_S)
    script = 'ulimit -s 128; "$0" run --report r.txt -o x.seep ./small; echo $?; "$0" report x.seep; ' \
             'exec "$0" run -q -o y.seep /bin/bash -c "ulimit -s"'
    done = run("/bin/bash", "-c", script, seep, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("5\n") and done.stdout.endswith("\n128\n"), done
    for text in (done.stdout, (tmp_path / "r.txt").read_text()):
        assert "6,400" in text and "main (small.c:2)" in text


def test_a_tool_that_starts_does_not_take_the_folder_of_another(seep, tmp_path):
    """One that has bound its socket and does not listen yet is no left-over."""
    slow, source = tmp_path / "slow_listen.so", tmp_path / "slow_listen.c"
    source.write_text(program_source("slow_listen.c"))
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(slow), str(source)], check=True, timeout=PATIENCE_S)
    environment = dict(os.environ, TMPDIR=str(tmp_path))
    command = [seep, "run", "-q", "-o", str(tmp_path / "one.seep"), "true"]
    first = subprocess.Popen(command, env=dict(environment, LD_PRELOAD=str(slow)), stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + PATIENCE_S
    while not list(tmp_path.glob("seep-*/socket")) and first.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    command[4] = str(tmp_path / "two.seep")
    subprocess.run(command, env=environment, check=True, timeout=PATIENCE_S)
    _, err = first.communicate(timeout=PATIENCE_S)
    assert first.returncode == 0, err
