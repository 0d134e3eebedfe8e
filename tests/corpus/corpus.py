# SPDX-License-Identifier: BSD-2-Clause
"""The corpus: its programs, what they expect (the grammar is in corpus.h), and how three tools see them.

A class is one of lost, indirect, possible, reachable. `seen` is {line: Counter of classes}: each block
counts for the innermost line of its stack that expects something. Line 0 is for blocks of the program that
no line expects, line None for those of libraries.
"""
import collections
import json
import os
import re
import select
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import report_json  # noqa: E402

STALE = HERE / 'stale.h'  # what leaves old words behind, before main
PROGRAMS = sorted(path for path in HERE.iterdir() if path.suffix in ('.c', '.cpp'))
VARIANTS = {'gcc-O2': ('gcc', '-O2'), 'gcc-O0': ('gcc', '-O0'), 'clang-O2': ('clang', '-O2'),
            'clang-O0': ('clang', '-O0')}
CLASSES = ('lost', 'indirect', 'possible', 'reachable')
PATIENCE_S = 120
ENVIRONMENT = {'PATH': '/usr/local/bin:/usr/bin:/bin', 'LC_ALL': 'C.UTF-8', 'HOME': '/proc/nonexistent',
               'MALLOC_PERTURB_': '0', **{name: value for name, value in os.environ.items() if name == 'SEEP_DEBUG_DIR'}}


class Expectation:
    """What is written in the source of a program."""

    def __init__(self, source):
        self.lines = {}  # line: Counter, or the name of the one class of any number of blocks
        self.differences = {'LSAN': {}, 'VALGRIND': {}, 'UNALIGNED': {}}  # line: (Counter or class, reason, whether it may agree)
        self.truth = {}  # line: (Counter of 'held' and 'gone', reason), where the scan cannot know
        self.flags, self.library, self.only = [], None, None
        last = None
        for number, line in enumerate(Path(source).read_text().splitlines(), 1):
            found = re.search(r'// (EXPECT|LSAN|VALGRIND|UNALIGNED|TRUTH|FLAGS|LIBRARY|COMPILER): (.*)$', line)
            if not found:
                continue
            word, rest = found.groups()
            if word == 'EXPECT':
                last = number
                self.lines[number] = blocks_of(rest)
            elif word == 'FLAGS':
                self.flags += rest.split()
            elif word == 'LIBRARY':
                self.library = rest.split()
            elif word == 'COMPILER':
                self.only = rest.split(': ')
            elif word == 'TRUTH':
                what, _, why = rest.partition(': ')
                assert last and why, f'{source}:{number}: no reason'
                self.truth[last] = (blocks_of(what, self.lines[last]), why)
            else:
                assert last, f'{source}:{number}: {word} stands before the first EXPECT'
                what, _, why = rest.partition(': ')
                assert why or word == 'UNALIGNED', f'{source}:{number}: no reason'
                plain = what.removeprefix('maybe ')
                self.differences[word][last] = (blocks_of(plain, self.lines[last]), why, plain != what)
        assert self.lines, f'{source} expects nothing'


def blocks_of(text, like=None):
    """'2 lost, 1 held' as a Counter; 'lost' is one block, or as many as `like` has; 'any lost' is 'lost'."""
    if text.startswith('any '):
        return text[4:]
    found = re.findall(r'(\d+) (\w+)', text)
    if found:
        return collections.Counter({kind: int(number) for number, kind in found})
    return collections.Counter({text: sum(like.values()) if isinstance(like, collections.Counter) else 1})


def name_of(blocks):
    if isinstance(blocks, str):
        return f'any {blocks}'
    return ', '.join(f'{blocks[kind]} {kind}' for kind in (*CLASSES, 'held') if blocks[kind]) or 'nothing'


def agrees(blocks, seen):
    """Whether the classes `seen` of a line are the expected ones."""
    if isinstance(blocks, str):
        return set(seen) <= ({'possible', 'reachable', 'held'} if blocks == 'held' else {blocks})
    return +blocks == +seen


# ---- building ----


def compiler_of(source, compiler):
    """The command, or None where it is not installed."""
    command = re.sub('gcc$', 'g++', compiler).replace('clang', 'clang++') if source.suffix == '.cpp' else compiler
    return command if shutil.which(command) else None


def build(source, folder, compiler, *more):
    """(program, arguments). `folder` must exist."""
    expected = Expectation(source)
    standard = '-std=gnu++17' if source.suffix == '.cpp' else '-std=gnu11'
    command = [compiler_of(source, compiler), standard, '-g', '-w', '-D_GNU_SOURCE', '-fno-optimize-sibling-calls',
               *more]
    program = Path(folder) / source.stem
    arguments = []
    if expected.library:
        library = Path(folder) / f'lib{source.stem}.so'
        compile_it([*command, '-DCORPUS_LIBRARY', *expected.library, str(source), '-o', str(library)])
        arguments = [str(library)]
    compile_it([*command, str(source), '-o', str(program), *expected.flags])
    return program, arguments


def compile_it(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE_S)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout.decode()}"


# ---- who looks ----


def add_blocks(seen, source, expected, frames, kind, number):
    """`frames`: (file, line) of each frame, innermost first. Those of stale.h count under its name."""
    if any(os.path.basename(file or '') == STALE.name for file, _ in frames):
        seen[STALE.name][kind] += number
        return
    own = [line for file, line in frames if os.path.basename(file or '') == source.name]
    expecting = [line for line in own if line in expected.lines]
    seen[expecting[0] if expecting else 0 if own else None][kind] += number


def scan(seep, libseep, source, program, arguments, folder, *options, **environment):
    """`seen` by seep, of the program parked."""
    report = report_json.spread(json.loads(look(seep, libseep, program, arguments, folder, 'scan', '--blocks', '--json', *options,
                                                **environment)))
    expected = Expectation(source)
    seen = collections.defaultdict(collections.Counter)
    for site in report['sites']:
        frames = [(frame['file'], frame['line']) for frame in site['stack']]
        for block in site['blocks']:
            add_blocks(seen, source, expected, frames, block['kind'], 1)
    return seen


def look(seep, libseep, program, arguments, folder, command, *options, **environment):
    """What a command of seep says about the program parked."""
    environment = dict(ENVIRONMENT, LD_PRELOAD=str(libseep), SEEP_OUT=str(Path(folder) / 'left.seep'), **environment)
    parked = subprocess.Popen([str(program), *arguments], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE)
    try:
        pid = wait_ready(parked)
        if pid == '1':  # in a namespace of its own, as a child
            pid, = Path(f'/proc/{parked.pid}/task/{parked.pid}/children').read_text().split()
        wait_asleep(pid)
        done = subprocess.run([str(seep), command, pid, *options], env=ENVIRONMENT,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S)
    finally:
        parked.kill()
        parked.stdout.close()
        parked.wait(PATIENCE_S)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def wait_ready(process):
    """The pid that the program says it parks in."""
    said = b''
    end = time.monotonic() + PATIENCE_S
    while not said.endswith(b'\n'):
        ready, _, _ = select.select([process.stdout], [], [], max(0, end - time.monotonic()))
        piece = os.read(process.stdout.fileno(), 100) if ready else b''
        assert piece, f'not ready: {said!r}'
        said += piece
    assert said.startswith(b'ready '), said
    return said.split()[1].decode()


SPINS_TICKS = 20  # of processor time that a program without a sleep has had when it is long past its call


def wait_asleep(pid):
    """Waits until the program has parked. It says that it is ready before it parks, and until then its registers hold what it is
    about to lose. Some programs spin, also on one processor of a busy machine."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
        if fields[0] == 'S' or int(fields[11]) + int(fields[12]) >= SPINS_TICKS:
            return
        time.sleep(0.001)
    raise AssertionError(f'{pid} neither sleeps nor spins')


LSAN_HEAD = re.compile(r'(Direct|Indirect) leak of \d+ byte\(s\) in (\d+) object\(s\)')
LSAN_FRAME = re.compile(r'\s+#\d+ 0x[0-9a-f]+ (?:in (?:.*?) )?(\S+?):(\d+)')


def look_with_lsan(source, folder, compiler='clang'):
    """`seen` by LeakSanitizer, where `held` stands for what it does not report; lines None are left out."""
    program, arguments = build(source, folder, compiler, '-O1', '-fsanitize=leak', '-fno-omit-frame-pointer')
    environment = dict(ENVIRONMENT, LSAN_OPTIONS='fast_unwind_on_malloc=0:max_leaks=0:print_suppressions=0:'
                                                 'exitcode=0:report_objects=0')
    done = subprocess.run([str(program), *arguments], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout.decode()
    expected = Expectation(source)
    seen = collections.defaultdict(collections.Counter)
    for part in re.split(r'\n\n+', done.stdout.decode('utf-8', 'replace')):
        head = LSAN_HEAD.search(part)
        if head:
            frames = [(file, int(line)) for file, line in LSAN_FRAME.findall(part)]
            add_blocks(seen, source, expected, frames, 'lost' if head.group(1) == 'Direct' else 'indirect',
                       int(head.group(2)))
    for line, blocks in expected.lines.items():
        if isinstance(blocks, collections.Counter):
            seen[line]['held'] += max(0, sum(blocks.values()) - sum(seen[line].values()))
    return seen


VALGRIND_KINDS = {'Leak_DefinitelyLost': 'lost', 'Leak_IndirectlyLost': 'indirect', 'Leak_PossiblyLost': 'possible',
                  'Leak_StillReachable': 'reachable'}


def look_with_valgrind(source, folder, compiler='gcc', flags=('-O2',)):
    """`seen` by Valgrind memcheck, with all its heuristics."""
    program, arguments = build(source, folder, compiler, *flags, '-DCORPUS_VALGRIND')
    out = Path(folder) / 'valgrind.%p.xml'
    done = subprocess.run(['valgrind', '-q', '--leak-check=full', '--show-leak-kinds=all', '--leak-resolution=high',
                           '--num-callers=100', '--xml=yes', f'--xml-file={out}', str(program), *arguments],
                          cwd=folder, env=dict(ENVIRONMENT), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=PATIENCE_S)
    # Valgrind looks a second time when the process ends: what precedes the message counts.
    texts = [path.read_text() for path in Path(folder).glob('valgrind.*.xml')]
    texts = [text for text in texts if '<clientmsg>' in text]
    assert len(texts) == 1, f'{source.name}: {len(texts)} processes were seen: {done.stdout.decode()}'
    return valgrind_errors(texts[0][:texts[0].index('<clientmsg>')] + '</valgrindoutput>', source)


def valgrind_errors(text, source):
    expected = Expectation(source)
    seen = collections.defaultdict(collections.Counter)
    errors = ElementTree.fromstring(text).iter('error')
    for error in errors:
        kind = VALGRIND_KINDS.get(error.findtext('kind'))
        if kind:
            frames = [(frame.findtext('file'), int(frame.findtext('line') or 0)) for frame in error.find('stack')]
            add_blocks(seen, source, expected, frames, kind, int(error.find('xwhat').findtext('leakedblocks')))
    return seen
