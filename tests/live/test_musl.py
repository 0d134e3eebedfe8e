# SPDX-License-Identifier: BSD-2-Clause
"""Programs of musl: the same libseep.so is loaded into them, also when one of glibc starts them and the other way about."""
import platform
import signal

import pytest
import report_json
from harness import BUILD, LIBSEEP, SEEP, environment, need, no_losses, report, run
from small_programs import program_source

COVERS = [
    ('musl', 'covered', 'test_exact_counts_and_stacks', 'the same library for both'),
    ('musl', 'declared', 'test_exact_counts_and_stacks',
     "stacks end where musl's own code, which has no call-frame information, calls main or a thread"),
    ('programs of another libc (musl)', 'covered', 'test_each_starts_the_other', ''),
    ('what malloc promises (errno, alignment, zero, overflow)', 'covered', 'test_malloc_semantics',
     'of musl, line by line'),
]

LATE = program_source('musl_late.c')


@pytest.fixture
def musl(tmp_path):
    """(program, library for it to open)"""
    need('musl-gcc')
    source = __file__.replace('test_musl.py', 'musl_program.c')
    args = ['musl-gcc', '-g', '-O1', '-D_GNU_SOURCE', '-fno-builtin', '-fasynchronous-unwind-tables', '-w', '-Wl,--eh-frame-hdr']
    done = run([*args, source, '-o', tmp_path / 'program'])
    assert done.code == 0, done
    (tmp_path / 'late.c').write_text(LATE)
    done = run([*args, '-fPIC', '-shared', 'late.c', '-o', 'liblate.so'], cwd=tmp_path)
    assert done.code == 0, done
    return tmp_path / 'program', tmp_path / 'liblate.so'


def figures(process, function, **wanted):
    sites = [
        s
        for s in process['sites']
        if any(f['function'] == function for f in s['stack']) and all(s[k] == v for k, v in wanted.items())
    ]
    return tuple(sum(s[k] for s in sites) for k in ('allocations', 'frees', 'live_bytes'))


def check_main(process):
    no_losses(process)
    assert figures(process, 'leak') == (17, 0, 1490)
    assert figures(process, 'deep') == (7, 0, 490)
    assert figures(process, 'churn', via='calloc') == figures(process, 'churn', via='realloc') == (2000, 2000, 0)
    for site in process['sites']:
        names = [f['function'] for f in site['stack']]
        if 'leak' in names:
            assert 'main' in names, names  # whole, although musl's own code cannot be unwound
            assert names.count('deep') in (0, 21)
        if 'churn' in names:
            assert 'in_thread' in names, names
    assert figures(process, 'compare')[0] == figures(process, 'compare')[1] > 63


def test_exact_counts_and_stacks(musl, tmp_path):
    program, late = musl
    plain = run([program, late, program])
    assert plain.code == 5, plain
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 't.seep', '--', program, late, program])
    assert (done.code, done.out, done.err) == (5, plain.out, b''), done
    processes = report(tmp_path / 't.seep')
    check_main(processes[0])
    assert figures(processes[0], 'late') == (6, 0, 360)
    assert figures(processes[0], 'on_load') == (1, 1, 0)
    child = [p for p in processes if p['process']['exit'] == {'code': 3} or figures(p, 'leak') == (19, 1, 1430)]
    assert len(child) == 1
    again = [p for p in processes if figures(p, 'leak') == (3, 0, 90)]
    assert len(again) == 1


def test_alone(musl, tmp_path):
    program, late = musl
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / '%p.raw')
    done = run([program, late], env=env)
    assert (done.code, done.out, done.err) == (5, b'child 3\n', b''), done
    mains = [p for path in tmp_path.glob('*.raw') for p in report(path) if figures(p, 'leak') == (17, 0, 1490)]
    assert len(mains) == 1
    check_main(mains[0])


def test_each_starts_the_other(musl, tmp_path):
    """glibc's shell starts the program of musl, and the program of musl one of glibc."""
    program, late = musl
    command = ['sh', '-c', f'{program} {late} /bin/echo; echo $?; exit 6']
    plain = run(command)
    assert plain.code == 6 and b'other 0' in plain.out and b'again' in plain.out, plain
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 't.seep', '--', *command])
    assert (done.code, done.out, done.err) == (6, plain.out, b''), done
    processes = report(tmp_path / 't.seep')
    names = {p['process']['exe'].rsplit('/', 1)[-1] for p in processes}
    assert {'program', 'echo'} <= names, names
    check_main([p for p in processes if figures(p, 'leak') == (17, 0, 1490)][0])


def test_a_handler_leaves_what_reads_the_mappings(musl, tmp_path):
    """mlockall reads the mappings, too, and is no call of the allocator. Stacks in a library that is opened later were cut."""
    (tmp_path / 'left.c').write_text(program_source('musl_left_reading.c'))
    done = run(['musl-gcc', '-g', '-O1', '-w', '-fasynchronous-unwind-tables', '-Wl,--eh-frame-hdr', 'left.c', '-o', 'left'],
               cwd=tmp_path)
    assert done.code == 0, done
    nr_left = 0
    for call in range(1, 200):  # the signal comes right before this call of the library's
        env = environment(SEEP_LIBRARY=BUILD / 'tests/live/libseep-faults.so', SEEP_FAULT=f'{call}:s{signal.SIGUSR1}')
        done = run([SEEP, 'run', '-q', '--scan', 'no', '-o', tmp_path / 't.seep', '--', tmp_path / 'left', musl[1]], env=env)
        assert done.code == 0, done
        if done.out:
            nr_left += 1
            (process,) = report(tmp_path / 't.seep')
            assert figures(process, 'late') == (6, 0, 360), (call, process['sites'])
        elif nr_left:
            break
    assert nr_left > 5


def test_malloc_semantics(tmp_path):
    need('musl-gcc')
    source = __file__.replace('test_musl.py', 'malloc_semantics.c')
    done = run(['musl-gcc', '-O1', '-D_GNU_SOURCE', '-fno-builtin', '-w', source, '-o', tmp_path / 'semantics'])
    assert done.code == 0, done
    plain = run([tmp_path / 'semantics'])
    under = run([SEEP, 'run', '-q', '-o', tmp_path / 't.seep', '--', tmp_path / 'semantics'])
    assert plain.code == under.code == 0 and len(plain.out.splitlines()) > 750
    differ = [p for p in zip(plain.out.splitlines(), under.out.splitlines()) if p[0] != p[1]]
    assert not differ, differ[:5]
    no_losses(report(tmp_path / 't.seep')[0])


LEAVES = program_source('musl_leaves.c')


@pytest.mark.parametrize('way', ['return', 'exit', '_exit', 'call'])
@pytest.mark.parametrize('compiler', ['gcc', 'musl-gcc'])
def test_what_is_said_of_the_end(compiler, way, tmp_path):
    """musl calls its own exit when main returns and the status is not known; the scan has looked all the same."""
    need(compiler)
    (tmp_path / 'leaves.c').write_text(LEAVES)
    assert run([compiler, '-g', '-w', 'leaves.c', '-o', 'leaves'], cwd=tmp_path).code == 0
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 't.seep', tmp_path / 'leaves', way])
    assert done.code == 3, done
    (process,) = report(tmp_path / 't.seep')
    assert process['process']['exit'] == {'code': 3}
    said = 'scan_no_exit' in report_json.codes(process)
    assert said == (process['leaks'] is None) == (way == 'call'), process['health']
    if way != 'call':
        assert process['leaks']['lost']['blocks'] == 1


@pytest.mark.skipif(platform.machine() != 'x86_64', reason='the program names a register of x86-64')
def test_what_is_not_whole_is_cut(tmp_path):
    """Code without call-frame information: no frame is invented, and no stack is called whole that lacks a caller."""
    need('musl-gcc')
    for name in ('musl_cut', 'musl_cut_library'):
        (tmp_path / f'{name}.c').write_text(program_source(f'{name}.c'))
    for args in (['-Wl,--eh-frame-hdr', '-fPIC', '-shared', 'musl_cut_library.c', '-o', 'library.so'],
                 ['musl_cut.c', tmp_path / 'library.so', '-o', 'program']):
        done = run(['musl-gcc', '-g', '-O1', '-fno-builtin', '-fomit-frame-pointer', '-w', *args], cwd=tmp_path)
        assert done.code == 0, done
    trace = tmp_path / 'out.seep'
    assert run([tmp_path / 'program'], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=trace)).code == 7
    [process] = report(trace)
    no_losses(process)
    stacks = {site['live_bytes'] // site['live_blocks']: (site['cut'], [frame['function'] for frame in site['stack']])
              for site in process['sites']}
    # Its thread's callers are musl's alone, and nothing is missing.
    assert stacks[300] == (None, ['sort_in_thread', stacks[300][1][1]]), stacks
    assert stacks[200][0] == 'no_cfi' and 'sort_in_thread' not in stacks[200][1], stacks
    looks = [site for site in process['sites'] if site['stack'][0]['function'] == 'look']
    assert sum(site['live_blocks'] for site in looks) == 6
    assert all(site['cut'] == 'no_cfi' and len(site['stack']) == 1 for site in looks), looks


def test_what_to_do_about_a_stack_without_main(tmp_path):
    """musl-gcc writes call-frame information without an index. The advice named options of the compiler, which do not help."""
    need('musl-gcc')
    (tmp_path / 'leak.c').write_text(program_source('musl_leak.c'))
    found = {}
    for option in ('-Wl,--no-eh-frame-hdr', '-Wl,--eh-frame-hdr'):
        done = run(['musl-gcc', '-g', '-O1', '-fasynchronous-unwind-tables', option, 'leak.c', '-o', 'leak'], cwd=tmp_path)
        assert done.code == 0, done
        done = run([SEEP, 'run', '-o', tmp_path / f'{option}.seep', tmp_path / 'leak'])
        assert done.code == 0, done
        [process] = report(tmp_path / f'{option}.seep')
        [site] = [site for site in process['sites'] if site['live_bytes'] == 5]
        found[option] = site['cut'], b'with musl-gcc' in done.err
    assert found == {'-Wl,--no-eh-frame-hdr': ('no_cfi', True), '-Wl,--eh-frame-hdr': (None, False)}


INTERLEAVED = program_source('musl_interleaved.c')


def test_mappings_beside_blocks_hold(tmp_path):
    """The kernel makes one mapping of what the program mapped and a large block of the allocator; more of such is in
    test_scan_places.py."""
    need('musl-gcc')
    (tmp_path / 'beside.c').write_text(INTERLEAVED)
    assert run(['musl-gcc', '-g', '-w', 'beside.c', '-o', 'beside'], cwd=tmp_path).code == 0
    done = run([SEEP, 'check', tmp_path / 'beside'], cwd=tmp_path)
    assert done.code == 0, done


def test_a_function_that_musl_does_not_have(tmp_path):
    """pvalloc, found by name: what is called behind it in each mode must not be itself."""
    need('musl-gcc')
    done = run(['musl-gcc', '-O1', '-D_GNU_SOURCE', '-w', '-xc', '-', '-o', tmp_path / 'program'],
               input=program_source('unharmed_lacking.c').encode())
    assert done.code == 0, done
    for mode, wiped in (('live', 'no'), ('live', 'yes'), ('count', 'no'), ('log', 'no'), ('record', 'no')):
        done = run([SEEP, 'run', '-q', '-o', tmp_path / 'm.seep', '--mode', mode, '--wipe-freed', wiped, '--', tmp_path / 'program'])
        assert done.code == 7, (mode, done)


@pytest.mark.skipif(platform.machine() not in ('x86_64', 'i686'), reason='no other processor has a counter that can be forbidden')
def test_a_counter_that_may_not_be_read_from_the_start_on(tmp_path):
    """Which glibc's loader reads itself."""
    need('musl-gcc')
    done = run(['musl-gcc', '-O1', '-D_GNU_SOURCE', '-w', '-xc', '-', '-o', tmp_path / 'program'],
               input=program_source('unharmed_counter.c').encode())
    assert done.code == 0, done
    done = run([tmp_path / 'program', 'exec'], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'alone'))
    assert (done.code, done.err) == (7, b''), done


def musl_build(tmp_path, library, user):
    """A program of two files, one of them a library that is linked."""
    need('musl-gcc')
    for name in (library, user):
        (tmp_path / f'{name}.c').write_text(program_source(f'{name}.c'))
    options = ['musl-gcc', '-g', '-O1', '-D_GNU_SOURCE', '-fno-builtin', '-fasynchronous-unwind-tables', '-w', '-Wl,--eh-frame-hdr']
    for args in (['-fPIC', '-shared', f'{library}.c', '-o', 'libown.so'],
                 [f'{user}.c', '-Wl,--no-as-needed,-rpath,$ORIGIN', 'libown.so', '-o', 'user']):
        done = run([*options, *args], cwd=tmp_path)
        assert done.code == 0, done
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 't.seep', '--', tmp_path / 'user'])
    assert (done.code, done.out, done.err) == (0, b'', b'') == (run([tmp_path / 'user']).code, b'', b''), done
    process, = report(tmp_path / 't.seep')
    no_losses(process)
    return {(s['size_max'], s['via']): (s['allocations'], s['frees']) for s in process['sites']
            if any(f['function'] == 'main' for f in s['stack'])}


def test_an_allocator_whose_functions_call_one_another(tmp_path):
    found = musl_build(tmp_path, 'nested_own', 'nested_user')
    kept = {101: 'malloc', 102: 'calloc', 103: 'realloc', 104: 'realloc', 106: 'memalign', 107: 'posix_memalign',
            128: 'aligned_alloc', 109: 'valloc', 111: 'operator new', 112: 'operator new[]'}
    assert {key: found.get(key) for key in ((size, via) for size, via in kept.items())} == dict.fromkeys(
        ((size, via) for size, via in kept.items()), (10, 7)), found


def test_a_library_that_defines_some_operators(tmp_path):
    """They are called, and each block counts once, as that of their malloc."""
    found = musl_build(tmp_path, 'musl_operators', 'musl_uses_operators')
    assert found == {(143, 'malloc'): (10, 7)}
