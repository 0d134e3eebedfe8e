# SPDX-License-Identifier: BSD-2-Clause
"""What few programs do to blocks: protect or give up their pages, ask for all alignments in turn, hand them to another thread that
moves them, free them in a handler that another handler has registered."""
import model

from . import action


@action(weight=2, once=True)
def protected_pages(p):
    """The pages of a block, which has others, are made read-only or out of reach, and writable again before it is freed."""
    name, size, count, pages = p.name('protects'), p.size(), p.random.randint(1, 20), p.random.randint(1, 3)
    make = p.maker(size)
    outer, inner = p.site('memalign', name), p.site(make.via, name)
    variable = f'g{name}'
    p.declare(f'static void **{variable};')
    p.leaf(name, [f'{variable} = (void **)clear(memalign(4096, {pages} * 4096), {pages} * 4096); {p.mark(outer)}',
                  f'for (int i = 0; i < {count}; i++)', f'    {variable}[i] = clear({make.text}, {size}); {p.mark(inner)}',
                  f'CHECK(mprotect({variable}, {pages} * 4096, {p.random.choice(["PROT_READ", "PROT_NONE"])}) == 0);'])
    above = p.allocate(outer, pages * 4096, 1, model.held(variable))
    group = p.allocate(inner, size, count, model.under(above))

    p.free_later('free', [f'CHECK(mprotect({variable}, {pages} * 4096, PROT_READ | PROT_WRITE) == 0);', f'for (int i = 0; i < {count}; i++)',
                          f'    {make.release}({variable}[i]);', f'free({variable});', f'{variable} = NULL;'], group, above)


@action(weight=2, once=True)
def dropped_pages(p):
    """A page of a block is given up: what it held is lost, and the other page holds."""
    name, size, count = p.name('drops'), p.size(), p.random.randint(1, 20)
    make = p.maker(size)
    outer, kept, gone = p.site('memalign', name), p.site(make.via, name), p.site(make.via, name)
    variable = f'g{name}'
    p.declare(f'static char *{variable};')
    p.leaf(name, [f'{variable} = (char *)clear(memalign(4096, 2 * 4096), 2 * 4096); {p.mark(outer)}', f'for (int i = 0; i < {count}; i++) {{',
                  f'    ((void **){variable})[i] = clear({make.text}, {size}); {p.mark(gone)}',
                  f'    ((void **)({variable} + 4096))[i] = clear({make.text}, {size}); {p.mark(kept)}', '}',
                  f'CHECK(madvise({variable}, 4096, MADV_DONTNEED) == 0);'])
    above = p.allocate(outer, 2 * 4096, 1, model.held(variable))
    p.allocate(kept, size, count, model.under(above))
    p.allocate(gone, size, count, model.lost())


@action(weight=2)
def all_alignments(p):
    """Each alignment in turn, freed in another order: the step has no common divisor with the number."""
    name, size, count, step = p.name('aligns'), p.size(), p.random.randint(1, 4) * 13, p.random.choice([5, 7, 11])
    site = p.site('memalign', name)
    p.leaf(name, [f'void *blocks[{count}];', f'for (int i = 0; i < {count}; i++) {{',
                  f'    blocks[i] = clear(memalign((size_t)16 << i % 13, {size}), {size}); {p.mark(site)}',
                  '    CHECK((uintptr_t)blocks[i] % ((size_t)16 << i % 13) == 0);', '}',
                  f'for (int i = 0; i < {count}; i++)', f'    free(blocks[i * {step} % {count}]);', 'memset(blocks, 0, sizeof(blocks));'])
    p.pairs(site, size, count, temporary=None)


@action(weight=2, once=True)
def handed_over(p):
    """A thread makes blocks, and another one moves and frees them, while both go on."""
    maker, mover, size, count = p.name('makes'), p.name('moves_on'), p.size(8), p.random.randint(10, 500)
    more = p.random.choice([1, 8, 5000])
    first, second = model.Site(p.batch.next_number(), 'malloc', [maker]), model.Site(p.batch.next_number(), 'realloc', [mover])
    p.batch.sites += [first, second]
    p.declare(f'static sem_t full_{maker}, empty_{maker};')
    p.declare(f'static void *slot_{maker};')
    p.define(f'void *{maker}(void *unused)', [f'for (int i = 0; i < {count}; i++) {{', f'    wait_for(&empty_{maker});',
                                              f'    slot_{maker} = clear(malloc({size}), {size}); {p.mark(first)}', f'    sem_post(&full_{maker});',
                                              '}', 'return unused;'])
    p.define(f'void *{mover}(void *unused)', [f'for (int i = 0; i < {count}; i++) {{', f'    wait_for(&full_{maker});', f'    void *block = slot_{maker};',
                                              f'    slot_{maker} = NULL;', f'    sem_post(&empty_{maker});',
                                              f'    block = keep(realloc(block, hide({size + more}))); {p.mark(second)}', '    CHECK(block != NULL);',
                                              '    free(block);', '}', 'return unused;'])
    p.line(f'{{ pthread_t threads[2]; sem_init(&full_{maker}, 0, 0); sem_init(&empty_{maker}, 0, 1);')
    p.line(f'start_thread(&threads[0], {maker});')
    p.line(f'start_thread(&threads[1], {mover});')
    p.line('CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0); forget(threads, sizeof(threads)); }')
    p.line('scrub();')
    p.pairs(first, size, count, temporary=None)
    p.pairs(second, size + more, count, temporary=None)


@action(weight=1, once=True)
def handler_of_a_handler(p):
    """A handler of exit makes a block and registers another handler, which frees it."""
    outer, inner, size = p.name('handles'), p.name('handles_after'), p.size()
    site = model.Site(p.batch.next_number(), 'malloc', [outer])
    site.tail = True  # exit() may be called from anywhere
    p.batch.sites.append(site)
    p.declare(f'static void *g{outer};')
    p.define(f'void {inner}(void)', [f'free(g{outer});', f'g{outer} = NULL;'])
    p.define(f'void {outer}(void)', [f'g{outer} = clear(malloc({size}), {size}); {p.mark(site)}', f'CHECK(atexit({inner}) == 0);'])
    p.line(f'CHECK(atexit({outer}) == 0);')
    p.life.old_words = True
    number = p.batch.next_number()

    def effect(life):
        life.allocate(number, site, size, 1, model.lost())
        life.free(number)

    p.at_exit.append(effect)
