# SPDX-License-Identifier: BSD-2-Clause
"""seep scan --cow: the same classes from a copy of the process; the process goes on as it was, and of the copy
nothing is left, also when the tool is killed."""
import ctypes
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import harness
from harness import BUILD, LIBSEEP, SEEP, children_of, environment, need, status_of, wait_until_idle, waits_of
from small_programs import built_program, program_source

PATIENCE_S = 60
pytestmark = pytest.mark.skipif(os.uname().machine != 'x86_64', reason='--cow is for x86-64')


class Traced:
    def __init__(self, *args, cwd, preload=True, **env):
        more = {'LD_PRELOAD': LIBSEEP, 'SEEP_OUT': Path(cwd) / 'left.seep'} if preload else {}
        self.process = subprocess.Popen([str(a) for a in args], cwd=cwd, env=environment(**more, **env),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid

    def __enter__(self):
        assert self.process.stdout.readline() == b'ready\n'
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def scan(pid, *options, code=0):
    done = harness.run([SEEP, 'scan', '--json', pid, *options])
    assert done.code == code, done
    return json.loads(done.out) if code == 0 else done.err.decode()


def nr_held(report):
    """Python points behind the header of an object: some of its blocks are held by that alone."""
    return report['leaks']['reachable']['blocks'] + report['leaks']['possible']['blocks']


def kinds_of(report):
    return {b['address']: b['kind'] for site in report['sites'] for b in site['blocks']}


def test_the_same_classes(tmp_path):
    with Traced(BUILD / 'tests/live/live-crash', 'wait', cwd=tmp_path) as program:
        plain = scan(program.pid, '--blocks')
        for _ in range(5):
            copied = scan(program.pid, '--blocks', '--cow')
            assert kinds_of(copied) == kinds_of(plain)
            assert copied['leaks']['lost']['blocks'] == 5 and copied['leaks']['indirect']['blocks'] == 5
            assert copied['leaks']['pause_s'] > 0 and copied['process']['pid'] == program.pid
            assert not children_of(program.pid)
        assert status_of(program.pid, 'SigBlk') == '0' * 16 and status_of(program.pid, 'TracerPid') == '0'
        text = harness.run([SEEP, 'scan', program.pid, '--cow'])
        assert b'paused' in text.out


def test_the_call_that_the_thread_was_in_goes_on(tmp_path):
    """The copy is made by the first thread: in each of these calls."""
    source = tmp_path / 'waits.c'
    source.write_text(program_source('scan_cow_in_a_call.c'))
    output = tmp_path / 'waits'
    subprocess.run(['gcc', '-w', str(source), '-o', str(output)], check=True, timeout=PATIENCE_S)
    for way in range(6):
        with Traced(output, way, cwd=tmp_path) as program:
            busy = way == 5
            if not busy:
                wait_until_idle(program.pid)
            for _ in range(4):
                scan(program.pid, '--cow')
            os.set_blocking(program.process.stdout.fileno(), False)
            if not busy:
                wait_until_idle(program.pid)  # in its call again; otherwise it would have left it, and printed that
            assert program.process.stdout.read() in (None, b'') and program.process.poll() is None, way
            os.set_blocking(program.process.stdout.fileno(), True)
            if way == 1:  # to its end: no child was ever seen
                program.process.stdin.write(b'x')
                program.process.stdin.flush()
                assert program.process.stdout.read() == b'0\nend\n'
            elif way == 5:
                os.kill(program.pid, signal.SIGUSR1)
                assert program.process.stdout.readline() == b'signal\n'


def test_threads_at_work(tmp_path):
    need('/usr/bin/python3')
    text = '''
import sys, threading, time
def work():
    kept = {}
    for i in range(10**9):
        kept[i % 997] = [str(i)] * (i % 7)
        if i % 997 == 0:
            if sum(map(len, kept.values())) > 7000: print("wrong", flush=True)
            time.sleep(0.01)
threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
[t.start() for t in threads]
print("ready", flush=True)
sys.stdin.read()
'''
    with Traced('/usr/bin/python3', '-c', text, cwd=tmp_path, PYTHONMALLOC='malloc') as program:
        for _ in range(3):
            leaks = scan(program.pid, '--cow', '--top', '1')['leaks']
            assert leaks['lost']['blocks'] == 0 and leaks['reachable']['blocks'] > 3000
            assert not children_of(program.pid)
        os.set_blocking(program.process.stdout.fileno(), False)
        assert program.process.stdout.read() in (None, b'') and program.process.poll() is None


def test_killed_in_the_middle(tmp_path):
    """The copy dies with the tool, and the process goes on."""
    need('/usr/bin/python3')
    text = 'import time\nx = [[i] for i in range(100000)]\nprint("ready", flush=True)\n' \
           'while True:\n    x[0] = [1]\n    time.sleep(0.001)\n'
    with Traced('/usr/bin/python3', '-c', text, cwd=tmp_path, PYTHONMALLOC='malloc') as program:
        seen = 0
        for i in range(100):
            if i >= 6 and seen:  # a busy machine lets us look too late
                break
            tool = subprocess.Popen([str(SEEP), 'scan', '--cow', str(program.pid)], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
            until = time.monotonic() + PATIENCE_S
            was = False  # the copy was there when the tool still was
            while tool.poll() is None and not was and time.monotonic() < until:
                time.sleep(0.002 * (i % 6))
                was = bool(children_of(program.pid)) and tool.poll() is None
            tool.kill()
            tool.wait(PATIENCE_S)
            seen += was
            while children_of(program.pid) or status_of(program.pid, 'TracerPid') != '0' or \
                    status_of(program.pid, 'State') not in 'RS' or status_of(program.pid, 'SigBlk') != '0' * 16:
                assert time.monotonic() < until
        assert seen
        assert nr_held(scan(program.pid, '--cow')) > 100000


def test_the_process_is_killed_while_it_makes_the_copy(tmp_path):
    """It stayed a zombie: the kernel reports its first thread only after the tracer has waited for the others."""
    need('gcc')
    (tmp_path / 'k.c').write_text(program_source('scan_cow_killed.c'))
    subprocess.run(['gcc', '-O1', '-w', '-pthread', 'k.c', '-o', 'k'], cwd=tmp_path, check=True)
    seen = 0
    for _ in range(16):
        process = subprocess.Popen([tmp_path / 'k'], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'k.seep'))
        until = time.monotonic() + PATIENCE_S
        while len(os.listdir(f'/proc/{process.pid}/task')) < 4:
            assert time.monotonic() < until
        tool = subprocess.Popen([str(SEEP), 'scan', '--cow', str(process.pid)], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        while tool.poll() is None and not children_of(process.pid):
            assert time.monotonic() < until
        seen += tool.poll() is None
        process.kill()
        assert process.wait(PATIENCE_S) == -signal.SIGKILL
        tool.wait(PATIENCE_S)
    assert seen


# ptrace(2) requests, and wait(2) for children of any kind.
SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000


def hold_in_the_middle(pid):
    """A scan that has made its copy, stopped; None: it was over before."""
    tool = subprocess.Popen([str(SEEP), 'scan', '--cow', str(pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + PATIENCE_S
    while not (children_of(pid) and status_of(pid, 'TracerPid') == '0') and tool.poll() is None:
        assert time.monotonic() < until
    tool.send_signal(signal.SIGSTOP)
    if tool.poll() is None and children_of(pid) and status_of(pid, 'TracerPid') == '0':
        return tool
    tool.kill()
    tool.wait(PATIENCE_S)
    while children_of(pid):
        assert time.monotonic() < until
    return None


def test_killed_and_somebody_else_traces_the_process(tmp_path):
    """The copy goes as soon as the process can be had again."""
    need('/usr/bin/python3')
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    text = 'import sys\nx = [[i] for i in range(100000)]\nprint("ready", flush=True)\nsys.stdin.read()\n'
    with Traced('/usr/bin/python3', '-c', text, cwd=tmp_path, PYTHONMALLOC='malloc') as program:
        held = next(tool for tool in (hold_in_the_middle(program.pid) for _ in range(50)) if tool)
        try:
            assert ptrace(SEIZE, program.pid, None, None) == 0
            (copy,) = children_of(program.pid)
            # It leads a group of its own; the child that opens files for the tool does not.
            (helper,) = [child for child in children_of(held.pid) if os.getpgid(child) == child]
        finally:
            held.kill()
        held.wait(PATIENCE_S)
        until = time.monotonic() + PATIENCE_S
        while status_of(copy, 'State') not in (None, 'Z'):
            assert time.monotonic() < until
        tries = waits_of(helper)
        while waits_of(helper) < tries + 3:  # it finds the process taken, and tries again
            assert time.monotonic() < until
        assert status_of(copy, 'State') == 'Z'
        assert ptrace(INTERRUPT, program.pid, None, None) == 0
        os.waitpid(program.pid, WALL)
        assert ptrace(DETACH, program.pid, None, None) == 0
        while children_of(program.pid):
            assert time.monotonic() < until
        assert nr_held(scan(program.pid, '--cow')) > 100000


def test_what_cannot_be_copied_is_told(tmp_path):
    with Traced(BUILD / 'tests/live/live-crash', 'wait', cwd=tmp_path) as program:
        os.kill(program.pid, signal.SIGSTOP)
        until = time.monotonic() + PATIENCE_S
        while status_of(program.pid, 'State') != 'T':
            assert time.monotonic() < until
        assert 'without --cow' in scan(program.pid, '--cow', code=1)
        assert status_of(program.pid, 'State') == 'T'
        assert scan(program.pid)['leaks']['lost']['blocks'] == 5
    assert 'goes with a PID' in scan(__file__, '--cow', code=2)


def test_memory_that_the_kernel_has_pinned(tmp_path):
    """A scan leaves the pages of io_uring's read buffers in place. A block that only a request points to is in the ring."""
    program = built_program('scan_uring.c', tmp_path)
    if harness.run([program]).code == 77:
        pytest.skip('no io_uring here')
    with Traced(program, cwd=tmp_path) as traced:
        for options in ((), ('--cow',)) * 2:
            kinds = {site['size_max']: set(site['kinds']) for site in scan(traced.pid, *options)['sites']}
            assert (kinds[1 << 16], kinds[333]) == ({'reachable'}, {'reachable'}), kinds
            for _ in range(3):
                traced.process.stdin.write(b'read\n')
                traced.process.stdin.flush()
                assert traced.process.stdout.readline() == b'good\n'
