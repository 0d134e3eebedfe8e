# SPDX-License-Identifier: BSD-2-Clause
"""Calls of the allocator that programs seldom make: those that fail, that ask for odd things, that tune it; and many threads."""
import model

from . import action
from .threads import thread_body


@action(weight=2)
def failures(p):
    """None gives a block, or takes the one that is there."""
    name, size = p.name('failures'), p.size(8)
    site = p.site('malloc', name)
    calls = ['CHECK(posix_memalign(&q, 3, 64) == EINVAL);', 'CHECK(posix_memalign(&q, 64, hide(PTRDIFF_MAX)) == ENOMEM);',
             'CHECK(keep(reallocarray(block, hide(SIZE_MAX / 2), 3)) == NULL && errno == ENOMEM);',
             'CHECK(keep(calloc(hide(SIZE_MAX / 2), 3)) == NULL);', 'CHECK(keep(aligned_alloc(64, hide(PTRDIFF_MAX))) == NULL);',
             'CHECK(keep(memalign(4096, hide(PTRDIFF_MAX))) == NULL);', 'CHECK(keep(malloc(hide(SIZE_MAX))) == NULL);']
    p.leaf(name, [f'char *block = (char *)clear(malloc({size}), {size}); {p.mark(site)}', 'void *q = block;', 'block[5] = 55;',
                  *p.random.sample(calls, p.random.randint(1, len(calls))),
                  'CHECK(q == block && block[5] == 55);', 'free(block);'])
    p.pairs(site, size, 1, temporary=True)


@action(weight=2)
def usable_bytes(p):
    """All that malloc_usable_size tells is the program's."""
    name, size = p.name('usable'), p.size(1)
    make = p.maker(size)
    site = p.site(make.via, name)
    p.leaf(name, [f'char *block = (char *)keep({make.text}); {p.mark(site)}', 'CHECK(block != NULL);',
                  'size_t room = malloc_usable_size(block);', f'CHECK(room >= {size});', 'memset(block, 7, room);',
                  'CHECK(block[room - 1] == 7 && malloc_usable_size(block) == room);', 'memset(block, 0, room);',
                  f'{make.release}(block);'])
    p.pairs(site, size, 1, temporary=True)


@action(weight=2)
def odd_alignment(p):
    """A size that is no multiple of the alignment."""
    name, size, power = p.name('aligned'), p.size(1) | 1, p.random.randint(3, 16)
    via = p.random.choice(['memalign', 'aligned_alloc', 'posix_memalign'])
    text = {'posix_memalign': f'CHECK(posix_memalign(&block, hide({1 << power}), {size}) == 0);'}.get(
        via, f'block = keep({via}(hide({1 << power}), {size}));')
    site = p.site(via, name)
    p.leaf(name, ['void *block = NULL;', f'{text} {p.mark(site)}', f'CHECK(block && (uintptr_t)block % {1 << power} == 0);',
                  f'clear(block, {size});', 'free(block);'])
    p.pairs(site, size, 1, temporary=True)


@action(weight=1)
def tuned(p):
    """The allocator gives memory back to the system, and is told when to."""
    name, size, count = p.name('tuned'), p.size(8), p.random.randint(1, 40)
    site = p.site('malloc', name)
    tune = p.random.choice(['malloc_trim(0);', 'CHECK(mallopt(M_TRIM_THRESHOLD, 4096) == 1);', 'CHECK(mallopt(M_TOP_PAD, 0) == 1);',
                            'CHECK(mallopt(M_MMAP_THRESHOLD, 4096) == 1);', 'CHECK(mallopt(M_ARENA_MAX, 1) == 1);'])
    p.leaf(name, [f'void *blocks[{count}];', tune, f'for (int i = 0; i < {count}; i++)',
                  f'    blocks[i] = clear(malloc({size}), {size}); {p.mark(site)}',
                  f'for (int i = 0; i < {count}; i++)', '    free(blocks[i]);', 'malloc_trim(0);', 'memset(blocks, 0, sizeof(blocks));'])
    p.pairs(site, size, count, temporary=None)


@action(weight=1, once=True)
def many_brief_threads(p):
    """More of them than can be at the same time; each allocates and frees."""
    rounds, size = p.random.randint(2, 30), p.size(8)
    with thread_body(p, 'brief', times=16 * rounds) as body:
        name = p.name('in_brief')
        make = p.maker(size)
        site = p.site(make.via, name)
        p.leaf(name, [f'void *block = clear({make.text}, {size}); {p.mark(site)}', f'{make.release}(block);'])
        p.pairs(site, size, 1, temporary=None)
        body.last.append('return NULL;')
    p.line(f'for (int i = 0; i < {rounds}; i++)')
    p.line(f'    run_threads({body.name}, 16);')
    p.line('scrub();')


@action(weight=2)
def realloc_to_nothing(p):
    """glibc frees the block and returns NULL."""
    name, size = p.name('to_nothing'), p.size(1)
    make = p.maker_for_free(size)
    site = p.site(make.via, name)
    p.leaf(name, [f'void *block = clear({make.text}, {size}); {p.mark(site)}', 'CHECK(keep(realloc(block, hide(0))) == NULL);'])
    p.pairs(site, size, 1, temporary=None)


@action(weight=2, once=True)
def on_a_small_stack(p):
    """A thread with as little room as libc allows, or a little more."""
    name, size, count, room = p.name('small_stack'), p.size(8), p.random.randint(1, 50), p.random.choice([16384, 20480, 32768])
    make = p.maker(size)
    first, moved = model.Site(p.batch.next_number(), make.via, [name]), model.Site(p.batch.next_number(), 'realloc', [name])
    p.batch.sites += [first, moved]
    p.define(f'void *{name}(void *unused)', [f'for (int i = 0; i < {count}; i++) {{', f'    {make.release}(clear({make.text}, {size})); {p.mark(first)}',
                                             f'    free(keep(realloc(null_pointer(), hide({size})))); {p.mark(moved)}', '}', 'return unused;'])
    p.line(f'{{ pthread_attr_t how; pthread_t thread; CHECK(pthread_attr_init(&how) == 0 && pthread_attr_setstacksize(&how, {room}) == 0);')
    p.line(f'CHECK(pthread_create(&thread, &how, {name}, NULL) == 0 && pthread_join(thread, NULL) == 0); pthread_attr_destroy(&how); forget(&thread, sizeof(thread)); }}')
    p.line('scrub();')
    p.pairs(first, size, count)
    p.pairs(moved, size, count)


@action(weight=2, once=True)
def closes_descriptors(p):
    """As daemons do: all but the first three."""
    if p.life.origin == 'fork' and not p.needs_descriptors:  # not those that the program needs later
        p.line(p.random.choice(['closefrom(3);', 'close_range(3, ~0U, 0);', 'for (int i = 3; i < 200; i++) close(i);']))


@action(weight=1, once=True)
def locks_memory(p):
    """All that there is, and maybe all that comes."""
    if p.life.origin == 'fork':
        p.line(f'if (mlockall({p.random.choice(["MCL_CURRENT", "MCL_CURRENT | MCL_FUTURE", "MCL_FUTURE | MCL_ONFAULT"])}) == 0)')
        p.line(f'    {p.random.choice(["munlockall();", "(void)0;"])}')
