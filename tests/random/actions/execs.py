# SPDX-License-Identifier: BSD-2-Clause
"""Other programs: by fork and exec, vfork, posix_spawn, system, and in place of this one."""
from . import action, forks


def another(p):
    """A program of the same batch, without pause; the number that it is called by."""
    program = p.batch.add_program(p)
    return program.number, program.lives[0].exit


def starts_it(p, how):
    number, exit = another(p)
    expected = forks.status_of(type('', (), {'exit': exit}))
    p.line(f'{{ int status = {how}({number}); CHECK({expected}); }}')
    p.line('scrub();')


@action(weight=1, once=True, starts=True, nests=True)
def fork_and_exec(p):
    starts_it(p, 'fork_and_exec')


@action(weight=1, once=True, starts=True, nests=True)
def vfork_and_exec(p):
    starts_it(p, 'vfork_and_exec')


@action(weight=1, once=True, starts=True, nests=True)
def spawn(p):
    starts_it(p, 'spawn')
