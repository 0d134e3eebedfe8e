# SPDX-License-Identifier: BSD-2-Clause
"""Old words in memory that is handed out again: they hold nothing where memory is wiped."""
import model

from . import action


@action(weight=2, once=True)
def stale_table(p):
    """A table is freed, and its memory handed out again and not written."""
    name, entry = p.name('stale'), p.name('forgotten')
    count, size = p.random.randint(20, 200), p.size()
    make = p.maker(size)
    site, again, site_of_entry = p.site('malloc', name), p.site('malloc', name), p.site(make.via, entry, name)
    variable = f'g{name}'
    p.declare(f'static void *{variable};')
    p.define(f'void *{entry}(void)', [f'return clear({make.text}, {size}); {p.mark(site_of_entry)}'])
    p.leaf(name, [f'void **table = (void **)clear(malloc({8 * count}), {8 * count}); {p.mark(site)}',
                  f'for (int i = 0; i < {count}; i++)', f'    table[i] = {entry}();',
                  'free(table);',
                  f'{variable} = keep(malloc({8 * count})); {p.mark(again)}'])
    p.life.old_words = True
    p.pairs(site, 8 * count, 1, temporary=False)
    p.allocate(again, 8 * count, 1, model.held(variable))
    p.allocate(site_of_entry, size, count, model.stale())
