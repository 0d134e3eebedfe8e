# SPDX-License-Identifier: BSD-2-Clause
"""What the black-box tests share: where seep is, how to run a program, how to skip with a reason.

SEEP_BUILD names the build directory (default: build). With SEEP_TEST_SEED the tests run in an order
shuffled by that seed, the same in every worker.
"""
import collections
import contextlib
import fcntl
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("SEEP_BUILD") or os.path.join(ROOT, "build"))
DEFAULT_TIMEOUT_S = 120

sys.path.insert(0, os.path.join(ROOT, "tests"))
import debug_files  # noqa: E402
import time_limit  # noqa: E402

# Variables of a terminal, a shell's profile or a build service would reach every program of a test.
for name in ("COLUMNS", "LINES", "NO_COLOR", "PAGER", "LD_PRELOAD", "LD_LIBRARY_PATH", "GLIBC_TUNABLES", "DEBUGINFOD_URLS", "MAKEFLAGS", "MAKELEVEL",
             "MFLAGS", "CPATH", "LIBRARY_PATH", "GCC_COLORS", "CFLAGS", "CXXFLAGS", "LDFLAGS", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME",
             "PYTHONMALLOC", "PYTHONSTARTUP", "PYTHONHASHSEED"):
    os.environ.pop(name, None)
os.environ.update(LC_ALL="C.UTF-8", TZ="UTC", TERM="dumb", MALLOC_PERTURB_="0")
if len(os.environ.get("TMPDIR", "")) > 30:  # the path of a socket has at most 107 bytes: unix(7)
    os.environ["TMPDIR"] = tempfile.tempdir = "/tmp"
os.umask(0o022)
for descriptor in range(3):  # a closed one would be given to the next file that is opened
    try:
        os.fstat(descriptor)
    except OSError:
        os.open(os.devnull, os.O_RDWR)

# The output is the same, see debug_files.py and test_debug_files_need_not_be_compressed.
DEBUG_FOLDER = debug_files.debug_folder(BUILD)
if DEBUG_FOLDER:
    os.environ["SEEP_DEBUG_DIR"] = DEBUG_FOLDER


def _for_one_other(send, own):
    """`send`, which refuses what would end the tests: 0, -1, the first process, our own group and who started us."""
    def checked(pid, number):
        assert not number or (pid > 1 and pid not in (own(), os.getppid())), "signal %d for %d" % (number, pid)
        send(pid, number)
    return checked


# A pid that a test has read from a text may be wrong.
os.kill, os.killpg = _for_one_other(os.kill, os.getpid), _for_one_other(os.killpg, os.getpgrp)


# The files that take longest, the longest first, so that no worker is alone with one at the end. Their share of processor
# time differs, and a worker whose tests wait leaves it to the others.
LONG = ("cross/test_cross", "live/test_attach.py", "live/test_faults", "web/test_page.py", "corpus/test_corpus", "cli/test_suppressions",
        "live/test_kernel", "live/test_wire", "live/test_agent", "live/test_recording", "live/test_replay", "hostile/test_hostile_waiting",
        "live/test_top", "live/test_attach_sample", "live/test_confined", "cli/test_guides", "live/test_growth", "live/test_processes",
        "web/test_page_random", "random/test_random", "cli/test_coming_from", "live/test_attach_exec", "golden/test_trace", "live/test_loading",
        "hostile/test_hostile_threads", "cli/test_honest_words", "lint/test_lint", "cli/test_run", "live/test_programs", "cli/test_options",
        "live/test_advise", "live/test_attach_otel", "live/test_process_tree", "cross/test_i386", "live/test_scan_soak", "live/test_attach_oracle",
        "live/test_reachability", "live/test_answers", "lint/test_tests", "oracle/test_oracle", "web/test_firefox", "lint/test_instructions",
        "cli/test_ci_recipes", "cli/test_recordings", "cli/test_export", "cli/test_check", "live/test_builds")


# `perf record` starts us with a signal blocked, and every program of a test would have it blocked, too.
signal.pthread_sigmask(signal.SIG_SETMASK, ())
# In the background of a script, or after nohup, we ignore these; every program of a test would, too. What is caught here
# is as if ignored for us, and as ever for them.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, lambda *_: None)


def pytest_collection_modifyitems(items):
    seed = os.environ.get("SEEP_TEST_SEED")
    if seed:
        random.Random(int(seed)).shuffle(items)
    else:
        items.sort(key=lambda item: next((i for i, file in enumerate(LONG) if file in item.nodeid), len(LONG)))


def _processor_time():
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    item.processor_time = _processor_time()
    # For tools/run-tests.py, which tells where the workers were when they were killed.
    if "SEEP_TEST_RUNNING" in os.environ:
        with open(os.path.join(os.environ["SEEP_TEST_RUNNING"], os.environ.get("PYTEST_XDIST_WORKER", "the only one")), "w") as file:
            file.write(item.nodeid)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call():
    with time_limit.limit():
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item, call):
    """What a test took, with its programs, for tools/run-tests.py."""
    if call.when == "teardown":
        item.user_properties.append(("processor_time", "%.3f" % (_processor_time() - item.processor_time)))


def _need(path):
    if not os.path.exists(path):
        pytest.fail("%s is not built: run 'make build', or set SEEP_BUILD" % path, pytrace=False)
    return path


_folders = collections.Counter()


@pytest.fixture
def tmp_path(request, tmp_path_factory):
    """pytest's own fixture reads the names of all earlier folders for each new folder, and makes a link to it. This one does not."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    while True:
        folder = tmp_path_factory.getbasetemp() / ("%s%d" % (name, _folders[name]))
        _folders[name] += 1
        with contextlib.suppress(FileExistsError):  # made by tmp_path_factory
            folder.mkdir(mode=0o700)
            return folder


@pytest.fixture(scope="session")
def root():
    """The top of the source tree."""
    return ROOT


@pytest.fixture(scope="session")
def build():
    """The build directory."""
    return BUILD


@pytest.fixture(scope="session")
def seep():
    """Path of the tool."""
    return _need(os.path.join(BUILD, "seep"))


@pytest.fixture(scope="session")
def libseep():
    """Path of the library that is preloaded."""
    return _need(os.path.join(BUILD, "libseep.so"))


@pytest.fixture(scope="session")
def sanitized(seep):
    """Whether the tool is built with AddressSanitizer: slower by far, and what it prints is no different."""
    with open(seep, "rb") as file:
        return b":DEADLYSIGNAL" in file.read()  # of its runtime; its symbols' names are in any seep


@pytest.fixture(scope="session")
def program():
    """program(name): path of a test program that meson built from tests/programs."""
    return lambda name: _need(os.path.join(BUILD, "tests", "programs", name))


@contextlib.contextmanager
def _machine(how):
    with open(os.path.join(BUILD, ".machine.lock"), "w") as lock:
        fcntl.flock(lock, how)
        yield


@pytest.fixture
def whole_machine():
    """For a test that puts probes into every process: none of `undisturbed` runs at the same time."""
    with _machine(fcntl.LOCK_EX):
        yield


@pytest.fixture
def undisturbed():
    """For a test that uses Valgrind: it reads the breakpoints of probes as instructions, and the program dies."""
    with _machine(fcntl.LOCK_SH):
        yield


@pytest.fixture
def run(tmp_path):
    """run(*command, env={}, input=None, timeout=...): a CompletedProcess with text stdout and stderr.

    Runs in tmp_path, without a terminal, in a session of its own. One that takes longer than `timeout`
    seconds is killed with everything it started, and the test fails. `env` is added to a clean
    environment; a value of None takes a variable out.
    """

    def run_command(*command, env=None, input=None, timeout=DEFAULT_TIMEOUT_S, cwd=None, binary=False):
        environment = {name: value for name, value in os.environ.items()
                       if (not name.startswith("SEEP_") or name == "SEEP_DEBUG_DIR") and name not in ("LD_PRELOAD", "PYTHONPYCACHEPREFIX")}
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        environment["MALLOC_PERTURB_"] = "0"
        for name, value in (env or {}).items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = str(value)
        command = [str(word) for word in command]
        process = subprocess.Popen(command, env=environment, cwd=str(cwd or tmp_path), start_new_session=True,
                                   stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if isinstance(input, str):
            input = input.encode()
        try:
            out, err = process.communicate(input, timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            pytest.fail("took over %g s: %s\nstdout: %s\nstderr: %s"
                        % (timeout, " ".join(command), out[-2000:], err[-2000:]), pytrace=False)
        if not binary:
            out, err = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    return run_command


@pytest.fixture
def require():
    """require(name): path of a program, or the test is skipped and says why."""

    def require_program(name):
        # Wrapper scripts stand in for system programs on some machines: prefer the real ones.
        for folder in ("/usr/bin", "/usr/sbin", "/bin", "/sbin"):
            if os.access(os.path.join(folder, name), os.X_OK):
                return os.path.join(folder, name)
        path = shutil.which(name)
        if not path:
            pytest.skip("%s is not installed (tools/install-deps.sh traced)" % name)
        return path

    return require_program
