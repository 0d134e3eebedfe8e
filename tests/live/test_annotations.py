# SPDX-License-Identifier: BSD-2-Clause
"""What programs tell through seep.h: exact counts, in C and C++, by every way to link, traced and untraced."""
import struct
import subprocess

import pytest
from harness import LIBSEEP, ROOT, SEEP, environment, need, no_losses, plain_name, report, run
from raw_image import Image
import report_json
from small_programs import program_source

COVERS = [
    ('seep.h: pools', 'covered', 'test_pieces_are_counted_apart_from_the_heap', ''),
    ('seep.h: marks', 'covered', 'test_the_report_names_pools_and_marks', ''),
    ('seep.h: what a thread does', 'covered', 'test_threads_and_their_names', ''),
    ("LeakSanitizer's annotations", 'covered', 'test_what_is_told_to_leaksanitizer', 'by weak references'),
    ("LeakSanitizer's annotations", 'covered', 'test_leaksanitizer_itself_still_hears_it', 'in a program that was built with it'),
]

SOURCE = ROOT / 'tests/live/annotated.c'
BUILDS = {
    'gcc -O0': ['gcc', '-std=c99', '-O0'],
    'gcc -O2': ['gcc', '-std=c11', '-O2'],
    'gcc, fixed address': ['gcc', '-O2', '-fno-pie', '-no-pie'],
    'gcc, position-independent code at a fixed address': ['gcc', '-O1', '-fPIE', '-no-pie'],
    'g++': ['g++', '-x', 'c++', '-std=c++11', '-O2'],
    'g++, hidden': ['g++', '-x', 'c++', '-std=c++17', '-O1', '-fvisibility=hidden', '-fno-plt'],
    'clang': ['clang', '-O2'],
    'clang++, fixed address': ['clang++', '-x', 'c++', '-O1', '-fno-pie', '-no-pie'],
}
# By the function of the program below take(): allocated, bytes, freed, bytes freed.
EXPECTED = {
    ('leak_pieces', 'seep_pool_alloc'): (3, 300, 0, 0),
    ('give_all_back', 'seep_pool_alloc'): (50, 350, 50, 350),
    ('resize', 'seep_pool_alloc'): (1, 64, 1, 64),
    ('resize', 'seep_pool_resize'): (2, 160, 1, 32),
    ('main', 'seep_pool_alloc'): (5, 1621, 4, 1021),
}


@pytest.fixture(scope='module', params=BUILDS)
def program(request, tmp_path_factory):
    command = BUILDS[request.param]
    need(command[0])
    path = tmp_path_factory.mktemp('built') / 'annotated'
    strict = ['-Wall', '-Wextra', '-Wshadow', '-Wundef', '-pedantic', '-Werror', '-Wno-unknown-pragmas']
    done = run([*command, *strict, '-D_GNU_SOURCE', '-g', '-pthread', '-I', ROOT / 'include', SOURCE, '-o', path])
    assert done.code == 0, done
    return path


def traced(program, tmp_path, *arguments):
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 'x.seep', '--', program, *arguments])
    assert done.code == 0, done
    return done, report(tmp_path / 'x.seep')


def by_function(process):
    seen = {}
    for site in process['pools']['sites']:
        names = [plain_name(f['function']) for f in site['stack'] if f['module'].endswith('annotated')]
        assert not any(name.startswith('seep_') for name in names), names
        name = names[1] if names[0] == 'take' else names[0]
        figures = [site[key] for key in ('allocations', 'allocated_bytes', 'frees', 'freed_bytes')]
        seen[name, site['via']] = tuple(
            a + b for a, b in zip(seen.get((name, site['via']), (0, 0, 0, 0)), figures))
    return seen


def test_without_seep_nothing_happens(program):
    done = run([program])
    assert (done.code, done.out, done.err) == (0, b'0 77 (nil)\n', b'')


def test_pieces_are_counted_apart_from_the_heap(program, tmp_path):
    done, (process,) = traced(program, tmp_path)
    assert (done.out, done.err) == (b'1 77 (nil)\n', b'')
    no_losses(process)
    assert by_function(process) == EXPECTED
    assert process['pools']['totals'] == {
        'allocations': 61, 'allocated_bytes': 2495, 'frees': 56, 'freed_bytes': 1467,
        'live_blocks': 5, 'live_bytes': 1028, 'pools_created': 3, 'pools_destroyed': 1, 'unknown_frees': 1}
    assert process['pools']['by_name'] == [
        {'name': None, 'pools': 0, 'live_blocks': 1, 'live_bytes': 600},
        {'name': 'leaky', 'pools': 1, 'live_blocks': 4, 'live_bytes': 428},
        {'name': None, 'pools': 1, 'live_blocks': 0, 'live_bytes': 0}]
    # Nothing of it is in the heap's figures: three pools, their memory, custom, kept, given.
    own = [site for site in process['sites'] if site['stack'][0]['module'].endswith('annotated')]
    assert sum(site['allocations'] for site in own) == 9
    assert all(site['via'] == 'malloc' for site in own)
    assert process['totals']['by_function'] == {'malloc': process['totals']['allocations']}
    assert [(mark['name'], mark['counted']) for mark in process['marks']] == [('loaded', True), ('end', True)]
    (leaked,) = [site for site in process['pools']['sites'] if site['live_bytes'] == 300]
    assert (leaked['pool'], leaked['size_min'], leaked['size_max']) == ('leaky', 100, 100)


def test_the_report_names_pools_and_marks(program, tmp_path):
    traced(program, tmp_path)
    done = run([SEEP, 'report', tmp_path / 'x.seep'])
    text = done.out.decode()
    assert 'pools of the program: 1.00 KiB live in 5 pieces, of 61 taken; 2 pools, of 3 created\n' in text
    assert '  300 B in 3 pieces of pools named leaky\n    seep_pool_alloc: 3 taken, 300 bytes; each 100 bytes' in text
    assert '1 piece freed that were never announced' in text
    assert 'marks:   loaded at ' in text


FIRST = program_source('annotations_first.c')


def test_a_mark_before_the_first_allocation_counts_nothing(tmp_path):
    """That is known: it is no mark whose counts found no room."""
    need('gcc')
    (tmp_path / 'first.c').write_text(FIRST)
    assert run(['gcc', '-I', ROOT / 'include', tmp_path / 'first.c', '-o', tmp_path / 'first']).code == 0
    trace = tmp_path / 'first.seep'
    assert run([SEEP, 'run', '-q', '-o', trace, tmp_path / 'first']).code == 0
    (process,) = report(trace)
    assert [(mark['name'], mark['counted']) for mark in process['marks']] == [('before all', True)]
    done = run([SEEP, 'diff', f'{trace}@before all', trace])
    assert done.code == 0 and b'#1   +100 bytes live in +1 block  new' in done.out, done


def test_threads_and_their_names(program, tmp_path):
    _, (process,) = traced(program, tmp_path, 'threads')
    no_losses(process)
    totals = process['pools']['totals']
    assert (totals['allocations'], totals['frees']) == (61 + 4000, 56 + 3000)
    assert (totals['pools_created'], totals['pools_destroyed']) == (7, 4)
    assert {'name': 'of a thread', 'pools': 1, 'live_blocks': 1000, 'live_bytes': 10000} in process['pools']['by_name']
    done = run([SEEP, 'report', '--by', 'thread', tmp_path / 'x.seep'])
    assert b'eater of pieces' in done.out, done


def test_a_child_of_fork_goes_on_with_the_pools(program, tmp_path):
    _, processes = traced(program, tmp_path, 'fork')
    parent, child = processes
    assert parent['pools']['totals']['live_bytes'] == 1028
    assert by_function(parent) == EXPECTED
    totals = child['pools']['totals']
    assert (totals['live_blocks'], totals['live_bytes']) == (2, 605)
    assert (totals['allocations'], totals['frees']) == (6, 4)  # what was freed before the fork is its parent's
    assert [mark['name'] for mark in child['marks']] == ['loaded', 'in the child']


def test_regions_are_in_the_image(program, tmp_path):
    out = tmp_path / 'raw.seep'
    done = run([program, 'places'], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=out))
    kept = int(done.out.split()[2], 16)
    image = Image(out)
    slots = [struct.unpack('=QQII', image.element(13, 24, i)) for i in range(image.areas[13][2])]
    regions = [(start, size, kind) for start, size, kind, _ in slots if kind]
    assert (kept, 0, 1) in regions, 'the ignored block; the one that was freed is not'
    assert len(regions) == 2 and [size for _, size, kind in regions if kind == 2] == [4096]


def test_switched_off_nothing_is_left(tmp_path):
    need('gcc')
    done = run(['gcc', '-std=c11', '-pedantic', '-Wall', '-Wextra', '-Werror', '-Wno-unknown-pragmas', '-D_GNU_SOURCE', '-O2',
                '-DSEEP_NO_ANNOTATIONS', '-pthread', '-I', ROOT / 'include', SOURCE, '-o', tmp_path / 'plain'])
    assert done.code == 0, done
    done = run([LIBSEEP and tmp_path / 'plain'], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT='/dev/null'))
    assert done.out.split()[0] == b'0'
    done = run(['nm', tmp_path / 'plain'])
    assert b'seep_' not in done.out


TOLD = program_source('annotations_told.c')


@pytest.mark.parametrize('tell', [False, True], ids=['untold', 'told'])
def test_the_scan_believes_what_it_is_told(tell, tmp_path):
    """Ignored blocks and what they hold are reachable, and memory that was named is searched."""
    (tmp_path / 'told.c').write_text(TOLD)
    built = run(['gcc', '-O0', '-g', '-I', ROOT / 'include', tmp_path / 'told.c', '-o', tmp_path / 'told'])
    assert built.code == 0, built
    process = subprocess.Popen(
        [tmp_path / 'told', *(['tell'] if tell else [])],
        env=environment(LD_PRELOAD=str(LIBSEEP), SEEP_OUT='/dev/null'), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b'there\n'
        done = run([SEEP, 'scan', '--roots', 'lsan', '--json', '--top', '0', str(process.pid)])
        assert done.code == 0, done
        kinds = {s['live_bytes']: (s['kind'], s['held_by']) for s in report_json.loads(done.out)['sites']}
    finally:
        process.communicate(b'x')
    assert process.returncode == 0
    assert kinds[300] == ('lost', None)
    if tell:
        assert kinds[100] == ('reachable', 'seep_ignore() of the program')
        assert kinds[200][0] == 'reachable' and kinds[200][1].startswith('seep_ignore() of the program -> block of 100 B')
        assert kinds[400][0] == 'reachable' and kinds[400][1].startswith('memory of seep_root_add() at 0x')
    else:
        assert [kinds[size][0] for size in (100, 200, 400)] == ['lost', 'indirect', 'lost']


# Weak references, as libraries have them that run with and without LeakSanitizer. Sizes are names.
WEAK = program_source('annotations_weak.c')
LSAN_LOST = {1001, 1002, 1003, 1004}
LSAN_HELD = {2001, 2002, 2003, 2005, 2006, 2007}


def kinds_by_size(process):
    return {site['live_bytes'] // site['live_blocks']: site['kind'] for site in process['sites']
            if site['live_blocks'] and site['live_bytes'] // site['live_blocks'] in LSAN_LOST | LSAN_HELD}


@pytest.mark.parametrize('build', [b for b in BUILDS if 'fixed' not in b])
def test_what_is_told_to_leaksanitizer(build, tmp_path):
    """A program that refers to its functions weakly runs with and without us; with us they are believed."""
    need(BUILDS[build][0])
    source = tmp_path / 'weak.c'
    source.write_text(WEAK)
    built = run([*BUILDS[build], '-w', '-D_GNU_SOURCE', '-g', '-pthread', source, '-o', tmp_path / 'weak'])
    assert built.code == 0, built
    assert run([tmp_path / 'weak']).out == b'0\n'
    process = subprocess.Popen([tmp_path / 'weak'], env=environment(LD_PRELOAD=str(LIBSEEP), SEEP_OUT=tmp_path / 'x.seep'),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b'1\n'
        done = run([SEEP, 'scan', '--roots', 'lsan', '--json', '--top', '0', str(process.pid)])
        assert done.code == 0, done
    finally:
        process.communicate(b'x')
    assert process.returncode == 0
    seen = report_json.loads(done.out)
    no_losses(seen)
    expected = {**dict.fromkeys(LSAN_LOST, 'lost'), **dict.fromkeys(LSAN_HELD, 'reachable')}
    assert kinds_by_size(seen) == expected
    # 2004 and the blocks that were freed later are gone, and with them that they were ignored.
    assert seen['leaks']['lost']['blocks'] == len(LSAN_LOST)


def test_gates_hear_it(tmp_path):
    """When the program leaves, too. The mapping holds one of the four then."""
    need('gcc')
    source = tmp_path / 'weak.c'
    source.write_text(WEAK)
    assert run(['gcc', '-O0', '-w', '-D_GNU_SOURCE', '-g', '-pthread', source, '-o', tmp_path / 'weak']).code == 0
    done = run([SEEP, 'check', '--top', '0', tmp_path / 'weak'], cwd=tmp_path)
    assert done.code == 1 and b'check: 3,006 bytes in 3 blocks leaked' in done.err, done


def test_leaksanitizer_itself_still_hears_it(tmp_path):
    """In a program that was built with it, our functions stand in front of its own, and hand on."""
    need('gcc')
    source = tmp_path / 'weak.c'
    source.write_text(WEAK)
    built = run(['gcc', '-O0', '-w', '-D_GNU_SOURCE', '-DMATCHED', '-g', '-fsanitize=leak', '-pthread', source, '-o', tmp_path / 'built'])
    if built.code:
        pytest.skip('gcc has no LeakSanitizer here')
    found = []
    for extra in ({}, {'LD_PRELOAD': str(LIBSEEP), 'SEEP_OUT': '/dev/null'}):
        done = run([tmp_path / 'built'], env=environment(LSAN_OPTIONS='use_stacks=0:use_registers=0', **extra))
        assert done.out == b'1\n', done
        found.append(done)
    leaks = [sorted(line.split()[3] for line in done.err.decode().splitlines() if ' leak of ' in line) for done in found]
    assert leaks[0] == leaks[1] and leaks[0], found
    assert [done.code for done in found] == [23, 23]
