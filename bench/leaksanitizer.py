#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Random programs built with -fsanitize=leak, by gcc and clang, and under memcheck: are the same blocks gone?

    /usr/bin/python3 bench/leaksanitizer.py [--from SEED] [--count N] [--seconds N] [--tools gcc,clang,memcheck]

The programs are those of tests/random without processes, limits and filters. What each block is the generator knows, and
tests/random holds seep to that. A tool calls a block gone that it reports as definitely or indirectly lost; what is possibly
lost is held, since LeakSanitizer has no such class. Blocks are compared by the innermost function of the program and its line.
Prints for each kind of action how many blocks differ, with the reason from the table below. Exit status 1 when a difference has
no reason. Standard error has a line for each eight seeds. 400 seeds take half an hour of a processor, so --seconds, SIGINT and
SIGTERM end the run early: the figures are those of the seeds until then, and the last line has the --from that goes on.
"""
import argparse
import collections
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'tests' / 'random'))
import actions  # noqa: E402
import batch as batches  # noqa: E402

PATIENCE_S = 120
# What goes on in other processes, or by rules of the kernel's that the tools change.
WITHOUT = {entry.name for entry in actions.TABLE if entry.starts or entry.run.__module__.endswith(('execs', 'limits', 'filters', 'forks'))} | {
    'in_a_namespace', 'failing', 'failures', 'refused', 'no_room', 'handler_of_new', 'freed_in_a_wrong_way', 'by_names_of_the_library', 'tuned',
    'ticking', 'maps_in_a_handler', 'completion'}
AT_EXIT = {'by_exit'}  # or a return from main
OWN = re.compile(r'p\d+_(\w+?)_\d+$')
MAPPING = 'LeakSanitizer takes no mapping of the program for a root'
KERNEL = 'neither tool asks the kernel what it keeps for the program'
# Of what is on such a stack: the functions that are there.
ELSEWHERE = re.compile(r'_(coroutine|handler|suspended|bare|on_block|own_stack|same_memory|made_in_coroutine|made_in_bare|made_on_block)_\d+$')
ITS_CALLER = 'LeakSanitizer does not see who calls on a stack that is not the thread\'s own, and takes such a block for reachable'
NO_ACCESS = 'memcheck reads no memory without access'
BEFORE = 'LeakSanitizer looks before handlers of exit that are registered before its own, which a shared runtime registers late'
COROUTINE = 'the stack of a coroutine that waits is in such a mapping'
# The words of a function's name: (tools, reason).
REASONS = {
    'on another stack': ('lsan', ITS_CALLER),
    'mapped': ('lsan', MAPPING), 'pool_mapped': ('lsan', MAPPING), 'moves': ('lsan', MAPPING),
    'given_up': ('lsan', MAPPING), 'broken': ('lsan', MAPPING), 'maps_file': ('lsan', MAPPING), 'reserves': ('lsan', MAPPING),
    'made_in_coroutine': ('lsan', COROUTINE), 'made_bare': ('lsan', COROUTINE),
    'watches': ('lsan memcheck', KERNEL), 'sets_timer': ('lsan memcheck', KERNEL),
    'protects': ('memcheck', NO_ACCESS), 'guarded': ('lsan memcheck', f'{MAPPING}; {NO_ACCESS}'),
    'text': ('lsan', 'by frame pointers LeakSanitizer passes over who calls a function of libc, so the block counts elsewhere'),
    'leaky_end': ('lsan', BEFORE), 'at_exit': ('lsan', BEFORE), 'handles': ('lsan', BEFORE),
    'buffers': ('memcheck', 'memcheck looks when libc has let go of the buffers of its files'),
}


def expected_of(program):
    """{(function, line): (blocks gone, blocks held, whether on another stack)} of a program that leaves by exit, without places of which
    not all classes are known."""
    life, = [life for life in program['lives'] if life['origin'] == 'start']
    found, unknown = collections.defaultdict(lambda: [0, 0, False]), set()
    for row in life['sites']:
        place = row['inlined'] or row['path'][0], row['line']
        kinds = collections.Counter(row['kinds'])
        if row['uncounted'] or kinds['any'] or kinds['stale']:
            unknown.add(place)
        found[place][0] += kinds['lost'] + kinds['indirect']
        found[place][1] += kinds['possible'] + kinds['reachable']
        found[place][2] |= any(map(ELSEWHERE.search, row['path']))
    return {place: tuple(blocks) for place, blocks in found.items() if place not in unknown}


def place_of(frames):
    """The innermost function of the program among (function, line)."""
    for function, line in frames:
        name = re.sub(r'\(.*', '', function or '').split('.')[0]
        if OWN.match(name):
            return name, line
    return None


def run(command, folder, **environment):
    """None: the program did not do all that it is written to do, for example because Valgrind does not know a flag of mremap."""
    clean = {'PATH': '/usr/local/bin:/usr/bin:/bin', 'LC_ALL': 'C.UTF-8', 'HOME': '/proc/nonexistent', **environment}
    try:
        done = subprocess.run([str(word) for word in command], cwd=folder, env=clean, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        return None
    return None if b': not so: ' in done.stderr else done


def gone_by_lsan(program, number, folder):
    """{place: blocks}; None: it did not come to its end, as where aligned_alloc gets a size that is no multiple of the alignment."""
    done = run([program, number], folder, LSAN_OPTIONS='exitcode=0:max_leaks=0:report_objects=0')
    if done is None or done.returncode < 0 or re.search(rb'ERROR: LeakSanitizer: (?!detected)|has encountered a fatal error', done.stderr):
        return None
    gone = collections.Counter()
    for part in re.split(r'\n\n', done.stderr.decode(errors='replace')):
        head = re.search(r'^(?:Direct|Indirect) leak of \d+ byte\(s\) in (\d+) object\(s\)', part, re.M)
        if head:
            frames = re.findall(r'^ +#\d+ 0x[0-9a-f]+ in (.+?) (?:[^ ]*?/batch\.c(?:pp)?:(\d+)\S*|\S+)$', part, re.M)
            gone[place_of([(function, int(line or 0)) for function, line in frames])] += int(head.group(1))
    return gone


def gone_by_memcheck(program, number, folder):
    path = folder / 'memcheck.xml'
    path.unlink(missing_ok=True)
    done = run(['valgrind', '-q', '--leak-check=full', '--show-leak-kinds=definite,indirect', '--leak-resolution=high', '--num-callers=100',
                '--run-libc-freeres=no', '--run-cxx-freeres=no', '--xml=yes', f'--xml-file={path}', program, number], folder)
    if done is None or not path.exists():
        return None
    try:
        tree = ElementTree.fromstring(re.sub(r'[^\x09\x0a\x20-\ud7ff]', '?', path.read_text(errors='replace')))
    except ElementTree.ParseError:
        return None
    if tree.find('fatal_signal') is not None:
        return None
    gone = collections.Counter()
    for error in tree.iter('error'):
        if error.findtext('kind') in ('Leak_DefinitelyLost', 'Leak_IndirectlyLost'):
            frames = [(frame.findtext('fn'), int(frame.findtext('line') or 0)) for frame in error.find('stack')]
            gone[place_of(frames)] += int(error.findtext('xwhat/leakedblocks'))
    return gone


class Tally:
    def __init__(self):
        self.blocks, self.programs, self.none = collections.Counter(), collections.Counter(), collections.Counter()
        self.differing = collections.defaultdict(collections.Counter)  # tool: {(kind, what): blocks}
        self.examples = {}

    def add(self, tool, seed, expected, gone):
        if gone is None:
            self.none[tool] += 1
            return
        self.programs[tool] += 1
        for place, (is_gone, is_held, elsewhere) in expected.items():
            self.blocks[tool] += is_gone + is_held
            more = gone[place] - is_gone
            if more:
                kind = OWN.match(place[0]).group(1)
                what = ('on another stack' if more < 0 and elsewhere and tool != 'memcheck' else kind, 'gone, held here' if more > 0 else 'held, gone here')
                self.differing[tool][what] += abs(more)
                self.examples.setdefault((tool, what), f'seed {seed}, {place[0]} line {place[1]}')

    def show(self):
        """Whether each difference has a reason."""
        explained = True
        for tool in self.programs:
            differing = self.differing[tool]
            print(f'{tool}: {self.programs[tool]} programs, {self.blocks[tool]} blocks, {sum(differing.values())} in another class'
                  + (f'; {self.none[tool]} programs did not come to their end' if self.none[tool] else ''))
            for (kind, what), blocks in sorted(differing.items(), key=lambda item: -item[1]):
                tools, reason = REASONS.get(kind, ('', None))
                if ('memcheck' if tool == 'memcheck' else 'lsan') not in tools:
                    reason, explained = f'NO REASON ({self.examples[tool, (kind, what)]})', False
                print(f'  {blocks:6} {kind}: {what}: {reason}')
        return explained


def build(batch, folder, tool):
    batch.compiler = {'gcc': ['gcc', 'g++'], 'clang': ['clang', 'clang++'], 'memcheck': ['gcc', 'g++']}[tool][batch.cpp]
    batch.flags = ['-g', '-O1', '-fno-omit-frame-pointer', *([] if tool == 'memcheck' else ['-fsanitize=leak'])]
    batch.cpp20 = False
    return batch.build(folder)


class Stopped(Exception):
    pass


def stop(*_):
    raise Stopped


def looks_at(start, tools):
    """(tool, seed, expected, gone) of each program of a batch that leaves by exit."""
    exits, looks = {entry.name for entry in actions.EXITS}, []
    for tool in tools:
        batch = batches.Batch(start, WITHOUT | {'of_the_language'})
        with tempfile.TemporaryDirectory(prefix='seep-leaksanitizer-') as name:
            folder = Path(name)
            program = build(batch, folder, tool)
            look = gone_by_memcheck if tool == 'memcheck' else gone_by_lsan
            for one in batch.expectation():
                if set(one['actions']) & exits <= AT_EXIT and len(one['lives']) == 1:
                    looks.append((tool, one['seed'], expected_of(one), look(program, one['number'], folder)))
    return looks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--from', type=int, dest='first', default=0)
    parser.add_argument('--count', type=int, default=400)
    parser.add_argument('--seconds', type=float, default=float('inf'), help='begin no more seeds after this time')
    parser.add_argument('--tools', default='gcc,clang,memcheck')
    options = parser.parse_args()
    tally, start, begin = Tally(), options.first - options.first % batches.SIZE, time.monotonic()
    end = start + options.count
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    try:
        while start < end and time.monotonic() - begin < options.seconds:
            looks = looks_at(start, options.tools.split(','))
            for tool, seed, expected, gone in looks:
                tally.add(tool, seed, expected, gone)
            start += batches.SIZE
            without = ''.join(f', {tool} has no result of {seed}' for tool, seed, _, gone in looks if gone is None)
            print(f'seeds to {start - 1}, {time.monotonic() - begin:.0f} s{without}', file=sys.stderr, flush=True)
    except Stopped:
        pass
    explained = tally.show()
    if start < end:
        print(f'not done: --from {start} --count {end - start}')
    return 0 if explained else 1


if __name__ == '__main__':
    os.nice(5)
    sys.exit(main())
