# SPDX-License-Identifier: BSD-2-Clause
"""The trace that `seep run` keeps while the program runs: others may write to the folder, and a pipe takes one trace."""
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
from harness import BUILD, SEEP, environment, run, wait_until  # noqa: E402

TARGET = BUILD / 'tests/hostile/hostile-target'
KEEPING = [SEEP, 'run', '-q', '--interval', '50ms']


@pytest.mark.parametrize('put', ['link', 'pipe', 'file'])
def test_what_is_put_in_its_place_stays(put, tmp_path):
    victim = tmp_path / 'victim'
    victim.write_text('precious')
    tool = subprocess.Popen([*KEEPING, '--', TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            cwd=tmp_path, env=environment())
    wait_until(lambda: list(tmp_path.glob('seep.*.seep')), 'a trace')
    (kept,) = tmp_path.glob('seep.*.seep')
    new = tmp_path / 'new'
    if put == 'link':
        new.symlink_to(victim)
    elif put == 'pipe':
        os.mkfifo(new)
    else:
        new.write_text('precious')
    new.rename(kept)
    _, err = tool.communicate(timeout=60)  # its input ends
    assert tool.returncode == 0 and err == b'', err
    assert victim.read_text() == 'precious'
    assert kept.is_symlink() if put == 'link' else kept.is_fifo() if put == 'pipe' else kept.read_text() == 'precious'
    (other,) = [path for path in tmp_path.glob('seep.*.seep') if path != kept]
    assert run([SEEP, 'report', other]).code == 0


def test_what_is_put_there_while_a_trace_is_written_stays(tmp_path):
    """The tool may not only look before it writes."""
    victim, new = tmp_path / 'victim', tmp_path / 'new'
    victim.write_text('precious')
    tool = subprocess.Popen([SEEP, 'run', '-q', '--interval', '10ms', '--', TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, cwd=tmp_path, env=environment())
    links = []

    def traces():
        return [path for path in tmp_path.glob('seep.*.seep') if not path.is_symlink()]

    for turn in range(6):  # the tool sleeps a hundred times as long as it wrote
        wait_until(traces, 'a trace')
        links.append(traces()[0])
        time.sleep(turn / 500)  # each time at another moment of the rest
        new.symlink_to(victim)
        new.rename(links[-1])
    _, err = tool.communicate(timeout=60)
    assert tool.returncode == 0 and err == b'', err
    assert victim.read_text() == 'precious' and all(path.is_symlink() for path in links), list(tmp_path.iterdir())


def test_a_pipe_gets_the_last_trace_only(tmp_path):
    pipe, got = tmp_path / 'pipe', []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    done = run([*KEEPING, '-o', pipe, '--', '/bin/sleep', '0.5'], timeout=60)
    reader.join(60)
    assert done.code == 0, done
    (tmp_path / 'x.seep').write_bytes(got[0])
    report = run([SEEP, 'report', tmp_path / 'x.seep'])
    assert report.code == 0 and b'exit 0' in report.out, report
