# SPDX-License-Identifier: BSD-2-Clause
"""Functions of an allocator that call one another by name, or by dlsym, reach the hooks again: only the outermost call
counts. The test covers all places of an allocator, all kinds of calls, and all modes."""
import json

import pytest
import report_json
from harness import LIBSEEP, SEEP, environment, need, no_losses, report, run, traced
from small_programs import built_program, program_source

COVERS = [
    ('an allocator whose functions call one another', 'covered', 'test_only_the_outermost_call_counts',
     'by name or found by dlsym; linked or preloaded; memory from an array; a header before the block; operators'),
    ('an allocator whose functions call one another', 'covered', 'test_one_that_is_opened',
     'opened later by dlopen: the program still calls the functions of libc'),
    ('an allocator whose functions call one another', 'declared', 'test_one_that_is_in_front',
     'in the program, or preloaded in front of libseep.so: the calls do not reach libseep.so'),
]

# size of the blocks: function. 10 are allocated and 7 freed. realloc takes or frees all of its blocks.
KEPT = {101: 'malloc', 102: 'calloc', 103: 'realloc', 104: 'realloc', 105: 'reallocarray', 106: 'memalign', 107: 'posix_memalign',
        128: 'aligned_alloc', 109: 'valloc', 4096: 'pvalloc', 110: 'reallocarray', 111: 'operator new', 112: 'operator new[]'}
PASSING = {33: 'realloc', 34: 'realloc', 35: 'malloc'}
STAYING = {36: 'malloc'}


@pytest.fixture(scope='module')
def built(tmp_path_factory):
    need('gcc')
    folder = tmp_path_factory.mktemp('nested')
    for name in ('own', 'user'):
        (folder / f'{name}.c').write_text(program_source(f'nested_{name}.c'))
    options = ['gcc', '-g', '-O1', '-w', '-fno-builtin']
    shared = [*options, '-shared', '-fPIC', 'own.c']
    rpath = ['-Wl,--no-as-needed,-rpath,$ORIGIN']
    for step in ([*shared, '-o', 'libown.so'], [*shared, '-DPOOL', '-o', 'libpool.so'],
                 [*shared, '-Wl,-z,now', '-fno-plt', '-o', 'libnow.so'], [*shared, '-DBY_DLSYM=RTLD_DEFAULT', '-o', 'libdlsym.so'],
                 [*shared, '-DBY_DLSYM=dlopen(NULL,RTLD_LAZY)', '-o', 'libhandle.so'], [*options, 'user.c', '-o', 'user', '-ldl'],
                 [*options, 'user.c', 'own.c', '-rdynamic', '-o', 'inside'],
                 *([*options, 'user.c', *rpath, f'lib{name}.so', '-o', f'user_{name}']
                   for name in ('own', 'pool', 'now', 'dlsym', 'handle'))):
        done = run(step, cwd=folder)
        assert done.code == 0, done
    return folder


def figures(process):
    """Figures of the calls of main, without the allocations of libc's dlopen."""
    return {(s['size_max'], s['via']): (s['allocations'], s['frees'], s['live_bytes'])
            for s in process['sites'] if s['stack'] and s['stack'][0]['function'] == 'main'}


# libseep.so has operators new and delete. So under seep the program finds some even if its allocator has none.
EXPECTED = {**{(size, via): (10, 7, 3 * size) for size, via in KEPT.items()},
            **{(size, via): (10, 10, 0) for size, via in PASSING.items()},
            **{(size, via): (10, 0, 10 * size) for size, via in STAYING.items()}}


MODES = {'live': (), 'wiped': ('--wipe-freed', 'yes'), 'sampled': ('--sample', '1'), 'recorded': ('--mode', 'record'),
         'counted': ('--mode', 'count')}


@pytest.mark.parametrize('mode', MODES)
@pytest.mark.parametrize('place', ['linked', 'pool', 'now', 'dlsym', 'handle', 'preloaded', 'libc'])
def test_only_the_outermost_call_counts(place, mode, built, tmp_path):
    program = {'preloaded': 'user', 'libc': 'user', 'linked': 'user_own'}.get(place, f'user_{place}')
    env = environment(LD_PRELOAD=built / 'libown.so') if place == 'preloaded' else None
    args = [built / program]
    plain = run(args, env=env)
    under = traced(args, tmp_path, options=MODES[mode], env=env)
    assert (under.code, under.out, under.err) == (0, b'', b'') == (plain.code, plain.out, plain.err), under
    done = run([SEEP, 'report', '--json', '--top', '0', under.trace])
    assert done.code == 0, done
    process = report_json.spread(json.loads(done.out))
    no_losses(process)
    assert not process.get('mismatches') and not process.get('wrong_frees'), process
    by_function = {}
    for (_, via), (allocations, _, _) in EXPECTED.items():
        by_function[via] = by_function.get(via, 0) + allocations
    assert {via: nr for via, nr in process['totals']['by_function'].items() if nr} == by_function
    assert process['totals']['frees'] == sum(frees for _, frees, _ in EXPECTED.values())
    if mode != 'counted':
        assert figures(process) == EXPECTED


@pytest.mark.parametrize('mode', MODES)
def test_an_operator_that_throws(mode, tmp_path):
    """If the operator throws, its inner calls count, because there is no block of the operator to count in their place."""
    need('gcc', 'g++')
    (tmp_path / 'own.c').write_text(program_source('nested_own.c'))
    (tmp_path / 'throws.cpp').write_text(program_source('nested_throws.cpp'))
    options = ['-g', '-O1', '-w', '-fno-builtin']
    for step in (['gcc', *options, '-DNO_OPERATORS', '-fPIC', '-c', 'own.c'],
                 ['g++', *options, '-DOPERATORS', '-shared', '-fPIC', 'throws.cpp', 'own.o', '-o', 'libthrows.so'],
                 ['g++', *options, 'throws.cpp', 'libthrows.so', '-Wl,-rpath,$ORIGIN', '-o', 'throws']):
        done = run(step, cwd=tmp_path)
        assert done.code == 0, done
    under = traced([tmp_path / 'throws'], tmp_path, options=MODES[mode])
    assert under.code == 0, under
    done = run([SEEP, 'report', '--json', '--top', '0', under.trace])
    assert done.code == 0, done
    process = report_json.spread(json.loads(done.out))
    no_losses(process)
    assert not process.get('wrong_frees'), process
    # 1 by the C++ library at its start; 30 by main; and for each exception 1 by the operator and 1 by the C++ library.
    assert {via: nr for via, nr in process['totals']['by_function'].items() if nr} == {
        'malloc': 51, 'operator new': 10, 'operator new[]': 10}
    assert process['totals']['frees'] == 60


@pytest.mark.parametrize('mode', ['live', 'recorded', 'counted'])
@pytest.mark.parametrize('way', ['jump', 'fork'])
def test_a_signal_amid_a_realloc(way, mode, tmp_path):
    """Its handler leaves by siglongjmp: the block stays. Or it forks: the child begins with the block, the parent goes on."""
    need('gcc')
    for name in ('own', 'jumps'):
        (tmp_path / f'{name}.c').write_text(program_source(f'nested_{name}.c'))
    options = ['gcc', '-g', '-O1', '-w', '-fno-builtin']
    for step in ([*options, '-shared', '-fPIC', 'own.c', '-o', 'libown.so'],
                 [*options, 'jumps.c', 'libown.so', '-Wl,-rpath,$ORIGIN', '-o', 'jumps']):
        done = run(step, cwd=tmp_path)
        assert done.code == 0, done
    under = traced([tmp_path / 'jumps', way], tmp_path, options=MODES[mode])
    assert under.code == 0, under
    whole = json.loads(run([SEEP, 'report', '--json', under.trace]).out)
    found = [tuple(process['totals'][name] for name in ('allocations', 'frees', 'unknown_frees'))
             for process in whole.get('processes', [whole])]
    child = (1, 0, 0) if mode == 'counted' else (2, 0, 0)  # where calls are counted, it begins with nothing
    assert found == ([(3, 1, 0)] if way == 'jump' else [(4, 2, 0), child])


@pytest.mark.parametrize('mode', list(MODES))
def test_a_function_that_is_left_again_and_again(mode, tmp_path):
    """A handler leaves malloc and free of an allocator that finds others by dlsym. The next calls come from the same
    depth of the stack, and count."""
    need('gcc')
    (tmp_path / 'left.c').write_text(program_source('nested_left.c'))
    options = ['gcc', '-g', '-O1', '-w', '-fno-builtin', 'left.c']
    for step in ([*options, '-DLIBRARY', '-shared', '-fPIC', '-ldl', '-o', 'libleft.so'],
                 [*options, 'libleft.so', '-Wl,-rpath,$ORIGIN', '-o', 'left']):
        done = run(step, cwd=tmp_path)
        assert done.code == 0, done
    under = traced([tmp_path / 'left'], tmp_path, options=MODES[mode])
    assert under.code == 0, under
    process = json.loads(run([SEEP, 'report', '--json', under.trace]).out)
    totals = tuple(process['totals'][name] for name in ('allocations', 'frees', 'unknown_frees'))
    assert (totals, process['health']['lost']) == ((40, 40, 0), {})


@pytest.mark.parametrize('mode', list(MODES))
def test_a_handler_on_a_disarmed_stack(mode, tmp_path):
    """It interrupts hooks, above the thread's stack, and the kernel does not tell that it is on an alternate one. It
    comes thousands of times, and the kernel is asked nothing for that."""
    under = traced([built_program('handler_disarmed.c', tmp_path, '-O1', '-pthread')], tmp_path, options=MODES[mode])
    assert under.code == 6, under
    assert int(under.out) < 500, under  # reads; it was 80,000 where blocks are sampled
    totals = json.loads(run([SEEP, 'report', '--json', under.trace]).out)['totals']
    assert totals['frees'] == 40_000, totals


def test_one_that_is_opened(built, tmp_path):
    """The library comes behind libc in the search order, so the program still calls libc's functions."""
    under = traced([built / 'user', built / 'libown.so'], tmp_path)
    assert under.code == 0, under
    (process,) = under.report()
    no_losses(process)
    assert figures(process) == EXPECTED


@pytest.mark.parametrize('place', ['inside', 'preloaded'])
def test_one_that_is_in_front(place, built, tmp_path):
    env = environment(SEEP_OUT=tmp_path / 'front.seep')
    env['LD_PRELOAD'] = f"{built / 'libown.so'}:{LIBSEEP}" if place == 'preloaded' else str(LIBSEEP)
    done = run([built / ('user' if place == 'preloaded' else 'inside')], env=env)
    assert (done.code, done.out, done.err) == (0, b'', b''), done
    process, = report(tmp_path / 'front.seep')
    assert not process['health']['complete']
    assert [note for note in process['health']['notes'] if 'not covered' in note], process['health']
    assert process['sites'] == [], process
