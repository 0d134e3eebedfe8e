# SPDX-License-Identifier: BSD-2-Clause
"""Ways out. `after`: whether what the last function holds is gone, as by a return from main."""
import model

from . import EXITS, action, way_out


def run_handlers(p):
    while p.at_exit:
        p.at_exit.pop()(p.life)


def choose(p, child):
    choices = [entry for entry in EXITS if (entry.nests or not child) and (p.cpp or not entry.cpp)]
    entry = p.random.choices(choices, [e.weight for e in choices])[0]
    p.tags.add(entry.name)
    entry.run(p)


SIMPLE = ('by_exit', 'by_underscore_exit', 'by_abort')  # they need no file and no other thread


def choose_simple(p, names=SIMPLE):
    entry = p.random.choice([entry for entry in EXITS if entry.name in names])
    p.tags.add(entry.name)
    entry.run(p)


def finish(p, exit, looked=True, file=True, active=None):
    p.life.exit = exit
    p.life.looked_at = looked and p.life.looked_at
    p.life.leaves_file = p.life.leaves_file and file
    p.finish_life(active)


@action(weight=2, once=True)
def at_exit(p):
    """A handler frees a block and loses another one."""
    name, size = p.name('at_exit'), p.size()
    variable, maker = f'g{name}', p.name('for_exit')
    site = p.site('malloc', maker)
    site_in_handler = model.Site(p.batch.next_number(), 'malloc', [name])
    site_in_handler.tail = True  # exit() may be called from anywhere
    p.batch.sites.append(site_in_handler)
    p.declare(f'static void *{variable};')
    p.define(f'void {name}(void)', [f'free({variable});', f'{variable} = NULL;',
                                    f'clear(malloc({size + 1}), {size + 1}); {p.mark(site_in_handler)}', 'scrub();'])
    p.leaf(maker, [f'{variable} = clear(malloc({size}), {size}); {p.mark(site)}', f'CHECK(atexit({name}) == 0);'])
    group = p.allocate(site, size, 1, model.held(variable))
    number = p.batch.next_number()

    def effect(life):
        life.free(group)
        life.allocate(number, site_in_handler, size + 1, 1, model.lost())

    p.at_exit.append(effect)


@way_out(weight=4)
def by_exit(p):
    code = p.next_code()
    p.line('scrub();')
    p.line(f'leave_by(exit, {code});')
    run_handlers(p)
    finish(p, {'code': code})


@way_out(weight=3)
def by_underscore_exit(p):
    code = p.next_code()
    p.line('scrub();')
    p.line(f'leave_by({p.random.choice(["_exit", "_Exit"])}, {code});')
    finish(p, {'code': code})


@way_out(weight=1)
def by_quick_exit(p):
    code = p.next_code()
    p.line('scrub();')
    p.line(f'leave_by(quick_exit, {code});')
    for number, site, size in p.life.at_quick_exit:
        p.life.allocate(number, site, size, 1, model.lost())
    finish(p, {'code': code})


@way_out(weight=1)
def by_abort(p):
    p.line('scrub();')
    p.line('abort();')
    finish(p, {'signal': 6})


@way_out(weight=1)
def by_signal(p):
    signal = p.random.choice([9, 15, 11])
    p.line(f'kill(getpid(), {signal});')
    p.line('for (;;)')
    p.line('    pause();')
    finish(p, {'signal': signal}, looked=False, file=False)


@way_out(weight=1)
def by_system_call(p):
    code = p.next_code()
    p.line(f'syscall(SYS_exit_group, {code});')
    finish(p, {'code': code}, looked=False, file=False)


@way_out(weight=1)
def from_a_thread(p):
    code = p.next_code()
    name = p.name('leaving')
    p.define(f'void *{name}(void *unused)', ['(void)unused;', f'exit({code});'])
    p.line(f'run_thread({name});')
    p.life.maybe = True
    run_handlers(p)
    finish(p, {'code': code})


@way_out(weight=1, child=False)
def main_thread_leaves(p):
    """The process ends when its last thread has ended, with 0."""
    name = p.name('last')
    p.define(f'void *{name}(void *unused)', ['usleep(1000);', 'return unused;'])
    if p.threads or p.life.timer_thread:
        return by_exit(p)
    p.declare(f'static pthread_t thread_{name};')
    p.line(f'start_thread(&thread_{name}, {name});')
    p.line('pthread_exit(NULL);')
    # The memory of its stack stays mapped, and where its frames ended is not known; it is not wiped. (Seed 57039.) The
    # loader has got memory that it does not fill, too: pthread_exit() loads libgcc_s.
    p.life.old_words = p.life.dangling = True
    for group in p.life.groups.values():
        if group.tie.kind == 'frame':
            group.tie = model.unknown()
    run_handlers(p)
    finish(p, {'code': 0})


@way_out(weight=1)
def beside_work(p):
    """While other threads allocate, which have no part in the end."""
    name, size, code = p.name('goes_on'), p.size(), p.next_code()
    make = p.maker(size)
    site = model.Site(p.batch.next_number(), make.via, [name])
    site.uncounted = True
    p.batch.sites.append(site)
    p.declare(f'static sem_t here_{name};')
    p.define(f'void *{name}(void *unused)', [f'for (int i = 0;; i++) {{', f'    void *block = clear({make.text}, {size}); {p.mark(site)}',
                                             f'    {make.release}(block);', '    if (i == 100)', f'        sem_post(&here_{name});', '}', 'return unused;'])
    threads = p.random.randint(1, 4)
    p.line(f'sem_init(&here_{name}, 0, 0);')
    p.line(f'for (int i = 0; i < {threads}; i++) {{')
    p.line('    pthread_t thread;')
    p.line(f'    start_thread(&thread, {name});')
    p.line(f'    wait_for(&here_{name});')
    p.line('}')
    p.line('scrub();')
    p.allocate(site, size, 1, model.unknown())
    # Their stacks are those of threads that have ended, with words of them between what is in use; nothing wipes those. (Seed
    # 740060000527: where an allocation had failed, the first thread shared an arena with them.)
    p.life.old_words = p.life.dangling = True
    p.life.in_allocator = threads
    p.life.health.add('event')  # of a tool that gets no processor for a quarter of a second: the file ends, and these threads go on
    how = p.random.choice(['exit', '_exit'])
    p.line(f'leave_by({how}, {code});')
    if how == 'exit':
        run_handlers(p)
    finish(p, {'code': code})


@way_out(weight=1)
def freed_twice(p):
    """glibc aborts; the report tells of it."""
    name, size = p.name('twice'), p.random.randint(24, 1000)
    site = p.site('malloc', name)
    how = p.random.choice(['double_free', 'double_free', 'inside'])
    # At half of an alignment, where no block that was freed before can have begun. (Seed 739953000026.)
    second = {'double_free': 'free(block);', 'inside': 'free(keep((char *)block + 8));'}[how]
    p.leaf(name, [f'void *block = clear(malloc({size}), {size}); {p.mark(site)}',
                  *(['free(block);'] if how == 'double_free' else []), f'keep(block);', second])
    p.life.allocate(p.batch.next_number(), site, size, 1, model.unknown())
    if how == 'double_free':
        p.life.free(max(p.life.groups), temporary=True)
    p.life.mismatches['malloc', 'free'] += 1
    finish(p, {'signal': 6}, looked=False, file=False)


@action(weight=1, once=True)
def at_quick_exit_too(p):
    """A handler of quick_exit; where another way is taken, it is not called."""
    name, size = p.name('at_quick'), p.size()
    site = model.Site(p.batch.next_number(), 'malloc', [name])
    site.tail = True
    p.batch.sites.append(site)
    number = p.batch.next_number()
    p.define(f'void {name}(void)', [f'clear(malloc({size}), {size}); {p.mark(site)}', 'scrub();'])
    p.line(f'CHECK(at_quick_exit({name}) == 0);')
    p.life.at_quick_exit = [*p.life.at_quick_exit, (number, site, size)]
