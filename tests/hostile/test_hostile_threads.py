# SPDX-License-Identifier: BSD-2-Clause
"""Threads that stop late, one after the other: those that have stopped are not held for the sum of the waits."""
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
import messages  # noqa: E402
from harness import BUILD, LIBSEEP, SEEP, TIMEOUT, environment, run, states_of, status_of, wait_until  # noqa: E402
from test_top import terminal  # noqa: E402, F401 (fixture)
from test_wire import serve  # noqa: E402, F401 (fixture)


def test_the_wait_is_one_for_all_threads():
    """The last of them stops twelve seconds after the first, none much more than two after the one before it."""
    program = subprocess.Popen([BUILD / 'tests/hostile/hostile-threads'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT='/dev/null'))
    try:
        assert program.stdout.readline() == b'ready\n'
        done = run([SEEP, 'scan', program.pid])
        assert done.code != 0 and messages.DOES_NOT_STOP.encode() in done.err, done
        assert status_of(program.pid, 'TracerPid') == '0'  # let go
    finally:
        program.stdin.close()
        assert program.wait(TIMEOUT) == 0
        program.stdout.close()


def test_threads_that_do_not_wait_again_are_not_waited_for_each(tmp_path):
    """Before, each of 300 threads had 0.1 s, so the others were stopped for 30 s."""
    done = run([SEEP, 'run', '-q', '--scan', 'yes', '-o', tmp_path / 't.seep', '--', BUILD / 'tests/hostile/hostile-threads', '300'],
               env=environment(), timeout=25)
    assert done.code == 0, done


def test_a_thread_that_did_not_stop_is_let_go_when_it_ends(tmp_path):
    """The tool traces the thread until it stops. Without a release the process and the run would
    never end. The child of vfork outlives the process."""
    done = run([SEEP, 'run', '-q', '--scan', 'yes', '-o', tmp_path / 't.seep', '--',
                BUILD / 'tests/hostile/hostile-threads', 'leave', '6'], env=environment(), timeout=60)
    assert done.code == 0, done


@pytest.mark.parametrize('tool', ['serve', 'top'])
def test_a_live_tool_lets_it_go_while_it_lives(tool, serve, terminal, tmp_path):  # noqa: F811
    """Otherwise the thread would stay stopped until the next scan. It ends here, and leaves the process only after
    its tracer has reaped it."""
    program = subprocess.Popen([BUILD / 'tests/hostile/hostile-threads', 'stay'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT='/dev/null'))
    try:
        assert program.stdout.readline() == b'ready\n'
        if tool == 'serve':
            server = serve(program.pid)
            done = run([SEEP, 'connect', server.address, '-e', 'scan'])
            assert messages.DOES_NOT_STOP.encode() in done.out + done.err, done
        else:
            screen = terminal(program.pid)
            screen.shows('hostile-threads')
            screen.keys('S')
            screen.shows(messages.DOES_NOT_STOP)
        assert status_of(program.pid, 'Threads') == '2'  # the scan has given up before the thread's wait ended
        program.stdin.write(b'\n')
        program.stdin.flush()
        wait_until(lambda: status_of(program.pid, 'Threads') == '1', 'the end of the thread')
        assert tool == 'top' or server.process.poll() is None
    finally:
        program.stdin.close()
        assert program.wait(TIMEOUT) == 0
        program.stdout.close()


@pytest.mark.parametrize('tool', ['scan', 'serve'])
def test_a_program_that_never_gets_on_with_its_execution(tool, serve):  # noqa: F811
    """PTRACE_SEIZE waits for a thread in execve. That thread waits until another thread is reaped, and the tracer of
    the other thread does not reap it. Before, the tool waited for ever."""
    program = subprocess.Popen([BUILD / 'tests/hostile/hostile-threads', 'execute'], stdin=subprocess.PIPE,
                               env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT='/dev/null'))
    try:
        server = serve(program.pid) if tool == 'serve' else None
        wait_until(lambda: 'D' in states_of(program.pid), 'the thread that executes')
        done = run([SEEP, 'connect', server.address, '-e', 'scan'] if server else [SEEP, 'scan', program.pid], timeout=20)
        assert b'hangs in execve' in done.out + done.err, done
        assert server is None or server.process.poll() is None
    finally:
        program.stdin.close()
        assert program.wait(TIMEOUT) == 0
