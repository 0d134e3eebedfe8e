# SPDX-License-Identifier: BSD-2-Clause
"""Allocators of programs: pools with free lists through them, and reference counts."""
import model

from . import action


@action(weight=2, once=True)
def fixed_pool(p):
    """Pieces of one block with a list of the free ones; a piece in use holds a block."""
    name = p.name('pool')
    piece, count = p.random.choice([16, 48, 104]), p.random.randint(4, 60)
    used, inner = p.random.randint(1, 3), p.size()
    total = piece * count
    site, site_of_inner = p.site('calloc', name), p.site('malloc', name)
    pool, free_list = f'g{name}', f'f{name}'
    p.declare(f'static char *{pool};')
    p.declare(f'static void **{free_list};')
    p.leaf(name, [f'{pool} = (char *)keep(calloc({count}, {piece})); {p.mark(site)}',
                  f'for (int i = 0; i < {count}; i++) {{',
                  f'    void **piece = (void **)({pool} + i * {piece});',
                  f'    *piece = {free_list};',
                  f'    {free_list} = piece;',
                  '}',
                  f'for (int i = 0; i < {used}; i++) {{',
                  f'    void **piece = {free_list};',
                  f'    {free_list} = (void **)*piece;',
                  f'    piece[1] = clear(malloc({inner}), {inner}); {p.mark(site_of_inner)}',
                  '    *piece = NULL;',
                  '}'])
    top = p.allocate(site, total, 1, model.held())
    p.allocate(site_of_inner, inner, used, model.under(top))


@action(weight=1, once=True)
def counted(p):
    """Several variables hold one block."""
    name, size = p.name('counted'), p.size()
    make = p.maker(size)
    site = p.site(make.via, name)
    variable = f'g{name}'
    p.declare(f'static void *{variable}[3];')
    p.leaf(name, [f'{variable}[0] = {variable}[1] = {variable}[2] = clear({make.text}, {size}); {p.mark(site)}'])
    group = p.allocate(site, size, 1, model.held(variable))

    def drop(p):
        drop, how = p.name('drop'), p.random.randint(1, 3)
        p.leaf(drop, [f'{make.release}({variable}[0]);' if how == 3 else '',
                      f'for (int i = 0; i < {how}; i++)', f'    {variable}[i] = NULL;'])
        if how == 3:
            p.life.free(group)

    p.keep_for_later(drop)
