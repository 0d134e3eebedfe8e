# SPDX-License-Identifier: BSD-2-Clause
"""Blocks that are kept, lost, freed at once or later; chains, rings and trees of them; calls that fail."""
from model import held, lost, middle, of_frame, ring, under

from . import action


@action(weight=6)
def temporary(p):
    """Blocks that are freed at once, and pairs of them."""
    name, size, count = p.name('temporary'), p.size(), p.random.randint(1, 40)
    make = p.maker(size)
    site = p.site(make.via, name)
    p.leaf(name, [f'for (int i = 0; i < {count}; i++) {{',
                  f'    void *block = keep({make.text}); {p.mark(site)}',
                  f'    {make.release}(block);',
                  '}'])
    p.pairs(site, size, count)


@action(weight=4)
def several_at_a_time(p):
    name, size, count = p.name('several'), p.size(), p.random.randint(2, 30)
    make = p.maker(size)
    site = p.site(make.via, name)
    p.leaf(name, [f'void *blocks[{count}];',
                  f'for (int i = 0; i < {count}; i++)',
                  f'    blocks[i] = keep({make.text}); {p.mark(site)}',
                  f'for (int i = 0; i < {count}; i++)',
                  f'    {make.release}(blocks[i]);'])
    # Only the last one is freed right after it was made, and only where it is freed first.
    p.pairs(site, size, count, temporary=False)


@action(weight=6)
def lose(p):
    name, size, count = p.name('lose'), p.size(), p.random.randint(1, 20)
    make = p.maker(size)
    site = p.site(make.via, name)
    p.leaf(name, [f'for (int i = 0; i < {count}; i++)',
                  f'    clear({make.text}, {size}); {p.mark(site)}'])
    p.allocate(site, size, count, lost())


@action(weight=8, once=True)
def keep(p):
    """Blocks that a variable holds, maybe to be freed later."""
    name, size, count = p.name('keep'), p.size(), p.random.randint(1, 12)
    make = p.maker(size)
    site = p.site(make.via, name)
    static = p.random.choice(['', 'static '])
    variable = f'g{name}'
    p.declare(f'{static}void *{variable}[{count}];')
    p.leaf(name, [f'for (int i = 0; i < {count}; i++)',
                  f'    {variable}[i] = clear({make.text}, {size}); {p.mark(site)}'])
    group = p.allocate(site, size, count, held(variable))

    def free_some(p):
        rest = p.random.choice([0, 0, p.random.randint(0, count - 1)])
        free = p.name('free')
        p.leaf(free, [f'for (int i = {rest}; i < {count}; i++) {{',
                      f'    {make.release}({variable}[i]);',
                      f'    {variable}[i] = NULL;',
                      '}'])
        p.life.free(group, count - rest)

    def forget(p):
        forget = p.name('forget')
        p.leaf(forget, [f'memset({variable}, 0, sizeof({variable}));'])
        p.life.groups[group].tie = lost()

    p.keep_for_later(p.random.choice([free_some, free_some, forget]))


@action(weight=2, once=True)
def keep_in_frame(p):
    """A variable of the function at hand holds it while that runs."""
    name, size = p.name('make'), p.size()
    make = p.maker(size)
    site = p.site(make.via, name)
    p.define(f'void {name}(void **to)', [f'*to = clear({make.text}, {size}); {p.mark(site)}'])
    variable = f'local_{name}'
    p.line(f'void *volatile {variable} = NULL;')
    p.line(f'{name}((void **)&{variable});')
    p.line('scrub();')
    p.bodies[-1].last.append(f'{variable} = NULL;')  # no later frame has to cover it
    p.allocate(site, size, 1, of_frame(p.bodies[-1].name))


ALIGNED = ('memalign', 'posix_memalign', 'aligned_alloc', 'valloc', 'pvalloc')  # makers of what may be a slab


@action(weight=3, once=True)
def only_the_middle(p):
    """A pointer that is not to the start of a block may be one by chance; but one into a slab holds it (docs/scan.md)."""
    name, size = p.name('middle'), p.size(64)
    make = p.maker(size)
    while make.via in ALIGNED:
        make = p.maker(size)
    site = p.site(make.via, name)
    variable = f'g{name}'
    p.declare(f'static char *{variable};')
    p.leaf(name, [f'{variable} = (char *)clear({make.text}, {size}) + 40; {p.mark(site)}'])
    p.allocate(site, size, 1, middle(variable))


def linked(p, kind, holds, of_root, of_rest):
    """A chain of blocks, the first made by one function, the others by another; `holds`: what keeps the first."""
    name, rest = p.name(kind), p.name('link')
    size, count = p.size(16), p.random.randint(1, 15)
    first, other = p.maker(size), p.maker(size + 8)
    site, site_of_rest = p.site(first.via, name), p.site(other.via, rest, name)
    p.define(f'void **{rest}(void **last)', [f'*last = clear({other.text}, {size + 8}); {p.mark(site_of_rest)}',
                                             'return (void **)*last;'])
    p.leaf(name, [f'void **first = (void **)clear({first.text}, {size}); {p.mark(site)}',
                  'void **last = first;',
                  f'for (int i = 0; i < {count}; i++)',
                  f'    last = {rest}(last);',
                  holds])
    top = p.allocate(site, size, 1, of_root)
    return p.allocate(site_of_rest, size + 8, count, of_rest or under(top)), top, first, other, count


@action(weight=4)
def lose_a_chain(p):
    linked(p, 'chain', 'KEEP(first);', lost(), None)


@action(weight=4, once=True)
def keep_a_chain(p):
    variable = p.name('head')
    p.declare(f'static void **{variable};')
    group, top, first, other, count = linked(p, 'list', f'{variable} = first;', held(variable), None)

    def free_it(p):
        free = p.name('free')
        p.leaf(free, [f'void **node = (void **)*{variable};',
                      f'{first.release}({variable});',
                      f'{variable} = NULL;',
                      'while (node) {',
                      '    void **next = (void **)*node;',
                      f'    {other.release}(node);',
                      '    node = next;',
                      '}'])
        p.life.free(top)
        p.life.free(group)

    def cut(p):
        """The first is freed without the others."""
        cut = p.name('cut')
        p.leaf(cut, ['void **first = ' + variable + ';', f'{variable} = NULL;', '*first = NULL;',
                     f'{first.release}(first);'])
        p.life.free(top)
        chain = p.life.groups[group]
        chain.tie = ring()  # the first of them leads to all others

    p.keep_for_later(p.random.choice([free_it, cut]))


@action(weight=3)
def lose_a_ring(p):
    name, size, count = p.name('ring'), p.size(16), p.random.randint(1, 12)
    make = p.maker(size)
    site = p.site(make.via, name)
    p.leaf(name, ['void **first = NULL, **last = NULL;',
                  f'for (int i = 0; i < {count}; i++) {{',
                  f'    void **block = (void **)clear({make.text}, {size}); {p.mark(site)}',
                  '    if (last)',
                  '        *last = block;',
                  '    else',
                  '        first = block;',
                  '    last = block;',
                  '}',
                  '*last = first;'])
    for _ in range(p.times):  # each ring has its leader
        times, p.times = p.times, 1
        p.allocate(site, size, count, ring())
        p.times = times


@action(weight=2, once=True)
def ring_behind_a_block(p):
    """A lost block that points into a ring leads it, wherever they lie."""
    name, head = p.name('ring_of'), p.name('head_of')
    size, count = p.size(16), p.random.randint(1, 8)
    into = p.random.randrange(count)
    before = p.random.random() < 0.5
    make = p.maker(size)
    site, site_of_head = p.site(make.via, name), p.site('malloc', head, name)
    p.define(f'void **{head}(void)', [f'return (void **)clear(malloc(24), 24); {p.mark(site_of_head)}'])
    p.leaf(name, [f'void **ring[{count}];',
                  'void **head = NULL;',
                  f'head = {head}();' if before else '',
                  f'for (int i = 0; i < {count}; i++)',
                  f'    ring[i] = (void **)clear({make.text}, {size}); {p.mark(site)}',
                  f'for (int i = 0; i < {count}; i++)',
                  f'    *ring[i] = ring[(i + 1) % {count}];',
                  '' if before else f'head = {head}();',
                  f'*head = ring[{into}];'])
    top = p.allocate(site_of_head, 24, 1, lost())
    p.allocate(site, size, count, under(top))


@action(weight=3, once=True)
def table_of_blocks(p):
    """A table holds them, and a variable the table; or nothing does."""
    name, entry = p.name('table'), p.name('entry')
    count, size = p.random.randint(1, 40), p.size()
    make = p.maker(size)
    site, site_of_entry = p.site('malloc', name), p.site(make.via, entry, name)
    p.define(f'void *{entry}(void)', [f'return clear({make.text}, {size}); {p.mark(site_of_entry)}'])
    variable = f'g{name}'
    p.declare(f'static void **{variable};')
    kept = p.random.random() < 0.6
    p.leaf(name, [f'void **table = (void **)clear(malloc({8 * count}), {8 * count}); {p.mark(site)}',
                  f'for (int i = 0; i < {count}; i++)',
                  f'    table[i] = {entry}();',
                  f'{variable} = table;' if kept else 'KEEP(table);'])
    top = p.allocate(site, 8 * count, 1, held(variable) if kept else lost())
    p.allocate(site_of_entry, size, count, under(top))


@action(weight=3)
def of_the_library(p):
    """What libc allocates for the program; freed or lost."""
    name = p.name('text')
    length = p.random.randint(1, 300)
    text, size = p.random.choice([
        (f'strndup(letters(), {length})', length + 1),
        (f'strdup(letters() + {2000 - length})', length + 1),
    ])
    free = p.random.random() < 0.6
    site = p.site('malloc', name)
    site.by_library = True
    p.leaf(name, [f'char *text = (char *)keep({text}); {p.mark(site)}', 'free(text);' if free else 'KEEP(text);'])
    if free:
        p.pairs(site, size, 1)
    else:
        p.allocate(site, size, 1, lost())


@action(weight=1)
def failing(p):
    """More than there is: NULL, ENOMEM, and nothing else changes."""
    name = p.name('fail')
    kept = p.random.choice(['malloc(hide(PTRDIFF_MAX))', 'calloc(hide(SIZE_MAX / 2), hide(8))',
                            'reallocarray(null_pointer(), hide(SIZE_MAX / 4), hide(16))',
                            'aligned_alloc(64, hide(PTRDIFF_MAX - 63))'])
    p.leaf(name, ['errno = 0;', f'CHECK(keep({kept}) == NULL && errno == ENOMEM);'])


@action(weight=1)
def nothing(p):
    """A block of no bytes is one; to free NULL is nothing."""
    name = p.name('nothing')
    site = p.site('malloc', name)
    p.leaf(name, ['errno = 77;', 'free(null_pointer());',
                  f'void *block = keep(malloc(hide(0))); {p.mark(site)}',
                  'CHECK(block != NULL);', 'free(block);', 'CHECK(errno == 77);'])
    p.pairs(site, 0, 1)


@action(weight=1, cpp=True)
def freed_in_a_wrong_way(p):
    """malloc and delete, new and free: glibc lets it pass, the report tells."""
    name, size = p.name('wrong'), p.size()
    made, text, release, released = p.random.choice([
        ('malloc', f'malloc({size})', 'operator delete', 'operator delete'), ('operator new', f'operator new({size})', 'free', 'free'),
        ('operator new[]', f'operator new[]({size})', 'operator delete', 'operator delete'),
        ('operator new', f'operator new({size})', 'operator delete[]', 'operator delete[]')])
    site = p.site(made, name)
    p.leaf(name, [f'void *block = keep({text}); {p.mark(site)}', f'{release}(block);'])
    p.pairs(site, size, 1)
    p.life.mismatches[made, released] += p.times


@action(weight=1)
def deep(p):
    """From the bottom of a recursion."""
    name, size = p.name('deep'), p.size()
    depth = p.random.choice([3, 30, 300, 10000 if p.has_large_stack() else 1000])
    make = p.maker(size)
    site = p.site(make.via, *[name] * (depth + 1))
    p.define(f'int {name}(int depth)', [f'if (depth > 0)', f'    return {name}(depth - 1) + 1;',
                                        f'clear({make.text}, {size}); {p.mark(site)}', 'return 0;'])
    p.line(f'CHECK({name}({depth}) == {depth});')
    p.line('scrub();')
    p.allocate(site, size, 1, lost())


@action(weight=2)
def inlined(p):
    """From a function that is part of its caller."""
    name, size, count = p.name('outer'), p.size(), p.random.randint(1, 5)
    inner = p.name('inner')
    make = p.maker(size)
    site = p.site(make.via, name)
    p.batch.functions.append([f'static inline __attribute__((always_inline)) void {inner}(void) {{',
                              f'    clear({make.text}, {size}); {p.mark(site)}', '}', ''])
    site.inlined = inner
    p.leaf(name, [f'for (int i = 0; i < {count}; i++)', f'    {inner}();'])
    p.allocate(site, size, count, lost())


@action(weight=2, once=True)
def talk(p):
    if not p.silent:
        p.line(p.say(f'line {len(p.output)} of {p.number}'))
