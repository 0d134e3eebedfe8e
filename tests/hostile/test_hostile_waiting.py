# SPDX-License-Identifier: BSD-2-Clause
"""What would keep a reader waiting for as long as somebody likes: memory and files whose contents do not come."""
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
from harness import BUILD, SEEP, TIMEOUT, children_of, environment, library, need_bpf, run, wait_until  # noqa: E402

TARGET = BUILD / 'tests/hostile/hostile-target'
FUSE = BUILD / 'tests/hostile/hostile-fuse'
EXEC = BUILD / 'tests/hostile/hostile-exec'
MEMORY = BUILD / 'tests/hostile/hostile-memory'
SWAP = BUILD / 'tests/hostile/hostile-swap'


def start(*command):
    """Skips where what it does is not possible here."""
    process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment())
    if process.stdout.readline() != b'ready\n':
        said = process.communicate(timeout=TIMEOUT)[1]
        (pytest.skip if process.returncode == 77 else pytest.fail)(said.decode().strip())
    return process


def end(process):
    process.stdin.close()
    process.stdout.close()
    process.stderr.close()
    return process.wait(TIMEOUT)


@pytest.mark.parametrize('options', [[], ['--cow']])
def test_memory_that_does_not_come_is_not_waited_for(options, tmp_path):
    """Only pages that are there are read, so no fault is made in the target's memory."""
    end(start(MEMORY))  # whether it can be
    traced = start(SEEP, 'run', '-q', '-o', tmp_path / 'x.seep', '--', MEMORY)
    child = children_of(traced.pid)[0]
    done = run([SEEP, 'scan', *options, child])
    assert end(traced) == 0
    assert done.code == 0 and b'lost                       0' in done.out, done


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root: to mount')
def test_a_file_that_does_not_come_is_named(tmp_path):
    """A file system of a user's program that stops answering: who reads the file waits for it, and is left to it."""
    folder = tmp_path / 'mounted'
    folder.mkdir()
    files = start(FUSE, folder, TARGET, 0)
    try:
        process = start(TARGET, folder / 'x')
        done = run([SEEP, 'attach', process.pid, '100ms', '2', '-o', '0'])
        if b'BPF' in done.err:
            pytest.skip(done.err.decode())
        assert done.code == 0 and b'[hostile-target]' in done.out, done
        assert b'/x was not read (reading it took too long)' in done.out, done
        end(process)
    finally:
        end(files)


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root: to mount')
@pytest.mark.parametrize('what', ['vdso', 'library'])
def test_code_that_is_exchanged_for_a_file_that_does_not_come_is_not_waited_for(what, tmp_path):
    """The process maps another file in place of its code when the tool has read that the code is there."""
    need_bpf()
    folder = tmp_path / 'mounted'
    folder.mkdir()
    copy = shutil.copy(library('libc.so.6'), tmp_path)
    second = shutil.copy(TARGET, tmp_path)
    files = start(FUSE, folder, copy, 0)
    process = start(SWAP, what, folder / 'x', copy, second)
    seep = subprocess.Popen([SEEP, 'attach', str(process.pid), '100ms', '2', '-o', '0'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=environment())
    try:
        assert process.stdout.readline() == b'swapped\n'
        out, err = seep.communicate(timeout=60)
        assert seep.returncode == 0 and b'health: ' in out, (out, err)
    finally:
        seep.kill()
        end(files)  # who waits for it goes on
        process.kill()
        end(process)
        seep.communicate(timeout=TIMEOUT)


@pytest.fixture
def silent(tmp_path):
    """A traced process and one that is not, which have mapped a file of a file system that answers nothing any more, not even a
    look-up; with the folder of the trace."""
    folder = tmp_path / 'mounted'
    folder.mkdir()
    files = start(FUSE, folder, TARGET, 1000)
    traced = start(SEEP, 'run', '-q', '-o', tmp_path / 'x.seep', '--', TARGET, folder / 'x')
    bare = start(TARGET, folder / 'x')
    files.send_signal(signal.SIGUSR1)
    yield traced, bare, files.stdout
    for process in (traced, bare):
        process.kill()
    end(files)  # who waits for it goes on
    for process in (traced, bare):
        process.wait(TIMEOUT)
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root: to mount')
def test_a_file_system_that_answers_nothing_is_not_waited_for(silent):
    traced, bare, _ = silent
    child = children_of(traced.pid)[0]
    for command in (['scan', child], ['report', child], ['attach', bare.pid, '100ms', '2', '-o', '0']):
        done = run([SEEP, *command])
        if b'BPF' in done.err:
            continue
        assert done.code == 0 and b'hostile_target.c:' in done.out, done
        assert command[0] != 'attach' or b'/x was not read' in done.out, done


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root: to mount')
def test_a_folder_that_answers_nothing_keeps_no_run_from_its_start(tmp_path):
    """It has the name of one that an ended run has left in the folder for temporary files."""
    folder = tmp_path / 'seep-abcdef'
    folder.mkdir()
    files = start(FUSE, folder, TARGET, 1000)
    files.send_signal(signal.SIGUSR1)
    seep = subprocess.Popen([SEEP, 'run', '-q', '-o', '/dev/null', '--', '/bin/echo', 'done'], stdout=subprocess.PIPE,
                            env=environment(TMPDIR=tmp_path))
    try:
        assert seep.communicate(timeout=30)[0] == b'done\n' and seep.returncode == 0
    finally:
        end(files)  # who waits for it goes on
        seep.communicate(timeout=TIMEOUT)


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root: to mount')
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signals_are_heard_meanwhile(silent, number):
    need_bpf()
    _, bare, said = silent
    seep = subprocess.Popen([SEEP, 'attach', str(bare.pid), '1000s'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=environment())
    wait_until(lambda: seep.poll() is not None or select.select([said], [], [], 0)[0], 'it asks for the file')
    seep.send_signal(number)
    out, err = seep.communicate(timeout=TIMEOUT)
    # seep waited for the file. It says so until the probes are in place; afterwards it makes a report.
    assert (seep.returncode, err.count(b'\n'), b'health: ' in out) in ((1, 1, False), (0, 0, True)), (seep.returncode, out, err)


def waits_for_a_file(pid):
    try:
        return ' fuse_' in Path(f'/proc/{pid}/stack').read_text()
    except OSError:  # it has ended
        return False


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root: to mount')
def test_an_environment_that_does_not_come_is_not_waited_for(tmp_path):
    """A program waits to be executed with an environment in a file that does not come: the tool still hears a signal."""
    need_bpf()
    folder = tmp_path / 'mounted'
    folder.mkdir()
    program = shutil.copy('/bin/true', tmp_path)
    files = start(FUSE, folder, TARGET, 0)
    seep = subprocess.Popen([SEEP, 'attach', '--output', tmp_path / 't.seep', '--', EXEC, folder / 'x', program], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    try:
        assert b'ready\n' in iter(seep.stdout.readline, b'')
        seep.stdin.write(b'\n')
        seep.stdin.flush()
        wait_until(lambda: any(map(waits_for_a_file, [seep.pid, *children_of(seep.pid)])), 'somebody waits for the file')
        seep.send_signal(signal.SIGINT)
        assert seep.wait(30) == 0
    finally:
        seep.kill()
        end(files)  # who waits for it goes on
        end(seep)
