# SPDX-License-Identifier: BSD-2-Clause
"""Who comes too late, or while another seep reads the process, and who asks of one that has ended."""
import os
import signal
import subprocess
import time

import pytest

from harness import SEEP, children_of, environment, need, report, run, state_of, status_of, wait_until
from small_programs import program_source

SOURCE = program_source('late_looks.c')


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    need('gcc')
    folder = tmp_path_factory.mktemp('late')
    (folder / 'late.c').write_text(SOURCE)
    subprocess.run(['gcc', '-O0', '-w', 'late.c', '-o', 'late'], cwd=folder, check=True)
    return folder / 'late'


def start(tmp_path, program, *arguments):
    process = subprocess.Popen([SEEP, 'run', '-o', tmp_path / 'x.seep', '--report', tmp_path / 'report', program, *arguments],
                               env=environment(), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    assert process.stdout.readline() == b'there\n'
    return process, children_of(process.pid)[0]


def end(process):
    process.stdout.close()
    return process.wait(60)


def test_a_tool_that_was_stopped_came_too_late(program, tmp_path):
    process, pid = start(tmp_path, program, '700')
    os.kill(process.pid, signal.SIGSTOP)
    try:
        wait_until(lambda: state_of(pid) == 'Z', 'end of the program')
    finally:
        os.kill(process.pid, signal.SIGCONT)
    assert end(process) == 0
    process, = report(tmp_path / 'x.seep')
    note, = process['health']['notes']
    assert (note.code, process['leaks']) == ('scan_failed', None) and 'seep was stopped or came too late' in note, note
    assert 'no the process' not in note


def test_scans_at_once_wait_for_one_another(program, tmp_path):
    process, pid = start(tmp_path, program, '6000')
    several = [subprocess.Popen([SEEP, 'scan', *(['--cow'] if i == 3 else []), str(pid)], env=environment(),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE) for i in range(6)]
    for scan in several:
        out, err = scan.communicate(timeout=60)
        assert scan.returncode == 0 and b'paused' in out, err
    os.kill(pid, signal.SIGKILL)
    end(process)


def test_another_seep_is_named_as_what_it_is(program, tmp_path):
    process, pid = start(tmp_path, program, '30000')
    try:
        # One that holds the process for long: stopped in the middle of a scan.
        for _ in range(50):
            other = subprocess.Popen([SEEP, 'scan', str(pid)], env=environment(), stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE)
            while other.poll() is None and int(status_of(pid, 'TracerPid')) != other.pid:
                pass
            other.send_signal(signal.SIGSTOP)  # none where it has ended already
            wait_until(lambda: state_of(other.pid) in 'TZ', 'it has stopped, or ended')
            if int(status_of(pid, 'TracerPid')) == other.pid:
                break
            other.send_signal(signal.SIGCONT)
            other.communicate(timeout=60)
        assert int(status_of(pid, 'TracerPid')) == other.pid
        begin = time.monotonic()
        done = run([SEEP, 'scan', str(pid)])
        assert done.code == 1 and time.monotonic() - begin > 5
        assert f'process {pid} is being read by another seep (process {other.pid})'.encode() in done.err, done
        os.kill(other.pid, signal.SIGCONT)
        # It had stopped the process, or was still at it: then its time is over, and it says so.
        error = other.communicate(timeout=60)[1]
        assert error.count(b'\n') <= 1, error
        print(error)
    finally:
        os.kill(pid, signal.SIGKILL)
        end(process)


def test_a_process_that_has_ended_is_not_missing(program, tmp_path):
    process, pid = start(tmp_path, program, '5000', 'fork')
    try:
        def zombie():
            child = children_of(pid)
            return child and state_of(child[0]) == 'Z' and child[0]
        wait_until(zombie, 'end of the child')
        for command in ('scan', 'report', 'snap'):
            done = run([SEEP, command, zombie()])
            assert done.code == 1 and b'has ended, and its parent has not taken note of it yet' in done.err, done
    finally:
        os.kill(pid, signal.SIGKILL)
        end(process)


def test_a_signal_ends_what_leaves_before_it_asked(program, tmp_path):
    """After its exit(): a terminal that is closed does that to those who were reading it."""
    need('strace')
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 'x.seep', 'strace', '-o', tmp_path / 'calls', '-e', 'trace=connect',
                '-e', 'inject=connect:signal=KILL:when=2', program, '0'])
    assert done.code == 128 + signal.SIGKILL and done.out == b'there\n', done
    traced = report(tmp_path / 'x.seep')[-1]
    assert traced['totals']['allocations'] >= 50000
    note, = traced['health']['notes']
    assert (note.code, traced['leaks']) == ('scan_unreachable', None) and 'a signal ended it first' in note, note
