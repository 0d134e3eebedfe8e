# SPDX-License-Identifier: BSD-2-Clause
"""Exceptions of C++: thrown through functions that hold something, caught, thrown again, kept."""
import model

from . import action, fill


@action(weight=3, cpp=True)
def thrown(p):
    """Destructors free on the way."""
    name, inner, size = p.name('catch'), p.name('throw'), p.size()
    site = p.site('operator new[]', inner, name)
    p.define(f'void {inner}(int depth)', [f'std::unique_ptr<char[]> mine(new char[hide({size})]); {p.mark(site)}',
                                          'KEEP(mine.get());', 'if (depth == 0)', '    throw depth;',
                                          f'{inner}(depth - 1);'])
    # Every depth has a path of its own.
    p.batch.sites.remove(site)
    depth = p.random.randint(0, 4)
    for level in range(depth + 1):
        at = model.Site(site.number, 'operator new[]', [*[inner] * (level + 1), name, *p.bodies[-1].path])
        p.batch.sites.append(at)
        p.pairs(at, size, 1, temporary=None)
    p.leaf(name, ['bool caught = false;', 'try {', f'    {inner}({depth});', '} catch (int) {', '    caught = true;', '}',
                  'CHECK(caught);'])


@action(weight=2, cpp=True, nests=True)
def in_a_handler(p):
    """Actions while an exception is being handled."""
    with p.body('handling') as body:
        p.line('try {')
        p.line('    throw std::runtime_error("a text that is longer than what fits into a string");')
        p.line('} catch (const std::exception &) {')
        fill(p, 1, 2)
        body.last.append('}')
    p.line(f'{body.name}();')
    p.line('scrub();')


@action(weight=1, cpp=True, once=True)
def kept(p):
    """std::exception_ptr leads to the exception, which is behind a header in its block."""
    name, size = p.name('keeps'), p.size()
    site = p.site('malloc', name)
    variable = f'g{name}'
    p.declare(f'static std::exception_ptr *{variable};')
    p.batch.declarations.append(f'struct E{name} {{ void *block; }};')
    p.leaf(name, [f'static char room[sizeof(std::exception_ptr)];', 'try {',
                  f'    throw E{name}{{clear(malloc({size}), {size})}}; {p.mark(site)}', '} catch (...) {',
                  f'    {variable} = new (room) std::exception_ptr(std::current_exception());', '}'])
    p.allocate(site, size, 1, model.unknown())
