# SPDX-License-Identifier: BSD-2-Clause
"""Each program of the corpus is parked and scanned: every block has the class that its source says.

SEEP_CORPUS=all runs it as both compilers make it, with and without optimisation; else gcc -O2.
"""
import os

import pytest

import corpus

WANTED = list(corpus.VARIANTS) if os.environ.get('SEEP_CORPUS') == 'all' else ['gcc-O2']


def check(seen, expected, unaligned=False):
    wrong = []
    for line, blocks in sorted(expected.lines.items()):
        if unaligned and line in expected.differences['UNALIGNED']:
            blocks = expected.differences['UNALIGNED'][line][0]
        if not corpus.agrees(blocks, seen[line]):
            wrong.append(f'line {line}: expected {corpus.name_of(blocks)}, found {corpus.name_of(seen[line])}')
    if seen[0]:
        wrong.append(f'blocks that no line expects: {corpus.name_of(seen[0])}')
    # What libraries allocate for themselves: nothing of it is lost.
    if seen[None]['lost'] or seen[None]['indirect']:
        wrong.append(f'blocks of libraries: {corpus.name_of(seen[None])}')
    assert not wrong, '\n'.join(wrong)


def test_there_are_enough():
    assert len(corpus.PROGRAMS) >= 60
    blocks = sum(len(corpus.Expectation(source).lines) for source in corpus.PROGRAMS)
    assert blocks >= 200


@pytest.mark.parametrize('variant', WANTED)
@pytest.mark.parametrize('source', corpus.PROGRAMS, ids=lambda source: source.name)
def test_classes(source, variant, seep, libseep, tmp_path):
    compiler, level = corpus.VARIANTS[variant]
    if not corpus.compiler_of(source, compiler):
        pytest.skip(f'{compiler} is not installed')
    expected = corpus.Expectation(source)
    if expected.only and expected.only[0] != compiler:
        pytest.skip(f'not with {compiler}: {expected.only[1]}')
    program, arguments = corpus.build(source, tmp_path, compiler, level)
    check(corpus.scan(seep, libseep, source, program, arguments, tmp_path), expected)


def test_unaligned_pointers(seep, libseep, tmp_path):
    """The one program about them, and one whose classes must not change for it."""
    for name in ('pointers_unaligned.c', 'tree_binary.c'):
        source = corpus.HERE / name
        program, arguments = corpus.build(source, tmp_path, 'gcc', '-O2')
        seen = corpus.scan(seep, libseep, source, program, arguments, tmp_path, '--unaligned')
        check(seen, corpus.Expectation(source), unaligned=True)
