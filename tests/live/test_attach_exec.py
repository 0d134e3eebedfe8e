# SPDX-License-Identifier: BSD-2-Clause
"""seep attach -- PROG: a program that is executed waits until its file and its libraries have been read, and not for ever."""
import os
import signal
import subprocess
from pathlib import Path

import pytest

from harness import SEEP, children_of, environment, has_ended, need, report, root_only, run, wait_until
from test_attach import can  # noqa: F401 (fixture)


def test_a_large_program_is_complete_from_its_first_call(can, tmp_path):  # noqa: F811
    """The compiler proper has ended before its call-frame information is read, if it does not wait."""
    need('gcc')
    root_only()
    (tmp_path / 'empty.c').write_text('int main(void) { return 0; }\n')
    trace = tmp_path / 'gcc.seep'
    done = run([SEEP, 'attach', '--output', trace, '--', 'gcc', '-O2', '-c', tmp_path / 'empty.c', '-o', tmp_path / 'empty.o'])
    assert done.code == 0, done
    processes = {Path(process['process']['exe']).name: process for process in report(trace)}
    assert processes['cc1']['totals']['allocations'] > 1000, processes['cc1']['totals']
    assert {name: process['health']['cut'] for name, process in processes.items()} == dict.fromkeys(processes, {})
    notes = [note for process in processes.values() for note in process['health']['notes']]
    assert not [note for note in notes if 'could not be read' in str(note)], notes


def echoed(attached, word):
    """The shell's answer to a word, behind what the tool says."""
    return any(line == word for line in iter(attached.stdout.readline, b''))


def say(attached, word):
    attached.stdin.write(word)
    attached.stdin.flush()


@pytest.mark.parametrize('by', ['STOP', 'KILL'])
def test_nobody_waits_for_a_tool_that_is_stopped_or_killed(can, tmp_path, by):  # noqa: F811
    root_only()
    script = 'while read word; do /bin/echo $word; done'
    with subprocess.Popen([SEEP, 'attach', '--output', tmp_path / 't.seep', '--', 'sh', '-c', script], env=environment(),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as attached:
        say(attached, b'one\n')
        assert echoed(attached, b'one\n')
        attached.send_signal(signal.Signals[f'SIG{by}'])
        say(attached, b'two\n')
        assert echoed(attached, b'two\n')
        attached.kill()
        attached.stdin.close()


def test_who_waits_goes_on_at_the_end_of_the_tool(can, tmp_path):  # noqa: F811
    """Nobody is left behind at the gate either."""
    root_only()
    with subprocess.Popen([SEEP, 'attach', '--output', tmp_path / 't.seep', '--', 'sh', '-c', 'echo begun; while :; do /bin/true; done'],
                          env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True) as attached:
        assert echoed(attached, b'begun\n')
        shell, = [pid for pid in children_of(attached.pid) if Path(f'/proc/{pid}/comm').read_text() == 'sh\n']
        keeper, = [pid for pid in children_of(attached.pid) if Path(f'/proc/{pid}/comm').read_text() == 'seep-exec-gate\n']
        attached.kill()
        wait_until(lambda: has_ended(keeper), 'the gatekeeper has ended')
        seen = children_of(shell)
        wait_until(lambda: children_of(shell) not in (seen, []), 'another program runs')
        os.killpg(attached.pid, signal.SIGKILL)


def test_a_program_that_another_tracer_has(can, tmp_path):  # noqa: F811
    need('strace')
    done = run(['strace', '-f', '-o', '/dev/null', SEEP, 'attach', '--', 'true'])
    assert done.code == 126 and b'another tracer has it' in done.err and b'without -f' in done.err, done
