#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each system call of the library fails with each error that a kernel may give, comes late, or is preceded by a signal, in each
mode: the program does what it does, and the report is right or says what it lacks.

    make soak ONLY=faults                                              all of it
    tests/live/fault_sweep.py --mode record --one 112:5 --handler fork   one of it, as a failure says
"""
import argparse
import concurrent.futures
import errno
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import harness
import messages

sys.path.insert(0, str(harness.ROOT / 'tests/golden'))
import seep_reader  # noqa: E402

PROGRAM = harness.BUILD / 'tests/live/live-faulted'
LIBRARIES = {name: harness.BUILD / f'tests/live/libseep-{name}.so' for name in ('faults', 'skewed')}
# The library, and the options of seep run; None: alone by preload.
MODES = {
    'live': ('faults', []),
    'wipe': ('faults', ['--wipe-freed', 'yes', '--age', '--free-stacks']),
    'alone': ('faults', None),
    'record': ('skewed', ['--mode', 'record']),
    'count': ('skewed', ['--mode', 'count']),
    'log': ('skewed', ['--mode', 'log', '--log', 'log']),
    'nowhere': ('skewed', ['--mode', 'log', '--log', '/proc/%p']),  # which is a folder: each line tries to open it
}
HANDLERS = ['allocate', 'beside', 'small', 'jump', 'fork', 'leave']
WITH_ALL_KINDS = HANDLERS[:2]
ERRORS = [getattr(errno, name) for name in 'EINTR ENOMEM EAGAIN EMFILE ENOSPC EPERM EACCES EBADF EINVAL ENOSYS EIO'.split()]
LATE = 'd20000'
SIGNAL = 's10'
LEFT_COSTS = 12  # events that a hook may cost that a handler has left: those until the thread calls the next one
KEYS = ('allocations', 'allocated_bytes', 'frees', 'freed_bytes')


class Run:
    """What the program did, and what is told of it. `fault`: as SEEP_FAULT."""

    def __init__(self, mode, handler, fault, folder, *more):
        library, options = MODES[mode]
        seen, trace = folder / 'seen', folder / 't.seep'
        for path in (seen, trace):
            path.unlink(missing_ok=True)
        env = {'SEEP_FAULT': fault, 'SEEP_FAULT_SEEN': seen, 'LD_BIND_NOW': 1}  # binding takes much of a small stack
        command = [PROGRAM, handler, *more]
        if options is None:
            env.update(LD_PRELOAD=LIBRARIES[library], SEEP_OUT=trace)
        else:
            env.update(SEEP_LIBRARY=LIBRARIES[library])
            command = [harness.SEEP, 'run', '-q', '-o', trace, *options, '--', *command]
        self.is_alone, self.is_reached, self.is_saved, self.processes = options is None, True, False, []
        try:
            self.done = harness.run(command, env=harness.environment(**env), cwd=folder)
        except subprocess.TimeoutExpired:
            self.done = None
            return
        # The line about calls that are not in the log is the tool's, not the program's.
        said = self.done.err.splitlines(keepends=True)
        self.done.err = b''.join(line for line in said if messages.NOT_IN_LOG.encode() not in line)
        self.is_reached = seen.exists()
        self.is_saved = trace.exists()
        # Hundreds of traces: the reader that names no functions is the quick one. It does not read what was left without the tool.
        read = harness.report if options is None else lambda trace: seep_reader.read(trace.read_bytes())['processes']
        self.processes = read(trace) if self.is_saved else []
        if options is None:  # the program that it executes takes the name of the file if it has none itself
            self.processes = [p for p in self.processes if 'again' not in p['process']['args']]

    def figures(self):
        return sorted([p['totals'][key] for key in KEYS] for p in self.processes)

    def most_lost(self):
        of_each = (p['health']['lost'] for p in self.processes)
        return max((sum(lost.values() if isinstance(lost, dict) else lost) for lost in of_each), default=0)

    def healths(self):
        return sorted(str({k: v for k, v in p['health'].items() if k != 'events'}) for p in self.processes)

    def told(self):
        """What is told of losses. A process that is not there tells nothing."""
        return {str([p['health'].get(key) for key in ('lost', 'notes', 'complete', 'passive_reason')]) for p in self.processes}


def wrong(run, whole, handler, fault):
    """What is wrong about a run, by one without faults; None: nothing."""
    if not run.done:
        return 'it did not end'
    code = harness.exit_status(run.done.code)
    if handler == 'leave' and SIGNAL in fault:
        return None if code in (3, 4) and not run.done.err else f'it ended with {code}: {run.done}'
    if (code, run.done.out, run.done.err) != (harness.exit_status(whole.done.code), whole.done.out, whole.done.err):
        return f'it did something else: {run.done}'
    if handler == 'jump' and SIGNAL in fault and run.most_lost() > whole.most_lost() + LEFT_COSTS:
        return f'what is lost goes on: {run.healths()}'
    if not run.processes:
        return None if run.is_alone else 'there is no trace'  # alone: none, or a whole one
    if handler == 'beside' or run.told() - whole.told():  # what it does beside the thread varies
        return None
    if SIGNAL in fault:
        # A handler allocates once. One that jumps leaves out what the program would have done.
        more = [sum(column) for column in zip(*run.figures())]
        before = [sum(column) for column in zip(*whole.figures())]
        nr, nr_bytes, nr_frees, freed = (a - b for a, b in zip(more, before))
        is_right = (nr, nr_bytes) == (nr_frees, 77 * nr) and freed in (nr_bytes, 0) and nr >= 0
        return None if is_right or handler in ('jump', 'fork') else f'nothing is lost, and figures differ: {run.figures()}'
    return None if run.figures() == whole.figures() else f'nothing is lost, and figures differ: {run.figures()}'


def without_faults(mode, handler, folder, *more):
    whole = Run(mode, handler, '0', folder, *more)
    assert whole.done and whole.done.code == 4 and not whole.is_reached and whole.is_saved, whole.done
    return whole


def kinds_of(handler):
    return [*map(str, ERRORS), LATE, SIGNAL] if handler in WITH_ALL_KINDS else [SIGNAL]


def sample(mode, nr, folder, seed):
    """`nr` injections by chance. Yields what is wrong."""
    chance = random.Random(seed)
    wholes = {}
    last = 60
    for _ in range(nr):
        handler = chance.choice([*WITH_ALL_KINDS, *HANDLERS])
        if handler not in wholes:
            wholes[handler] = without_faults(mode, handler, folder)
        fault = f'{chance.randrange(1, last)}:{chance.choice(kinds_of(handler))}'
        run = Run(mode, handler, fault, folder)
        last = last * 3 // 2 if run.is_reached else max(20, last - last // 8)
        trouble = wrong(run, wholes[handler], handler, fault)
        if trouble:
            yield f'--mode {mode} --handler {handler} --one {fault}: {trouble}'


def sweep(mode, handler, kind, folder, jobs):
    """Call after call, until one is not reached. Returns what is wrong."""
    whole = without_faults(mode, handler, folder)

    def one(n):
        with tempfile.TemporaryDirectory(dir=folder) as own:
            run = Run(mode, handler, f'{n}:{kind}', Path(own))
        trouble = wrong(run, whole, handler, f'{n}:{kind}')
        return run.is_reached, trouble and f'--mode {mode} --handler {handler} --one {n}:{kind}: {trouble}'

    found, first, goes_on = [], 1, True
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        while goes_on:
            for is_reached, trouble in pool.map(one, range(first, first + 4 * jobs)):
                goes_on &= is_reached
                found += [trouble] if trouble else []
            first += 4 * jobs
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--mode', choices=MODES)
    options.add_argument('--handler', choices=HANDLERS)
    options.add_argument('--kind', help='an errno, dMICROSECONDS or sSIGNAL')
    options.add_argument('--one', metavar='N:KIND')
    options.add_argument('--sample', type=int, metavar='N', help='N by chance')
    options.add_argument('--jobs', type=int, default=2 * (os.cpu_count() or 1))
    chosen = options.parse_args()
    nr_wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if chosen.one:
            mode, handler = chosen.mode or 'live', chosen.handler or HANDLERS[0]
            whole, run = without_faults(mode, handler, folder), Run(mode, handler, chosen.one, folder)
            print(run.done, run.healths(), run.figures(), whole.figures(), 'reached' if run.is_reached else 'not reached', sep='\n')
            return bool(wrong(run, whole, handler, chosen.one))
        if chosen.sample:
            for mode in [chosen.mode] if chosen.mode else MODES:
                for trouble in sample(mode, chosen.sample, folder, None):
                    nr_wrong += 1
                    print(trouble, flush=True)
            return bool(nr_wrong)
        for mode in [chosen.mode] if chosen.mode else MODES:
            for handler in [chosen.handler] if chosen.handler else HANDLERS:
                for kind in [chosen.kind] if chosen.kind else kinds_of(handler):
                    found = sweep(mode, handler, kind, folder, chosen.jobs)
                    nr_wrong += len(found)
                    print(f'{mode:8} {handler:10} {kind:8} {len(found)} wrong', *found, sep='\n    ', flush=True)
    return bool(nr_wrong)


if __name__ == '__main__':
    os.environ.setdefault('SEEP_BUILD', str(harness.BUILD))
    sys.exit(main())
