#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""How far seep's scan, LeakSanitizer and Valgrind memcheck agree about the programs of tests/corpus.

Writes docs/leak-agreement.md. What a program's source expects is what seep finds (tests/corpus holds it to
that); where another tool says something else the source gives the reason. A difference without a reason, or
a reason without a difference, ends this with status 1.
"""
import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'tests' / 'corpus'))
import corpus  # noqa: E402

TOOLS = {'LSAN': ('LeakSanitizer', corpus.look_with_lsan), 'VALGRIND': ('Valgrind memcheck', corpus.look_with_valgrind)}


def as_lsan_says(blocks):
    """LeakSanitizer knows two classes; all else is held."""
    if isinstance(blocks, str):
        return blocks if blocks in ('lost', 'indirect') else 'held'
    held = blocks['possible'] + blocks['reachable'] + blocks['held']
    return +collections.Counter(lost=blocks['lost'], indirect=blocks['indirect'], held=held)


class Comparison:
    """One program in the eyes of one tool."""

    def __init__(self, source, tool, seen):
        expected = corpus.Expectation(source)
        told = expected.differences[tool]
        self.nr_blocks = self.nr_agreed = 0
        self.differences, self.troubles = [], []
        for line, blocks in sorted(expected.lines.items()):
            ours = as_lsan_says(blocks) if tool == 'LSAN' else blocks
            theirs = seen[line]
            if isinstance(ours, str):  # any number: what libraries allocate
                if line not in told and not corpus.agrees(ours, theirs):
                    self.troubles.append(f'{source.name}:{line}: expected {corpus.name_of(ours)}, {tool} says '
                                         f'{corpus.name_of(theirs)}')
                continue
            total = sum(blocks.values())
            self.nr_blocks += total
            self.nr_agreed += min(total, sum((ours & theirs).values()))
            if line in told:
                wanted, why = told[line]
                if not corpus.agrees(as_lsan_says(wanted) if tool == 'LSAN' else wanted, theirs):
                    self.troubles.append(f'{source.name}:{line}: the reason is for {corpus.name_of(wanted)}, {tool} '
                                         f'says {corpus.name_of(theirs)}')
                elif corpus.agrees(ours, theirs):
                    self.troubles.append(f'{source.name}:{line}: a reason for {tool} without a difference')
                self.differences.append((source, line, blocks, theirs, why))
            elif not corpus.agrees(ours, theirs):
                self.troubles.append(f'{source.name}:{line}: expected {corpus.name_of(ours)}, {tool} says '
                                     f'{corpus.name_of(theirs)}')


def compare(source, tool):
    compiler = 'gcc'
    with tempfile.TemporaryDirectory(prefix='leak-agreement-') as folder:
        return Comparison(source, tool, TOOLS[tool][1](source, folder, compiler))


def title_of(source):
    """The comment at the top of a program, up to its first full stop or colon."""
    lines = []
    for line in source.read_text().splitlines()[1:]:
        if not line.startswith('// ') or re.match(r'// [A-Z]+: ', line):
            break
        lines.append(line[3:])
    return re.split(r'[.:](?: |$)', ' '.join(lines))[0]


def version_of(*command):
    first = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()[0]
    return re.search(r'\d+\.\d+(\.\d+)?', re.sub(r'\(.*?\)', '', first)).group()


HEAD = '''<!-- SPDX-License-Identifier: BSD-2-Clause -->
# Agreement with LeakSanitizer and Valgrind

Made by `tools/leak-agreement.py`. The programs of `tests/corpus` have the class of every block written beside the
line that allocates it; `seep scan` finds exactly these (`tests/corpus/test_corpus.py`: gcc and clang, with and
without optimisation). Here are the same programs under LeakSanitizer of gcc {gcc} (-O1) and Valgrind memcheck {valgrind}
(gcc -O2, `--leak-check=full --show-leak-kinds=all`, all heuristics), which look at the same moment.

LeakSanitizer knows no "possibly lost": a pointer into the middle holds as well as one to the start. It agrees where it
reports the lost and the indirectly lost blocks, and no others.

{summary}

## Differences

{differences}
## Programs

Blocks that agree, of all that the program makes.

| program | what it is about | blocks | LeakSanitizer | Valgrind |
| --- | --- | ---: | ---: | ---: |
{rows}
'''


def write(path, results):
    summary, differences = [], []
    for tool, (name, _) in TOOLS.items():
        mine = [results[source, tool] for source in corpus.PROGRAMS]
        nr_blocks = sum(c.nr_blocks for c in mine)
        nr_agreed = sum(c.nr_agreed for c in mine)
        whole = sum(1 for c in mine if c.nr_agreed == c.nr_blocks)
        summary.append(f'- {name}: {nr_agreed} of {nr_blocks} blocks in the same class; {whole} of {len(mine)} programs '
                       'without any difference.')
        reasons = collections.OrderedDict()
        last = None
        for comparison in mine:
            for source, line, ours, theirs, why in comparison.differences:
                last = why = last if why == 'as above' else why
                reasons.setdefault(why, []).append(
                    f'`{source.name}:{line}`: seep {corpus.name_of(ours)}, {name} {corpus.name_of(theirs)}')
        differences.append(f'### {name}\n')
        for why, places in reasons.items():
            differences.append(f'{why[0].upper()}{why[1:]}.\n')
            differences += [f'- {place}' for place in places]
            differences.append('')
    rows = []
    for source in corpus.PROGRAMS:
        lsan, valgrind = results[source, 'LSAN'], results[source, 'VALGRIND']
        rows.append(f'| `{source.name}` | {title_of(source)} | {lsan.nr_blocks} | {lsan.nr_agreed} | '
                    f'{valgrind.nr_agreed} |')
    path.write_text(HEAD.format(gcc=version_of('gcc', '--version'), valgrind=version_of('valgrind', '--version'),
                                summary='\n'.join(summary), differences='\n'.join(differences),
                                rows='\n'.join(rows)))


def main():
    parser = argparse.ArgumentParser(description='Compare the corpus under LeakSanitizer and Valgrind.')
    parser.add_argument('--jobs', type=int, default=os.cpu_count() or 2)
    parser.add_argument('--check', action='store_true', help='write nothing')
    parser.add_argument('-o', '--output', type=Path, default=ROOT / 'docs' / 'leak-agreement.md')
    options = parser.parse_args()
    results = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(compare, source, tool): (source, tool)
                   for source in corpus.PROGRAMS for tool in TOOLS}
        for future in concurrent.futures.as_completed(running):
            results[running[future]] = future.result()
    troubles = sorted(trouble for comparison in results.values() for trouble in comparison.troubles)
    for trouble in troubles:
        print(trouble)
    if not options.check:
        write(options.output, results)
    print(f'{len(corpus.PROGRAMS)} programs, {len(troubles)} differences without a reason')
    return 1 if troubles else 0


if __name__ == '__main__':
    sys.exit(main())
