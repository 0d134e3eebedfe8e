# SPDX-License-Identifier: BSD-2-Clause
"""Each program of the corpus is parked and scanned: every block has the class that its source says.

SEEP_CORPUS=all runs it as both compilers make it, with and without optimisation; else gcc -O2.
"""
import re
import os
import platform
import shutil
import subprocess

import pytest

import corpus
import report_json

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


# What is of glibc, and not of every libc.
NOT_OF_MUSL = {
    'coroutine_dropped.c': 'no makecontext', 'coroutine_held.c': 'no makecontext', 'coroutine_mapped.c': 'no makecontext',
    'coroutine_running.c': 'no makecontext', 'signal_stack_left.c': 'no makecontext', 'obstacks.c': 'no obstacks', 'break_own.c': 'sbrk gives none', 'library_unloaded.c': 'it unloads none',
    'libc_keeps.c': 'its own code has no call-frame information, so that stacks end there',
    # It allocates storage of threads past the hooks: blocks that are expected are not made.
    'thread_ended.c': 'fewer blocks', 'thread_key_again.c': 'fewer blocks', 'thread_key_deleted.c': 'fewer blocks', 'thread_parked.c': 'fewer blocks',
    'red_zone.c': 'fewer blocks', 'thread_specific.c': 'fewer blocks', 'thread_stack_own.c': 'fewer blocks', 'tls_dynamic.c': 'fewer blocks',
}


# Where the allocator, or how libc and its loader hold blocks, may matter; SEEP_CORPUS=all has all.
MUSL = {'alignments.c', 'cycle_rings.c', 'flexible_array.c', 'fork_child.c', 'free_memory.c', 'jump_buffer.c', 'large_blocks.c',
        'library_loaded.c', 'mapped_beside_heap.c', 'pointers_past_end.c', 'pool_header.c', 'realloc_moves.c', 'register_general.c',
        'signal_stack_used.c', 'stack_frames.c', 'tagged_low.c', 'tls_static.c', 'tree_binary.c'}


def programs_with_musl():
    programs = [source for source in corpus.PROGRAMS if source.suffix == '.c' and source.name not in NOT_OF_MUSL
                and not corpus.Expectation(source).only]
    return [source for source in programs if os.environ.get('SEEP_CORPUS') == 'all' or source.name in MUSL]


@pytest.mark.parametrize('source', programs_with_musl(), ids=lambda source: source.name)
def test_classes_with_musl(source, seep, libseep, tmp_path):
    """Its allocator is known as exactly as that of glibc."""
    if not shutil.which('musl-gcc'):
        pytest.skip('musl-gcc is not installed')
    program, arguments = corpus.build(source, tmp_path, 'musl-gcc', '-O2', '-fasynchronous-unwind-tables',
                                      '-Wl,--eh-frame-hdr')
    check(corpus.scan(seep, libseep, source, program, arguments, tmp_path), corpus.Expectation(source))


@pytest.mark.parametrize('name', ['thread_ended.c', 'signal_stack_idle.c'])
def test_threads_in_a_namespace(name, seep, libseep, tmp_path):
    """The process knows its threads by other numbers than seep does."""
    command = ['unshare', '--pid', '--fork', '--kill-child']
    if not shutil.which('unshare') or subprocess.run([*command, 'true'], stderr=subprocess.DEVNULL).returncode:
        pytest.skip('no process namespaces here')
    source = corpus.HERE / name
    program, arguments = corpus.build(source, tmp_path, 'gcc', '-O2')
    check(corpus.scan(seep, libseep, source, command[0], [*command[1:], program, *arguments], tmp_path), corpus.Expectation(source))


def test_unaligned_pointers(seep, libseep, tmp_path):
    """The one program about them, and one whose classes must not change for it."""
    for name in ('pointers_unaligned.c', 'tree_binary.c'):
        source = corpus.HERE / name
        program, arguments = corpus.build(source, tmp_path, 'gcc', '-O2')
        seen = corpus.scan(seep, libseep, source, program, arguments, tmp_path, '--unaligned')
        check(seen, corpus.Expectation(source), unaligned=True)


def test_a_copy_has_what_the_kernel_keeps(seep, libseep, tmp_path):
    """A fork has no timers of its parent: they are read before."""
    if platform.machine() != 'x86_64':
        pytest.skip('--cow is of x86-64')
    source = corpus.HERE / 'kernel_keeps.c'
    program, arguments = corpus.build(source, tmp_path, 'gcc', '-O2')
    report = corpus.look(seep, libseep, program, arguments, tmp_path, 'scan', '--cow')
    holders = re.search(r'^top holders.*?\n((?: .*\n)+)', report, re.M)[1].splitlines()
    assert [' '.join(line.split()) for line in holders] == ['2 88 epoll descriptor 3', '1 56 timer 0'], report
    assert 'held by: epoll descriptor 3 (data of descriptor 4)\n' in report


def test_vector_registers_in_a_system_call(seep, libseep, tmp_path):
    """Those of libc's function that made it; in code of the program's own (register_vector.c) they hold."""
    if platform.machine() != 'x86_64':
        pytest.skip('vector registers are callee-saved in part on other CPUs')
    source = corpus.HERE.parent / 'live' / 'register_vector_dead.c'
    program, arguments = corpus.build(source, tmp_path, 'gcc', '-O2', '-Wl,-z,now')
    check(corpus.scan(seep, libseep, source, program, arguments, tmp_path), corpus.Expectation(source))


def holders_of(report):
    """{the name of a variable, or what else holds: (blocks, bytes)}"""
    return {re.sub(r'^global .*?(\w+) \(\S+:\d+\) in \S+$', r'\1', holder['what']): (holder['retained_blocks'], holder['retained_bytes'])
            for holder in report['leaks']['holders']}


def test_who_holds_most(seep, libseep, tmp_path):
    """Retained sizes of programs whose structure is known."""
    program, arguments = corpus.build(corpus.HERE / 'tree_binary.c', tmp_path, 'gcc', '-O2')
    report = report_json.loads(corpus.look(seep, libseep, program, arguments, tmp_path, 'scan', '--json'))
    assert holders_of(report)['root'] == (19, 15 * 24 + 4 * 56)
    lost = [site for site in report['sites'] if site['kind'] == 'lost' and site['size_max'] == 40]
    # The dropped tree goes with the block at its top.
    assert sum(site['retained_bytes'] for site in lost) == 15 * 40

    program, arguments = corpus.build(corpus.HERE / 'cpp_polymorphic_array.cpp', tmp_path, 'gcc', '-O2')
    report = report_json.loads(corpus.look(seep, libseep, program, arguments, tmp_path, 'scan', '--json'))
    holders = holders_of(report)
    assert holders['array'] == (4, 80 + 3 * 40)
    assert holders['shapes'] == (7, 24 + 3 * 24 + 3 * 40)
    held_by = ' '.join(site['held_by'] or '' for site in report['sites'])
    assert 'block of 24 B (Circle) from ' in held_by, held_by

    text = corpus.look(seep, libseep, program, arguments, tmp_path, 'scan', '--top', '2')
    assert 'top holders' in text
    assert re.search(r'global std::vector<std::unique_ptr<Shape.*> shapes \(cpp_polymorphic_array.cpp:27\) in', text)
