# SPDX-License-Identifier: BSD-2-Clause
"""Storms of realloc: what is in the block stays, each that succeeds is a free and an allocation."""
import model

from . import action


@action(weight=4)
def storm(p):
    name = p.name('storm')
    sizes = [p.size(8) for _ in range(p.random.randint(2, 30))]
    if p.random.random() < 0.2:
        sizes.append(p.random.randint(130000, 900000))  # moves by mremap
        sizes.append(p.random.randint(130000, 900000))
    how = p.random.choice(['realloc(block, sizes[i])', 'reallocarray(block, sizes[i], 1)'])
    site, again = p.site('malloc', name), p.site(how.split('(')[0], name)
    end = p.random.choice(['free(block);', 'CHECK(realloc(block, hide(0)) == NULL);', 'KEEP(block);'])
    p.leaf(name, [f'static const size_t sizes[] = {{{", ".join(map(str, sizes))}}};',
                  f'char *block = (char *)clear(malloc(32), 32); {p.mark(site)}',
                  'size_t old = 32;',
                  'memcpy(block, "begin", 6);',
                  f'for (int i = 0; i < {len(sizes)}; i++) {{',
                  f'    block = (char *)keep({how}); {p.mark(again)}',
                  '    CHECK(block != NULL && strcmp(block, "begin") == 0);',
                  '    if (sizes[i] > old)',
                  '        memset(block + old, 0, sizes[i] - old);',
                  '    old = sizes[i];',
                  '}', end])
    p.pairs(site, 32, 1)
    for size in sizes[:-1]:
        p.pairs(again, size, 1)
    if end.startswith('KEEP'):
        p.allocate(again, sizes[-1], 1, model.lost())
    else:
        p.pairs(again, sizes[-1], 1)


@action(weight=2, once=True)
def growing_table(p):
    """Grows as vectors do, and holds blocks all the time."""
    name, entry = p.name('growing'), p.name('item')
    count, size = p.random.randint(3, 60), p.size()
    make = p.maker(size)
    site, site_of_entry = p.site('realloc', name), p.site(make.via, entry, name)
    variable = f'g{name}'
    p.declare(f'static void **{variable};')
    p.define(f'void *{entry}(void)', [f'return clear({make.text}, {size}); {p.mark(site_of_entry)}'])
    p.leaf(name, ['size_t room = 0;',
                  f'for (size_t i = 0; i < {count}; i++) {{',
                  '    if (i == room) {',
                  '        size_t old = room;',
                  '        room = room ? 2 * room : 2;',
                  f'        {variable} = (void **)keep(realloc({variable}, 8 * room)); {p.mark(site)}',
                  f'        memset({variable} + old, 0, 8 * (room - old));',
                  '    }',
                  f'    {variable}[i] = {entry}();',
                  '}'])
    room = 2
    while room < count:
        p.pairs(site, 8 * room, 1, temporary=False)
        room *= 2
    top = p.allocate(site, 8 * room, 1, model.held(variable))
    p.allocate(site_of_entry, size, count, model.under(top))

    def free_it(p):
        free = p.name('free')
        p.leaf(free, [f'for (int i = 0; i < {count}; i++)', f'    {make.release}({variable}[i]);',
                      f'free({variable});', f'{variable} = NULL;'])
        p.life.free(top)
        p.life.free(group)

    group = max(p.life.groups)
    p.keep_for_later(free_it)


@action(weight=1)
def refused(p):
    """A realloc that fails leaves the block as it was."""
    name, size = p.name('refused'), p.size(8)
    site = p.site('malloc', name)
    p.leaf(name, [f'char *block = (char *)clear(malloc({size}), {size}); {p.mark(site)}',
                  'block[5] = 55;',
                  'CHECK(keep(realloc(block, hide(PTRDIFF_MAX))) == NULL && block[5] == 55);',
                  'free(block);'])
    p.pairs(site, size, 1, temporary=True)


@action(weight=2)
def moved_from_any(p):
    """A block that was asked for in any way, with an alignment too, goes on by realloc."""
    name, size = p.name('moves_any'), p.size(8)
    make = p.maker_for_free(size)
    other = p.random.choice([size, size + 1, size * 3, max(8, size // 3), size + 100000])
    site, again = p.site(make.via, name), p.site('realloc', name)
    lose = p.random.random() < 0.3
    p.leaf(name, [f'char *block = (char *)clear({make.text}, {size}); {p.mark(site)}', 'memcpy(block, "begin", 6);',
                  f'block = (char *)keep(realloc(block, hide({other}))); {p.mark(again)}', 'CHECK(block != NULL && strcmp(block, "begin") == 0);',
                  f'memset(block, 0, {other});', 'KEEP(block);' if lose else 'free(block);'])
    p.pairs(site, size, 1)
    if lose:
        p.allocate(again, other, 1, model.lost())
    else:
        p.pairs(again, other, 1)
