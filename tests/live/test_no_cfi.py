# SPDX-License-Identifier: BSD-2-Clause
"""Code without call-frame information and with frame pointers: stacks to main, and no system call for them once its
returns were met."""
import platform
import re
from pathlib import Path

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


def of_run(tmp_path, *arguments):
    """What is in the trace of the program, which made its code itself."""
    if platform.machine() != 'x86_64':
        pytest.skip('the program makes code for x86-64')
    trace = tmp_path / 'out.seep'
    done = run([PROGRAM, *arguments], env=alone(trace))
    if done.code == 77:
        pytest.skip('memory cannot be writable and executable here')
    assert done.code == 0, done
    process, = report(trace)
    return process, [site for site in process['sites'] if any(frame['function'] == 'innermost' for frame in site['stack'])]


@pytest.mark.parametrize('where', ['main', 'thread'])
def test_stacks_through_code_made_at_run_time(where, tmp_path):
    process, sites = of_run(tmp_path, '1000', where, 'jit')
    assert len(sites) == 500 and sum(site['allocations'] for site in sites) == 1000
    assert process['health']['stacks_cut'] == 0, process['health']
    for site in sites:
        names = [frame['function'] for frame in site['stack']]
        at = names.index('last') + 1
        assert all(name is None for name in names[at : at + 6]), names
        assert names[at + 6 : at + 8] == ['work_jit', 'work'], names


@pytest.mark.parametrize('where', ['main', 'thread'])
def test_code_that_was_unmapped_is_asked_about_again(where, tmp_path):
    process, sites = of_run(tmp_path, '100', where, 'gone')
    assert sorted(site['allocations'] for site in sites) == [49, 51]
    assert process['health']['stacks_cut'] == 1, process['health']


def asked(nr, where, tmp_path, way='', program=PROGRAM):
    """How often the library asks the kernel whether memory can be read, or what is mapped."""
    log = tmp_path / 'calls'
    done = run(['strace', '-f', '-e', 'trace=prlimit64,rt_sigprocmask,openat', '-o', log,
                '-E', f'LD_PRELOAD={LIBSEEP}', '-E', f'SEEP_OUT={tmp_path / "out.seep"}', program, nr, where, way], env=environment())
    if done.code == 77:
        pytest.skip('memory cannot be writable and executable here')
    if done.code != 0:
        pytest.skip(f'strace cannot trace here: {done}')
    return len(re.findall(r'^\d+ +(?:prlimit64\(|rt_sigprocmask\(|openat\(.*/proc/self/maps)', log.read_text(), re.M))


@pytest.mark.parametrize('where', ['main', 'thread'])
def test_no_system_call_in_the_steady_state(where, tmp_path):
    need('strace')
    assert asked('4000', where, tmp_path) == asked('2000', where, tmp_path)


@pytest.mark.parametrize('where', ['main', 'thread'])
def test_no_system_call_for_code_made_at_run_time(where, tmp_path):
    need('strace')
    if platform.machine() != 'x86_64':
        pytest.skip('the program makes code for x86-64')
    assert asked('4000', where, tmp_path, 'jit') == asked('2000', where, tmp_path, 'jit')


@pytest.mark.parametrize('where', ['main', 'thread'])
def test_the_same_where_the_loader_does_not_tell(where, tmp_path):
    """musl, as glibc before 2.35, has no function that tells which module code is of."""
    need('strace', 'musl-gcc')
    if platform.machine() != 'x86_64':
        pytest.skip('the program makes code for x86-64')
    done = run(['musl-gcc', '-O2', '-D_GNU_SOURCE', '-fno-optimize-sibling-calls', '-fno-asynchronous-unwind-tables',
                '-fno-omit-frame-pointer', '-w', Path(__file__).with_name('no_cfi.c'), '-o', tmp_path / 'program'])
    assert done.code == 0, done
    few, many = (asked(nr, where, tmp_path, 'jit', tmp_path / 'program') for nr in ('2000', '4000'))
    assert few == many
