# SPDX-License-Identifier: BSD-2-Clause
"""The malloc family means under seep what it means without: one program that prints a line for each thing that
programs rely on, compared line by line, on every allocator, however it and seep came in."""
import pytest
from harness import LIBSEEP, SEEP, environment, library, need, no_losses, report, run

COVERS = [
    ('what malloc promises (errno, alignment, zero, overflow)', 'covered', 'test_line_by_line',
     'of glibc, line by line'),
]

ALLOCATORS = {
    'glibc': None,
    'jemalloc': ('libjemalloc.so.2',),
    'mimalloc': ('libmimalloc.so.3', 'libmimalloc.so.2', 'libmimalloc.so.2.0'),
    'tcmalloc': ('libtcmalloc.so.4',),
    'tcmalloc_minimal': ('libtcmalloc_minimal.so.4',),
}
CASES = [('glibc', 'own')] + [(name, how) for name in ALLOCATORS if name != 'glibc' for how in ('linked', 'preloaded')]
WAYS = {
    'tool': [],
    'sampling': ['--sample', '4096'],
    'short stacks': ['--depth', '1'],
}


def build(folder, how, other):
    link = ['-Wl,--no-as-needed', str(other)] if how == 'linked' else []
    source = __file__.replace('test_malloc_semantics.py', 'malloc_semantics.c')
    done = run(
        ['gcc', '-g', '-O1', '-D_GNU_SOURCE', '-fno-builtin', '-w', source, '-o', folder / 'semantics', *link]
    )
    assert done.code == 0, done
    return folder / 'semantics'


def preloads(*libraries):
    return ':'.join(str(library) for library in libraries if library)


def same_lines(plain, under):
    """Line by line, so that the one that differs is what is shown."""
    assert (plain.code, under.code) == (0, 0), under
    before, after = plain.out.decode().splitlines(), under.out.decode().splitlines()
    assert len(before) > 750
    differ = [pair for pair in zip(before, after) if pair[0] != pair[1]]
    assert not differ, differ[:5]
    assert len(before) == len(after)


@pytest.mark.parametrize('allocator, how', CASES)
def test_line_by_line(allocator, how, tmp_path):
    need('gcc')
    other = library(*ALLOCATORS[allocator]) if ALLOCATORS[allocator] else None
    program = build(tmp_path, how, other)
    beside = other if how == 'preloaded' else None
    # jemalloc has no pvalloc: libc's would be called, whose blocks jemalloc cannot take back.
    own = {} if allocator == 'jemalloc' else {'OWN_PVALLOC': '1'}
    env = environment(**own, **({'LD_PRELOAD': beside} if beside else {}))
    plain = run([program], env=env)
    for name, options in WAYS.items():
        trace = tmp_path / f'{name}.seep'
        under = run([SEEP, 'run', '-q', '-o', trace, *options, '--', program], env=env)
        same_lines(plain, under)
        process = report(trace)[0]
        no_losses(process)
        if name != 'sampling':
            # The program frees all that it allocates.
            main = [s for s in process['sites'] if s['stack'] and s['stack'][0]['module'].endswith('semantics')]
            assert sum(s['allocations'] for s in main) > 200
            assert sum(s['live_blocks'] for s in main) == 0
    alone = environment(**own, LD_PRELOAD=preloads(LIBSEEP, beside))
    same_lines(plain, run([program], env={**alone, 'SEEP_OUT': str(tmp_path / 'alone.seep')}))
    same_lines(plain, run([program], env={**alone, 'SEEP_DISABLE': '1'}))
