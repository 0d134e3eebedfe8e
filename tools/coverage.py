#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes docs/coverage.md from the tests: what of the programs, libraries and troubles there are is covered, what is only
declared, and what cannot be done. Prints the page; with --write puts it where it belongs.

A test module says what it holds in a list of plain literals, which is read without running anything:

    COVERS = [('vfork', 'covered', 'test_children', 'words for the reader, or nothing')]

The first is a line of AREAS below; the second covered (what happens is seen, exactly), declared (it is not seen, or not
whole, and the report says so) or impossible; the third a test function of that module, in brackets a program of tests/programs
where that is what tells. tests/lint/test_coverage.py holds page and tests together.
"""
import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / 'docs/coverage.md'
STATUSES = ('covered', 'declared', 'impossible')

AREAS = {
    'Processes': [
        'fork', 'fork while other threads allocate', 'vfork', 'raw clone and clone3', 'posix_spawn', 'system and popen',
        'the exec family', 'daemonize', 'who started whom', '--children ignore', '--by process',
        'a thousand short-lived children', 'exec of a static program', 'exec of a set-user-ID program',
        'programs of another libc (musl)', 'programs of another architecture', 'scripts', "LD_PRELOAD of the user's own",
        'all descriptors closed', 'chroot', 'dropped privileges', 'namespaces', 'seccomp filters', 'RLIMIT_AS',
        'RLIMIT_FSIZE', 'RLIMIT_NOFILE', 'RLIMIT_MEMLOCK', 'vm.overcommit_memory=2', 'a small cgroup', 'swapped memory', 'a full /dev/shm',
    ],
    'Threads and control flow': [
        'thread storms', 'detached threads', 'pthread_exit', 'cancellation', 'thread-exit destructors',
        'dlclose during allocation', 'TLS destructors', 'C++ static init and exit order', 'quick_exit', '_exit',
        'abort in a hook', 'signals on alternate stacks', 'setjmp and longjmp', 'exceptions through C',
        'coroutines (makecontext)', 'hand-switched stacks', 'stacks freed and mapped again', 'split stacks',
        'alloca-heavy frames', 'stacks of 64 MiB', 'code without CFI', 'return probes of another tracer', 'JIT (node)', 'Go and Rust programs with cgo',
        'the JVM',
    ],
    'The dynamic loader': [
        'allocation inside dlopen', 'allocation inside dlsym', 'allocation in dl_iterate_phdr callbacks',
        'allocation in TLS set-up', 'allocation in IFUNC resolvers', 'other interposers preloaded', 'programs with a sanitizer',
        'an allocator whose functions call one another', 'RTLD_DEEPBIND',
        'dlmopen',
    ],
    'Allocators': [
        'glibc', "jemalloc, mimalloc, tcmalloc as the program's own", 'jemalloc, mimalloc, tcmalloc by LD_PRELOAD',
        'jemalloc, mimalloc, tcmalloc by --allocator', 'another allocator in front of libseep.so', 'musl',
        'other releases of the C library',
        'a static allocator that exports malloc', 'a malloc over that of glibc', 'a static allocator that exports nothing', 'C++ sized and aligned new',
        'mismatched new[] and free', 'double free', 'what malloc promises (errno, alignment, zero, overflow)',
    ],
    'Kinds of memory': [
        'mmap', 'munmap of a part', 'mremap that moves', 'brk and sbrk', 'the account of resident memory (--rss)',
        'seep.h: pools', 'seep.h: marks', 'seep.h: what a thread does', "LeakSanitizer's annotations",
    ],
    'Faults of our own': [
        'memory file full or cannot grow', 'map refused', 'socket refused', 'tool killed', 'tool slow or stopped',
        'disk full while saving', 'clock jumps', 'PID reuse', 'tables full', 'every system call fails in turn', 'a handler leaves a hook by longjmp',
        'a long run under load',
    ],
}

# Held by what is no test of pytest: (line, status, file that holds it, how it is called, words).
ELSEWHERE = [
    ('a long run under load', 'covered', 'bench/soak.py', 'make soak',
     'redis-server and nginx under real clients: steady memory, nothing lost, right answers'),
]

INTRODUCTION = '''<!-- Made by tools/coverage.py from the tests; do not edit. -->
# What is covered, and what is not

Each row is held by the test that it names. *Covered*: the program does what it does untraced, and what happens is seen,
exactly. *Declared*: it is not seen, or not whole, and the report says so: in its health line, with the reason and what to do.
*Impossible*: it cannot be told, and here is why.
'''


def modules():
    return sorted(p for p in (ROOT / 'tests').rglob('test_*.py') if 'corpus' not in p.parts or p.name == 'test_corpus.py')


def covers_of(path):
    """(rows, names of test functions) of a test module."""
    tree = ast.parse(path.read_text(encoding='utf-8'), str(path))
    rows, tests = [], set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and [getattr(t, 'id', None) for t in node.targets] == ['COVERS']:
            rows = ast.literal_eval(node.value)
        if isinstance(node, ast.FunctionDef) and node.name.startswith('test_'):
            tests.add(node.name)
    return rows, tests


def all_rows():
    """{line: [(status, path of the test module, test, words)]}, and what is wrong with them."""
    known = {line for lines in AREAS.values() for line in lines}
    rows, troubles = {}, []
    for path in modules():
        name = str(path.relative_to(ROOT))
        covers, tests = covers_of(path)
        for row in covers:
            line, status, test, words = row
            function, _, program = test.partition('[')
            program = program.rstrip(']')
            if line not in known:
                troubles.append(f'{name}: no such line: {line!r}')
            elif status not in STATUSES:
                troubles.append(f'{name}: no such status: {status!r}')
            elif function not in tests:
                troubles.append(f'{name}: no such test: {function!r}')
            elif program and not list((ROOT / 'tests/programs').glob(program + '.c*')):
                troubles.append(f'{name}: no such program: {program!r}')
            elif status != 'covered' and not words:
                troubles.append(f'{name}: {line!r} is {status} without a reason')
            else:
                rows.setdefault(line, []).append((status, name, test, words))
    for line, status, name, how, words in ELSEWHERE:
        rows.setdefault(line, []).append((status, name, f'({how})', words))
    troubles += [f'no test has a row for {line!r}' for line in sorted(known - set(rows))]
    return rows, troubles


def page(rows):
    parts = [INTRODUCTION, '\n']
    counts = {status: sum(row[0] == status for found in rows.values() for row in found) for status in STATUSES}
    parts.append(f'{sum(map(len, AREAS.values()))} lines: ' +
                 ', '.join(f'{counts[status]} row{"s" if counts[status] > 1 else ""} {status}' for status in STATUSES if counts[status]) + '.\n\n')
    for area, lines in AREAS.items():
        parts.append(f'## {area}\n\n| what | | how | test |\n| --- | --- | --- | --- |\n')
        for line in lines:
            found = sorted(rows.get(line, []), key=lambda row: (STATUSES.index(row[0]), row[1:]))
            for i, (status, name, test, words) in enumerate(found):
                parts.append(f'| {line if i == 0 else ""} | {status} | {words} | `{name.removeprefix("tests/")}` {test} |\n')
        parts.append('\n')
    return ''.join(parts).rstrip() + '\n'


def main(arguments):
    rows, troubles = all_rows()
    for trouble in troubles:
        print(f'coverage.py: {trouble}', file=sys.stderr)
    if troubles or arguments not in ([], ['--write']):
        return 2 if not troubles else 1
    if arguments:
        PAGE.write_text(page(rows), encoding='utf-8')
    else:
        print(page(rows), end='')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
