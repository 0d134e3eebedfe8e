# SPDX-License-Identifier: BSD-2-Clause
"""The end of a recorded program whose threads are busy: its counts and its events agree."""
import signal
import subprocess

from harness import SEEP, children_of, environment, report, state_of, wait_until
from small_programs import built_program


def test_threads_that_wait_for_room_are_between_operations(tmp_path):
    """Each thread waits for the tool, which is stopped, when the program is killed: no operation is counted without its event."""
    program = built_program('recording_waits.c', tmp_path, '-fno-builtin', '-pthread')
    trace = tmp_path / 'waits.seep'
    tool = subprocess.Popen([SEEP, 'run', '-q', '--scan', 'no', '--mode', 'record', '-o', trace, program],
                            stdin=subprocess.PIPE, env=environment())
    wait_until(lambda: trace.exists() or tool.poll() is not None, 'the recording')
    tool.send_signal(signal.SIGSTOP)
    tool.stdin.write(b'g')
    tool.stdin.close()
    (pid,) = children_of(tool.pid)
    wait_until(lambda: state_of(pid) == 'Z', 'the end of the program')
    tool.send_signal(signal.SIGCONT)
    assert tool.wait(timeout=60) == 128 + signal.SIGKILL
    (made,), (counted,) = report(trace, '--at', '1000h'), report(trace)
    assert not counted['health']['lost'] and made['totals']['allocations'] > 16384
    for key in ('allocations', 'frees', 'live_blocks', 'live_bytes', 'by_function', 'by_release'):
        assert made['totals'][key] == counted['totals'][key], key
