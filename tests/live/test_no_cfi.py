# SPDX-License-Identifier: BSD-2-Clause
"""Code without call-frame information and with frame pointers: stacks to main, and no system call for them once its
returns were met."""
import re

import pytest

from harness import BUILD, LIBSEEP, environment, need, report, run

PROGRAM = BUILD / 'tests/live/live-no-cfi'


def alone(trace):
    return environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=trace)


@pytest.mark.parametrize('where', ['main', 'thread'])
def test_stacks_are_whole(where, tmp_path):
    trace = tmp_path / 'out.seep'
    done = run([PROGRAM, '2000', where], env=alone(trace))
    assert done.code == 0, done
    process, = report(trace)
    sites = [site for site in process['sites'] if any(frame['function'] == 'innermost' for frame in site['stack'])]
    assert sum(site['allocations'] for site in sites) == 2000
    assert process['health']['stacks_cut'] == 0, process['health']
    for site in sites:
        names = [frame['function'] for frame in site['stack']]
        deeper = names.count('deeper')
        assert 9 <= deeper <= 15, names
        assert names[deeper + 1 :][: 2 if 'other_way' in names else 1] == (['other_way', 'work'] if 'other_way' in names
                                                                         else ['work']), names
        assert names[-1] in ('_start', 'clone3', '__clone3', '__GI___clone3', '__clone'), names


def asked(nr, where, tmp_path):
    """How often the library asks the kernel whether memory can be read."""
    log = tmp_path / 'calls'
    done = run(['strace', '-f', '-e', 'trace=prlimit64,rt_sigprocmask', '-o', log,
                '-E', f'LD_PRELOAD={LIBSEEP}', '-E', f'SEEP_OUT={tmp_path / "out.seep"}', PROGRAM, nr, where], env=environment())
    if done.code != 0:
        pytest.skip(f'strace cannot trace here: {done}')
    return len(re.findall(r'^\d+ +(?:prlimit64|rt_sigprocmask)\(', log.read_text(), re.M))


@pytest.mark.parametrize('where', ['main', 'thread'])
def test_no_system_call_in_the_steady_state(where, tmp_path):
    need('strace')
    assert asked('4000', where, tmp_path) == asked('2000', where, tmp_path)
