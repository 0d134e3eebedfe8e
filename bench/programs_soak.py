#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs of others do under seep what they do without it, and their counts and blocks are Valgrind's.

    /usr/bin/python3 bench/programs_soak.py --build build [--modes live,record,check,attach] [--jobs N] [--seconds N] [NAME...]

Runs each program twice untraced, then in each mode. Exit status, standard output and standard error have to be those of the
untraced run; of a program whose output differs from run to run, only the status. Where two traced runs count the same, the
calls and the classes of blocks are compared with memcheck's. Prints one row per program and lists each difference. Mode
attach needs root.

The blocks that are left at the end are compared with memcheck's one by one, of these programs and of some 160 more:
`--modes ''` does only that, with --jobs programs at a time. Memory is wiped, as `seep check` does, because memcheck
does not hand out freed memory again.
The last lines are the number of blocks, of those in another class, and their share. Exit status 1 when anything
differs without a reason in bench/programs.py, or more than 1 % of the blocks but those behind headers that only seep learns.

All programs take more than an hour. After --seconds, SIGINT or SIGTERM no other program begins: the last lines are
of those until then, and name the programs that are left. These names, as arguments, go on.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import memcheck_blocks
import peers
from programs import BEHIND_HEADER, EXPLAINED, FILES, MORE, OWN_BLOCKS, PROGRAMS

ROOT = Path(__file__).resolve().parents[1]
MOST = 0.01  # of all blocks
NEVER_AGAIN = 'never_again'
OLD_WORDS = 'the address of a freed block leads to it, because malloc handed that memory out again; with bench/peers/never_again.c it is lost here too'
OLD_WORDS_MAKE = ('reachable', 'indirect')
LIMIT_S = 300
MODES = ('live', 'record', 'check', 'attach')
ANY = ['--max-leaked', '1T', '--max-mismatches', '1000000000']
SEEP = ['run', '-q', '--no-wait', '--no-default-suppressions', '--wipe-freed', 'yes']
VALGRIND = ['valgrind', '--leak-check=full', '--show-leak-kinds=all', '--run-libc-freeres=no', '--run-cxx-freeres=no', '--trace-children=no']
CLASSES = {'lost': 'definitely lost', 'indirect': 'indirectly lost', 'possible': 'possibly lost', 'reachable': 'still reachable'}

# Programs whose counts differ from memcheck's, and why.
OWN_COUNTS = {
    'ltrace': 'it reads the symbols of the libraries of its program, of which there is one more under seep',
    'perf': 'the kernel counts nothing for it under Valgrind',
    'python': 'its threads take turns in another order',
    'qemu': 'it asks the processor what it can do, and that of Valgrind can do less',
}


class Deadline:
    """The time after which no other program begins."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.stop)

    def stop(self, *_):
        self.end = 0

    def is_over(self):
        return time.monotonic() >= self.end


def run(command, folder):
    """(exit status, output, errors); the status is None if it does not end in time."""
    with open(folder / 'out', 'wb') as out, open(folder / 'err', 'wb') as err:
        try:
            code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=LIMIT_S, check=False).returncode
        except subprocess.TimeoutExpired:
            code = None
    return code, (folder / 'out').read_bytes(), (folder / 'err').read_bytes()


def command_of(mode, seep, trace, program):
    quiet = [seep, 'run', '-q', '--no-default-suppressions', '-o', trace]
    return {'live': [*quiet, '--', *program], 'record': [*quiet, '--mode', 'record', '--', *program],
            'check': [seep, 'check', '-q', *ANY, '-o', trace, '--', *program],
            'attach': [seep, 'attach', '--output', trace, '--', *program]}[mode]


def differences(mode, plain, steady, done, trace):
    found = []
    unsure = mode == 'check' and b'seep: check: not sure' in done[2]
    if done[0] != plain[0] and not (unsure and done[0] == 1):
        found.append(f'status {done[0]}, untraced {plain[0]}')
    if not trace.exists():
        found.append('no trace')
    # seep attach and seep check report on standard error.
    if steady[0] and plain[1] != done[1]:
        found.append('another output')
    ours = [line for line in done[2].splitlines(keepends=True) if not (line.startswith(b'seep: ') or mode == 'attach')]
    if steady[1] and mode != 'attach' and b''.join(ours) != plain[2]:
        found.append('other errors: ' + b''.join(ours)[:200].decode(errors='replace'))
    return found


def counts(seep, trace):
    """Of the only process: its calls, and the blocks of each class. None: there are more processes."""
    done = subprocess.run([seep, 'report', '--json', trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    process = json.loads(done.stdout) if done.returncode == 0 else {}
    if 'processes' in process or 'totals' not in process:
        return None
    leaks = process.get('leaks') or {}
    return {'allocs': process['totals']['allocations'], 'frees': process['totals']['frees'],
            **{name: leaks[name]['blocks'] for name in CLASSES if name in leaks}}


def memcheck(program, folder):
    text = run([*VALGRIND, *program], folder)[2].decode(errors='replace').replace(',', '')
    text = text.rsplit('HEAP SUMMARY', 1)[-1]  # a forked child prints the same before
    usage = re.search(r'total heap usage: (\d+) allocs (\d+) frees', text)
    if not usage:
        return {}
    found = {'allocs': int(usage[1]), 'frees': int(usage[2])}
    for name, words in CLASSES.items():
        line = re.search(words + r': \d+ bytes in (\d+) blocks', text)
        found[name] = int(line[1]) if line else 0
    return found


def look(name, seep, modes, folder):
    program = PROGRAMS[name]
    plain, again = run(program, folder), run(program, folder)
    steady = [plain[i] == again[i] for i in (1, 2)]
    found, seen = [], []
    for mode in modes:
        trace = folder / f'{mode}.seep'
        done = run(command_of(mode, seep, trace, program), folder)
        found += [f'{mode}: {words}' for words in differences(mode, plain, steady, done, trace)]
        if mode in ('live', 'record') and trace.exists():
            seen.append(counts(seep, trace))
    same = name not in OWN_COUNTS and len(seen) == 2 and seen[0] and seen[0] == seen[1]
    if same:
        theirs = memcheck(program, folder)
        found += [f'{key}: {seen[0][key]}, memcheck {theirs[key]}' for key in theirs if key in seen[0] and seen[0][key] != theirs[key]]
    print(f'{name:16} {"as untraced" if not found else "DIFFERS":12} {seen[0] if same else OWN_COUNTS.get(name, "counts not compared")}', flush=True)
    for words in found:
        print(f'    {words}', flush=True)
    return not found


def make_inputs(folder):
    peers.compiled(folder, NEVER_AGAIN)
    for name, command in FILES.items():
        command = command.replace('IN/', f'{folder}/')
        subprocess.run(['sh', '-c', command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if not (folder / name).exists():
            print(f'{name} cannot be made: {command}')


def added_by(tool):
    """What it puts into the environment of a program, but what each has. Some programs make blocks of each variable."""
    done = subprocess.run([*tool, 'env', '-0'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    pairs = [one.partition('=') for one in done.stdout.decode().split('\0') if one]
    return {name: value for name, _, value in pairs if name not in os.environ and name != 'LD_PRELOAD'}


def without_holder(row):
    here, there, _, functions = row
    return here, there, functions.split('; held by')[0]


class Blocks:
    """A program's blocks at its end, by seep and by memcheck."""

    def __init__(self, name, program, seep, inputs, added):
        self.name, self.seep, self.inputs = name, seep, inputs
        self.of_seep, self.of_valgrind = added
        self.void = OWN_BLOCKS.get(name)
        self.old_words = set()
        self.rows, self.nr_blocks, self.here, self.there = [], 0, collections.Counter(), collections.Counter()
        with tempfile.TemporaryDirectory(prefix='programs-') as folder:
            self.folder = Path(folder)
            self.input = '/dev/null'
            program = [re.sub(r'(^[<+IO]{0,3}|=)IN(?=/|$)', lambda found: found[1] + str(self.folder / 'IN'), word) for word in program]
            if program[0].startswith('<'):
                self.input, program = program[0][1:], program[1:]
            if not shutil.which(program[0]):
                self.void = 'not installed'
            if not self.void:
                self.look(program)

    def fresh(self, more):
        shutil.rmtree(self.folder / 'IN', ignore_errors=True)
        shutil.copytree(self.inputs, self.folder / 'IN')
        return {'cwd': ROOT, 'stdin': open(ROOT / self.input, 'rb'), 'env': {**os.environ, **more, 'HOME': str(self.folder / 'IN')}}

    def ours(self, program, allocator=None):
        trace = self.folder / 'blocks.seep'
        trace.unlink(missing_ok=True)
        command = [self.seep, *SEEP, '-o', trace, '--', *program]
        with open(self.folder / 'out', 'wb') as out:  # a device would be asked whether it is a terminal, and need other blocks
            how = self.fresh(self.of_valgrind)
            if allocator:
                how['env']['LD_PRELOAD'] = str(allocator)
            subprocess.run(command, stdout=out, stderr=out, timeout=LIMIT_S, check=False, **how)
        done = subprocess.run([self.seep, 'report', '--json', '--top', '0', '--no-default-suppressions', trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        report = json.loads(done.stdout) if done.returncode == 0 else {}
        first = [one for one in report.get('processes', [report]) if one and one['process']['origin'] == 'start']
        if not first:
            return None
        if first[0]['process']['went_on'] or not first[0].get('leaks'):
            self.void = 'it goes on as another program' if first[0]['process']['went_on'] else 'it has no end that is looked at'
            return None
        return memcheck_blocks.of_report({'frames': report['frames'], 'stacks': report['stacks'], **first[0]})

    def look(self, program):
        try:
            ours = self.ours(program)
        except subprocess.TimeoutExpired:
            self.void = f'it does not end within {LIMIT_S} s'
            return
        if not ours:
            self.void = self.void or 'seep has no trace of it'
            return
        for _ in range(5):
            theirs, self.void = memcheck_blocks.of_memcheck(program, self.folder, **self.fresh(self.of_seep))
            if self.void != 'memcheck: SIGTRAP':  # a tracer's probe in the same libc, which Valgrind takes for the program's own
                break
        if self.void:
            return
        self.rows, self.nr_blocks = memcheck_blocks.compare(ours, theirs)
        for blocks, sums in ((ours, self.here), (theirs, self.there)):
            for classes in blocks.places.values():
                sums.update(classes)
        if any(None in row[:2] for row in self.rows):
            again = self.ours(program)
            if again and again.total() != ours.total():
                self.void = 'it keeps another number of blocks in each run'
                return
        self.look_at_old_words(program, theirs)

    def look_at_old_words(self, program, theirs):
        """What is lost as with memcheck if no memory is handed out again was held by the address of a freed block."""
        if not any(row[0] in OLD_WORDS_MAKE and row[1] and not self.why(row) for row in self.rows):
            return
        again = self.ours(program, Path(self.inputs) / f'{NEVER_AGAIN}.so')
        if again:
            left = {without_holder(row) for row in memcheck_blocks.compare(again, theirs)[0]}
            self.old_words = {row for row in self.rows if row[0] in OLD_WORDS_MAKE and row[1] and without_holder(row) not in left}

    def why(self, row):
        if row in self.old_words:
            return OLD_WORDS
        here, there, _, functions = row
        for name, classes, pattern, reason in EXPLAINED:
            if name in (None, self.name) and f'{here} {there}' in classes and re.search(pattern, functions):
                return reason
        return None

    def tell(self):
        """How many blocks are in another class, and how many of these without a reason."""
        if self.void:
            print(f'{self.name:16} void: {self.void}', flush=True)
            return 0, 0
        other = sum(row[2] for row in self.rows)
        totals = '' if self.here == self.there else f' (seep {dict(self.here)}, memcheck {dict(self.there)})'
        open_rows = [row for row in self.rows if not self.why(row)]
        print(f'{self.name:16} {self.nr_blocks:7} blocks {other:6} differ {sum(row[2] for row in open_rows):6} without a reason{totals}', flush=True)
        told = collections.Counter()
        for row in self.rows:
            if self.why(row):
                told[row[0], row[1], self.why(row)] += row[2]
            else:
                text = row[3] if len(row[3]) < 700 else f'{row[3][:400]} ... {row[3][-300:]}'
                print(f'    {row[2]} seep {row[0]}, memcheck {row[1]}: {text}', flush=True)
        for (here, there, reason), blocks in told.items():
            print(f'    {blocks} seep {here}, memcheck {there}: {reason}', flush=True)
        return other, sum(row[2] for row in open_rows)


def look_at_all(names, seep, modes, jobs, deadline):
    """Whether all of them agree; the names of those that did not begin."""
    def both(name):
        if deadline.is_over():
            return None
        as_untraced = True
        if name in PROGRAMS and modes and shutil.which(PROGRAMS[name][0]):
            with tempfile.TemporaryDirectory() as folder:
                as_untraced = look(name, seep, modes, Path(folder))
        return Blocks(name, {**PROGRAMS, **MORE}[name], seep, inputs, added), as_untraced

    left = list(names)
    sums, pairs = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory(prefix='programs-in-') as inputs:
        make_inputs(Path(inputs))
        added = added_by([seep, *SEEP, '-o', f'{inputs}/env.seep', '--']), added_by(['valgrind', '-q'])
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for one in concurrent.futures.as_completed([pool.submit(both, name) for name in names]):
                if not one.result():
                    continue
                done, as_untraced = one.result()
                left.remove(done.name)
                sums['other_output'] += not as_untraced
                other, unexplained = done.tell()
                if done.void:
                    sums['void'] += 1
                    continue
                learnt = sum(row[2] for row in done.rows if done.why(row) == BEHIND_HEADER)
                sums.update(programs=1, equal=int(not done.rows), blocks=done.nr_blocks, other=other - learnt, learnt=learnt, unexplained=unexplained)
                for here, there, blocks, _ in done.rows:
                    pairs[here or 'not there', there or 'not there'] += blocks
    for (here, there), blocks in pairs.most_common():
        print(f'{blocks:7} blocks: seep {here}, memcheck {there}')
    share = sums['other'] / max(sums['blocks'], 1)
    print(f"{sums['programs']} programs, {sums['equal']} equal in all classes, {sums['void']} void; {sums['blocks']} blocks, {sums['other']} in another "
          f"class ({share:.2%}), {sums['unexplained']} without a reason; {sums['learnt']} more behind headers that only seep learns")
    return not sums['other_output'] and not sums['unexplained'] and share <= MOST, left


def main():
    parser = argparse.ArgumentParser(description='Run programs of others under seep.')
    parser.add_argument('--build', type=Path, required=True)
    parser.add_argument('--modes', default=','.join(MODES if os.geteuid() == 0 else MODES[:-1]))
    parser.add_argument('--jobs', type=int, default=os.cpu_count() or 2, help="with --modes '': so many programs at a time")
    parser.add_argument('--seconds', type=float, default=float('inf'), help='begin no other program after this time')
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    deadline = Deadline(options.seconds)
    # GLib leaves its own allocator out under Valgrind.
    os.environ.update(PERL_HASH_SEED='0', PYTHONHASHSEED='0', G_SLICE='always-malloc')
    os.environ.update(LC_ALL='C.UTF-8', TERM='dumb')
    modes = [mode for mode in options.modes.split(',') if mode]
    jobs = 1 if modes else options.jobs  # probes of seep attach end programs under Valgrind
    good, left = look_at_all(options.names or [*PROGRAMS, *MORE], options.build.resolve() / 'seep', modes, jobs, deadline)
    if left:
        print('not done:', *left)
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
