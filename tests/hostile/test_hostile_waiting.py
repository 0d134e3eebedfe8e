# SPDX-License-Identifier: BSD-2-Clause
"""What would keep a reader waiting for as long as somebody likes: memory and files whose contents do not come."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
from harness import BUILD, SEEP, TIMEOUT, environment, run  # noqa: E402

TARGET = BUILD / 'tests/hostile/hostile-target'
FUSE = BUILD / 'tests/hostile/hostile-fuse'
MEMORY = BUILD / 'tests/hostile/hostile-memory'


def start(*command):
    """Skips where what it does is not possible here."""
    process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment())
    if process.stdout.readline() != b'ready\n':
        said = process.communicate(timeout=TIMEOUT)[1]
        assert process.returncode == 77, said
        pytest.skip(said.decode().strip())
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
    child = Path('/proc/%d/task/%d/children' % (traced.pid, traced.pid)).read_text().split()[0]
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
