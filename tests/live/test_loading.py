# SPDX-License-Identifier: BSD-2-Clause
"""What goes past libseep.so is said: libraries opened with RTLD_DEEPBIND or by dlmopen, allocators inside of a program
or library, another malloc in front of ours. The program does what it does untraced, and the loader sees its calls as if
nobody stood between."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from harness import (
    ALLOCATORS,
    BUILD,
    LIBSEEP,
    SEEP,
    WITNESS,
    check_witness,
    environment,
    library,
    need,
    no_losses,
    report,
    run,
    traced,
    wait_until,
)
import report_json
from small_programs import program_source

RELATIVE = BUILD / 'tests/live/live-relative'
RELATIVE_LIBRARY = BUILD / 'tests/live/live-relative-plugin.so'

COVERS = [
    ('RTLD_DEEPBIND', 'covered', 'test_a_library_that_is_bound_deep_is_seen',
     'of a library that is opened by a path, once its constructors have run'),
    ('RTLD_DEEPBIND', 'declared', 'test_a_library_whose_calls_go_past_us_is_said',
     "of one that the loader has to search for; 'seep attach' sees its calls"),
    ('RTLD_DEEPBIND', 'declared', 'test_a_deep_library_with_an_allocator_of_its_own', 'with an allocator of its own'),
    ('dlmopen', 'declared', 'test_a_library_whose_calls_go_past_us_is_said',
     "it has a libc of its own; 'seep attach' sees it"),
    ('dlmopen', 'covered', 'test_a_library_that_is_loaded_as_usual_is_seen', 'into the namespace of the program'),
    ('allocation inside dlopen', 'covered', 'test_the_loader_searches_from_where_the_caller_lies',
     'the loader sees the call of the program: $ORIGIN and RUNPATH are its own'),
    ('a static allocator that exports nothing', 'declared', 'test_an_allocator_inside_is_said',
     'by the names of its functions'),
    ('a static allocator that exports nothing', 'declared', 'test_an_allocator_in_a_library_that_is_opened_later',
     'in a library that is opened later: when the process is looked at, which --scan no does not'),
    ('a static allocator that exports nothing', 'declared', 'test_a_stripped_one_by_its_messages',
     'in a stripped file, by its messages'),
    ('a static allocator that exports nothing', 'impossible', 'test_a_stripped_one_by_its_messages',
     'one that is stripped and unknown cannot be told from other code'),
    ('a static allocator that exports malloc', 'declared', 'test_a_static_allocator_that_exports_malloc',
     'blocks of functions that only libseep.so has go back where they came from'),
    ('another allocator in front of libseep.so', 'declared', 'test_another_allocator_preloaded_in_front',
     'the program calls that one; its name is said'),
    ('C++ sized and aligned new', 'covered', 'test_a_program_that_defines_some_operators',
     "where the program defines some of them, the others call those"),
    ('C++ sized and aligned new', 'covered', 'test_a_library_that_defines_some_operators',
     'where a linked library defines some of them, the others call those'),
    ('programs with a sanitizer', 'declared', 'test_a_program_whose_sanitizer_keeps_others_out',
     'ThreadSanitizer, MemorySanitizer, and AddressSanitizer in what the program executes: the library does nothing, and the report says why'),
    ('programs with a sanitizer', 'declared', 'test_a_program_with_address_sanitizer_is_known',
     'AddressSanitizer: the report says what to do'),
    ('programs with a sanitizer', 'covered', 'test_a_program_with_address_sanitizer_runs',
     'AddressSanitizer of gcc, told to bear with other libraries'),
    ('other interposers preloaded', 'covered', 'test_two_other_interposers_in_any_order', 'before and behind'),
]

def test_a_library_with_operators_that_is_closed(compiler, tmp_path):
    """A failed operator new was found in a library that is closed now. The hook does not call it at its old address."""
    program = compiler(program_source('loading_closed.c'), 'program', '-ldl')
    operators = compiler(program_source('loading_closed_operators.c'), 'liboperators.so', '-shared', '-fPIC')
    user = compiler(program_source('loading_closed_user.c'), 'libuser.so', '-shared', '-fPIC')
    same([program, operators, user], tmp_path)


def test_a_library_opened_by_a_relative_name(tmp_path):
    """Its place is the whole path, whichever folder the program goes to and the trace is read in."""
    (tmp_path / 'here').mkdir()
    (tmp_path / 'else').mkdir()
    shutil.copy(RELATIVE_LIBRARY, tmp_path / 'here/plugin.so')
    done = traced([RELATIVE, './plugin.so', '../else'], tmp_path, cwd=tmp_path / 'here')
    assert done.code == 0, done
    (process,) = done.report()
    frames = [frame for site in process['sites'] for frame in site['stack'] if frame['module'] == 'plugin.so']
    assert [(frame['function'], frame['file']) for frame in frames] == [('relative_hold', 'relative_plugin.c')], frames


@pytest.mark.parametrize('code', ['filtered', 'anonymous'])
def test_a_program_with_holes_after_a_library_is_closed(code, compiler, tmp_path):
    """Of such a program the loader gives one segment. Where it could not be read again, its stacks were cut (bad_cfi)."""
    apart = [f'-Wl,-z,{word}' for word in ('max-page-size=0x200000', 'separate-code')]
    program = compiler(program_source('loading_holes.c'), 'program', '-ldl', *apart)
    plugin = compiler(LIBRARY, 'libplugin.so', '-shared', '-fPIC')
    process = same([program, code, plugin], tmp_path)
    assert process['health']['cut'] == {}, process['health']
    assert ['hold', 'main'] in [[frame['function'] for frame in site['stack'][:2]] for site in process['sites']]


def test_a_program_given_to_the_loader(compiler, tmp_path):
    """The kernel says that it runs the loader; the program and its functions have their own names."""
    loader = Path('/lib64/ld-linux-x86-64.so.2')
    if not loader.exists():
        pytest.skip('the loader is elsewhere on this CPU')
    program = compiler(LOADER, 'program', '-ldl')
    plugin = compiler(LIBRARY, 'libplugin.so', '-shared', '-fPIC')
    process = same([loader, program, 'plain', plugin], tmp_path)
    assert (process['process']['exe'], process['process']['name']) == (str(program), 'program')
    (site,) = of_library(process)
    assert [frame['function'] for frame in site['stack'][:2]] == ['library_alloc', 'main']
    assert site['stack'][1]['module'].endswith('program')


LIBRARY = program_source('loading_library.c')
LOADER = program_source('loading_loader.c')


@pytest.fixture
def compiler(tmp_path):
    need('gcc')

    def compile(source, output, *options, language='c'):
        name = tmp_path / (output.replace('/', '_') + ('.c' if language == 'c' else '.cpp'))
        name.write_text(source)
        (tmp_path / output).parent.mkdir(parents=True, exist_ok=True)
        done = run(['gcc', '-g', '-O1', '-fno-builtin', '-w', name, '-o', tmp_path / output, *options], cwd=tmp_path)
        assert done.code == 0, done
        return tmp_path / output

    return compile


def same(args, tmp_path, **more):
    """The program as it is, and traced: it must do the same. Returns the traced one's process."""
    plain = run(args, **more)
    under = traced(args, tmp_path, **more)
    assert (under.code, under.out, under.err) == (plain.code, plain.out, plain.err), (plain, under)
    return under.report()[0]


def of_library(process):
    return [s for s in process['sites'] if s['stack'] and s['stack'][0]['function'] == 'library_alloc']


def notes_about(process, words):
    return [note for note in process['health']['notes'] if words in note]


@pytest.mark.parametrize('how', ['plain', 'base'])
def test_a_library_that_is_loaded_as_usual_is_seen(how, compiler, tmp_path):
    program = compiler(LOADER, 'program', '-ldl')
    plugin = compiler(LIBRARY, 'libplugin.so', '-shared', '-fPIC')
    process = same([program, how, plugin], tmp_path)
    no_losses(process)
    assert process['health']['complete'] and process['health']['notes'] == []
    assert [(s['allocations'], s['live_blocks'], s['live_bytes']) for s in of_library(process)] == [(100, 25, 1925)]


@pytest.mark.parametrize('options', [['-Wl,-z,lazy'], ['-Wl,-z,now', '-Wl,-z,relro'], ['-fno-plt', '-Wl,-z,relro']])
@pytest.mark.parametrize('how', ['deep', 'deep_lazy'])
def test_a_library_that_is_bound_deep_is_seen(how, options, compiler, tmp_path):
    program = compiler(LOADER, 'program', '-ldl')
    plugin = compiler(LIBRARY, 'libplugin.so', '-shared', '-fPIC', *options)
    process = same([program, how, plugin], tmp_path)
    no_losses(process)
    assert process['health']['complete'] and process['health']['notes'] == []
    assert [(s['allocations'], s['live_blocks'], s['live_bytes']) for s in of_library(process)] == [(100, 25, 1925)]


def test_a_deep_library_with_addresses_among_its_code(compiler, tmp_path):
    """Those the loader wrote while the pages were writable, which they are no more."""
    program = compiler(LOADER, 'program', '-ldl')
    among = '\n__asm__(".text\\n.balign 8\\n.quad malloc\\n.quad free\\n");\n'
    plugin = compiler(LIBRARY + among, 'libplugin.so', '-shared', '-fPIC', '-Wl,-z,notext')
    process = same([program, 'deep', plugin], tmp_path)
    assert notes_about(process, 'RTLD_DEEPBIND')


def test_a_runtime_that_is_bound_deep_too(compiler, tmp_path):
    """libstdc++ comes with the library: its own strings call its own operators, whose blocks the library frees."""
    need('g++')
    program = compiler(LOADER, 'program', '-ldl')
    plugin = compiler(program_source('loading_strings.cpp'), 'libplugin.so', '-shared', '-fPIC', '-lstdc++',
                      language='c++')
    process = same([program, 'deep', plugin], tmp_path)
    no_losses(process)
    assert process['health']['complete'] and process['mismatches'] == []
    of_all = [s for s in process['sites'] if any(f['function'] == 'library_alloc' for f in s['stack'])]
    assert sum(s['live_blocks'] for s in of_all) == 25 and sum(s['allocations'] for s in of_all) >= 300
    assert sum(s['live_bytes'] for s in of_all) == 1925


def test_a_deep_library_with_an_allocator_of_its_own(compiler, tmp_path):
    """It binds deep to have that one: it is left alone."""
    program = compiler(LOADER, 'program', '-ldl')
    own = 'static char room[1 << 16]; static size_t at; void *malloc(size_t n) { at += (n + 15) & ~15ul; return room + at - n; }' \
          ' void free(void *p) {}'
    plugin = compiler(LIBRARY + own, 'libplugin.so', '-shared', '-fPIC')
    process = same([program, 'deep', plugin], tmp_path)
    assert of_library(process) == [] and notes_about(process, 'RTLD_DEEPBIND')


@pytest.mark.parametrize('how, words', [('deep', 'RTLD_DEEPBIND'), ('space', 'dlmopen')])
def test_a_library_whose_calls_go_past_us_is_said(how, words, compiler, tmp_path):
    program = compiler(LOADER, 'program', '-ldl', f'-Wl,-rpath,{tmp_path}')
    plugin = compiler(LIBRARY, 'libplugin.so', '-shared', '-fPIC')
    plugin = 'libplugin.so' if how == 'deep' else plugin
    process = same([program, how, plugin], tmp_path)
    assert not process['health']['complete'] and of_library(process) == []
    (note,) = notes_about(process, words)
    assert note.startswith(f'{plugin} was opened ') and ', the first of 3 such calls: ' in note  # of one library
    assert "'seep attach PID'" in note
    text = run([SEEP, 'report', tmp_path / 'run.seep'])
    assert text.out.decode().startswith('health: INCOMPLETE') and note in text.out.decode()


def test_by_the_library_alone_too(compiler, tmp_path):
    program = compiler(LOADER, 'program', '-ldl')
    plugin = compiler(LIBRARY, 'libplugin.so', '-shared', '-fPIC')
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'alone.seep')
    done = run([program, 'space', plugin], env=env)
    assert (done.code, done.out, done.err) == (5, b'done\n', b''), done
    assert len(notes_about(report(tmp_path / 'alone.seep')[0], 'dlmopen')) == 1


def test_the_loader_searches_from_where_the_caller_lies(compiler, tmp_path):
    """$ORIGIN, RUNPATH and RTLD_NEXT mean the caller's: were ours the caller, nothing would be found."""
    compiler(LIBRARY, 'plugins/libplugin.so', '-shared', '-fPIC')
    program = compiler(LOADER, 'program', '-ldl', '-Wl,-rpath,$ORIGIN/plugins', '-Wl,--enable-new-dtags')
    for how in ('plain', 'base', 'deep', 'space'):
        for name in ('libplugin.so', '$ORIGIN/plugins/libplugin.so'):
            done = run([program, how, name])
            assert (done.code, done.out) == (5, b'done\n'), done
            same([program, how, name], tmp_path)
    process = same([program, 'deep', 'libnone.so'], tmp_path)  # the program's own message, not ours
    assert process['process']['exit'] == {'code': 3}


# ---- an allocator inside -----------------------------------------------------------------------------

BUMP = program_source('loading_bump.c')
USER = program_source('loading_bump_user.c')


def with_allocator(scope, prefix, name='main'):
    return (BUMP + USER).replace('SCOPE', scope).replace('PREFIX_', prefix).replace('NAME', name)


HIDDEN = '__attribute__((noipa, visibility("hidden")))'


@pytest.mark.parametrize('prefix, words', [('je_', 'jemalloc, called as je_malloc'), ('', 'a malloc of its own')])
@pytest.mark.parametrize('where, mode', [('program', 0o755), ('library', 0o755), ('program', 0o757)])
def test_an_allocator_inside_is_said(where, mode, prefix, words, compiler, tmp_path):
    """What everybody may write to is read by a process without rights."""
    if where == 'program':
        holder = program = compiler(with_allocator(HIDDEN, prefix), 'program')
    else:
        holder = compiler(with_allocator(HIDDEN, prefix, 'work'), 'libwork.so', '-shared', '-fPIC')
        program = compiler(program_source('loading_works.c'), 'program', str(holder))
    os.chmod(holder, mode)
    process = same([program], tmp_path)
    assert not process['health']['complete']
    (note,) = process['health']['notes']
    assert note.startswith(f'{holder} has ') and words in note and "'seep attach -" in note, note


def test_an_allocator_in_a_library_that_is_opened_later(compiler, tmp_path):
    """Its code is on no stack that we saw: what is mapped when the program leaves tells."""
    source = BUMP + program_source('loading_bump_library.c')
    program = compiler(LOADER, 'program', '-ldl')
    plugin = compiler(source.replace('SCOPE', HIDDEN).replace('PREFIX_', 'mi_'), 'libplugin.so', '-shared', '-fPIC')
    process = same([program, 'plain', plugin], tmp_path)
    (note,) = process['health']['notes']
    assert note.startswith(f'{plugin} has an allocator of its own, mimalloc') and not process['health']['complete']
    # It leaves without a scan, and nothing of the library was seen.
    process = traced([program, 'plain', plugin], tmp_path, options=['--scan', 'no']).report()[0]
    assert process['health']['notes'] == []


def test_what_the_note_says_to_do_works(compiler, tmp_path):
    """The commands of the notes see the blocks."""
    if run([SEEP, 'attach', '--', 'true']).code != 0:
        pytest.skip('seep attach is not possible here: see seep info')
    for prefix, options in (('je_', ['--symbols-prefix', 'je_']), ('', ['-O', tmp_path / 'program'])):
        program = compiler(with_allocator(HIDDEN, prefix), 'program')
        done = run([SEEP, 'attach', '--json', *options, '--', program])
        assert done.code == 0 and b'"live_blocks":5' in done.err.replace(b' ', b''), done
    program = compiler(LOADER, 'program', '-ldl')
    plugin = compiler(LIBRARY, 'libplugin.so', '-shared', '-fPIC')
    for how in ('deep', 'space'):
        done = run([SEEP, 'attach', '--json', '--', program, how, plugin], env=environment(LOADER_WAITS=1))
        process = report_json.loads(done.err)
        found = of_library(process)
        assert (sum(s['allocations'] for s in found), sum(s['live_blocks'] for s in found)) == (100, 25), done


def test_a_stripped_one_by_its_messages(compiler, tmp_path):
    archive = library('libjemalloc.a')
    link = ['-Wl,--exclude-libs,ALL', archive, '-lstdc++', '-lm', '-lpthread']
    program = compiler(program_source('loading_one_block.c'), 'program', *map(str, link))
    process = same([program], tmp_path)
    assert len(notes_about(process, 'a malloc of its own')) == 1
    assert run(['strip', program]).code == 0
    process = same([program], tmp_path)
    assert len(notes_about(process, 'seems to have jemalloc inside')) == 1


@pytest.mark.parametrize('stripped', [False, True])
@pytest.mark.parametrize('free_threaded', [False, True])
def test_python_has_mimalloc_inside(compiler, tmp_path, free_threaded, stripped):
    """From 3.13 on, but allocates with pymalloc unless it is free-threaded."""
    source = with_allocator(HIDDEN, 'mi_', 'work') + program_source('loading_bump_python.c')
    program = compiler(source, 'program', '-rdynamic', *['-DFREE_THREADED'] * free_threaded)
    if stripped:
        assert run(['strip', program]).code == 0
    process = same([program], tmp_path)
    assert len(notes_about(process, 'mimalloc')) == free_threaded
    assert process['health']['complete'] or (free_threaded and not stripped)


def test_an_ordinary_program_has_no_such_note(tmp_path):
    process = same(['/bin/ls', '/'], tmp_path)
    assert process['health']['complete'] and process['health']['notes'] == []


# ---- somebody in front of us -------------------------------------------------------------------------

ARRAYS = program_source('loading_arrays.c')
OPERATORS = program_source('loading_operators.cpp')


def check_preempted(done, trace, plain, by):
    assert (done.code, done.out, done.err) == (plain.code, plain.out, plain.err), (plain, done)
    process = report(trace)[0]
    assert not process['health']['complete']
    (note,) = notes_about(process, 'are not covered')
    assert str(by) in note
    # What came by our own functions (reallocarray, operator new) is no leak of the program.
    assert process['sites'] == []


@pytest.mark.parametrize('allocator', ALLOCATORS)
@pytest.mark.parametrize('language', ['c', 'c++'])
def test_another_allocator_preloaded_in_front(language, allocator, compiler, tmp_path):
    other = library(*ALLOCATORS[allocator])
    if language == 'c':
        program = compiler(ARRAYS, 'program')
    else:
        program = cpp(tmp_path)
    plain = run([program], env=environment(LD_PRELOAD=other))
    env = environment(LD_PRELOAD=f'{other}:{LIBSEEP}', SEEP_OUT=tmp_path / 'front.seep')
    check_preempted(run([program], env=env), tmp_path / 'front.seep', plain, other)


@pytest.mark.parametrize('allocator', ALLOCATORS)
def test_another_allocator_in_front_of_a_program_that_takes_the_address_of_malloc(allocator, compiler, tmp_path):
    """A program with fixed addresses has a symbol for it, which leads to whose malloc is first behind the program."""
    other = library(*ALLOCATORS[allocator])
    program = compiler(program_source('loading_address_of_malloc.c'), 'program', '-no-pie', '-fno-pie')
    plain = run([program], env=environment(LD_PRELOAD=other))
    env = environment(LD_PRELOAD=f'{other}:{LIBSEEP}', SEEP_OUT=tmp_path / 'front.seep')
    check_preempted(run([program], env=env), tmp_path / 'front.seep', plain, other)
    # And it is no allocator that comes in front of ours.
    no_losses(same([program], tmp_path))


def test_a_program_behind_another_allocator_is_listed(compiler, tmp_path):
    """It made no heap operation that seep saw, which is not known to be none."""
    other = library(*ALLOCATORS['jemalloc'])
    program = compiler(ARRAYS, 'program')
    under = traced(['sh', '-c', f'LD_PRELOAD={other}:$LD_PRELOAD {program}; :'], tmp_path)
    child = report(under.trace)[1]
    assert child['process']['exe'] == str(program) and not child['health']['complete'], child


def cpp(tmp_path, *options):
    need('g++')
    (tmp_path / 'program.cpp').write_text(OPERATORS)
    done = run(['g++', '-std=c++17', '-g', '-O1', '-w', 'program.cpp', '-o', 'program', *options], cwd=tmp_path)
    assert done.code == 0, done
    return tmp_path / 'program'


def test_valgrind_with_a_malloc_of_its_own(tmp_path, undisturbed):
    """It replaces each malloc while it translates, and nothing of the program reaches ours."""
    need('valgrind')
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'under.seep')
    done = run(['valgrind', '-q', '/bin/true'], env=env, cwd=tmp_path)
    assert done.code == 0, done
    process = report(tmp_path / 'under.seep')[-1]
    (note,) = notes_about(process, 'are not covered')
    assert not process['health']['complete'] and 'malloc of Valgrind' in note and 'without Valgrind' in note, process
    text = run([SEEP, 'report', tmp_path / 'under.seep']).out
    assert b'run the program without Valgrind' in text and b"'seep attach' sees" not in text, text


@pytest.mark.parametrize('language', ['c', 'c++'])
def test_a_static_allocator_that_exports_malloc(language, compiler, tmp_path):
    """The program's own malloc is in front of everything that is preloaded."""
    link = [str(library('libjemalloc.a')), '-lstdc++', '-lm', '-lpthread', '-Wl,--export-dynamic']
    program = compiler(ARRAYS, 'program', *link) if language == 'c' else cpp(tmp_path, *link)
    plain = run([program])
    under = traced([program], tmp_path)
    check_preempted(under, under.trace, plain, program)


LISTED = {'run': (), 'sampled': ('--sample', '1K'), 'counted': ('--mode', 'count'), 'recorded': ('--mode', 'record')}


@pytest.fixture(scope='module')
def uses_operators(tmp_path_factory):
    """The common part of the programs, compiled once, because that takes longest."""
    need('g++')
    folder = tmp_path_factory.mktemp('uses_operators')
    (folder / 'uses.cpp').write_text(program_source('loading_uses_operators.cpp'))
    built = run(['g++', '-std=c++17', '-g', '-O1', '-w', '-c', 'uses.cpp'], cwd=folder)
    assert built.code == 0, built
    return folder / 'uses.o'


@pytest.mark.parametrize('which', ['HEADER', 'POOL', 'NEW', 'DELETE', 'NOTHROW', 'SIZED', 'SIZE_TOLD', 'DELETE_NOTHROW', 'ALL'])
def test_a_program_that_defines_some_operators(which, uses_operators, tmp_path):
    """The other operators call the program's, as those of the C++ library do: new[] calls its new, sized delete its delete."""
    check_some_operators(tmp_path, which, [uses_operators, '-D', which, 'some.cpp', '-o', 'program'])


@pytest.mark.parametrize('which', ['HEADER', 'POOL', 'NEW', 'DELETE', 'NOTHROW', 'ARRAY', 'SIZED', 'SIZE_TOLD', 'DELETE_NOTHROW', 'ALL'])
def test_a_library_that_defines_some_operators(which, uses_operators, tmp_path):
    """The library is behind libseep.so in the search order. Its operators are called, and each block of their malloc counts once."""
    check_some_operators(tmp_path, which, ['-D', which, '-shared', '-fPIC', 'some.cpp', '-o', 'libsome.so'],
                         [uses_operators, '-Wl,--no-as-needed,-rpath,$ORIGIN', 'libsome.so', '-o', 'program'])


def check_some_operators(tmp_path, which, *steps):
    program = tmp_path / 'program'
    (tmp_path / 'some.cpp').write_text(program_source('loading_some_operators.cpp'))
    for step in steps:
        built = run(['g++', '-std=c++17', '-g', '-O1', '-w', *step], cwd=tmp_path)
        assert built.code == 0, built
    plain = run([program])
    assert plain.code == 0 and plain.out != b'0 0\n', plain
    for name, options in LISTED.items():
        under = traced([program], tmp_path, options=options, name=name)
        assert (under.code, under.out, under.err) == (0, plain.out, plain.err), (name, under)
        if name == 'counted':
            continue
        process = report(under.trace)[0]
        no_losses(process)
        assert not process.get('mismatches'), (name, process)
        assert not [f for s in process['sites'] for f in s['stack'] if 'libseep' in f['module']], (name, process)
        live = [s for s in process['sites'] if s['live_blocks'] and s['stack'] and
                s['stack'][0]['module'] in ('program', 'libsome.so')]
        assert which == 'POOL' or not live, (name, live)


# ---- other interposers -------------------------------------------------------------------------------

CLOCK = program_source('loading_clock.c')
CLOCK_USER = program_source('loading_clock_user.c')


@pytest.mark.parametrize('order', ['seep clock witness', 'clock seep witness', 'seep witness clock', 'clock witness seep'])
def test_two_other_interposers_in_any_order(order, compiler, tmp_path):
    program = compiler(CLOCK_USER, 'program')
    clock = compiler(CLOCK, 'libclock.so', '-shared', '-fPIC', '-ldl')
    files = {'seep': LIBSEEP, 'clock': clock, 'witness': WITNESS}
    env = environment(LD_PRELOAD=':'.join(str(files[name]) for name in order.split()))
    env.update(SEEP_OUT=str(tmp_path / 'alone.seep'), COUNT_SHIM_OUT=str(tmp_path / 'witness'))
    done = run([program], env=env)
    assert (done.code, done.out, done.err) == (0, b'1000\n', b''), done
    process = report(tmp_path / 'alone.seep')[0]
    no_losses(process)
    assert process['health']['notes'] == [], 'all hand on to the next: nothing is left out'
    figures = {s['size_min']: (s['allocations'], s['live_blocks'])
               for s in process['sites'] if s['size_min'] in (31, 123) and s['via'] == 'malloc'}
    assert figures == {31: (50, 25), 123: (1, 1)}
    if not order.endswith('seep'):  # in front of us it also sees what the loader allocates for our own look-ups
        check_witness([process], tmp_path)


FAKED_CLOCK = program_source('loading_faked_clock.c')
SLEEPS = program_source('loading_sleeps.c')


def test_a_clock_that_the_program_fakes(compiler, tmp_path):
    """The program has the clock that it asked for; the figures of the trace have the true one, and nothing of its calls."""
    program, clock = compiler(SLEEPS, 'sleeps'), compiler(FAKED_CLOCK, 'libfaked.so', '-shared', '-fPIC')
    env = environment(LD_PRELOAD=f'{LIBSEEP}:{clock}', SEEP_OUT=tmp_path / 'faked.seep', SEEP_AGE=1)
    done = run([program], env=env)
    assert (done.code, done.out, done.err) == (0, b'1000000000\n', b''), done
    process = report(tmp_path / 'faked.seep', '--blocks')[0]
    no_losses(process)
    assert process['process']['duration_s'] >= 0.02
    ours, = [block for site in process['sites'] for block in site['blocks'] if block['size'] == 1000]
    assert 0.02 <= ours['age_s'] <= process['process']['duration_s']
    assert [s['allocations'] for s in process['sites'] if s['size_max'] == 77] == [1], 'of the one call of the program'


@pytest.mark.parametrize('cc', ['gcc', 'clang'])
def test_a_program_with_address_sanitizer_is_known(cc, tmp_path):
    """It is what it is untraced, its runtime's helpers too, and the report says the one thing to do."""
    need(cc)
    source, program = tmp_path / 'checked.c', tmp_path / 'checked'
    source.write_text(program_source('loading_checked.c'))
    if run([cc, '-w', '-fsanitize=address', source, '-o', program]).code:
        pytest.skip(f'no AddressSanitizer of {cc} here')
    done = run([SEEP, 'run', '-o', tmp_path / 'x.seep', program], cwd=tmp_path)
    assert (done.code, done.out) == (4, b'fine\n'), done
    health = done.err.splitlines()[0].decode()
    assert health.startswith('health: NOT TRACED') and 'is built with AddressSanitizer' in health, done
    assert health.endswith('build it without -fsanitize=address'), done
    assert [p['process']['exe'] for p in report(tmp_path / 'x.seep')] == [str(program)]


@pytest.mark.parametrize('cc, kind', [('gcc', 'address'), ('clang', 'address'), ('gcc', 'thread'), ('clang', 'thread'), ('clang', 'memory')])
def test_a_program_whose_sanitizer_keeps_others_out(cc, kind, tmp_path):
    """Its runtime ends a program with memory where the image would be, or with a library before it. The library does nothing then, also
    alone and in what a shell executes, and the report says why."""
    need(cc)
    source, program, name = tmp_path / 'checked.c', tmp_path / 'checked', f'{kind.capitalize()}Sanitizer'
    source.write_text(program_source('loading_checked.c'))
    if run([cc, '-w', f'-fsanitize={kind}', source, '-o', program]).code:
        pytest.skip(f'no such sanitizer of {cc} here')
    alone = run([program], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'alone.seep'))
    assert (alone.code, alone.out, alone.err) == (4, b'fine\n', b''), alone
    for command in ([program], ['sh', '-c', f'{program}; true']):
        done = run([SEEP, 'run', '-o', tmp_path / 'x.seep', *command], cwd=tmp_path)
        assert done.out == b'fine\n', done
        assert f'is built with {name}' in done.err.decode(), done


def test_a_program_with_address_sanitizer_runs(compiler, tmp_path):
    """Its runtime wants to be the first; told to bear with another, it is not called before it is set up."""
    try:
        program = compiler(program_source('loading_sanitized.c'),
                           'checked', '-fsanitize=address')
    except AssertionError:
        pytest.skip('no AddressSanitizer here')
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'asan.seep', ASAN_OPTIONS='verify_asan_link_order=0:detect_leaks=0')
    done = run([program], env=env, cwd=tmp_path)
    assert (done.code, done.out) == (0, b'fine\n'), done
    # Its runtime is called before libc knows the environment: the settings are heard all the same.
    assert report(tmp_path / 'asan.seep')[0]['totals']['allocations'], list(tmp_path.iterdir())
    assert not list(tmp_path.glob('seep.*')), list(tmp_path.iterdir())
    under = traced([program], tmp_path, env=environment(ASAN_OPTIONS=env['ASAN_OPTIONS']))
    assert (under.code, under.out) == (0, b'fine\n'), under
    assert under.report()[0]['totals']['allocations']


def test_a_program_in_another_root_has_its_names(tmp_path):
    """Its file is to be had only through the process: /proc/PID/root leads to it. Variables have their names too."""
    if os.getuid():
        pytest.skip('only root mounts')
    program, library = tmp_path / 'grower', LIBSEEP
    done = run(['gcc', '-g', '-O1', '-o', program, Path(__file__).with_name('service_server.c')])
    assert done.code == 0, done
    inside = tmp_path / 'inside'
    inside.mkdir()
    script = f'mount -t tmpfs none {inside} && cp {program} {inside}/grower && exec env LD_PRELOAD={library} {inside}/grower'
    process = subprocess.Popen(['unshare', '-m', 'sh', '-c', script], cwd=tmp_path, stdout=subprocess.DEVNULL, env=environment())
    try:
        wait_until(lambda: not run([SEEP, 'report', process.pid]).code, 'its image')
        assert not (inside / 'grower').exists()
        for command in ('report', 'scan'):
            done = run([SEEP, command, process.pid])
            assert b'grow_by (service_server.c:' in done.out and b'is gone' not in done.out, done
        assert b'void *last' in run([SEEP, 'scan', process.pid]).out
        done = run([SEEP, 'growth', process.pid, '--interval', '20ms', '--count', '7', '--by', 'function'])
        assert b'grow_by' in done.out, done
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize('user', [0, 65534])
def test_a_program_that_leaves_for_another_root_keeps_its_names(user, tmp_path):
    """chroot() into an empty folder, as daemons do. Files that were mapped before are not below /proc/PID/root, but below ours."""
    if os.getuid():
        pytest.skip('only root may chroot')
    (tmp_path / 'c.c').write_text(program_source('loading_chroot.c'))
    done = run(['gcc', '-g', '-O0', 'c.c', '-o', 'c'], cwd=tmp_path)
    assert done.code == 0, done
    (tmp_path / 'empty').mkdir()
    process = subprocess.Popen([tmp_path / 'c', tmp_path / 'empty', str(user)], cwd=tmp_path, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'c.seep'))
    try:
        assert process.stdout.readline() == b'ok\n'
        for command in ('report', 'scan'):
            done = run([SEEP, command, process.pid])
            assert done.code == 0 and b'grow (c.c:' in done.out and b'is gone' not in done.out, done
            assert b'_IO_file_doallocate' in done.out, done
    finally:
        process.kill()
        process.communicate()
