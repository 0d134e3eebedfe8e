# SPDX-License-Identifier: BSD-2-Clause
"""Filters of system calls that allow what the program was seen to call without seep, and kill for every other call: made
of a recording by strace. Whatever the way in which they come, the program does what it does without seep."""
import re
import socket

import pytest
from harness import BUILD, LIBSEEP, SEEP, environment, need, report, run
from small_programs import built_program, program_source

COVERS = [
    ('seccomp filters', 'covered', 'test_only_what_the_program_calls_lives',
     'by prctl, syscall() or inline assembly: from then on the library makes no system call'),
    ('seccomp filters', 'covered', 'test_calls_that_the_program_dispatches', 'also syscall user dispatch, by prctl or syscall()'),
    ('seccomp filters', 'declared', 'test_a_filter_that_was_there_before',
     'a program that comes by exec under a filter of its own is not traced: counted (exec)'),
]

PROGRAM = BUILD / 'tests/live/live-filtered'
CALL = re.compile(r'^(?:\d+ +)?\[ *(\d+)\] (\w+)\((.*)')
WORKS = (['little', 'large'], ['heap', 'stacks'], ['threads'], ['heap', 'threads', 'fork'])


def recorded(words, folder, *, all_of_it, code=7):
    """Numbers of the system calls that the program makes without seep: all of them, or from where a filter begins."""
    need('strace')
    log = folder / 'calls.txt'
    done = run(['strace', '-f', '-n', '-o', log, PROGRAM, 'none', '0', *words])
    if done.code != code:
        pytest.skip(f'strace cannot trace here: {done}')
    calls, begun = set(), all_of_it
    for line in log.read_text().splitlines():
        found = CALL.match(line)
        if found and found[2] == 'close' and found[3].startswith('-77'):
            begun = True
        if found and begun:
            calls.add(int(found[1]))
    assert calls
    return calls


def number(name):
    """Of a system call that the recording does not have to show."""
    header = run(['gcc', '-E', '-dM', '-include', 'sys/syscall.h', '-x', 'c', '/dev/null']).out.decode()
    return int(re.search(rf'#define __NR_{name} (\d+)', header)[1])


def same_as_plain(words, folder, *, losses=None):
    """Alone, and under seep run in its ways; returns the processes of the report."""
    plain = run([PROGRAM, *words])
    assert plain.code == 7, plain
    alone = run([PROGRAM, *words], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=folder / 'alone.seep'))
    assert (alone.code, alone.out, alone.err) == (plain.code, plain.out, b''), alone
    for name, options in (('plain', []), ('sampled', ['--sample', '65536']), ('age', ['--age']), ('wiped', ['--wipe-freed', 'yes'])):
        trace = folder / f'{name}.seep'
        done = run([SEEP, 'run', '-q', *options, '-o', trace, '--', PROGRAM, *words])
        assert (done.code, done.out) == (plain.code, plain.out), done
    return report(folder / 'plain.seep')


@pytest.mark.parametrize('work', WORKS, ids=' '.join)
@pytest.mark.parametrize('how', ['prctl', 'seccomp', 'syscall-prctl', 'asm'])
def test_only_what_the_program_calls_lives(how, work, tmp_path):
    """One that nobody tells of can only be looked for, by what every program calls when it is loaded."""
    need('gcc')
    calls = recorded(work, tmp_path, all_of_it=how == 'asm')
    words = [how, ','.join(map(str, sorted(calls))), *work]
    process = same_as_plain(words, tmp_path)[0]
    # All of it is recorded, for there was room made before; a child of fork is lost, and said to be.
    if how != 'asm':
        assert process['health']['lost'] == ({'fork': 1} if 'fork' in work else {}), process['health']
        assert process['totals']['allocations'] == without_filter(work, tmp_path)


def test_a_filter_that_no_one_tells_of_before_the_first_allocation(tmp_path):
    """The library started before it, and looks again when the first thread begins to allocate."""
    need('gcc')
    calls = recorded(['little'], tmp_path, all_of_it=True)
    same_as_plain(['asm-first', ','.join(map(str, sorted(calls))), 'little'], tmp_path)


@pytest.mark.parametrize('how', ['prctl', 'asm'])
def test_a_full_ring_is_waited_for_without_a_call(how, tmp_path):
    """A recording that no one takes: where the thread may not sleep it does nothing for that long."""
    need('gcc')
    calls = recorded(['many'], tmp_path, all_of_it=how == 'asm') - {number('futex')}
    path = str(tmp_path / 'socket')
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(path)
        listening.listen(4)
        env = environment(LD_PRELOAD=BUILD / 'libseep-record.so', SEEP_SOCKET=path, SEEP_MODE='record', SEEP_OUT=tmp_path / 'rest')
        done = run([PROGRAM, how, ','.join(map(str, sorted(calls))), 'many'], env=env)
    assert (done.code, done.out, done.err) == (7, b'before\nafter 0\n', b''), done


@pytest.mark.parametrize('mode', ['count', 'log', 'record'])
def test_a_filter_that_no_one_tells_of_in_other_modes(mode, tmp_path):
    need('gcc')
    words = ['asm', ','.join(map(str, sorted(recorded(['little'], tmp_path, all_of_it=True)))), 'little']
    env = environment(LD_PRELOAD=BUILD / 'libseep-record.so', SEEP_MODE=mode, SEEP_OUT=tmp_path / 'alone')
    done = run([PROGRAM, *words], env=env)
    assert (done.code, done.out, done.err) == (7, b'before\nafter 0\n', b''), done


def test_an_abort_that_the_filter_allows(tmp_path):
    """Whether the program catches it is not asked under a filter."""
    need('gcc')
    words = ['asm', ','.join(map(str, sorted(recorded(['abort'], tmp_path, all_of_it=True, code=-6)))), 'abort']
    assert run([PROGRAM, *words]).code == -6
    done = run([PROGRAM, *words], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'alone.seep'))
    assert (done.code, done.err) == (-6, b''), done


def without_filter(work, folder):
    trace = folder / 'without.seep'
    assert run([SEEP, 'run', '-q', '-o', trace, '--', PROGRAM, 'none', '0', *work]).code == 7
    return report(trace)[0]['totals']['allocations']


@pytest.mark.parametrize('mode', ['live', 'count', 'record'])
@pytest.mark.parametrize('by', [[], ['-DCALL']], ids=['prctl', 'syscall'])
def test_calls_that_the_program_dispatches(by, mode, tmp_path):
    """A call from outside libc raises a signal, by which an emulator knows the calls of the program that it runs."""
    program = built_program('filter_user_dispatch.c', tmp_path, '-O1', '-fno-builtin', *by)
    plain = run([program])
    if plain.code == 77:
        pytest.skip('the kernel does not dispatch system calls to the program here')
    done = run([SEEP, 'run', '-q', '--mode', mode, '-o', tmp_path / 't.seep', '--', program])
    assert (done.code, done.out, done.err) == (plain.code, plain.out, b'') == (0, b'0\n', b''), (plain, done)


def test_a_program_that_asks_for_dispatch_is_traced_as_before(tmp_path):
    program = built_program('filter_dispatch_probe.c', tmp_path, '-O1', '-fno-builtin')
    if run([program]).code == 77:
        pytest.skip('the kernel does not dispatch system calls to the program here')
    trace = tmp_path / 't.seep'
    done = run([SEEP, 'run', '-q', '-o', trace, '--', program])
    processes = report(trace)
    assert done.code == 0 and all(p['health']['complete'] for p in processes), (done, processes)
    assert sum(p['totals']['allocations'] for p in processes) == 1000


def test_strict_mode(tmp_path):
    """read, write and exit, and nothing else."""
    process = same_as_plain(['strict', '0', 'little'], tmp_path)[0]
    assert process['health']['lost'] == {}, process['health']
    assert process['totals']['allocations'] == without_filter(['little'], tmp_path)


def test_a_child_that_filters_before_it_allocates(tmp_path):
    """It has its image before the filter comes, for it could make none under it. (Seed 7117397 of the random programs.)"""
    need('gcc')
    calls = recorded(['heap'], tmp_path, all_of_it=False)
    parent, child = same_as_plain(['child', ','.join(map(str, sorted(calls))), 'heap'], tmp_path)
    assert parent['health']['lost'] == child['health']['lost'] == {}, (parent['health'], child['health'])
    made = child['totals']['allocations'] - child['totals']['inherited_blocks']
    assert made == without_filter(['heap'], tmp_path) - without_filter(['nothing'], tmp_path)


def test_a_filter_while_a_child_is_yet_to_copy(tmp_path):
    """The library notes for the child what the parent does, until the log is full. It makes no call that the filter kills for."""
    program = built_program('filter_after_fork.c', tmp_path, '-O1', '-fno-builtin')
    done = run([program], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 't.seep'))
    assert (done.code, done.out, done.err) == (0, b'lives\n', b''), done


@pytest.mark.parametrize('work', WORKS, ids=' '.join)
def test_a_filter_that_was_there_before(work, tmp_path):
    """Made for the program by who executes it: there is nothing that the library may call and the program does not."""
    need('gcc')
    calls = recorded(work, tmp_path, all_of_it=True) | {number('execve')}
    same_as_plain(['exec', ','.join(map(str, sorted(calls))), *work], tmp_path)


def test_coroutines_on_stacks_mapped_after_a_filter(tmp_path):
    """Under a filter the kernel cannot be asked whether a stack is readable, but the library has seen it mapped. (Seed 53000313 of
    the random programs.)"""
    need('gcc')
    (tmp_path / 'c.c').write_text(program_source('filter_coroutine.c'))
    assert run(['gcc', '-g', '-O0', 'c.c', '-o', 'c'], cwd=tmp_path).code == 0
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 'c.seep', tmp_path / 'c'])
    assert done.code == 0, done
    process = report(tmp_path / 'c.seep')[0]
    assert process['health']['cut'] == {} and process['health']['lost'] == {}, process['health']
    sites = [site for site in process['sites'] if any(frame['function'] == 'made' for frame in site['stack'])]
    assert [frame['function'] for frame in sites[0]['stack']][:2] == ['made', 'coroutine'], sites
    assert sum(site['allocations'] for site in sites) == 2002 and len(sites) == 2, sites
