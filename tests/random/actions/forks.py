# SPDX-License-Identifier: BSD-2-Clause
"""Children of fork: each begins with its parent's live blocks, does something and leaves in some way."""
import contextlib
import functools
import os
import subprocess

import model
from model import Life

from . import action, blocks, exits, fill, reallocs


@contextlib.contextmanager
def child_life(p):
    """Everything in it is done by a child of fork, for which the program's thread is alone."""
    parent, later, threads, at_exit = p.life, p.later, p.threads, list(p.at_exit)
    p.life = parent.fork()
    p.later = [entry for entry in later if entry[1]]
    p.threads = 0
    p.lives.append(p.life)
    if parent.maps_at_any_time:
        p.life.health.add('fork_inexact')
    for group in p.life.groups.values():  # what other stacks held is in memory that was not told to be theirs
        # Of a first thread that ran at that moment it is not known how much of its stack was in use.
        if p.of_this_thread != p.active and group.tie.kind == 'possible':
            group.tie = model.unknown()
        if group.tie.parent:
            group.tie = model.lost()
        if group.tie.thread or group.tie.kind == 'frame' and group.tie.frame not in p.of_this_thread:
            group.tie = model.unknown()
    yield p.life
    p.life, p.later, p.threads, p.at_exit = parent, later, threads, at_exit


def wait_for(p, call, exit):
    """The call returns what waitpid() says of a process that ends so."""
    if 'code' in exit:
        expected = f'WIFEXITED(status) && WEXITSTATUS(status) == {exit["code"]}'
    else:
        expected = f'WIFSIGNALED(status) && WTERMSIG(status) == {exit["signal"]}'
    p.line(f'{{ int status = {call}; CHECK({expected}); }}')
    p.line('scrub();')


@action(weight=4, once=True, nests=True, starts=True)
def forked(p, begins=None):
    """`begins`: tells the model what the child does before anything else."""
    with child_life(p) as life:
        if begins:
            begins(life)
        if life.vague:
            life.health.add('fork_inexact')
        if life.parent.origin == 'fork' and life.vague:
            life.may_be_lost()  # its parent's own image may be in the making
        with p.body('child') as body:
            fill(p, 0, 4)
            exits.choose(p, child=True)
    wait_for(p, f'run_child({body.name})', life.exit)


@action(weight=1, once=True, nests=True, starts=True)
def daemon(p):
    """A grandchild that is left to itself; it ends when its parent has ended. Its parent leaves at once."""
    if p.life.in_namespace:
        return  # it is killed where the first process of its namespace ends
    with child_life(p) as middle:
        with child_life(p) as life:
            life.left_behind = True
            life.health.add('fork_inexact')  # its parents may have ended before it begins its image
            with p.body('daemon') as body:
                silent, p.silent = p.silent, True
                fill(p, 0, 2)
                p.silent = silent
                p.line('_exit(0);')
                life.exit = {'code': 0}
                p.finish_life()
        assert not middle.seen
    p.line(f'run_daemon({body.name});')
    p.line('scrub();')


@action(weight=2, once=True, nests=True, starts=True)
def forked_beside_work(p):
    """While other threads allocate: what the forking thread holds is exact in the child."""
    name, size, count, threads = p.name('busy'), p.size(), p.random.randint(200, 3000), p.random.randint(1, 4)
    make = p.maker(size)
    site = model.Site(p.batch.next_number(), make.via, [name])
    p.batch.sites.append(site)
    p.define(f'void *{name}(void *unused)', [f'for (int i = 0; i < {count}; i++) {{',
                                             f'    void *block = keep({make.text}); {p.mark(site)}',
                                             f'    {make.release}(block);', '}', 'return unused;'])
    p.line(f'{{ pthread_t busy[{threads}];')
    p.line(f'for (int i = 0; i < {threads}; i++)')
    p.line(f'    start_thread(&busy[i], {name});')
    parent = p.life
    parent.busy = parent.busy | {site}
    for _ in range(p.random.randint(1, 3)):
        forked(p)
    parent.busy = parent.busy - {site}
    p.line(f'for (int i = 0; i < {threads}; i++)')
    p.line('    CHECK(pthread_join(busy[i], NULL) == 0); forget(busy, sizeof(busy)); }')
    p.line('scrub();')
    number = p.batch.next_number()
    p.life.allocate(number, site, size, count * threads, model.lost())
    p.life.free(number, temporary=True)


@action(weight=2, once=True, nests=True, starts=True)
def with_fork_handlers(p):
    """pthread_atfork: a block is made before the fork, and both processes free it; the child makes another one."""
    name, before, parent, child, size = p.name('at_fork'), p.name('prepares'), p.name('in_parent'), p.name('in_child'), p.size()
    site, own = p.site('malloc', before), p.site('malloc', child)
    made, mine, on = f'made_{name}', f'g{name}', f'on_{name}'
    p.declare(f'static void *{made}, *{mine};')
    p.declare(f'static volatile int {on};')
    p.define(f'void {before}(void)', [f'if ({on})', f'    {made} = clear(malloc({size}), {size}); {p.mark(site)}'])
    p.define(f'void {parent}(void)', [f'free({made});', f'{made} = NULL;'])
    p.define(f'void {child}(void)', [f'if ({on}) {{', f'    free({made});', f'    {made} = NULL;',
                                     f'    {mine} = clear(malloc({size + 1}), {size + 1}); {p.mark(own)}', f'    {on} = 0;', '}'])
    p.line(f'CHECK(pthread_atfork({before}, {parent}, {child}) == 0);')
    p.line(f'{on} = 1;')
    group, number = p.allocate(site, size, 1, model.held(made)), p.batch.next_number()

    def begins(life):
        life.free(group)
        life.allocate(number, own, size + 1, 1, model.held(mine))

    forked(p, begins)
    p.line(f'{on} = 0;')
    p.life.free(group)


@action(weight=2, once=True)
def in_same_memory(p):
    """A process that shares the memory (CLONE_VM without CLONE_THREAD): its blocks are this process's."""
    name, inner, size, count = p.name('same_memory'), p.name('made_in_same'), p.size(), p.random.randint(1, 20)
    make = p.maker(size)
    variable = f'g{name}'
    sites = [model.Site(p.batch.next_number(), make.via, [inner, name]) for _ in range(3)]
    p.batch.sites += sites
    kept, gone, brief = sites
    p.declare(f'static void *{variable}[{count}];')
    p.define(f'void {inner}(void)', [f'for (int i = 0; i < {count}; i++) {{',
                                     f'    {variable}[i] = clear({make.text}, {size}); {p.mark(kept)}',
                                     f'    clear({make.text}, {size}); {p.mark(gone)}',
                                     f'    {make.release}(clear({make.text}, {size})); {p.mark(brief)}', '}'])
    p.define(f'int {name}(void *unused)', ['(void)unused;', f'play({inner});', 'return 0;'])
    flags = p.random.choice(['0', 'CLONE_FILES | CLONE_FS', 'CLONE_VFORK', 'CLONE_SIGHAND'])
    if p.life.maps_at_any_time:
        # Both share thread-local memory: what one allocates while a handler of the other maps is a loss (reentered).
        # With CLONE_VFORK no handler of the parent runs before the child has ended.
        flags = 'CLONE_VFORK'
    p.line(f'run_in_same_memory({name}, {flags});')
    p.line('scrub();')
    group = p.allocate(kept, size, count, model.held(variable))
    p.allocate(gone, size, count, model.lost())
    p.pairs(brief, size, count, temporary=True)

    p.free_later('free', [f'for (int i = 0; i < {count}; i++) {{', f'    {make.release}({variable}[i]);',
                          f'    {variable}[i] = NULL;', '}'], group)


def confined_child(p, kind, how, confine, ends=exits.SIMPLE):
    """A child that confines itself by the statement `how`, and then starts nothing and opens no file. With a filter no unknown page
    of a stack can be asked for, so it allocates before."""
    with child_life(p) as life:
        with p.body(kind) as body:
            if p.random.random() < 0.5 or kind == 'filtered':
                blocks.keep(p)
            p.line(how)
            confine(life)
            for _ in range(p.random.randint(1, 4)):
                p.random.choice([blocks.keep, blocks.lose, blocks.temporary, blocks.lose_a_chain, blocks.keep_a_chain,
                                 reallocs.storm, blocks.table_of_blocks])(p)
            exits.choose_simple(p, ends)
    wait_for(p, f'run_child({body.name})', life.exit)


@action(weight=1, once=True, nests=True, starts=True)
def rights_dropped(p):
    if os.geteuid() == 0:
        confined_child(p, 'dropped', 'drop_rights();', Life.confine)


@action(weight=1, once=True, nests=True, starts=True)
def other_root(p):
    if os.geteuid() == 0:
        confined_child(p, 'rooted', 'enter_root("/usr/share");', out_of_reach)


def out_of_reach(life):
    life.confine()
    life.looked_at = False  # from there it does not reach the tool


@action(weight=1, once=True, nests=True, starts=True)
def narrow_filter(p):
    """As sandboxes have it: a system call that the allocator does not need kills the process."""

    def confine(life):
        out_of_reach(life)
        life.health.add('filter')

    confined_child(p, 'filtered', f'install_narrow_filter({p.random.choice(["true", "false"])});', confine, ends=('by_underscore_exit', 'by_abort'))


@functools.lru_cache(maxsize=None)
def namespaces_work():
    return os.geteuid() == 0 and subprocess.run(['unshare', '--pid', '--fork', 'true'], stderr=subprocess.DEVNULL, check=False).returncode == 0


@action(weight=2, once=True, nests=True, starts=True)
def own_namespace(p):
    """A grandchild that is process 1 of a namespace, as in a container; its parent only waits. A second one of this kind would
    write a file of the same name."""
    if p.batch.has_namespace or not namespaces_work():
        return
    p.batch.has_namespace = True
    with child_life(p) as middle:
        with child_life(p) as life:
            life.in_namespace = True
            with p.body('namespaced') as body:
                fill(p, 0, 4)
                exits.choose_simple(p, ('by_exit', 'by_underscore_exit', 'by_quick_exit'))
    assert not middle.seen
    others = p.random.sample(['CLONE_NEWNS', 'CLONE_NEWNET', 'CLONE_NEWUTS', 'CLONE_NEWIPC'], p.random.randint(0, 2))
    wait_for(p, f'run_in_namespace({body.name}, {" | ".join(["CLONE_NEWPID", *others])})', life.exit)


@action(weight=1, once=True)
def not_dumpable(p):
    """As agents that keep keys: other users may not look at it, and root may."""
    if p.life.origin == 'fork' and os.geteuid() == 0:
        p.line('CHECK(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);')
