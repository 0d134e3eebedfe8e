# SPDX-License-Identifier: BSD-2-Clause
"""seep run --allocator, and SEEP_ALLOCATOR without the tool: the program allocates with that library, every operation is
seen, and what else the user preloads stays in its order."""
import shutil

import pytest
from harness import (
    ALLOCATORS,
    BUILD,
    LIBSEEP,
    PROGRAMS,
    SEEP,
    WITNESS,
    check_witness,
    environment,
    library,
    need,
    no_losses,
    report,
    run,
    totals,
)
from small_programs import built_program, program_source

COVERS = [
    ('jemalloc, mimalloc, tcmalloc by --allocator', 'covered', 'test_by_the_tool', ''),
    ('jemalloc, mimalloc, tcmalloc by --allocator', 'covered', 'test_without_the_tool', 'by SEEP_ALLOCATOR'),
    ('jemalloc, mimalloc, tcmalloc by --allocator', 'declared', 'test_without_the_tool_a_bad_one_is_said_and_not_used',
     'one that cannot be loaded late, by SEEP_ALLOCATOR: said, and the program keeps its own'),
    ("LD_PRELOAD of the user's own", 'covered', 'test_what_the_user_preloads_stays_in_front', 'in its order'),
]

FILES = {**ALLOCATORS, 'glibc': ('libc.so.6',)}
SOURCE = program_source('allocator_choice.c')


@pytest.fixture
def program(tmp_path):
    need('gcc')
    (tmp_path / 'p.c').write_text(SOURCE)
    done = run(['gcc', '-O1', '-fno-builtin', '-w', 'p.c', '-o', 'p'], cwd=tmp_path)
    assert done.code == 0, done
    return tmp_path / 'p'


def expected(program, allocator, base):
    return run([program, base], env=environment(LD_PRELOAD=allocator))


@pytest.mark.parametrize('name', FILES)
@pytest.mark.parametrize('by', ['name', 'path'])
def test_by_the_tool(name, by, program, tmp_path):
    path = library(*FILES[name])
    plain = expected(program, path, path.name.split('.')[0])
    trace = tmp_path / 't.seep'
    choice = name if by == 'name' else path
    done = run([SEEP, 'run', '-q', '-o', trace, '--allocator', choice, '--', program, path.name.split('.')[0]])
    assert (done.code, done.out, done.err) == (5, plain.out, b''), (plain, done)
    process = report(trace)[0]
    no_losses(process)
    main = [s for s in process['sites'] if s['stack'] and s['stack'][0]['function'] == 'main']
    assert sorted((s['size_min'], s['live_blocks']) for s in main if s['via'] == 'malloc') in (
        [(33, 0), (1000, 1)],
        [(33, 0), (472, 1), (1000, 1)],
    )


def test_glibc_instead_of_what_is_linked(tmp_path):
    """A program linked with jemalloc gets glibc's malloc back."""
    need('gcc')
    other = library(*FILES['jemalloc'])
    (tmp_path / 'p.c').write_text(SOURCE)
    done = run(
        ['gcc', '-O1', '-fno-builtin', '-w', 'p.c', '-o', 'p', '-Wl,--no-as-needed', str(other)], cwd=tmp_path
    )
    assert done.code == 0, done
    sizes = {}
    for choice in ('next', 'glibc'):
        done = run(
            [SEEP, 'run', '-q', '-o', tmp_path / 't.seep', '--allocator', choice, '--', tmp_path / 'p', 'libjemalloc']
        )
        assert done.code == 5 and done.out.endswith(b'\nmapped\n'), done
        sizes[choice] = done.out.split(b'\n')[0]
    assert sizes['next'] == b'48 1024' and sizes['glibc'] == b'40 1000', sizes


@pytest.mark.parametrize('name', ['mimalloc', 'tcmalloc'])
def test_without_the_tool(name, program, tmp_path):
    path = library(*FILES[name])
    base = path.name.split('.')[0]
    plain = expected(program, path, base)
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_ALLOCATOR=path, SEEP_OUT=tmp_path / 'alone.seep')
    done = run([program, base], env=env)
    assert (done.code, done.out, done.err) == (5, plain.out, b''), (plain, done)
    no_losses(report(tmp_path / 'alone.seep')[0])


def test_names_of_libc_reach_the_chosen_one(tmp_path):
    """Of a program that calls glibc's own names and frees these blocks by free: else the one's free has the other's block."""
    path = library(*FILES['mimalloc'])
    program = built_program('own_malloc_over_libc.c', tmp_path, '-O0', '-fno-builtin')
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_ALLOCATOR=path, SEEP_OUT=tmp_path / 'alone.seep')
    done = run([program], env=env)
    assert (done.code, done.out, done.err) == (0, b'', b''), done
    process = report(tmp_path / 'alone.seep')[0]
    assert (process['totals']['unknown_frees'], process['health']['lost']) == (0, {})


def test_without_the_tool_a_bad_one_is_said_and_not_used(program, tmp_path):
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_ALLOCATOR='/nonexistent', SEEP_OUT=tmp_path / 'alone.seep')
    done = run([program, 'libseep'], env=env)
    assert (done.code, done.out) == (5, b'40 1000\nmapped\n')
    assert done.err.startswith(b'libseep: SEEP_ALLOCATOR: ') and done.err.count(b'\n') == 1


@pytest.mark.parametrize('name', ['jemalloc', 'mimalloc'])  # tcmalloc's operator new calls no malloc
def test_what_the_user_preloads_stays_in_front(name, tmp_path):
    """The witness is in the user's LD_PRELOAD: it is still called, by us, and calls the allocator."""
    library(*FILES[name])
    env = environment(LD_PRELOAD=WITNESS, COUNT_SHIM_OUT=tmp_path / 'witness')
    trace = tmp_path / 't.seep'
    done = run([SEEP, 'run', '-q', '-o', trace, '--allocator', name, '--', PROGRAMS / 'gcc-O2@many_threads'], env=env)
    assert done.code == 0, done
    assert check_witness(totals(trace), tmp_path) == 1
    script = 'printf %s "$LD_PRELOAD"'
    done = run([SEEP, 'run', '-q', '-o', trace, '--allocator', name, '--', 'sh', '-c', script], env=env)
    parts = done.out.decode().split(':')
    assert [p.rsplit('/', 1)[-1].split('.')[0] for p in parts[:2]] == ['libseep', 'libcountshim'] and len(parts) == 3
    assert name in parts[2]


def test_cpp_and_threads(tmp_path):
    need('g++')
    library(*FILES['tcmalloc'])
    trace = tmp_path / 't.seep'
    done = run(
        [SEEP, 'run', '-q', '-o', trace, '--allocator', 'tcmalloc', '--', PROGRAMS / 'gcc-O2@operators', 'no-failures']
    )
    assert (done.code, done.err) == (0, b''), done
    ((process,), whole) = report(trace), report(trace, '--no-default-suppressions')[0]
    no_losses(process)
    # What tcmalloc loses of its own, and no more, is suppressed: one block, or none from gperftools 2.16 on. A block that
    # the program does not write keeps tcmalloc's link to the next free one, which is then indirectly lost.
    found, kept = lost_blocks(whole), lost_blocks(process)
    own = [size for size, names in found if 'main' not in names]
    assert own in ([8], []) and len(found) - len(own) == 11, found
    assert kept == [(size, names) for size, names in found if 'main' in names], (found, kept)
    rules = process.get('suppressions', {'rules': []})['rules']  # of none that was used nothing is said
    assert [rule['bytes'] for rule in rules if rule['name'] == 'the first extension of tcmalloc'] == own, rules


def lost_blocks(process):
    return sorted((site['live_bytes'], [frame['function'] for frame in site['stack']]) for site in process['sites']
                  if site['kind'] in ('lost', 'indirect'))


def test_refused_before_the_start(tmp_path):
    text = tmp_path / 'text.so'
    text.write_text('no library')
    spaced = tmp_path / 'a b.so'
    shutil.copy(library(*FILES['glibc']), spaced)
    cases = {
        'nonesuch': (1, b"no library of 'nonesuch' is installed"),
        '/nonexistent/x.so': (1, b'No such file'),
        **dict.fromkeys((str(tmp_path), str(text)), (2, b'is no shared library')),
        str(LIBSEEP.parent / 'seep'): (2, b'is no allocator'),
        str(spaced): (1, b'a space or a colon'),
        '': (2, b'empty'),
    }
    for choice, (code, words) in cases.items():
        done = run([SEEP, 'run', '-q', '--allocator', choice, '--', 'sh', '-c', f'touch {tmp_path}/started'])
        assert done.code == code and words in done.err and done.err.count(b'\n') == 1, (choice, done)
    assert not (tmp_path / 'started').exists()
    assert BUILD.exists()
