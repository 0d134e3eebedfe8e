# SPDX-License-Identifier: BSD-2-Clause
"""The tool, and then the process that it looks at, killed at any moment of run, attach, scan and scan --cow: nothing stays
stopped or traced, no process and no file is left over. SEEP_KILL_ROUNDS rounds of each (make hostile: 200). A kill counts when
the tool was at work: a test whose kills all came too late fails."""
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
from harness import BUILD, SEEP, TIMEOUT, environment, need_bpf, pids_with, status_of, wait_until  # noqa: E402

TARGET = BUILD / 'tests/hostile/hostile-target'
ROUNDS = int(os.environ.get('SEEP_KILL_ROUNDS') or 6)
PARTS = range(5 if ROUNDS >= 50 else 1)  # most of the time is waiting: the rounds are split, for side by side
LONGEST_S = 0.3  # of a run: its program goes on until it is told to end


def is_free(pid):
    """Neither stopped nor traced. A thread that ends meanwhile is neither."""
    return all(status_of(task, 'State') not in ('t', 'T') and status_of(task, 'TracerPid') in ('0', None)
               for task in os.listdir('/proc/%d/task' % pid))


def of_group(number):
    return pids_with(2, number)


class Target:
    def __init__(self, command, env):
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        assert self.process.stdout.readline() == b'ready\n'

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(TIMEOUT)


def wait_some(process, seconds):
    """Lets it run for a part of the time that it would take."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass


def look(how, pid, tmp_path, env):
    command = {'attach': ['attach', pid, '100ms', 1], 'scan': ['scan', pid], 'cow': ['scan', '--cow', pid]}[how]
    return subprocess.Popen([str(SEEP), *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            stdin=subprocess.DEVNULL, env=env, cwd=tmp_path, start_new_session=True)


def at_work(process):
    """1 when it has not ended yet: then a kill comes in the middle."""
    return int(process.poll() is None)


def wait_until_held(process, pid):
    """True when the target is held; False when the tool has ended without that being seen."""
    while process.poll() is None:
        if not is_free(pid):
            return True
    return False


def whole_look_s(how, pid, tmp_path, env):
    """How long it takes here when nothing is killed: kills are spread over that."""
    begun = time.monotonic()
    assert look(how, pid, tmp_path, env).wait(TIMEOUT) == 0
    return time.monotonic() - begun


@pytest.fixture
def env(tmp_path):
    folder = tmp_path / 'tmp'
    folder.mkdir()
    return environment(TMPDIR=folder)


def rounds_of(part):
    return len(range(part, ROUNDS, len(PARTS)))


@pytest.mark.parametrize('part', PARTS)
@pytest.mark.parametrize('how', ['attach', 'scan', 'cow'])
@pytest.mark.parametrize('whom', ['target', 'tool'])
def test_killed_while_it_looks(how, part, whom, tmp_path, env):
    if how == 'attach':
        need_bpf()
    chance = random.Random(1 + part)
    rounds = rounds_of(part)
    preload = {} if how == 'attach' else {'LD_PRELOAD': BUILD / 'libseep.so'}
    preloaded = dict(env, SEEP_OUT=str(tmp_path / 'out.%p'), **{k: str(v) for k, v in preload.items()})
    target = Target([TARGET], preloaded)
    longest_s = whole_look_s(how, target.process.pid, tmp_path, env)
    landed = held = 0
    # On a busy machine we may not run while the target is held, for some milliseconds: then there are more rounds.
    for i in range(10 * rounds):
        if i >= rounds and landed and (held or how == 'attach'):
            break
        if not target:
            target = Target([TARGET], preloaded)
        pid = target.process.pid
        seep = look(how, pid, tmp_path, env)
        if how != 'attach' and i % 2:  # attach holds nothing
            held += wait_until_held(seep, pid)
        else:
            # Earlier ones are more, because most of an attach is the kernel's check of the BPF programs: nothing changes then.
            wait_some(seep, chance.random() ** (2 if how == 'attach' else 1) * longest_s)
        landed += at_work(seep)
        if whom == 'tool':
            seep.kill()
            seep.wait(TIMEOUT)
            wait_until(lambda: is_free(pid), 'the target is free again')
            assert target.process.poll() is None
        else:
            target.process.kill()
            target.process.wait(TIMEOUT)
            assert seep.wait(TIMEOUT) in (0, 1), how
            target.process.stdin.close()
            target.process.stdout.close()
            target = None
        wait_until(lambda: not of_group(seep.pid), 'nothing of the tool is left')
    if target:
        assert target.end() == 0  # and did its work all the time
    assert os.listdir(env['TMPDIR']) == []
    assert landed > 0, 'all kills came too late'
    assert held > 0 or how == 'attach', 'no kill came while the target was held'


# Earlier moments are more, as most of what a tool does is done at the start of a run.
@pytest.mark.parametrize('part', PARTS)
@pytest.mark.parametrize('whom', ['tool', 'target'])
def test_killed_while_it_runs(whom, part, tmp_path, env):
    chance = random.Random(2 + part)
    for _ in range(rounds_of(part)):
        target = Target([SEEP, 'run', '-q', '-o', tmp_path / 'x.seep', '--', TARGET], env)
        group = target.process.pid
        program, = [pid for pid in of_group(group) if os.path.realpath('/proc/%d/exe' % pid) == str(TARGET)]
        wait_some(target.process, chance.random() ** 2 * LONGEST_S)
        assert at_work(target.process)
        if whom == 'tool':
            target.process.kill()
            target.process.wait(TIMEOUT)
            assert is_free(program)  # it goes on, until its input ends
            target.process.stdin.close()
            target.process.stdout.close()
        else:
            os.kill(program, signal.SIGKILL)
            assert target.end() == 128 + signal.SIGKILL
        wait_until(lambda: not of_group(group), 'nothing is left')
