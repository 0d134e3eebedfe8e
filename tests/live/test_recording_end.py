# SPDX-License-Identifier: BSD-2-Clause
"""The end of a recorded program whose threads are busy: its counts and its events agree."""
import ctypes
import os
import signal
import subprocess

import pytest
from harness import SEEP, children_of, environment, is_asleep, report, state_of, wait_until, waits_of
from small_programs import built_program

SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000  # ptrace(2), wait(2)


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


@pytest.mark.parametrize('times', [100000, 150000])
def test_a_tool_without_a_processor_is_waited_for(times, tmp_path):
    """Its thread that records gets none for longer than a tool that is stopped is waited for: by a program that leaves, and by one whose
    ring is full. The library does not take over, so that no event of threads that go on is lost."""
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    program = built_program('recording_busy.c', tmp_path, '-fno-builtin', '-DWAITS', f'-DTIMES={times}')
    trace = tmp_path / 'late.seep'
    tool = subprocess.Popen([SEEP, 'run', '-q', '--scan', 'no', '--mode', 'record', '-o', trace, program, tmp_path / 'done'],
                            stdin=subprocess.PIPE, env=environment())

    def is_recorded():
        children = children_of(tool.pid)
        waits = [os.readlink(f'/proc/{pid}/exe') for pid in children] == [str(program)] and is_asleep(children[0])
        return waits and len(os.listdir(f'/proc/{tool.pid}/task')) > 1
    wait_until(is_recorded, 'the program waits, and the tool has a thread that records')
    threads = [int(tid) for tid in os.listdir(f'/proc/{tool.pid}/task') if int(tid) != tool.pid]
    assert threads
    for tid in threads:
        assert ptrace(SEIZE, tid, None, None) == 0 and ptrace(INTERRUPT, tid, None, None) == 0
        os.waitpid(tid, WALL)
    try:
        (pid,) = children_of(tool.pid)
        before = waits_of(pid)
        tool.stdin.write(b'g')
        tool.stdin.close()
        wait_until(lambda: state_of(pid) == 'Z' or waits_of(pid) > before + 200, 'the program is at its end, or waits for long')
        assert state_of(pid) == 'S' and not list(tmp_path.glob('late.seep.*'))
    finally:
        for tid in threads:
            ptrace(DETACH, tid, None, None)
    assert tool.wait(timeout=60) == 0
    (process,), (made,) = report(trace), report(trace, '--at', '1000h')
    assert process['health']['complete'] and process['totals']['allocations'] == made['totals']['allocations'] > times
