# SPDX-License-Identifier: BSD-2-Clause
"""Threads that stop late, one after the other: those that have stopped are not held for the sum of the waits."""
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
from harness import BUILD, LIBSEEP, SEEP, TIMEOUT, environment, run  # noqa: E402


def test_the_wait_is_one_for_all_threads():
    """The last of them stops twelve seconds after the first, none much more than two after the one before it."""
    program = subprocess.Popen([BUILD / 'tests/hostile/hostile-threads'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT='/dev/null'))
    try:
        assert program.stdout.readline() == b'ready\n'
        done = run([SEEP, 'scan', program.pid])
        assert done.code != 0 and b'does not stop' in done.err, done
        status = Path(f'/proc/{program.pid}/status').read_text()
        assert 'TracerPid:\t0\n' in status  # let go
    finally:
        program.stdin.close()
        assert program.wait(TIMEOUT) == 0
        program.stdout.close()


def test_threads_that_do_not_wait_again_are_not_waited_for_each(tmp_path):
    """With 0.1 s for each of 300 threads, the others were stopped for 30 s."""
    done = run([SEEP, 'run', '-q', '--scan', 'yes', '-o', tmp_path / 't.seep', '--', BUILD / 'tests/hostile/hostile-threads', '300'],
               env=environment(), timeout=25)
    assert done.code == 0, done


def test_a_thread_that_did_not_stop_is_let_go_when_it_ends(tmp_path):
    """The tool traces the thread until then: the process would never end, nor would the run. Its child of vfork outlives it."""
    done = run([SEEP, 'run', '-q', '--scan', 'yes', '-o', tmp_path / 't.seep', '--',
                BUILD / 'tests/hostile/hostile-threads', 'vfork', '6'], env=environment(), timeout=60)
    assert done.code == 0, done
