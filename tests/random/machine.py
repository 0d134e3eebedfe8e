#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The random machine: generates programs, runs each in all ways, compares with what the generator knows.

    tests/random/machine.py --build build --seed 1234            one seed again, as often as --times
    tests/random/machine.py --build build --from 0 --count 1000  many; the first line of a failure tells how to run it again
    tests/random/machine.py --seed 1234 --show                   its source and what is expected of it
"""
import argparse
import collections
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import batch as batches  # noqa: E402
import ways  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]

LEAST = 2  # seeds that are run however long it takes


class Failure:
    def __init__(self, seed, way, lines):
        self.seed, self.way, self.lines = seed, way, lines

    def __str__(self):
        which = f'--from {start_of(self.seed)}' if self.way == 'together' else f'--seed {self.seed} --ways {self.way}'
        again = f'tests/random/machine.py --build build {which}'
        return '\n  '.join([f'seed {self.seed}, {self.way}: {again}', *self.lines[:12]])


class Machine:
    """`seldom`: ways that only every so many seeds go. `together`: one `seep attach` for all of a batch but the first."""

    def __init__(self, build, names=None, without=(), seldom=None, together=False):
        self.build, self.names, self.without = build, names or list(ways.WAYS), without
        self.seldom, self.together = seldom or {}, together and 'attach' in self.names
        self.seeds = self.runs = 0
        self.tags = collections.Counter()
        self.failures = []

    def run_batch(self, first, seeds, until=None, keep=None, times=1):
        batch = batches.Batch(first, self.without)
        folder = Path(keep or tempfile.mkdtemp(prefix='seep-random-'))
        folder.mkdir(exist_ok=True)
        try:
            program = batch.build(folder)
            way = ways.Ways(self.build, folder)
            for expected in batch.expectation() * times:
                in_time = until is None or time.monotonic() < until or self.seeds < LEAST
                if expected['seed'] in seeds and in_time:
                    self.run_seed(way, program, expected, batch.lines_known)
            if self.together:
                self.run_together(way, program, [one for one in batch.expectation() if one['seed'] in seeds], batch.lines_known)
        finally:
            if not keep:
                shutil.rmtree(folder, ignore_errors=True)

    def run_seed(self, way, program, expected, lines_known):
        self.seeds += 1
        self.tags.update(expected['actions'])
        way.names_of_libc(expected['seed'] % batches.SIZE == 0)
        for name in self.names:
            if expected['seed'] % self.seldom.get(name, batches.SIZE if self.together and name == 'attach' else 1):
                continue
            self.run_way(expected['seed'], name, ways.WAYS[name], way, program, expected, lines_known)

    def run_way(self, seed, name, run, *arguments):
        self.runs += 1
        try:
            wrong = run(*arguments)
        except ways.Trouble as trouble:
            wrong = [str(trouble)]
        if wrong:
            self.failures.append(Failure(seed, name, wrong))
        return not wrong

    def run_together(self, way, program, expectation, lines_known):
        """Where they fail, each is run alone: most failures are those of one of them."""
        way.names_of_libc(False)
        rest = [one for one in expectation if one['seed'] % batches.SIZE]
        if self.run_way(rest[0]['seed'], 'together', way.attached_together, program, rest, lines_known):
            self.runs += len(rest) - 1
            return
        for one in rest:
            self.run_way(one['seed'], 'attach', ways.WAYS['attach'], way, program, one, lines_known)


def start_of(seed):
    return seed - seed % batches.SIZE


def names_of():
    """The ways that work here."""
    return [name for name in ways.WAYS if name != 'attach' or os.geteuid() == 0]


def main():
    parser = argparse.ArgumentParser(description='Run random programs in all ways and compare.')
    parser.add_argument('--build', default=str(ROOT / 'build'))
    parser.add_argument('--seed', type=int)
    parser.add_argument('--times', type=int, default=1, help='of one seed')
    parser.add_argument('--from', type=int, dest='first', default=0)
    parser.add_argument('--count', type=int, default=batches.SIZE)
    parser.add_argument('--ways', help='plain, run, record, alone, attach: comma list')
    parser.add_argument('--without', default='', help='actions that are left out, a comma list (other programs for the same seed)')
    parser.add_argument('--keep', help='a folder to leave source, program and traces in')
    parser.add_argument('--show', action='store_true', help='print the source and what is expected, and run nothing')
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    names = options.ways.split(',') if options.ways else names_of()
    machine = Machine(build, names, tuple(filter(None, options.without.split(','))), together=options.seed is None)
    if options.show:
        batch = batches.Batch(start_of(options.seed), machine.without)
        print(batch.text)
        print(json.dumps([one for one in batch.expectation() if one['seed'] == options.seed], indent=1))
        return 0
    started, told = time.monotonic(), 0
    if options.seed is not None:
        work = [(start_of(options.seed), {options.seed})]
    else:
        first = start_of(options.first)
        work = [(start, set(range(start, start + batches.SIZE))) for start in range(first, first + options.count, batches.SIZE)]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # of what has been run until then it tells
    try:
        for first, seeds in work:
            machine.run_batch(first, seeds, keep=options.keep, times=options.times if options.seed is not None else 1)
            for failure in machine.failures[told:]:
                print(failure, flush=True)
            told = len(machine.failures)
    except KeyboardInterrupt:
        pass
    seconds = time.monotonic() - started
    print(f'{machine.seeds} seeds in {machine.runs} runs, {len(machine.failures)} failed, {seconds:.0f} s '
          f'({seconds / max(machine.seeds, 1):.2f} s each)')
    return 1 if machine.failures else 0


if __name__ == '__main__':
    sys.exit(main())
