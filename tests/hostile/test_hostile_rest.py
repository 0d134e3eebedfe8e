# SPDX-License-Identifier: BSD-2-Clause
"""The file that a library leaves when its recording tool is gone lies in a folder that others may write to: what they put
under its name is neither waited for, nor read, nor taken away."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
from harness import BUILD, SEEP, children_of, environment, run  # noqa: E402

TARGET = BUILD / 'tests/hostile/hostile-target'
OTHER = 12345


@pytest.mark.parametrize('what', ['pipe', 'link', 'another user', 'endless'])
def test_what_strangers_put_there(what, tmp_path):
    if what == 'another user' and os.geteuid() != 0:
        pytest.skip('files of other users are made by root')
    folder = tmp_path / 'shared'
    folder.mkdir()
    folder.chmod(0o1777)
    trace = folder / 'x.seep'
    tool = subprocess.Popen([SEEP, 'run', '-q', '--mode', 'record', '-o', trace, '--', TARGET], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    assert tool.stdout.readline() == b'ready\n'
    program = children_of(tool.pid)[0]
    rest = folder / f'x.seep.{program}'
    secret = tmp_path / 'secret'
    secret.write_bytes(b'SEEPRAW1' * 100)
    if what == 'pipe':
        os.mkfifo(rest)
    elif what == 'link':
        rest.symlink_to(secret)
    elif what == 'endless':
        rest.symlink_to('/dev/zero')
    else:
        rest.write_bytes(secret.read_bytes())
        os.chown(rest, OTHER, OTHER)
    out, err = tool.communicate(timeout=60)  # its input ends
    assert tool.returncode == 0 and err == b'', err
    assert os.path.lexists(rest)
    report = run([SEEP, 'report', trace])
    assert report.code == 0 and b'complete' in report.out, report


def test_what_strangers_put_beside_a_recording_without_its_end(tmp_path):
    """Nobody writes to the pipe: an open that waited for that would wait for ever."""
    trace = tmp_path / 'x.seep'
    done = run([SEEP, 'run', '-q', '--mode', 'record', '-o', trace, '--', TARGET], input=b'', env=environment())
    assert done.code == 0, done
    first = 32 + 32 + int.from_bytes(trace.read_bytes()[40:48], 'little')  # behind its first section, which names the process
    os.truncate(trace, first)
    os.mkfifo(tmp_path / 'x.seep.1')
    (tmp_path / 'x.seep.2').symlink_to('/dev/zero')
    report = run([SEEP, 'report', trace], timeout=30)
    assert report.code == 0 and b'has no end' in report.out, report
