# SPDX-License-Identifier: BSD-2-Clause
"""The socket between the library and the tool, when the other side lies: who connects says what it likes, and what listens
is no tool. Neither side is kept waiting, and neither takes more than its peer's word is worth."""
import contextlib
import os
import re
import resource
import select
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
import messages  # noqa: E402
from harness import BUILD, LIBSEEP, ROOT, SEEP, TIMEOUT, children_of, environment, run, wait_until, wait_until_idle  # noqa: E402

TARGET = BUILD / 'tests/hostile/hostile-target'
LAYOUT = (ROOT / 'src/common/image/layout.h').read_text()
IMAGE_MAGIC = int(re.search(r'SEEP_IMAGE_MAGIC\s+UINT64_C\((\w+)\)', LAYOUT).group(1), 16)
NOTICE_MAGIC, PARKED_MAGIC, SPAWNED = 0x0a434558454545, 0x4b52415050454553, 1


# ---- a tool that is told lies ----

class Tool:
    """seep run of a program that waits; its socket is that of the program's environment."""

    def __init__(self, folder, descriptors):
        self.trace = folder / 'x.seep'

        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        self.process = subprocess.Popen([SEEP, 'run', '-o', self.trace, '--', TARGET], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), preexec_fn=limit)
        assert self.process.stdout.readline() == b'ready\n'
        self.program = children_of(self.process.pid)[0]
        words = Path('/proc/%s/environ' % self.program).read_bytes().split(b'\0')
        self.environment = dict(word.decode().split('=', 1) for word in words if b'=' in word)
        wait_until(self.has_image, 'the image of the program')

    def has_image(self):
        maps = Path('/proc/%d/fd' % self.process.pid)
        return any('memfd:' in os.path.realpath(maps / name) for name in os.listdir(maps))

    def connect(self):
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        peer.connect(self.environment['SEEP_SOCKET'])
        return peer

    def descriptors(self):
        return len(os.listdir('/proc/%d/fd' % self.process.pid))

    def trace_another(self):
        """An honest program of the same run."""
        done = run([TARGET], env=self.environment, input=b'')
        assert done.code == 0, done

    def end(self):
        out, err = self.process.communicate(timeout=TIMEOUT)  # its input ends
        assert self.process.returncode == 0, err
        report = run([SEEP, 'report', self.trace])
        assert report.code == 0, report
        return report.out


@pytest.fixture
def tool(tmp_path):
    tools = []

    def start(descriptors=4096):
        tools.append(Tool(tmp_path, descriptors))
        return tools[-1]

    yield start
    for started in tools:
        started.process.kill()
        started.process.wait(TIMEOUT)


def hello(magic=IMAGE_MAGIC, version=1, size=1 << 20):
    return struct.pack('<QIIQ', magic, version, os.getpid(), size)


def notice(pid, flags=SPAWNED, path=b'/bin/true'):
    return struct.pack('<QIIIIII472s', NOTICE_MAGIC, 1, flags, os.getpid(), pid, 0, 0, path)


def say(tool, words, *files):
    with tool.connect() as peer:
        socket.send_fds(peer, [words], files)


def test_what_is_no_greeting_is_refused(tool, tmp_path):
    """Of any length, with any files: nothing stays of it, and who greets as it should is traced."""
    tool = tool()
    before = tool.descriptors()
    (tmp_path / 'file').write_bytes(bytes(1 << 20))
    os.mkfifo(tmp_path / 'pipe')
    pipe, null = os.open(tmp_path / 'pipe', os.O_RDWR), os.open('/dev/null', os.O_RDONLY)
    with open(tmp_path / 'file', 'rb') as file:
        sent = [(os.urandom(length), []) for length in list(range(1, 64)) + [503, 504, 505, 65536, 150000]]
        sent += [(hello(magic=1), [file.fileno()]), (hello(version=2), [file.fileno()]), (hello(), []),
                     (hello()[:-1], [file.fileno()]), (hello() + b'x', [file.fileno()]), (hello(), [pipe]), (hello(), [null]),
                     (hello(), [file.fileno()]),  # no memory file: reading one may take for ever (FUSE)
                     (hello(), [null] * 250), (notice(1, path=b'x' * 472), []), (notice(1), [null]),
                     (struct.pack('<QIIQ', PARKED_MAGIC, 7, 1, 0), []), (struct.pack('<QIIQ', PARKED_MAGIC, 1, 1, 0), [null])]
        for words, files in sent:
            say(tool, words, *files)
    os.close(pipe)
    os.close(null)
    wait_until(lambda: tool.descriptors() <= before, 'all of it is closed')
    tool.trace_another()
    report = tool.end()
    assert (messages.REFUSED % len(sent) + ';').encode() in report, report
    assert b'2 processes' in report and b'complete' in report, report


def test_who_says_nothing_keeps_no_one_out(tool):
    """More connections than the tool may have descriptors: they are dropped, and the next process is traced."""
    tool = tool(descriptors=100)
    with contextlib.ExitStack() as silent:
        for _ in range(150):
            silent.enter_context(tool.connect())
        wait_until(lambda: tool.descriptors() >= 99, 'no descriptor is left')
        tool.trace_another()
    report = tool.end()
    assert b'2 processes' in report, report
    assert b'more processes at once than the tool may have descriptors' in report, report


def test_the_last_descriptor_is_enough_for_an_image(tool):
    """Those who say nothing leave room for one more connection: the process that gets it is traced until it ends."""
    tool = tool(descriptors=100)
    wait_until_idle(tool.process.pid)  # while it reads, the descriptor that it keeps back is closed at times
    with contextlib.ExitStack() as silent:
        for _ in range(99 - tool.descriptors()):
            silent.enter_context(tool.connect())
        wait_until(lambda: tool.descriptors() == 99, 'one descriptor is left')
        wait_until_idle(tool.process.pid)
        assert tool.descriptors() == 99
        tool.trace_another()
    report = tool.end()
    assert b'2 of 2 processes scanned' in report, report


def test_a_process_that_was_there_before_is_not_waited_for(tool):
    """A notice names any process; the run ends when its own have."""
    tool = tool()
    for pid in (1, os.getpid(), tool.process.pid):
        say(tool, notice(pid))
    before = tool.descriptors()
    wait_until(lambda: tool.descriptors() <= before, 'all of it was read')
    assert b'not traced' not in tool.end()


def test_an_image_of_nothing_costs_nothing(tool):
    """A memory file of a petabyte, all of it a hole, and one that is cut while it is looked at."""
    tool = tool()
    child = os.fork()
    if child == 0:
        for size in (1 << 50, 1 << 20):
            memory = os.memfd_create('seep-image')
            os.ftruncate(memory, size)
            say(tool, hello(size=size), memory)
            os.ftruncate(memory, 0)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    report = tool.end()
    assert b'2 images could not be read' in report, report


# ---- a tool that lies ----

def answer(kind, listening, stop):
    """Until it is told to stop: what a tool would do with who connects, if it meant harm."""
    peers = []
    while not stop.is_set():
        readable = select.select([listening], [], [], 0.05)[0]
        if readable and kind != 'deaf':
            peers.append(listening.accept()[0])
            peers[-1].setblocking(False)
        for peer in peers if kind in ('talks', 'closes') else ():
            try:
                peer.send(os.urandom(4096))
                if kind == 'closes':
                    peer.close()
            except OSError:
                pass
        if kind == 'closes':
            peers = []
    for peer in peers:
        peer.close()


@pytest.mark.parametrize('kind', ['deaf', 'mute', 'talks', 'closes', 'no socket', 'a stream'])
def test_the_program_does_its_work_whatever_listens(kind, tmp_path):
    """It waits for one look when it leaves, ten seconds at most, and for nothing else."""
    path, silent = str(tmp_path / 'socket'), str(tmp_path / 'silent')
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM if kind == 'a stream' else socket.SOCK_SEQPACKET)
    other = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    stop = threading.Event()
    threads = [threading.Thread(target=answer, args=('mute', other, stop))]
    if kind == 'no socket':
        os.mkfifo(path)
    else:
        listening.bind(path)
        listening.listen(0)
        threads.append(threading.Thread(target=answer, args=(kind, listening, stop)))
    other.bind(silent)
    other.listen(8)  # else it may be full still when the process leaves, which then does not wait
    for thread in threads:
        thread.start()

    def variables(where):
        return environment(LD_PRELOAD=LIBSEEP, SEEP_SOCKET=where, SEEP_SCAN='yes')

    # A tool that takes the message and is silent is waited for.
    begun = time.monotonic()
    waiting = subprocess.Popen([TARGET], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=variables(silent))
    try:
        assert waiting.stdout.readline() == b'ready\n'
        done = run([TARGET], input=b'', env=variables(path), timeout=60)
        assert done.code == 0 and done.out == b'ready\n' and done.err == b'', done
        # On a busy machine its ten seconds may be over by now.
        assert kind == 'mute' or waiting.poll() is None or time.monotonic() - begun > 10, 'it was waited for'  # seldom: a busy machine
    finally:
        waiting.kill()
        waiting.communicate()
        stop.set()
        for thread in threads:
            thread.join()
        listening.close()
        other.close()


@pytest.mark.skipif(os.geteuid() != 0, reason='folders of other users are made by root')
@pytest.mark.parametrize('owner, mode, used', [(12345, 0o755, False), (12345, 0o1777, False), (0, 0o777, False), (0, 0o1777, True)])
def test_a_place_where_the_folder_could_be_exchanged(owner, mode, used, tmp_path):
    """A user who owns the folder, or may rename in it, could listen in place of the tool, and would get the images."""
    with tempfile.TemporaryDirectory(dir='/tmp') as place:  # short: a socket's path has 108 bytes
        os.chown(place, owner, owner)
        os.chmod(place, mode)
        done = run([SEEP, 'run', '-q', '-o', tmp_path / 'x.seep', '--', 'sh', '-c', 'echo $SEEP_SOCKET'], env=environment(TMPDIR=place))
    assert done.code == 0 and done.out.startswith(b'/') and done.out.startswith(os.fsencode(place)) == used, done
