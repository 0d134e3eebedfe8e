# SPDX-License-Identifier: BSD-2-Clause
"""What runs before main: constructors of the program, and functions that the loader chooses."""
import model

from . import action


def before_main(p):
    """A constructor that makes a block for later, one that it loses and one that it frees. It is called for all programs of a
    batch, and works for its own."""
    name, inner, size = p.name('constructor'), p.name('constructed'), p.size()
    make = p.maker(size)
    sites = [model.Site(p.batch.next_number(), make.via, [inner, name]) for _ in range(3)]
    for site in sites:
        site.tail = True  # what the loader calls it by is not known
    p.batch.sites += sites
    kept, gone, brief = sites
    variable = f'g{name}'
    p.declare(f'static void *{variable};')
    order = p.random.choice(['constructor', 'constructor(101)', 'constructor(65000)'])
    # The frame of the constructor is where main's caller has its own later, with words between; so it makes nothing itself.
    p.define(f'void {inner}(void)', [f'{variable} = clear({make.text}, {size}); {p.mark(kept)}', f'clear({make.text}, {size}); {p.mark(gone)}',
                                     f'{make.release}(clear({make.text}, {size})); {p.mark(brief)}'])
    p.define(f'void {name}(int argc, char **argv)', [f'if (argc > 1 && atoi(argv[1]) == {p.number})', f'    play({inner});'],
             attributes=f'__attribute__(({order})) APART static')
    p.tags.add('before_main')
    group = p.allocate(kept, size, 1, model.held(variable))
    p.allocate(gone, size, 1, model.lost())
    p.pairs(brief, size, 1)

    p.free_later('free', [f'{make.release}({variable});', f'{variable} = NULL;'], group)


@action(weight=1)
def chosen_by_the_loader(p):
    """An IFUNC: its resolver says which function it is."""
    if p.cpp:  # it takes the resolver's name as the compiler makes it
        return
    name, resolver, alias = p.name('chosen'), p.name('resolver'), p.name('alias')
    size = p.size()
    make = p.maker(size)
    site = p.site(make.via, name)
    p.define(f'void {name}(void)', [f'clear({make.text}, {size}); {p.mark(site)}'])
    p.batch.functions.append([f'static void *{resolver}(void) {{', f'    return (void *){name};', '}',
                              f'void {alias}(void) __attribute__((ifunc("{resolver}")));', ''])
    p.batch.declarations.append(f'void {alias}(void);')
    p.line(f'play({alias});')
    p.allocate(site, size, 1, model.lost())
