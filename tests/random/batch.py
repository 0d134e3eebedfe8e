# SPDX-License-Identifier: BSD-2-Clause
"""Several random programs in one file, compiled together: program N is run by the argument N.

What each is expected to do stands beside them as data, in a file of JSON.
"""
import json
import random
import resource
import shutil
import subprocess
from pathlib import Path

import actions
import program as programs
from model import lost

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
SIZE = 8  # programs that are seeds; those that they execute come on top
COMPILERS = {False: ['gcc', 'clang'], True: ['g++', 'clang++']}
LEVELS = ['-O0', '-O1', '-O2', '-O2', '-O3', '-Os']
FLAGS = [[], [], ['-fomit-frame-pointer'], ['-fno-omit-frame-pointer'], ['-fstack-protector-all'],
         ['-fno-pie', '-no-pie'], ['-mstackrealign'], ['-Wl,-z,now'], ['-ffunction-sections', '-Wl,--gc-sections'],
         ['-gdwarf-4'], ['-g0'], ['-fno-plt'], ['-Wl,-z,noseparate-code'], ['-Wl,--hash-style=sysv']]
ALWAYS = ['-w', '-D_GNU_SOURCE', '-pthread', '-fno-optimize-sibling-calls', f'-I{HERE}', f'-I{TESTS / "corpus"}',
          f'-I{TESTS / "programs"}']


COMPILER_S = 300  # of processor time


class Batch:
    """Seeds first ... first+SIZE-1."""

    def __init__(self, first, without=()):
        assert first % SIZE == 0
        self.first, self.without = first, set(without)
        self.random = random.Random(first)
        self.cpp = self.random.random() < 0.5
        self.compiler = self.random.choice(COMPILERS[self.cpp])
        self.flags = ['-g', self.random.choice(LEVELS), *self.random.choice(FLAGS)]
        self.cpp20 = self.compiler == 'g++' and self.random.random() < 0.7  # clang 14 has no <coroutine> of libstdc++
        self.lines_known = '-g0' not in self.flags
        self.declarations, self.functions, self.sites, self.libraries = [], [], [], []
        self.programs, self.number = [], 0
        for seed in range(first, first + SIZE):
            self.add_seed(seed)
        self.text = self.whole()
        self.library_text = '\n'.join(['#include "random.h"', *[line for part in self.libraries for line in part]])
        programs.place_lines(self.text, self.sites)
        programs.place_lines(self.library_text, self.sites)
        lines = {site.number: site.line for site in self.sites}
        for program in self.programs:
            for state in [*program.states, *([program.paused[1]] if program.paused else [])]:
                for row in state['sites']:
                    row['line'] = lines[row['site']]

    def next_number(self):
        self.number += 1
        return self.number

    def library(self):
        return self.libraries

    def add_seed(self, seed):
        self.has_namespace = False
        p = programs.Program(self, len(self.programs), seed)
        p.seed = seed
        p.pause_at = p.random.randint(1, 12)
        self.programs.append(p)
        self.write(p)

    def add_program(self, parent, nameless=False):
        """One that `parent` executes at this point."""
        p = programs.Program(self, len(self.programs), parent.random.random())
        p.seed, p.depth, p.silent = None, parent.depth + 1, parent.silent
        for name in ('left_behind', 'in_namespace', 'has_limit', 'has_free_files'):
            setattr(p.life, name, getattr(parent.life, name))
        p.life.nameless = nameless
        self.programs.append(p)
        self.write(p)
        parent.output += p.output
        parent.states += p.states
        parent.tags |= p.tags
        return p

    def write(self, p):
        if p.random.random() < 0.15:
            actions.early.before_main(p)
        with p.body('main') as body:
            actions.fill(p, 2, 9)
            if p.random.random() < 0.4:
                p.line('scrub();')
                self.leave_main(p)
            else:
                actions.exits.choose(p, child=False)
        p.main = body.name

    def leave_main(self, p):
        """By a return: what its variables held is held no longer."""
        code = p.next_code()
        p.line(f'exit_code = {code};')
        for group in p.life.groups.values():
            if group.tie.kind == 'frame':
                group.tie = lost()
        actions.exits.run_handlers(p)
        actions.exits.finish(p, {'code': code}, active=[])

    def whole(self):
        cases = [f'    case {p.number}: {p.main}(); break;' for p in self.programs]
        lines = ['// SPDX-License-Identifier: BSD-2-Clause',
                 f'// Made by tests/random: seeds {self.first} to {self.first + SIZE - 1}',
                 f'// {self.compiler} {" ".join(self.flags)}',
                 '#include "random.h"', 'static int exit_code;', *self.declarations, '']
        for part in self.functions:
            lines += part
        lines += ['int main(int argc, char **argv) {', '    switch (begin(argc, argv)) {', *cases, '    }',
                  '    return exit_code;', '}', '']
        return '\n'.join(lines)

    def expectation(self):
        return [{'seed': p.seed, 'number': p.number, 'actions': sorted(p.tags), 'output': p.output, 'exit': p.life.exit,
                 'lives': p.states, 'paused': p.paused[1] if p.paused else None}
                for p in self.programs if p.seed is not None]

    def build(self, folder):
        """The program, in `folder`; beside it its source and what is expected."""
        folder = Path(folder)
        source = folder / ('batch.cpp' if self.cpp else 'batch.c')
        source.write_text(self.text)
        (folder / 'expected.json').write_text(json.dumps(self.expectation(), indent=1))
        standard = '-std=gnu++20' if self.cpp20 else '-std=gnu++17' if self.cpp else '-std=gnu11'
        sized = ['-fsized-deallocation'] if self.compiler == 'clang++' else []  # gcc does it by itself
        command = [self.compiler, standard, *ALWAYS, *sized, *self.flags]
        out = folder / 'batch'
        steps = [[*command, str(source), '-o', str(out), '-ldl']]
        if self.libraries:
            library = folder / 'library.c'
            library.write_text(self.library_text)
            flags = [flag for flag in self.flags if flag not in ('-fno-pie', '-no-pie', '-Wl,--gc-sections')]
            compiler = {'g++': 'gcc', 'clang++': 'clang'}.get(self.compiler, self.compiler)
            steps.append([compiler, '-std=gnu11', *ALWAYS, *flags, '-fPIC', '-shared', str(library), '-o', f'{out}.so'])
        for step in steps:
            done = subprocess.run(step, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=limit_processor_time)
            assert done.returncode == 0, f"{' '.join(step)}\n{done.stdout.decode()[-3000:]}"
        return out


def limit_processor_time():
    """Ends a compiler that hangs, and not a compiler that waits for a processor."""
    resource.setrlimit(resource.RLIMIT_CPU, (COMPILER_S, COMPILER_S))


def compilers_are_there():
    return [name for names in COMPILERS.values() for name in names if not shutil.which(name)]
