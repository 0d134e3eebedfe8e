# SPDX-License-Identifier: BSD-2-Clause
"""Memory that the program maps or carves itself, and what that holds."""
import model

from . import action


@action(weight=2, once=True)
def mapped(p):
    """A mapping holds blocks; where it is unmapped they are lost."""
    name, size, count = p.name('mapped'), p.size(), p.random.randint(1, 20)
    make = p.maker(size)
    site = p.site(make.via, name)
    variable = f'g{name}'
    shared = p.random.choice(['MAP_PRIVATE', 'MAP_PRIVATE', 'MAP_SHARED'])
    pages = p.random.randint(1, 40)
    p.declare(f'static void **{variable};')
    p.leaf(name, [f'{variable} = (void **)mmap(NULL, {pages} * 4096, PROT_READ | PROT_WRITE, {shared} | MAP_ANONYMOUS, -1, 0);',
                  f'CHECK({variable} != MAP_FAILED);',
                  f'for (int i = 0; i < {count}; i++)',
                  f'    {variable}[i * 3] = clear({make.text}, {size}); {p.mark(site)}'])
    group = p.allocate(site, size, count, model.held())

    def unmap(p):
        free = p.name('unmap')
        p.leaf(free, [f'CHECK(munmap({variable}, {pages} * 4096) == 0);', f'{variable} = NULL;'])
        p.life.groups[group].tie = model.lost()
        p.life.maybe = True  # an operation on mappings begins an image, too

    # A child of fork may unmap its own copy; its parent's stays.
    p.keep_for_later(unmap)


@action(weight=2, once=True)
def bump_arena(p):
    """Large blocks that the program hands out in pieces; a piece holds a block of its own."""
    name, chunk = p.name('arena'), p.name('chunk')
    size, count = p.random.choice([1000, 4096, 65536, 200000]), p.random.randint(1, 6)
    inner = p.size()
    site, site_of_inner = p.site('malloc', chunk, name), p.site('malloc', name)
    variable = f'g{name}'
    p.declare(f'static void **{variable};')
    p.define(f'void {chunk}(void)', [f'void **chunk = (void **)clear(malloc({size}), {size}); {p.mark(site)}',
                                     f'*chunk = {variable};', f'{variable} = chunk;'])
    p.leaf(name, [f'for (int i = 0; i < {count}; i++) {{', f'    {chunk}();',
                  f'    {variable}[50] = clear(malloc({inner}), {inner}); {p.mark(site_of_inner)}', '}'])
    top = p.allocate(site, size, count, model.held())
    rest = p.allocate(site_of_inner, inner, count, model.under(top))

    def free_arena(p):
        free = p.name('free')
        p.leaf(free, [f'while ({variable}) {{', f'    void **next = (void **)*{variable};',
                      f'    memset({variable}, 0, {size});', f'    free({variable});', f'    {variable} = next;', '}'])
        p.life.free(top)
        p.life.groups[rest].tie = model.lost()

    p.keep_for_later(free_arena)


@action(weight=1, once=True)
def mapping_without_a_pointer(p):
    """A pool that the program mapped and to which it keeps no pointer holds all the same."""
    name, size, count = p.name('pool_mapped'), p.size(), p.random.randint(1, 20)
    make = p.maker(size)
    site = p.site(make.via, name)
    p.leaf(name, ['void **pool = (void **)mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);',
                  'CHECK(pool != MAP_FAILED);', f'for (int i = 0; i < {count}; i++)',
                  f'    pool[100 + i] = clear({make.text}, {size}); {p.mark(site)}'])
    p.allocate(site, size, count, model.held())


@action(weight=1, once=True)
def out_of_reach(p):
    """What is in memory without access is held all the same."""
    name, size = p.name('guarded'), p.size()
    make = p.maker(size)
    site = p.site(make.via, name)
    variable = f'g{name}'
    p.declare(f'static void **{variable};')
    p.leaf(name, [f'{variable} = (void **)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);',
                  f'{variable}[7] = clear({make.text}, {size}); {p.mark(site)}',
                  f'CHECK(mprotect({variable}, 8192, PROT_NONE) == 0);'])
    p.allocate(site, size, 1, model.held())


@action(weight=2, once=True)
def moved_mapping(p):
    """A mapping grows, moves and shrinks: what it holds it holds, but for what was cut off."""
    name, size, count = p.name('moves'), p.size(), p.random.randint(1, 12)
    make = p.maker(size)
    site, cut = p.site(make.via, name), p.site(make.via, name)
    variable = f'g{name}'
    p.declare(f'static char *{variable};')
    shrink = p.random.random() < 0.6
    p.leaf(name, [f'{variable} = (char *)mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);',
                  f'for (int i = 0; i < {count}; i++) {{', f'    ((void **){variable})[i] = clear({make.text}, {size}); {p.mark(site)}',
                  f'    ((void **)({variable} + 3 * 4096))[i] = clear({make.text}, {size}); {p.mark(cut)}', '}',
                  f'{variable} = (char *)mremap({variable}, 4 * 4096, 4000 * 4096, MREMAP_MAYMOVE);', f'CHECK({variable} != MAP_FAILED);',
                  f'{variable} = (char *)mremap({variable}, 4000 * 4096, {"3" if shrink else "4"} * 4096, MREMAP_MAYMOVE);',
                  f'CHECK({variable} != MAP_FAILED);',
                  f'char *place = (char *)mmap(NULL, 8 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);',
                  f'{variable} = (char *)mremap({variable}, {"3" if shrink else "4"} * 4096, {"3" if shrink else "4"} * 4096, MREMAP_MAYMOVE | MREMAP_FIXED, place);',
                  f'CHECK({variable} == place);'])
    p.allocate(site, size, count, model.held())
    p.allocate(cut, size, count, model.lost() if shrink else model.held())


@action(weight=1, once=True)
def given_up(p):
    """Pages that the program tells the kernel it does not need, or maps anew, hold nothing any more."""
    name, size, count = p.name('given_up'), p.size(), p.random.randint(1, 12)
    make = p.maker(size)
    site, cut = p.site(make.via, name), p.site(make.via, name)
    variable = f'g{name}'
    p.declare(f'static char *{variable};')
    how = p.random.choice(['CHECK(madvise({v}, 4096, MADV_DONTNEED) == 0);',
                           'CHECK(mmap({v}, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == {v});',
                           'CHECK(munmap({v}, 4096) == 0);']).format(v=variable)
    p.leaf(name, [f'{variable} = (char *)mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);',
                  f'for (int i = 0; i < {count}; i++) {{', f'    ((void **){variable})[i] = clear({make.text}, {size}); {p.mark(cut)}',
                  f'    ((void **)({variable} + 4096))[i] = clear({make.text}, {size}); {p.mark(site)}', '}', how])
    p.allocate(site, size, count, model.held())
    p.allocate(cut, size, count, model.lost())


@action(weight=1, once=True)
def beyond_the_break(p):
    """Memory that the program takes by sbrk, beside the allocator's."""
    name, size = p.name('broken'), p.size()
    make = p.maker(size)
    site = p.site(make.via, name)
    variable = f'g{name}'
    p.declare(f'static void **{variable};')
    p.leaf(name, [f'{variable} = (void **)sbrk(4096);', f'CHECK({variable} != (void *)-1);', f'memset({variable}, 0, 4096);',
                  f'{variable}[7] = clear({make.text}, {size}); {p.mark(site)}'])
    p.allocate(site, size, 1, model.held())


@action(weight=2, once=True)
def not_for_children(p):
    """Pages that a child of fork does not get, or gets empty."""
    name, size, count = p.name('mapped'), p.size(), p.random.randint(1, 12)
    make = p.maker(size)
    site = p.site(make.via, name)
    variable = f'g{name}'
    p.declare(f'static void **{variable};')
    p.leaf(name, [f'{variable} = (void **)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);',
                  f'CHECK({variable} != MAP_FAILED);', f'for (int i = 0; i < {count}; i++)',
                  f'    {variable}[i] = clear({make.text}, {size}); {p.mark(site)}',
                  f'CHECK(madvise({variable}, 4096, {p.random.choice(["MADV_DONTFORK", "MADV_WIPEONFORK"])}) == 0);'])
    group = p.allocate(site, size, count, model.of_parent())

    p.free_later('free', [f'for (int i = 0; i < {count}; i++)', f'    {make.release}({variable}[i]);', f'CHECK(munmap({variable}, 4096) == 0);',
                          f'{variable} = NULL;'], group, in_child=False)


@action(weight=1, once=True)
def pages_that_went(p):
    """The pages go to another place; the mapping stays, empty."""
    name, size, count = p.name('moves'), p.size(), p.random.randint(1, 12)
    make = p.maker(size)
    site = p.site(make.via, name)
    variable = f'g{name}'
    p.declare(f'static void **{variable}[2];')
    p.leaf(name, [f'{variable}[0] = (void **)mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);',
                  f'CHECK({variable}[0] != MAP_FAILED);', f'for (int i = 0; i < {count}; i++)',
                  f'    {variable}[0][i] = clear({make.text}, {size}); {p.mark(site)}',
                  f'{variable}[1] = (void **)mremap({variable}[0], 2 * 4096, 2 * 4096, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);',
                  f'CHECK({variable}[1] != MAP_FAILED && {variable}[0][0] == NULL && {variable}[1][0] != NULL);'])
    group = p.allocate(site, size, count, model.held())

    def unmap(p):
        free, which = p.name('unmap'), p.random.randint(0, 1)
        p.leaf(free, [f'CHECK(munmap({variable}[{which}], 2 * 4096) == 0);', f'{variable}[{which}] = NULL;'])
        p.life.maybe = True
        if which == 1:
            p.life.groups[group].tie = model.lost()

    p.keep_for_later(unmap)


@action(weight=2, once=True)
def obstack(p):
    """Chunks of libc's obstacks, with one piece each, which holds a block."""
    name, take, give, chunk = p.name('obstack'), p.name('takes_chunk'), p.name('gives_chunk'), p.random.choice([1000, 4064, 20000])
    inner, count = p.size(), p.random.randint(1, 12)
    make = p.maker(inner)
    site, site_of_inner = p.site('malloc', take, name), p.site(make.via, name)
    variable = f'g{name}'
    p.declare(f'static struct obstack {variable};')
    p.define(f'void *{take}(long size)', [f'CHECK(size == {chunk});', f'return clear(malloc({chunk}), {chunk}); {p.mark(site)}'])
    p.define(f'void {give}(void *chunk)', [f'memset(chunk, 0, {chunk});', 'free(chunk);'])
    p.leaf(name, [f'CHECK(obstack_specify_allocation(&{variable}, {chunk}, 16, {take}, {give}));', f'for (int i = 0; i < {count}; i++) {{',
                  f'    void **piece = (void **)obstack_alloc(&{variable}, {chunk * 2 // 3});',
                  f'    piece[7] = clear({make.text}, {inner}); {p.mark(site_of_inner)}', '}'])
    top = p.allocate(site, chunk, count, model.held())
    rest = p.allocate(site_of_inner, inner, count, model.under(top))

    def free_all(p):
        free = p.name('free')
        p.leaf(free, [f'obstack_free(&{variable}, NULL);', f'memset(&{variable}, 0, sizeof({variable}));'])
        p.life.free(top)
        p.life.groups[rest].tie = model.lost()

    p.keep_for_later(free_all)
