# SPDX-License-Identifier: BSD-2-Clause
"""Threads: that work beside one another, that wait, that hold something in a variable of their own, that are gone."""
import contextlib

import model

from . import action, fill


@contextlib.contextmanager
def thread_body(p, kind, times=1):
    with p.body(kind, result='void *', arguments='void *unused', entry=True, times=times) as body:
        body.lines.append('(void)unused;')
        yield body


@action(weight=3, once=True, nests=True)
def joined(p):
    """One that does something and is waited for."""
    with thread_body(p, 'thread') as body:
        fill(p, 1, 4)
        body.last.append('return NULL;')
    p.line(f'run_thread({body.name});')
    p.line('scrub();')


@action(weight=3, nests=True, once=True)
def at_the_same_time(p):
    count = p.random.randint(2, 8)
    with thread_body(p, 'worker', times=count) as body:
        fill(p, 1, 3)
        body.last.append('return NULL;')
    p.line(f'run_threads({body.name}, {count});')
    p.line('scrub();')


def parked(p, kind, lines):
    """A thread that runs `lines` and then waits to the end of the process, or until it is told to go."""
    name = p.name(kind)
    gate, flag = f'gate_{name}', f'here_{name}'
    p.declare(f'static pthread_t thread_{name};')
    p.declare(f'static sem_t {gate}, {flag};')
    p.define(f'void *{name}(void *unused)',
             ['(void)unused;', *[line.replace('SELF', name) for line in lines[0]], 'scrub();', f'sem_post(&{flag});',
              f'wait_for(&{gate});', *[line.replace('SELF', name) for line in lines[1]], 'return NULL;'])
    p.line(f'sem_init(&{gate}, 0, 0);')
    p.line(f'sem_init(&{flag}, 0, 0);')
    p.line(f'start_thread(&thread_{name}, {name});')
    p.line(f'wait_for(&{flag});')
    p.threads += 1

    def release(p):
        p.line(f'sem_post(&{gate});')
        # Its stack may be unmapped, and a block mapped at the address that was the thread's number. (Seed 7118088.)
        p.line(f'CHECK(pthread_join(thread_{name}, NULL) == 0); thread_{name} = 0;')
        p.threads -= 1
    return name, release


@action(weight=3, once=True)
def one_that_waits(p):
    """Its variable holds a block while it waits."""
    size = p.size()
    make = p.maker(size)
    number = p.batch.next_number()
    name = p.name('made_by_waiting')
    p.define(f'void {name}(void **to)', [f'*to = clear({make.text}, {size}); /*@{number}*/'])
    thread, release = parked(p, 'waiting', (['void *volatile mine = NULL;', f'{name}((void **)&mine);'], ['KEEP(mine);']))
    site = model.Site(number, make.via, [name, thread])
    p.batch.sites.append(site)
    group = p.allocate(site, size, 1, model.of_thread())

    def join(p):
        release(p)
        p.life.groups[group].tie = model.lost()

    p.keep_for_later(join, in_child=False)


@action(weight=2, once=True)
def thread_local_variable(p):
    """Of a thread that waits: it holds; of one that has ended: it does not."""
    size = p.size()
    make = p.maker(size)
    number = p.batch.next_number()
    name = p.name('made_for_local')
    variable = f't{name}'
    p.declare(f'static __thread void *{variable};')
    p.define(f'void {name}(void)', [f'{variable} = clear({make.text}, {size}); /*@{number}*/'])
    thread, release = parked(p, 'local', ([f'{name}();'], ['']))
    site = model.Site(number, make.via, [name, thread])
    p.batch.sites.append(site)
    group = p.allocate(site, size, 1, model.of_thread())

    def join(p):
        release(p)
        p.life.groups[group].tie = model.lost()

    p.keep_for_later(join, in_child=False)


@action(weight=2, once=True)
def from_hand_to_hand(p):
    """One thread allocates, another one frees."""
    name, free, size, count = p.name('made'), p.name('freed'), p.size(), p.random.randint(1, 50)
    make = p.maker(size)
    number = p.batch.next_number()
    site = model.Site(number, make.via, [name])
    p.batch.sites.append(site)
    variable = f'g{name}'
    p.declare(f'static void *{variable}[{count}];')
    p.define(f'void *{name}(void *unused)', ['(void)unused;', f'for (int i = 0; i < {count}; i++)',
                                             f'    {variable}[i] = clear({make.text}, {size}); {p.mark(site)}',
                                             'return NULL;'])
    p.define(f'void *{free}(void *unused)', ['(void)unused;', f'for (int i = 0; i < {count}; i++) {{',
                                             f'    {make.release}({variable}[i]);', f'    {variable}[i] = NULL;',
                                             '}', 'return NULL;'])
    p.line(f'run_thread({name});')
    p.line('scrub();')
    group = p.allocate(site, size, count, model.held(variable))

    def by_another(p):
        p.line(f'run_thread({free});')
        p.life.free(group)

    p.keep_for_later(by_another)


@action(weight=1, once=True)
def result_not_fetched(p):
    """What a thread returned is there for the thread that joins it."""
    name, size = p.name('result'), p.size()
    make = p.maker(size)
    number = p.batch.next_number()
    site = model.Site(number, make.via, [name])
    p.batch.sites.append(site)
    p.declare(f'static pthread_t thread_{name};')
    p.declare(f'static volatile pid_t tid_{name};')
    p.define(f'void *{name}(void *unused)', ['(void)unused;', f'tid_{name} = gettid();', f'return clear({make.text}, {size}); {p.mark(site)}'])
    p.line(f'start_thread(&thread_{name}, {name});')
    p.line(f'wait_ended(&tid_{name});')
    p.line('scrub();')
    group = p.allocate(site, size, 1, model.of_thread())

    p.free_later('fetch', ['void *result = NULL;', f'CHECK(pthread_join(thread_{name}, &result) == 0); thread_{name} = 0;',
                           f'{make.release}(result);'], group, in_child=False)


@action(weight=1, once=True)
def key_with_destructor(p):
    """What a key of a thread leads to is freed by its destructor when the thread ends."""
    name, free, size = p.name('keyed'), p.name('destroy'), p.size()
    number = p.batch.next_number()
    site = model.Site(number, 'malloc', [name])
    p.batch.sites.append(site)
    p.declare(f'static pthread_key_t key_{name};')
    p.define(f'void {free}(void *block)', ['free(block);'])
    p.define(f'void *{name}(void *unused)', ['(void)unused;',
                                             f'pthread_setspecific(key_{name}, clear(malloc({size}), {size})); {p.mark(site)}',
                                             'return NULL;'])
    p.line(f'CHECK(pthread_key_create(&key_{name}, {free}) == 0);')
    p.line(f'run_thread({name});')
    p.pairs(site, size, 1)


@action(weight=1, once=True)
def cancelled(p):
    """While it waits; a handler frees."""
    name, free, size = p.name('cancelled'), p.name('cleanup'), p.size()
    number = p.batch.next_number()
    site = model.Site(number, 'malloc', [name])
    p.batch.sites.append(site)
    p.declare(f'static sem_t never_{name}, here_{name};')
    p.define(f'void {free}(void *block)', ['free(block);'])
    p.define(f'void *{name}(void *unused)', ['(void)unused;',
                                             f'void *block = clear(malloc({size}), {size}); {p.mark(site)}',
                                             f'pthread_cleanup_push({free}, block);',
                                             f'sem_post(&here_{name});',
                                             f'wait_for(&never_{name});',
                                             'pthread_cleanup_pop(1);', 'return NULL;'])
    p.line(f'sem_init(&never_{name}, 0, 0);')
    p.line(f'sem_init(&here_{name}, 0, 0);')
    p.line(f'cancel_thread({name}, &here_{name});')
    p.life.old_words = True  # the first cancellation loads a library, and the loader gets memory that it does not fill
    p.pairs(site, size, 1, temporary=None)


@action(weight=1, once=True)
def many_short_ones(p):
    """One after the other: numbers and places of threads are used again."""
    name, size, count = p.name('short'), p.size(), p.random.randint(10, 100)
    make = p.maker(size)
    site = model.Site(p.batch.next_number(), make.via, [name])
    p.batch.sites.append(site)
    p.define(f'void *{name}(void *unused)', [f'clear({make.text}, {size}); {p.mark(site)}', 'scrub();', 'return unused;'])
    p.line(f'for (int i = 0; i < {count}; i++)')
    p.line(f'    run_thread({name});')
    p.line('scrub();')
    p.allocate(site, size, count, model.lost())


@action(weight=1, once=True)
def detached(p):
    """One that is left to itself."""
    name, size = p.name('detached'), p.size()
    make = p.maker(size)
    site = model.Site(p.batch.next_number(), make.via, [name])
    p.batch.sites.append(site)
    p.declare(f'static volatile pid_t tid_{name};')
    p.define(f'void *{name}(void *unused)', ['pthread_detach(pthread_self());', f'clear({make.text}, {size}); {p.mark(site)}',
                                             'scrub();', f'tid_{name} = gettid();', 'return unused;'])
    p.line(f'{{ pthread_t thread; start_thread(&thread, {name}); wait_ended(&tid_{name}); }}')
    p.line('scrub();')
    p.allocate(site, size, 1, model.lost())


@action(weight=2, once=True)
def realloc_across_threads(p):
    """Each thread moves the block that another one made."""
    name, again, size = p.name('made_here'), p.name('moved'), p.size(8)
    sizes = [p.size(8) for _ in range(p.random.randint(1, 12))]
    site = p.site('malloc', name)
    site_again = model.Site(p.batch.next_number(), 'realloc', [again])
    p.batch.sites.append(site_again)
    variable = f'g{name}'
    p.declare(f'static void *{variable};')
    p.declare(f'static size_t next_{name}, last_{name};')
    p.leaf(name, [f'{variable} = clear(malloc({size}), {size}); {p.mark(site)}', f'last_{name} = {size};'])
    p.define(f'void *{again}(void *unused)',
             [f'static const size_t sizes[] = {{{", ".join(map(str, sizes))}}};', f'size_t size = sizes[next_{name}++];',
              f'{variable} = keep(realloc({variable}, size)); {p.mark(site_again)}', f'CHECK({variable} != NULL);',
              f'if (size > last_{name})', f'    memset((char *){variable} + last_{name}, 0, size - last_{name});',
              f'last_{name} = size;', 'return unused;'])
    p.line(f'for (int i = 0; i < {len(sizes)}; i++)')
    p.line(f'    run_thread({again});')
    p.line('scrub();')
    p.pairs(site, size, 1, temporary=None)
    for size in sizes[:-1]:
        p.pairs(site_again, size, 1, temporary=None)
    group = p.allocate(site_again, sizes[-1], 1, model.held(variable))

    p.free_later('free', [f'free({variable});', f'{variable} = NULL;'], group)


@action(weight=2, cpp=True, once=True)
def thread_local_object(p):
    """Its destructor, at the end of its thread, frees, allocates and frees, and loses a block."""
    name, end, size = p.name('with_local'), p.name('local_ends'), p.size()
    sites = [model.Site(p.batch.next_number(), 'operator new[]', [where]) for where in (name, end, end)]
    p.batch.sites += sites
    mine, brief, gone = sites
    p.batch.declarations.append(f'APART static void {end}(char *block);')
    p.batch.declarations.append(f'struct L{name} {{ char *block; ~L{name}() {{ {end}(block); }} }};')
    p.define(f'void {end}(char *block)', ['delete[] block;',
                                          f'delete[] (char *)clear(new char[hide({size + 1})], {size + 1}); {p.mark(brief)}',
                                          f'clear(new char[hide({size + 2})], {size + 2}); {p.mark(gone)}', 'scrub();'])
    # Of those of file scope the first that is used makes all of the file.
    p.define(f'void *{name}(void *unused)', [f'thread_local L{name} local;',
                                             f'local.block = (char *)clear(new char[hide({size})], {size}); {p.mark(mine)}',
                                             'return unused;'])
    p.line(f'run_thread({name});')
    p.line('scrub();')
    p.pairs(mine, size, 1, temporary=None)
    p.pairs(brief, size + 1, 1, temporary=True)
    p.allocate(gone, size + 2, 1, model.lost())


@action(weight=1, once=True)
def key_that_comes_again(p):
    """Its destructor allocates and sets the key again, some rounds long."""
    name, free, size, rounds = p.name('again'), p.name('ends_again'), p.size(), p.random.randint(1, 3)
    site, more = (model.Site(p.batch.next_number(), 'malloc', [where]) for where in (name, free))
    p.batch.sites += [site, more]
    p.declare(f'static pthread_key_t key_{name};')
    p.declare(f'static __thread int rounds_{name};')
    p.define(f'void {free}(void *block)', ['free(block);', f'if (rounds_{name}++ < {rounds})',
                                           f'    pthread_setspecific(key_{name}, clear(malloc({size + 1}), {size + 1})); {p.mark(more)}'])
    p.define(f'void *{name}(void *unused)', [f'pthread_setspecific(key_{name}, clear(malloc({size}), {size})); {p.mark(site)}', 'return unused;'])
    p.line(f'CHECK(pthread_key_create(&key_{name}, {free}) == 0);')
    p.line(f'run_thread({name});')
    p.pairs(site, size, 1)
    p.pairs(more, size + 1, rounds)


@action(weight=2, once=True)
def cancellation_that_waits(p):
    """The allocator's functions are no cancellation points: with one asked for, all of them work; then it comes."""
    name, free, size, count = p.name('to_be_cancelled'), p.name('cleanup'), p.size(), p.random.randint(1, 200)
    make = p.maker(size)
    site, again, last = (model.Site(p.batch.next_number(), via, [name]) for via in (make.via, 'realloc', 'malloc'))
    p.batch.sites += [site, again, last]
    p.declare(f'static volatile int passed_{name};')
    p.define(f'void {free}(void *block)', ['free(block);'])
    p.define(f'void *{name}(void *unused)', [
        'CHECK(pthread_cancel(pthread_self()) == 0);', f'for (int i = 0; i < {count}; i++) {{',
        f'    void *block = clear({make.text}, {size}); {p.mark(site)}', f'    {make.release}(block);', '}',
        f'void *block = clear(realloc(null_pointer(), {size}), {size}); {p.mark(again)}', 'free(block);',
        'block = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);', 'CHECK(munmap(block, 65536) == 0);',
        f'block = clear(malloc({size}), {size}); {p.mark(last)}', f'passed_{name} = 1;',
        f'pthread_cleanup_push({free}, block);', 'pthread_testcancel();', 'pthread_cleanup_pop(1);', 'return unused;'])
    p.line(f'{{ pthread_t thread; void *result = NULL; start_thread(&thread, {name});')
    p.line(f'CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED && passed_{name}); forget(&thread, sizeof(thread)); }}')
    p.line('scrub();')
    p.life.old_words = True
    p.pairs(site, size, count)
    p.pairs(again, size, 1)
    p.pairs(last, size, 1, temporary=None)


@action(weight=2, once=True)
def on_a_stack_of_the_program(p):
    """A thread whose stack is a block, or in one."""
    name, maker, work, size = p.name('own_stack'), p.name('gives_stack'), p.name('works_there'), p.size()
    make = p.maker(size)
    site = model.Site(p.batch.next_number(), make.via, [work, name])
    p.batch.sites.append(site)
    room = p.random.choice([131072, 300000, 1048576])
    stack = p.site('memalign', maker)
    p.declare(f'static void *stack_{name};')
    p.define(f'void {work}(void)', [f'for (int i = 0; i < 10; i++)', f'    {make.release}(clear({make.text}, {size})); {p.mark(site)}'])
    p.define(f'void *{name}(void *unused)', [f'{work}();', 'return unused;'])
    p.leaf(maker, [f'stack_{name} = clear(memalign(4096, {room}), {room}); {p.mark(stack)}', 'pthread_t thread;',
                   f'start_thread_on(&thread, {name}, stack_{name}, {room & ~4095});', 'CHECK(pthread_join(thread, NULL) == 0);',
                   f'memset(stack_{name}, 0, {room}); // the thread has left addresses there, which may come again'])
    p.pairs(site, size, 10)
    group = p.allocate(stack, room, 1, model.held(f'stack_{name}'))
    p.life.old_words = True

    p.free_later('free', [f'memset(stack_{name}, 0, {room});', f'free(stack_{name});', f'stack_{name} = NULL;'], group)


@action(weight=2, once=True)
def signalled(p):
    """A thread that waits gets a signal, whose handler allocates and holds."""
    name, handler, size = p.name('waits_for_signal'), p.name('on_signal'), p.size()
    make = p.maker(size)
    kept, brief = (model.Site(p.batch.next_number(), make.via, [handler, name]) for _ in range(2))
    for site in (kept, brief):
        p.batch.sites.append(site)
    variable = f'g{name}'
    p.declare(f'static void *{variable};')
    p.declare(f'static sem_t here_{name}, done_{name};')
    p.define(f'void {handler}(int signal)', ['(void)signal;', f'{make.release}(clear({make.text}, {size})); {p.mark(brief)}',
                                             f'{variable} = clear({make.text}, {size}); {p.mark(kept)}', f'sem_post(&done_{name});'])
    p.define(f'void *{name}(void *unused)', [f'sem_post(&here_{name});', f'wait_for(&done_{name});', 'return unused;'])
    p.line(f'{{ pthread_t thread; sem_init(&here_{name}, 0, 0); sem_init(&done_{name}, 0, 0);')
    p.line(f'set_handler(SIGRTMIN + 2, {handler}, {p.random.choice(["0", "SA_RESTART", "SA_ONSTACK"])}); start_thread(&thread, {name});')
    p.line(f'wait_for(&here_{name}); CHECK(pthread_kill(thread, SIGRTMIN + 2) == 0); CHECK(pthread_join(thread, NULL) == 0); forget(&thread, sizeof(thread)); }}')
    p.line('scrub();')
    p.pairs(brief, size, 1)
    p.allocate(kept, size, 1, model.held(variable))


@action(weight=1, once=True)
def of_c11(p):
    """thrd_create, and thread storage of tss_create."""
    name, size = p.name('c11'), p.size()
    make = p.maker(size)
    site = model.Site(p.batch.next_number(), make.via, [name])
    p.batch.sites.append(site)
    p.define(f'int {name}(void *unused)', ['(void)unused;', f'clear({make.text}, {size}); {p.mark(site)}', 'return 7;'])
    p.line(f'{{ thrd_t thread; int result = 0; CHECK(thrd_create(&thread, {name}, NULL) == thrd_success);')
    p.line('CHECK(thrd_join(thread, &result) == thrd_success && result == 7); forget(&thread, sizeof(thread)); }')
    p.line('scrub();')
    p.allocate(site, size, 1, model.lost())


@action(weight=2, once=True)
def ends_from_within(p):
    """pthread_exit from the bottom of a recursion: what each frame has made is freed on the way out."""
    name, inner, free, size, depth = p.name('leaves_early'), p.name('leaves_from'), p.name('cleanup'), p.size(), p.random.randint(0, 6)
    make = p.maker(size)
    number = p.batch.next_number()
    p.define(f'void {free}(void *block)', [f'{make.release}(block);'])
    p.define(f'void {inner}(int depth)', [f'void *block = clear({make.text}, {size}); /*@{number}*/', f'pthread_cleanup_push({free}, block);',
                                          'if (depth == 0)', '    pthread_exit(NULL);', f'{inner}(depth - 1);', 'pthread_cleanup_pop(0);'])
    p.define(f'void *{name}(void *unused)', [f'{inner}({depth});', 'return unused;'])
    for level in range(depth + 1):
        site = model.Site(number, make.via, [*[inner] * (level + 1), name])
        p.batch.sites.append(site)
        p.pairs(site, size, 1, temporary=None)
    p.line(f'run_thread({name});')
    p.line('scrub();')
    p.life.old_words = True  # pthread_exit loads libgcc_s


@action(weight=1, once=True)
def cancelled_at_any_moment(p):
    """While it computes; a handler frees."""
    if p.cpp:  # whose tables say of calls only what is to be destroyed
        return
    name, free, size = p.name('computes'), p.name('cleanup'), p.size()
    site = model.Site(p.batch.next_number(), 'malloc', [name])
    p.batch.sites.append(site)
    p.declare(f'static sem_t here_{name};')
    p.define(f'void {free}(void *block)', ['free(block);'])
    p.define(f'void *{name}(void *unused)', [f'void *block = clear(malloc({size}), {size}); {p.mark(site)}', f'pthread_cleanup_push({free}, block);',
                                             f'sem_post(&here_{name});', 'CHECK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL) == 0);',
                                             'for (volatile int i = 0;; i++)', '    KEEP(block);', 'pthread_cleanup_pop(1);', 'return unused;'])
    p.line(f'sem_init(&here_{name}, 0, 0);')
    p.line(f'cancel_thread({name}, &here_{name});')
    p.line('scrub();')
    p.life.old_words = True
    p.pairs(site, size, 1, temporary=None)
