# SPDX-License-Identifier: BSD-2-Clause
"""Addresses that no scan can see: encoded, as text, in a pipe, in a file that is not mapped. Such a block is lost; the program
finds it again and frees it."""
import model

from . import action
from .blocks import ALIGNED

# The word that stands for a block, and the address of such a word.
CODES = [('~(uintptr_t)({})', '~({})'), ('(uintptr_t)({}) ^ 0x5a5a3c3c5a5a3c3c', '({}) ^ 0x5a5a3c3c5a5a3c3c'),
         ('(uintptr_t)({}) >> 4', '({}) << 4'), ('(uintptr_t)({}) | (uintptr_t)0xbeef << 48', '({}) & ~((uintptr_t)0xffff << 48)'),
         ('(uintptr_t)({}) << 16 | 7', '({}) >> 16'), ('__builtin_bswap64((uintptr_t)({}))', '__builtin_bswap64({})')]


@action(weight=2, once=True)
def encoded(p):
    """A variable has the address in another form."""
    name, size, (code, address) = p.name('encodes'), p.size(), p.random.choice(CODES)
    make = p.maker(size)
    site = p.site(make.via, name)
    variable = f'g{name}'
    p.declare(f'static uintptr_t {variable};')
    p.leaf(name, [f'{variable} = {code.format(f"clear({make.text}, {size})")}; {p.mark(site)}'])
    group = p.allocate(site, size, 1, model.lost())
    p.free_later('finds', [f'{make.release}((void *)({address.format(variable)}));', f'{variable} = 0;'], group)


@action(weight=2, once=True)
def with_low_bits(p):
    """Bits of the program's own are in the low ones of the address, as in trees with colours: it leads into the block."""
    name, size, bits = p.name('colours'), p.size(64), p.random.randint(1, 7)
    make = p.maker(size)
    while make.via in ALIGNED:  # it may be a slab
        make = p.maker(size)
    site = p.site(make.via, name)
    variable = f'g{name}'
    p.declare(f'static uintptr_t {variable};')
    p.leaf(name, [f'{variable} = (uintptr_t)clear({make.text}, {size}) | {bits}; {p.mark(site)}'])
    group = p.allocate(site, size, 1, model.middle(variable))
    p.free_later('finds', [f'{make.release}((void *)({variable} & ~(uintptr_t)7));', f'{variable} = 0;'], group)


@action(weight=2, once=True)
def marked_links(p):
    """A list of nodes of one size, whose links have a mark in the lowest bit: such a link holds."""
    name, inner, size, count = p.name('marks'), p.name('marked'), p.size(64), p.random.randint(1, 40)
    make = p.maker(size)
    while make.via in ALIGNED:
        make = p.maker(size)
    site = p.site(make.via, inner, name)  # of one call, because a compiler may unroll the loop
    variable = f'g{name}'
    p.declare(f'static uintptr_t *{variable};')
    p.define(f'uintptr_t *{inner}(uintptr_t *next)', [f'uintptr_t *node = (uintptr_t *)clear({make.text}, {size}); {p.mark(site)}',
                                                      'node[1] = (uintptr_t)next | 1;', 'return node;'])
    p.leaf(name, [f'for (int i = 0; i < {count}; i++)', f'    {variable} = {inner}({variable});'])
    group = p.allocate(site, size, count, model.held())

    def forget(p):
        p.leaf(p.name('forgets'), [f'{variable} = NULL;'])
        p.life.groups[group].tie = model.ring()  # the first of them leads to all others
        p.life.maybe = True

    def free_all(p):
        p.leaf(p.name('frees_marked'), [f'while ({variable}) {{', f'    uintptr_t *next = (uintptr_t *)({variable}[1] & ~(uintptr_t)1);',
                                        f'    {make.release}({variable});', f'    {variable} = next;', '}'])
        p.life.free(group)

    p.keep_for_later(p.random.choice([forget, free_all]))


@action(weight=1, once=True)
def as_text(p):
    name, size = p.name('writes_text'), p.size()
    make = p.maker(size)
    site = p.site(make.via, name)
    variable = f'g{name}'
    p.declare(f'static char {variable}[24];')
    p.leaf(name, [f'snprintf({variable}, sizeof({variable}), "%zx", (size_t)clear({make.text}, {size})); {p.mark(site)}'])
    group = p.allocate(site, size, 1, model.lost())
    p.life.old_words = True
    p.free_later('finds', [f'{make.release}((void *)strtoul({variable}, NULL, 16));', f'memset({variable}, 0, sizeof({variable}));'], group)


@action(weight=2, once=True)
def in_a_pipe(p):
    """The kernel has it: in a pipe or a socket."""
    if not p.life.follows:
        return
    name, size = p.name('sends'), p.size()
    make = p.maker(size)
    site = p.site(make.via, name)
    ends = f'ends_{name}'
    p.declare(f'static int {ends}[2];')
    p.leaf(name, [p.random.choice([f'CHECK(pipe({ends}) == 0);', f'CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, {ends}) == 0);']),
                  f'void *block = clear({make.text}, {size}); {p.mark(site)}', f'CHECK(write({ends}[1], &block, sizeof(block)) == sizeof(block));'])
    group = p.allocate(site, size, 1, model.lost())
    p.free_later('finds', ['void *block = NULL;', f'CHECK(read({ends}[0], &block, sizeof(block)) == sizeof(block));',
                           f'{make.release}(block);', 'block = NULL;', f'close({ends}[0]);', f'close({ends}[1]);'], group, in_child=False)


@action(weight=1, once=True)
def in_an_unmapped_file(p):
    if not p.life.follows:
        return
    name, size = p.name('puts_away'), p.size()
    make = p.maker(size)
    site = p.site(make.via, name)
    file = f'file_{name}'
    p.declare(f'static int {file};')
    p.leaf(name, [f'{file} = memfd_create("away", MFD_CLOEXEC);', f'void *block = clear({make.text}, {size}); {p.mark(site)}',
                  f'CHECK(pwrite({file}, &block, sizeof(block), 8) == sizeof(block));'])
    group = p.allocate(site, size, 1, model.lost())
    p.free_later('finds', ['void *block = NULL;', f'CHECK(pread({file}, &block, sizeof(block), 8) == sizeof(block));',
                           f'{make.release}(block);', 'block = NULL;', f'close({file});'], group, in_child=False)
