# SPDX-License-Identifier: BSD-2-Clause
"""seep attach on processes that have mapped files which cost their reader as much as they can (hostile_files.c)."""
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
import messages  # noqa: E402
from harness import BUILD, SEEP, TIMEOUT, environment, need_bpf, run  # noqa: E402

FILES = BUILD / 'tests/hostile/hostile-files'
TARGET = BUILD / 'tests/hostile/hostile-target'
OTHER = 12345


@pytest.fixture(scope='module', autouse=True)
def can():
    need_bpf()


@pytest.fixture
def target(tmp_path):
    """target(KIND..., mode): a process that has mapped such files, and allocates. What everybody may write to a worker reads."""
    started = []

    def start(*kinds, mode=0o644):
        paths = [tmp_path / kind for kind in kinds]
        for kind, path in zip(kinds, paths):
            assert run([FILES, kind, path]).code == 0
            path.chmod(mode)
        process = subprocess.Popen([TARGET, *paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
        started.append(process)
        assert process.stdout.readline() == b'ready\n'
        return process

    yield start
    for process in started:
        process.stdin.close()
        assert process.wait(TIMEOUT) == 0
        process.stdout.close()


def steps_of(kind):
    """What is said of a file that takes more work than one may."""
    return b'was read only in part' if kind == 'rows' else b''


# Without bounds each but the last takes minutes: entries times parents, rows times lengths, rows without end, symbols times
# the length of their names, and probes times the size of their functions.
@pytest.mark.parametrize('kind, mode', [('parents', 0o644), ('padding', 0o644), ('rows', 0o644), ('rows', 0o646),
                                        ('endless', 0o644), ('mallocs', 0o646), ('sparse', 0o646)])
def test_costs_little(target, kind, mode):
    process = target(kind, mode=mode)
    done = run([SEEP, 'attach', process.pid, '100ms', '3', '-o', '0'], timeout=TIMEOUT)
    assert done.code == 0, done
    assert b'[hostile-target]' in done.out and b'complete' in done.out, done  # the target itself is traced as ever
    assert steps_of(kind) in done.out, done


@pytest.mark.skipif(os.geteuid() != 0, reason='files of another user are made by root')
def test_one_user_takes_no_more_than_its_part(tmp_path):
    """Files without end: of one owner so many are looked at, the others are counted, and what is ours is traced as ever."""
    folder = tmp_path / 'many'
    folder.mkdir()
    paths = [folder / str(number) for number in range(2100)]
    for path in paths:
        path.write_bytes(b'x')
        os.chown(path, OTHER, OTHER)
    process = subprocess.Popen([TARGET, *paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
    assert process.stdout.readline() == b'ready\n'
    done = run([SEEP, 'attach', process.pid, '100ms', '2', '-o', '0'], timeout=TIMEOUT)
    process.stdin.close()
    assert process.wait(TIMEOUT) == 0
    process.stdout.close()
    assert done.code == 0 and b' times a file was not looked at' in done.out, done
    assert b'[hostile-target]' in done.out and b'complete' in done.out, done
    assert len(done.out.splitlines()) < 100, done


def test_a_refused_file_is_told(target):
    """Of a file in which no probe can stand the others do not suffer."""
    process = target('mallocs')
    done = run([SEEP, 'attach', process.pid, '100ms', '2'])
    assert done.code == 0 and messages.NO_PROBES_ON.encode() in done.out, done


@pytest.mark.parametrize('number, mode', [(signal.SIGINT, 0o644), (signal.SIGTERM, 0o644), (signal.SIGINT, 0o646)])
def test_hears_a_signal_while_it_reads(target, number, mode):
    """The bound on one file is seconds away when the signal comes: nothing was traced, or a last report is made."""
    process = target('rows', mode=mode)
    seep = subprocess.Popen([SEEP, 'attach', str(process.pid), '1000s'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=environment())
    # It reads the file when it has it open.
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline and seep.poll() is None:
        opened = subprocess.run(['ls', '-l', '/proc/%d/fd' % seep.pid], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if b'/rows' in opened.stdout:
            break
    seep.send_signal(number)
    out, err = seep.communicate(timeout=TIMEOUT)
    assert (b'nothing was traced' in err) != (b'health:' in out), (out, err)
    assert seep.returncode in (0, 1)
