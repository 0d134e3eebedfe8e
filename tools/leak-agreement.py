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


def verdicts(blocks):
    """(blocks that are said to be held, gone, and neither)."""
    return blocks['reachable'] + blocks['held'], blocks['lost'] + blocks['indirect'], blocks['possible']


def truth_of(expected, line):
    """(blocks that the program holds, blocks that it does not) by the source. What is possibly lost is held by design."""
    if line in expected.truth:
        blocks = expected.truth[line][0]
        return blocks['held'], blocks['gone']
    held, gone, possible = verdicts(expected.lines[line])
    return held + possible, gone


class Verdict:
    """How often a tool is wrong about what the programs hold."""

    def __init__(self):
        self.nr_falsely_lost = self.nr_missed = self.nr_open = 0
        self.lines = []

    def add(self, expected, line, blocks):
        is_held, is_gone = truth_of(expected, line)
        held, gone, possible = verdicts(blocks)
        wrong = max(0, gone - is_gone), max(0, held - is_held)
        self.nr_falsely_lost += wrong[0]
        self.nr_missed += wrong[1]
        self.nr_open += possible
        if any(wrong):
            self.lines.append(line)

    def __add__(self, other):
        both = Verdict()
        both.nr_falsely_lost = self.nr_falsely_lost + other.nr_falsely_lost
        both.nr_missed = self.nr_missed + other.nr_missed
        both.nr_open = self.nr_open + other.nr_open
        return both


class Comparison:
    """One program in the eyes of one tool."""

    def __init__(self, source, tool, seen):
        expected = corpus.Expectation(source)
        told = expected.differences[tool]
        self.source, self.expected = source, expected
        self.nr_blocks = self.nr_agreed = 0
        self.differences, self.troubles = [], []
        self.verdict, self.verdict_of_seep = Verdict(), Verdict()
        for line, blocks in sorted(expected.lines.items()):
            ours = as_lsan_says(blocks) if tool == 'LSAN' else blocks
            theirs = seen[line]
            if isinstance(ours, str):  # any number: what libraries allocate
                if line not in told and not corpus.agrees(ours, theirs):
                    self.troubles.append(f'{source.name}:{line}: expected {corpus.name_of(ours)}, {tool} says '
                                         f'{corpus.name_of(theirs)}')
                continue
            self.verdict.add(expected, line, theirs)
            self.verdict_of_seep.add(expected, line, blocks)
            total = sum(blocks.values())
            self.nr_blocks += total
            self.nr_agreed += min(total, sum((ours & theirs).values()))
            if line in told and told[line][2] and corpus.agrees(ours, theirs):
                continue
            if line in told:
                wanted, why, _ = told[line]
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

## Against the truth

What a program holds is known by construction: the source says it where no scan can know it (`TRUTH`). A block is
*falsely lost* when the program holds it and the tool calls it lost or indirectly lost; *missed* when it is gone and the
tool calls it reachable. What is called possibly lost is neither.

| of {nr_blocks} blocks | falsely lost | missed | wrong | possibly lost |
| --- | ---: | ---: | ---: | ---: |
{verdicts}

Where seep is wrong:

{wrong}

## Block by block

Does the other tool give the same class? Where it does not, the reason is below.

{summary}

## Differences

{differences}
## Programs

Blocks that agree, of all that the program makes.

| program | what it is about | blocks | LeakSanitizer | Valgrind |
| --- | --- | ---: | ---: | ---: |
{rows}
'''


def verdict_rows(results, nr_blocks):
    rows = []
    for name, tool, of_seep in (('seep', 'VALGRIND', True), *((name, tool, False) for tool, (name, _) in TOOLS.items())):
        mine = [results[source, tool] for source in corpus.PROGRAMS]
        verdict = sum((c.verdict_of_seep if of_seep else c.verdict for c in mine), Verdict())
        nr_wrong = verdict.nr_falsely_lost + verdict.nr_missed
        rows.append(f'| {name} | {verdict.nr_falsely_lost} | {verdict.nr_missed} | {nr_wrong} ({100 * nr_wrong / nr_blocks:.1f} %) | '
                    f'{verdict.nr_open} |')
    return '\n'.join(rows)


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
    wrong = []
    for comparison in (results[source, 'VALGRIND'] for source in corpus.PROGRAMS):
        for line in comparison.verdict_of_seep.lines:
            told, why = comparison.expected.truth[line]
            last = why = last if why == 'as above' else why
            wrong.append(f'- `{comparison.source.name}:{line}`: seep {corpus.name_of(comparison.expected.lines[line])}, '
                         f'in truth {", ".join(f"{n} {what}" for what, n in sorted(told.items()))}: {why}')
    rows = []
    for source in corpus.PROGRAMS:
        lsan, valgrind = results[source, 'LSAN'], results[source, 'VALGRIND']
        rows.append(f'| `{source.name}` | {title_of(source)} | {lsan.nr_blocks} | {lsan.nr_agreed} | '
                    f'{valgrind.nr_agreed} |')
    path.write_text(HEAD.format(nr_blocks=nr_blocks, verdicts=verdict_rows(results, nr_blocks), wrong='\n'.join(wrong),
                                gcc=version_of('gcc', '--version'), valgrind=version_of('valgrind', '--version'),
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
