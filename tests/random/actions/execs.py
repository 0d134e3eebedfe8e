# SPDX-License-Identifier: BSD-2-Clause
"""Other programs: by fork and exec, vfork, posix_spawn, system, and in place of this one."""
from . import action, exits, forks, way_out


def another(p, nameless=False):
    """A program of the same batch, without pause; the number that it is called by."""
    program = p.batch.add_program(p, nameless)
    return program.number, program.lives[0].exit


def starts_it(p, how, nameless=False):
    number, exit = another(p, nameless)
    forks.wait_for(p, f'{how}({number})', exit)


@action(weight=1, once=True, starts=True, nests=True)
def fork_and_exec(p):
    starts_it(p, 'fork_and_exec')


@action(weight=1, once=True, starts=True, nests=True)
def vfork_and_exec(p):
    starts_it(p, 'vfork_and_exec')


@action(weight=1, once=True, starts=True, nests=True)
def spawn(p):
    starts_it(p, 'spawn')


@action(weight=1, once=True, starts=True, nests=True)
def spawn_with_file_actions(p):
    starts_it(p, 'spawn_with_actions')


@action(weight=1, once=True, starts=True, nests=True)
def spawn_with_attributes(p):
    """Its signals, group and scheduling are set on the way."""
    starts_it(p, 'spawn_with_attributes')


@action(weight=1, once=True, starts=True, nests=True)
def spawn_by_path(p):
    """Found by PATH; before it one that is not there."""
    starts_it(p, 'spawn_by_path')


@action(weight=1, once=True, starts=True, nests=True)
def fork_and_fexecve(p):
    """Its file is gone when its stacks get their names."""
    starts_it(p, 'fork_and_fexecve', nameless=True)


@action(weight=1, once=True, starts=True, nests=True)
def by_the_shell(p):
    """system(): the shell goes on as the program."""
    starts_it(p, 'run_by_shell')


@action(weight=1, once=True, starts=True, nests=True)
def read_from_a_pipe(p):
    """popen(), and what the program prints is read line by line."""
    starts_it(p, 'run_and_read')
    p.life.old_words = True  # the block of the stream has been freed


@action(weight=2, once=True, starts=True, nests=True)
def exec_with_traits(p):
    """Another layout of the address space, no standard input and errors, a large environment: some of these."""
    traits = ['ADDR_COMPAT_LAYOUT', 'READ_IMPLIES_EXEC', 'ADDR_NO_RANDOMIZE']
    if '-no-pie' in p.batch.flags:
        traits.pop()  # the heap would begin where small numbers are addresses
    chosen, before = p.random.sample(traits, p.random.randint(0, len(traits))), p.life.has_free_files
    closes = not before and p.random.random() < 0.5
    p.life.has_free_files = before or closes
    number, exit = another(p)
    p.life.has_free_files = before
    forks.wait_for(p, f'fork_and_exec_with({number}, {" | ".join(chosen) or "0"}, {str(closes).lower()}, {p.random.choice([0, 0, 10, 1000])})', exit)


@action(weight=1, once=True)
def exec_that_fails(p):
    """The program goes on as it was."""
    name = p.name('no_exec')
    p.leaf(name, ['execl("/nonexistent/program", "program", (char *)NULL);', 'CHECK(errno == ENOENT);'])


@action(weight=1, once=True, starts=True)
def vfork_without_exec(p):
    """The child ends without another program, in its parent's memory."""
    p.line(f'vfork_and_leave("{p.random.choice(["/nonexistent/program", "/dev/null", "/", "/etc/passwd"])}", {p.random.randint(0, 99)});')
    p.line('scrub();')


@action(weight=1, once=True)
def spawn_that_fails(p):
    name = p.name('no_spawn')
    p.leaf(name, ['pid_t child = -5;', 'char *arguments[] = {(char *)"x", NULL};',
                  'CHECK(posix_spawn(&child, "/nonexistent/program", NULL, NULL, arguments, environ) == ENOENT);',
                  'CHECK(posix_spawn(&child, "/dev/null", NULL, NULL, arguments, environ) == EACCES);', 'CHECK(waitpid(-1, NULL, WNOHANG) <= 0);'])


@way_out(weight=2)
def exec_in_place(p):
    """The process goes on as another program: this life ends without an exit."""
    goes_on(p, lambda number: p.line(f'exec_in_place({number});'))


@way_out(weight=1)
def exec_from_a_thread(p):
    """The kernel ends the other threads, and the one at hand becomes the first."""

    p.life.maybe = True  # for the thread libc has made a block

    def start(number):
        name = p.name('executes')
        p.define(f'void *{name}(void *unused)', [f'exec_in_place({number});', 'return unused;'])
        p.line(f'run_thread({name});')

    goes_on(p, start)


def goes_on(p, start):
    if not p.life.follows or p.depth > 5 or p.silent:
        return exits.by_exit(p)
    life = p.life
    p.at_exit.clear()
    life.looked_at = life.leaves_file = False
    life.goes_on = True
    p.finish_life()
    number, exit = another(p)
    start(number)
    life.exit = exit  # of the process
