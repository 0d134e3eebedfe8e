# SPDX-License-Identifier: BSD-2-Clause
"""The program that is recorded, the tool, or both, killed at any moment. The program says in a mapped file how far it is; that is
compared with the recording. Half of SEEP_KILL_ROUNDS rounds of each (make hostile); a kill counts when program and tool were at
work."""
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import SEEP, TIMEOUT, environment, need, pids_with, run, wait_until  # noqa: E402
from small_programs import program_source  # noqa: E402

ROUNDS = max(int(os.environ.get('SEEP_KILL_ROUNDS') or 4) // 2, 2)
PARTS = range(5 if ROUNDS >= 50 else 1)  # for side by side
LONGEST_S = 0.3
LOST_MOST_MS = 100  # where both are killed, beside the time in which the tool had no processor: docs/recording.md
THREADS, EVERY, TIMES = 3, 64, 65536
SAID_BYTES = 16 + 8 * TIMES


class Said:
    """What the program has said of itself."""

    def __init__(self, path):
        self.data = path.read_bytes() if path.exists() else b''
        self.begun = len(self.data) == THREADS * SAID_BYTES and any(self.count(i)[0] for i in range(THREADS))

    def count(self, thread):
        return struct.unpack_from('<2Q', self.data, thread * SAID_BYTES)

    def time_ns(self, thread, allocation):
        return struct.unpack_from('<Q', self.data, thread * SAID_BYTES + 16 + 8 * (allocation // EVERY))[0]

    def latest_ns(self):
        return max(self.time_ns(i, self.count(i)[0] - 1) for i in range(THREADS) if self.count(i)[0])


def recorded(trace):
    """(allocations, frees) of each thread, by the size of its blocks."""
    question = "select size - 1000, sum(kind = 'allocation'), sum(kind = 'free') from event where size between 1000 and 1002 group by 1"
    done = run([SEEP, 'sql', '--csv', trace, question])
    assert done.code == 0, done
    rows = [list(map(int, line.split(b','))) for line in done.out.splitlines()[1:]]
    return dict.fromkeys(range(THREADS), (0, 0)) | {thread: (allocations, frees) for thread, allocations, frees in rows}


def health_of(trace):
    done = run([SEEP, 'report', '--json', '--top', '1', trace])
    assert done.code == 0, done
    whole = json.loads(done.out)
    return (whole.get('processes') or [whole])[0]['health']


def program_of(group, path):
    for pid in pids_with(2, group):
        try:
            if os.path.realpath(f'/proc/{pid}/exe') == str(path):
                return pid
        except OSError:
            pass
    return 0


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    need('gcc')
    folder = tmp_path_factory.mktemp('program')
    (folder / 'killed.c').write_text(program_source('recording_says.c'))
    done = run(['gcc', '-g', '-O1', '-fno-builtin', '-pthread', folder / 'killed.c', '-o', folder / 'killed'])
    assert done.code == 0, done
    return (folder / 'killed').resolve()


def waited_ns(pid):
    """How long its threads were runnable without a processor: proc(5), /proc/PID/schedstat."""
    try:
        return sum(int((task / 'schedstat').read_text().split()[1]) for task in Path(f'/proc/{pid}/task').iterdir())
    except OSError:
        return 0


def sleep_and_look(pid, seconds):
    """How long the tool had waited for a processor, by moment."""
    until = time.monotonic() + seconds
    looks = [(0, 0), (time.monotonic_ns(), waited_ns(pid))]
    while time.monotonic() < until:
        time.sleep(min(0.005, seconds))
        looks.append((time.monotonic_ns(), waited_ns(pid)))
    return looks


def stop_and_look(pid):
    """Stops its group first: the kernel counts a wait for a processor when it ends, and a thread that is to stop has to get one."""
    def has_stopped():
        return all(task.joinpath('stat').read_text().rpartition(') ')[2][0] in 'TtZX' for task in Path(f'/proc/{pid}/task').iterdir())
    at_ns = time.monotonic_ns()
    os.killpg(pid, signal.SIGSTOP)
    try:
        wait_until(has_stopped, 'the tool has stopped')
    except OSError:  # it has ended
        pass
    return at_ns, waited_ns(pid)


def lost_by_both(said, has, looks):
    """Milliseconds from the first event that is not in the trace to the last event of the program, less the time in which the tool
    waited for a processor. Each 64th event has its time, by the program's clock."""
    firsts = [said.time_ns(i, (has[i][0] // EVERY + 1) * EVERY) for i in range(THREADS)
              if (has[i][0] // EVERY + 1) * EVERY < said.count(i)[0]]
    firsts = list(filter(None, firsts))  # 0: the program had not written the time yet
    if not firsts:
        return 0
    before_ns, before = max(look for look in looks if look[0] <= min(firsts))
    waited = min(looks[-1][1] - before, looks[-1][0] - before_ns)
    return (said.latest_ns() - min(firsts) - waited) / 1e6


def one_round(program, folder, after_s, whom, early):
    """None where the kill came before or after the work; else milliseconds that are lost. `early`: it may come before."""
    said_path, trace = folder / 'said', folder / 'a.seep'
    tool = subprocess.Popen([SEEP, 'run', '-q', '--scan', 'no', '--mode', 'record', '-o', trace, '--', program, said_path],
                            stdin=subprocess.PIPE, env=environment(), start_new_session=True, cwd=folder)
    if not early:
        wait_until(lambda: Said(said_path).begun, 'the program has begun')
    looks = sleep_and_look(tool.pid, after_s)
    pid = program_of(tool.pid, program)
    at_work = tool.poll() is None and pid and Said(said_path).begun
    if whom == 'both':
        if at_work:  # a tool that waits for its program to be started does not stop where that is stopped first
            looks.append(stop_and_look(tool.pid))
        os.killpg(tool.pid, signal.SIGKILL)
    elif whom == 'tool':
        tool.kill()
    elif pid:
        os.kill(pid, signal.SIGKILL)
    else:
        tool.stdin.close()
    if whom == 'tool':
        tool.wait(TIMEOUT)
        time.sleep(after_s / 4)
    tool.stdin.close()
    code = tool.wait(TIMEOUT)
    assert code in {'both': (-9,), 'tool': (-9,), 'program': (137, 0)}[whom], code
    wait_until(lambda: not pids_with(2, tool.pid), 'nothing of it is left')
    if not at_work:
        return None
    said = Said(said_path)
    if whom == 'both' and not trace.exists():  # nothing of the program has come to the tool yet
        return (said.latest_ns() - min(said.time_ns(i, 0) or said.latest_ns() for i in range(THREADS))) / 1e6
    has, health = recorded(trace), health_of(trace)
    if whom == 'tool':  # it was not harmed: it came to its end
        assert all(said.count(i)[0] == said.count(i)[1] for i in range(THREADS))
    if whom != 'both':
        for i in range(THREADS):  # one may have been recorded and not yet said
            assert all(0 <= a - b <= (whom == 'program') for a, b in zip(has[i], said.count(i))), (i, has[i], said.count(i), health)
        assert not health['lost'].get('event'), health
        return 0
    assert not health['complete'] and health['notes'], health
    assert all(has[i][0] <= said.count(i)[0] + 1 for i in range(THREADS))
    lost_ms = lost_by_both(said, has, looks)
    assert lost_ms <= LOST_MOST_MS, (lost_ms, has, [said.count(i) for i in range(THREADS)], health)
    return lost_ms


def test_names_of_other_processes_are_any_bytes():
    """What is left of a run is looked for among all processes of the machine."""
    named = "open('/proc/self/comm', 'wb').write(b'\\x9b\\xff'); print(flush=True); input()"
    with subprocess.Popen([sys.executable, '-c', named], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          start_new_session=True) as process:
        process.stdout.readline()
        assert pids_with(2, process.pid) == [process.pid]
        process.stdin.close()


@pytest.mark.parametrize('part', PARTS)
@pytest.mark.parametrize('whom', ['program', 'tool', 'both'])
def test_killed_while_it_is_recorded(whom, part, program, tmp_path):
    chance = random.Random('%s %d' % (whom, part))
    lost = []
    for i in range(part, ROUNDS, len(PARTS)):
        folder = tmp_path / str(i)
        folder.mkdir()
        lost.append(one_round(program, folder, chance.random() * LONGEST_S, whom, early=i // len(PARTS) % 4 == 3))
        shutil.rmtree(folder)
    landed = sorted(ms for ms in lost if ms is not None)
    print('%d of %d kills came in the middle; lost at most %.0f ms, half of them %.0f ms' %
          (len(landed), len(lost), max(landed, default=0), landed[len(landed) // 2] if landed else 0))
    assert landed, 'no kill came in the middle'
