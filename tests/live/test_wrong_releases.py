# SPDX-License-Identifier: BSD-2-Clause
"""Blocks given back in a wrong way: counted, with both stacks, and the program goes on to its own fate."""

from collections import Counter

import pytest
from harness import BUILD, LIBSEEP, PROGRAMS, environment, exit_status, plain_name, run, traced
from raw_image import Image

COVERS = [
    ('mismatched new[] and free', 'covered', 'test_mismatches', 'with both stacks'),
    ('double free', 'covered', 'test_ends_as_without_seep',
     'counted, with the stack of the allocation and of the second free'),
    ('double free', 'declared', 'test_ends_as_without_seep',
     'the stack of the first free is not kept: see docs/architecture.md'),
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
    ('mismatch', 'operator new', 'realloc', 'by_new', 'new_by_realloc', 4): 1,
    ('mismatch', 'operator new[]', 'free', 'by_new_array', 'in_other_thread', 50): 1,
}


def test_mismatches(tmp_path):
    plain = run([PROGRAM])
    under = traced([PROGRAM], tmp_path)
    assert under.code == plain.code == 0, under
    assert (under.out, under.err) == (plain.out, plain.err)
    (process,) = under.report()
    assert found(process) == MISMATCHES
    # What was given back in a wrong way was given back.
    assert not [s for s in process['sites'] if s['live_blocks'] and s['via'] in ('operator new[]', 'operator new')]


@pytest.mark.parametrize('way, kind, release, size', [('twice', 'double_free', 'free', None),
                                                      ('inside', 'inside', 'free', 440)])
def test_ends_as_without_seep(way, kind, release, size, tmp_path):
    plain = run([PROGRAM, way])
    under = traced([PROGRAM, way], tmp_path)
    assert under.code == exit_status(plain.code), (plain, under)
    assert under.err == plain.err
    (process,) = under.report()
    assert found(process) == {(kind, 'malloc', release, 'by_malloc', way, size): 1}
    done = run([BUILD / 'seep', 'report', under.trace])
    assert b'mismatches: 1 block given back in a wrong way' in done.out
    section = done.out[done.out.index(b'mismatches:'):].decode()
    assert section.index('free at') < section.index(f'{way}() (') < section.index('from malloc') < section.index('by_malloc')


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


def test_right_programs_have_none(tmp_path):
    for name in ('operators', 'containers', 'resize', 'threads'):
        program = PROGRAMS / f'gcc-O2@{name}'
        for process in traced([program], tmp_path, name=name).report():
            assert process['mismatches'] == [], name
