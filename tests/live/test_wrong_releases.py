# SPDX-License-Identifier: BSD-2-Clause
"""Blocks freed in a wrong way: counted, with both stacks, and the program goes on to its own fate."""

import platform
import struct
from collections import Counter
from xml.etree import ElementTree

import pytest
import messages
import report_json
from harness import BUILD, LIBSEEP, PROGRAMS, SEEP, environment, exit_status, need, plain_name, report, run, traced
from raw_image import Image
from small_programs import built_program, program_source

COVERS = [
    ('mismatched new[] and free', 'covered', 'test_mismatches', 'with both stacks'),
    ('double free', 'covered', 'test_ends_as_without_seep',
     'counted, with the stack of the allocation and of the second free'),
    ('double free', 'covered', 'test_the_first_free', 'with `--free-stacks` that of the first free too'),
    ('abort in a hook', 'covered', 'test_ends_as_without_seep', "glibc's free aborts, called by ours"),
]

PROGRAM = BUILD / 'tests/live/live-wrong-releases'


def found(process):
    """(kind, allocated via, released via, allocating function, releasing function, size): count"""
    rows = Counter()
    for row in process['mismatches']:
        ours = [[plain_name(f['function']) for f in row[k] if f['module'].endswith('live-wrong-releases')]
                for k in ('allocation_stack', 'release_stack')]
        key = row['kind'], row['allocated_via'], row['released_via'], ours[0][0], ours[1][0], row['size']
        rows[key] += row['count']  # a loop may have been unrolled
    return dict(rows)


MISMATCHES = {
    ('mismatch', 'operator new[]', 'free', 'by_new_array', 'array_by_free', 40): 5,
    ('mismatch', 'operator new[]', 'operator delete', 'by_new_array', 'array_by_delete', 41): 3,
    ('mismatch', 'malloc', 'operator delete', 'by_malloc', 'malloc_by_delete', 42): 2,
    ('mismatch', 'operator new', 'realloc', 'by_new', 'new_by_realloc', 56): 1,
    ('mismatch', 'operator new[]', 'free', 'by_new_array', 'in_other_thread', 50): 1,
}


@pytest.mark.parametrize('options', [(), ('--mode', 'record')], ids=' '.join)
def test_mismatches(options, tmp_path):
    plain = run([PROGRAM])
    under = traced([PROGRAM], tmp_path, options=options)
    assert under.code == plain.code == 0, under
    assert (under.out, under.err) == (plain.out, plain.err)
    (process,) = under.report()
    assert found(process) == MISMATCHES
    # What was freed in a wrong way was freed.
    assert not [s for s in process['sites'] if s['live_blocks'] and s['via'] in ('operator new[]', 'operator new')]


@pytest.mark.parametrize('way, kind, release, size', [('twice', 'double_free', 'free', None),
                                                      ('inside', 'inside', 'free', 440),
                                                      ('realloc_inside', 'inside', 'realloc', 440),
                                                      ('realloc_twice', 'double_free', 'realloc', None)])
def test_ends_as_without_seep(way, kind, release, size, tmp_path):
    plain = run([PROGRAM, way])
    under = traced([PROGRAM, way], tmp_path)
    assert under.code == exit_status(plain.code), (plain, under)
    assert under.err == plain.err
    (process,) = under.report()
    assert found(process) == {(kind, 'malloc', release, 'by_malloc', way, size): 1}
    done = run([BUILD / 'seep', 'report', under.trace])
    assert b'mismatches: 1 block ' in done.out
    section = done.out[done.out.index(b'mismatches:'):].decode()
    assert section.index(f'{release} at') < section.index(f'{way}() (') < section.index('from malloc') < section.index('by_malloc')
    assert ("first freed: not known, 'seep run --free-stacks' keeps it" in section) == (kind == 'double_free')


def stacks(process):
    """(kind, size, three times via and innermost function of the program): allocated, freed first, and again"""
    rows = []
    for row in process['mismatches']:
        words = [row['kind'], row['size']]
        for via, stack in (('allocated_via', 'allocation_stack'), ('first_released_via', 'first_release_stack'),
                           ('released_via', 'release_stack')):
            ours = [plain_name(f['function']) for f in row[stack] or [] if f['module'].endswith('live-wrong-releases')]
            words += [row[via], ours[0] if ours else None]
        rows.append(tuple(words))
    return rows


FIRST = {
    'first': (61, 'malloc', 'by_malloc', 'free', 'free_first', 'free', 'free_again'),
    'first_delete': (56, 'operator new', 'by_new', 'operator delete', 'delete_first', 'operator delete', 'delete_again'),
    'first_array': (62, 'operator new[]', 'by_new_array', 'operator delete[]', 'delete_array_first', 'operator delete[]',
                    'delete_array_again'),
    'first_realloc': (63, 'malloc', 'by_malloc', 'realloc', 'realloc_first', 'free', 'free_again'),
    'first_thread': (64, 'malloc', 'by_malloc', 'free', 'free_first', 'free', 'free_again'),
    # Of the address that was handed out again no more is said than what became of its last block.
    'first_between': (66, 'malloc', 'by_malloc_again', 'free', 'free_first', 'free', 'free_again'),
}


@pytest.mark.parametrize('options', [(), ('--age',), ('--depth', '2'), ('--sample', '1')], ids=' '.join)
@pytest.mark.parametrize('way', FIRST)
def test_the_first_free(way, options, tmp_path):
    plain = run([PROGRAM, way])
    under = traced([PROGRAM, way], tmp_path, options=('--free-stacks', *options))
    assert under.code == exit_status(plain.code), (plain, under)
    assert (under.out, under.err) == (plain.out, plain.err) and b'moved' not in plain.out
    (process,) = under.report()
    assert stacks(process) == [('double_free', *FIRST[way])]
    done = run([BUILD / 'seep', 'report', under.trace])
    section = done.out[done.out.index(b'mismatches:'):].decode()
    made, first, again = FIRST[way][2::2]
    assert section.index(f'{again}(') < section.index('first freed by') < section.index(f'{first}(')
    assert section.index(f'{first}(') < section.index('of a block from') < section.index(f'{made}(')


def test_the_first_free_is_kept_on_demand_only(tmp_path):
    under = traced([PROGRAM, 'first'], tmp_path)
    (process,) = under.report()
    assert stacks(process) == [('double_free', None, 'malloc', 'by_malloc', None, None, 'free', 'free_again')]


def test_the_first_free_was_the_parents(tmp_path):
    under = traced([PROGRAM, 'first_fork'], tmp_path, options=('--free-stacks',))
    assert under.code == 0, under
    parent, child = under.report()
    assert stacks(parent) == []
    assert stacks(child) == [('double_free', 67, 'malloc', 'by_malloc', 'free', 'free_first', 'free', 'free_again')]


@pytest.mark.parametrize('way', ['first_delete', 'first_array', 'first'])
def test_a_recording_has_the_stack_of_the_second_free(way, tmp_path):
    under = traced([PROGRAM, way], tmp_path, options=('--mode', 'record'))
    (process,) = under.report()
    _, made_by, made, _, _, again_by, again = FIRST[way]
    # After a first free nothing is known of the size.
    assert stacks(process) == [('double_free', None, made_by, made, None, None, again_by, again)]


def test_of_sampled_blocks_those_that_were_recorded(tmp_path):
    # Of 99,000 bytes one in 500 is certain to be recorded, and of the small ones hardly any.
    under = traced([PROGRAM, 'first_sampled'], tmp_path, options=('--free-stacks', '--sample', '500'))
    (process,) = under.report()
    assert stacks(process) == [('double_free', 99000, 'malloc', 'by_malloc_again', 'free', 'free_first', 'free', 'free_again')]
    assert process['totals']['live_blocks'] <= 1, process['totals']


def test_the_raw_dump_says_the_same(tmp_path):
    out = tmp_path / 'raw.seep'
    done = run([PROGRAM], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=out))
    assert done.code == 0, done
    seen = Counter()
    for kind, via, release, count in Image(out).misuses():
        seen[kind, via, release] += count
    wanted = Counter()
    for (_, via, release, _, _, _), count in MISMATCHES.items():
        wanted[1, via, release] += count
    assert seen == wanted


def test_the_library_alone_keeps_it_too(tmp_path):
    out = tmp_path / 'x.seep'
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=out, SEEP_FREE_STACKS=1)
    assert run([PROGRAM, 'first_thread'], env=env).code == 0
    assert Image(out).first_releases() == [('malloc', 'free', 64)]
    done = run(['/bin/true'], env={**env, 'SEEP_FREE_STACKS': 'yes'})
    assert done.err == f'libseep: SEEP_FREE_STACKS: 0 or 1 is wanted; {messages.USES_THE_DEFAULT}\n'.encode()


@pytest.mark.parametrize('age', (0, 1))
def test_the_other_planes_are_left_alone(age, tmp_path):
    images = []
    for keep in (0, 1):
        out = tmp_path / f'{keep}.seep'
        env = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=out, SEEP_FREE_STACKS=keep, SEEP_AGE=age)
        assert run([PROGRAMS / 'gcc-O2@containers'], env=env).code == 0
        image = Image(out)
        assert not any(image.lost)
        images.append((image.totals(), sorted(size for _, size in image.blocks())))
    assert images[0] == images[1]


def test_right_programs_have_none(tmp_path):
    for name in ('operators', 'containers', 'resize', 'threads'):
        program = PROGRAMS / f'gcc-O2@{name}'
        figures = []
        for options in ((), ('--free-stacks',), ('--free-stacks', '--age'), ('--free-stacks', '--sample', '64')):
            for process in traced([program], tmp_path, name=name, options=options).report():
                assert process['mismatches'] == [], (name, options)
                if '--sample' not in options and process['health']['complete']:
                    figures.append(process['totals'])
        assert figures, name
        assert all(figure['live_blocks'] == figures[0]['live_blocks'] for figure in figures), name


@pytest.mark.parametrize('release', ['free', 'realloc'])
@pytest.mark.parametrize('how, kind', [('stack', 'stack'), ('static', 'static'), ('wild', 'wild'), ('unmapped', 'wild'),
                                       ('large', 'double_free')])
def test_addresses_that_are_no_blocks(how, kind, release, tmp_path):
    """The program ends by it; the report says what the address is, and who freed it."""
    program = BUILD / 'tests/live/live-wrong-addresses'
    words = [program, how, *(['realloc'] if release == 'realloc' else [])]
    plain = run(words)
    under = traced(words, tmp_path)
    assert under.code == exit_status(plain.code) != 0, under
    (process,) = under.report()
    (row,) = process['mismatches']
    made = 'malloc' if kind == 'double_free' else None
    assert (row['kind'], row['count'], row['allocated_via'], row['released_via']) == (kind, 1, made, release)
    assert [plain_name(frame['function']) for frame in row['release_stack']][:2] == ['place_bad', 'main']
    assert [plain_name(frame['function']) for frame in row['allocation_stack']][:1] == (['freed_large'] if made else [])


@pytest.mark.parametrize('flags', [['-g', '-O0'], ['-O2'], ['-O2', '-s']], ids=' '.join)
def test_a_library_with_operators_of_its_own(flags, tmp_path):
    """Its operator new appears as a malloc (as in rust-lld's libLLVM); its operator delete jumps to free."""
    need('g++')
    (tmp_path / 'o.cpp').write_text(program_source('own_operators.cpp'))
    hidden = ['-shared', '-fPIC', '-static-libstdc++', '-Wl,--exclude-libs,ALL', '-fvisibility=hidden']
    assert run(['g++', *flags, '-DLIBRARY', *hidden, 'o.cpp', '-o', 'libo.so'], cwd=tmp_path).code == 0
    assert run(['g++', '-w', *flags, 'o.cpp', '-L.', '-lo', f'-Wl,-rpath,{tmp_path}', '-o', 'o'], cwd=tmp_path).code == 0
    for words, nr in ([], 0), (['malloc'], 2):
        trace = tmp_path / f'{nr}.seep'
        check = [SEEP, 'check', '-q', '-o', trace, '--max-mismatches', '0', '--max-leaked', '1M', tmp_path / 'o', *words]
        assert run(check).code == (1 if nr else 0)
        assert [wrong['kind'] for wrong in report(trace)[0]['mismatches']] == ['mismatch'] * nr


def test_blocks_of_libcs_own_malloc(tmp_path):
    """A malloc that is not seen may have returned the freed address again, so no double free is reported."""
    (tmp_path / 'past.c').write_text(program_source('wrong_releases_past.c'))
    assert run(['gcc', '-w', '-fno-builtin', 'past.c', '-o', 'past', '-ldl'], cwd=tmp_path).code == 0
    under = traced([tmp_path / 'past'], tmp_path)
    assert (under.code, under.out) == (0, b'1\n'), under
    (process,) = under.report()
    assert process['mismatches'] == [] and process['totals']['unknown_frees'] == 20, process['totals']


def test_what_libcs_own_malloc_carves_out_of_a_block(tmp_path):
    """libc's own free is not seen either: the block around the freed address may be gone."""
    program = built_program('wrong_releases_past_inside.c', tmp_path, '-fno-builtin', '-ldl')
    under = traced([program], tmp_path)
    assert (under.code, under.out) == (0, b'1\n'), under
    (process,) = under.report()
    assert process['mismatches'] == [] and process['totals']['unknown_frees'] == 1, process


def test_a_live_block_is_more_certain_than_one_that_was_freed(tmp_path):
    """A freed block began at the address; another one is around it now."""
    program = built_program('wrong_releases_stale.c', tmp_path, '-O1', '-fno-builtin')
    plain, under = run([program]), traced([program], tmp_path)
    assert (under.code, under.out) == (exit_status(plain.code), b'1 1\n'), (plain, under)
    (process,) = under.report()
    assert [(row['kind'], row['size']) for row in process['mismatches']] == [('inside', 4000)], process['mismatches']


@pytest.mark.parametrize('options', [('--scan', 'no'), ('--scan', 'no', '--free-stacks'), ('--mode', 'record'), ('--sample', '64')],
                         ids=' '.join)
@pytest.mark.parametrize('library', ['jemalloc', 'tcmalloc_minimal', 'mimalloc'])
def test_blocks_of_functions_beside_malloc(library, options, tmp_path):
    """What was handed out or freed by an allocator's other functions, at addresses of freed blocks, is no wrong free."""
    name = f'-DOF_{library.split("_")[0].upper()}'
    program = built_program('beside_malloc.c', tmp_path, '-O1', '-fno-builtin', name, f'-Wl,--no-as-needed,-l{library}')
    under = traced([program], tmp_path, options=options)
    assert (under.code, under.out) == (0, b'ended\n'), under
    (process,) = under.report()
    assert process['mismatches'] == [], process['mismatches']
    assert 'beside_malloc' in report_json.codes(process), process['health']
    run([SEEP, 'check', '-q', '--junit', tmp_path / 'junit.xml', program])
    (case,) = [case for case in ElementTree.parse(tmp_path / 'junit.xml').iter('testcase') if case.get('name') == 'mismatches']
    assert list(case) == [], case[0].attrib


def test_a_double_free_under_a_limit_of_address_space(tmp_path):
    """The heap map has no room for the block, so it is in the table of odd blocks, which keeps the latest freed ones."""
    need('gcc')
    program = built_program('wrong_releases_limit.c', tmp_path, '-O0', '-fno-builtin', '-pthread')
    under = traced([program], tmp_path)
    assert under.code == exit_status(run([program]).code), under
    (process,) = under.report()
    assert [(row['kind'], row['count'], row['release_stack'][0]['function']) for row in process['mismatches']] == [
        ('double_free', 1, 'work')], process['health']


PAST = ['dlsym(RTLD_NEXT, "malloc")', 'dlsym(RTLD_NEXT, "__libc_malloc")']
if platform.machine() == 'x86_64':  # the version of its malloc
    PAST.append('dlvsym(RTLD_NEXT, "malloc", "GLIBC_2.2.5")')


def built_past(folder, *flags):
    """A program with a library behind libseep.so that finds a malloc."""
    need('gcc')
    (folder / 'p.c').write_text(program_source('wrong_releases_next.c'))
    gcc = ['gcc', '-w', '-D_GNU_SOURCE', '-O1', '-g', '-fno-builtin', '-pthread']
    assert run([*gcc, '-shared', '-fPIC', '-DLIBRARY', *flags, 'p.c', '-o', 'libp.so', '-ldl'], cwd=folder).code == 0
    assert run([*gcc, 'p.c', '-o', 'p', '-L.', '-lp', f'-Wl,-rpath,{folder}'], cwd=folder).code == 0
    return folder / 'p'


@pytest.mark.parametrize('options', [(), ('--free-stacks',), ('--mode', 'record')], ids=' '.join)
@pytest.mark.parametrize('how', PAST)
def test_a_malloc_that_a_library_looks_up(how, options, tmp_path):
    """Its blocks lie at freed addresses; that they are freed is told, and not as certain."""
    program = built_past(tmp_path, f'-DHOW={how}')
    under = traced([program], tmp_path, options=options)
    assert (under.code, under.out) == (0, b'again\n'), under
    (process,) = under.report()
    assert {(row['kind'], row.get('uncertain')) for row in process['mismatches']} == {('double_free', True)}, process['mismatches']
    assert 'past_malloc' in report_json.codes(process), process['health']
    assert messages.MAY_BE_RIGHT in run([SEEP, 'report', under.trace]).out.decode()


def test_a_check_does_not_fail_for_what_is_not_certain(tmp_path):
    program = built_past(tmp_path, f'-DHOW={PAST[0]}')
    done = run([SEEP, 'check', program])
    assert done.code == 0 and messages.MAY_BE_RIGHT in done.err.decode(), done


@pytest.mark.parametrize('flags', [(), ('-DHOW=__libc_malloc',), ('-DHOW=(dlsym(RTLD_NEXT, "acc_malloc"), malloc)',)], ids=' '.join)
def test_a_second_free_is_certain_without_a_malloc_that_is_looked_up(flags, tmp_path):
    program = built_past(tmp_path, *flags)
    under = traced([program, 'twice'], tmp_path)
    (process,) = under.report()
    assert [(row['kind'], row['count'], row.get('uncertain')) for row in process['mismatches']] == [('double_free', 1, None)]
    assert 'past_malloc' not in report_json.codes(process), process['health']
    assert run([SEEP, 'check', '-q', '--max-leaked', '1M', program, 'twice']).code == 1


@pytest.mark.parametrize('name, codes, verdict', [('free', {'past_free'}, False), ('_Exit', set(), True)])
def test_a_free_that_is_looked_up_in_libc(name, codes, verdict, tmp_path):
    """Its blocks stay in the map; that figures may lack frees is said where a module has the name."""
    need('gcc')
    program = built_program('past_free.c', tmp_path, '-O1', '-fno-builtin', f'-DNAME="{name}"')
    under = traced([program], tmp_path)
    (process,) = under.report()
    assert process['health']['complete'] is verdict, process['health']
    assert {code for code in report_json.codes(process) if code == 'past_free'} == codes, process['health']


def lying_module(path, strings, nr_symbols, sections):
    """A library whose section headers are replaced: a table of symbols, all named by the first of the strings, and sections of
    constants that are the same bytes."""
    library = bytearray(path.read_bytes())
    header = '=IIQQQQIIQQ'
    symbol = struct.pack('=IBBHQQ', 1, 0x12, 0, 0, 0, 0)  # a function elsewhere

    def put(data):
        library.extend(bytes(-len(library) % 16))
        library.extend(data)
        return len(library) - len(data)

    headers = [struct.pack(header, *bytes(10)),
               struct.pack(header, 0, 11, 2, 0, put(symbol * nr_symbols), len(symbol) * nr_symbols, 2, 1, 8, len(symbol)),
               struct.pack(header, 0, 3, 2, 0, put(strings), len(strings), 0, 0, 1, 0)]
    constants = put(bytes(8 << 20))
    headers += [struct.pack(header, 0, 1, 2, 0, constants, 8 << 20, 0, 0, 1, 0)] * sections
    struct.pack_into('=Q', library, 0x28, put(b''.join(headers)))
    struct.pack_into('=HHH', library, 0x3a, 64, len(headers), 0)
    path.write_bytes(library)


@pytest.mark.parametrize('strings, nr_symbols, sections', [(b'\0mi_malloc' + b'x' * (16 << 20) + b'\0', 400000, 0),
                                                           (b'\0dlsym\0', 1, 60000)], ids=['names', 'sections'])
def test_a_module_that_lies_costs_no_time(strings, nr_symbols, sections, tmp_path):
    """One name that never ends for each of many symbols, or many sections of constants that are the same bytes."""
    need('gcc')
    module = built_program('lying_module.c', tmp_path, '-DLIBRARY', '-shared', '-fPIC').rename(tmp_path / 'module.so')
    lying_module(module, strings, nr_symbols, sections)
    program = built_program('lying_module.c', tmp_path, '-fno-builtin', '-ldl')
    done = run([SEEP, 'run', '-q', '--scan', 'no', '-o', tmp_path / 'trace', '--', program, module], timeout=20)
    assert done.code == 134, done
    (process,) = report(tmp_path / 'trace')
    assert [row['kind'] for row in process['mismatches']] == ['inside']
