# SPDX-License-Identifier: BSD-2-Clause
"""Exceptions of C++: thrown through functions that hold something, caught, thrown again, kept."""
import model

from . import action, fill, libraries


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


@action(weight=2, cpp=True, once=True)
def through_c(p):
    """Out of a function that libc calls back: through frames of C."""
    name, thrower, size = p.name('catches'), p.name('throws'), p.size()
    make = p.maker(size)
    site = p.site(make.via, name)
    p.declare(f'static void *held_{name};')
    how, arguments = p.random.choice([('qsort(two, 2, sizeof(int), {f});', 'const void *a, const void *b'),
                                      ('bsearch(two, two, 2, sizeof(int), {f});', 'const void *a, const void *b')])
    p.define(f'int {thrower}({arguments})', ['KEEP(a);', 'KEEP(b);', 'throw 5;'])
    p.leaf(name, ['static int two[2] = {2, 1};', f'held_{name} = clear({make.text}, {size}); {p.mark(site)}', 'int caught = 0;', 'try {',
                  f'    {how.format(f=thrower)}', '} catch (int value) {', '    caught = value;', '}', 'CHECK(caught == 5);',
                  f'{make.release}(held_{name});', f'held_{name} = NULL;'])
    p.pairs(site, size, 1, temporary=None)


@action(weight=2, cpp=True)
def no_room(p):
    """operator new for more than there is: std::bad_alloc, or NULL."""
    name = p.name('no_room')
    what = p.random.choice(['operator new(hide(PTRDIFF_MAX))', 'operator new[](hide(PTRDIFF_MAX))', 'new char[hide(PTRDIFF_MAX)]',
                            'operator new(hide(PTRDIFF_MAX), std::align_val_t(64))', 'new int[hide(SIZE_MAX / 2)]'])
    p.leaf(name, ['bool caught = false;', 'try {', f'    keep({what});', '} catch (const std::bad_alloc &) {', '    caught = true;', '}',
                  'CHECK(caught);', 'CHECK(keep(operator new(hide(PTRDIFF_MAX), std::nothrow)) == NULL);',
                  'CHECK(keep(operator new[](hide(PTRDIFF_MAX), std::nothrow)) == NULL);'])


@action(weight=1, cpp=True, once=True)
def handler_of_new(p):
    """It is called until there is room, or it throws."""
    name, handler = p.name('handled'), p.name('new_handler')
    p.declare(f'static int calls_{name};')
    p.define(f'void {handler}()', [f'if (++calls_{name} == 3)', '    throw std::bad_alloc();'])
    p.leaf(name, ['bool caught = false;', f'auto before = std::set_new_handler({handler});', 'try {', '    keep(operator new(hide(PTRDIFF_MAX)));',
                  '} catch (const std::bad_alloc &) {', '    caught = true;', '}', 'std::set_new_handler(before);', f'CHECK(caught && calls_{name} == 3);'])


@action(weight=2, cpp=True)
def constructor_throws(p):
    """Of an array of objects the third: those that are there are destroyed, and the array is freed."""
    name, size, count = p.name('array_throws'), p.size(), p.random.randint(3, 9)
    site = p.site('operator new[]', name)
    p.batch.declarations.append(f'struct T{name} {{ void *block; T{name}(); ~T{name}(); }};')
    p.batch.declarations.append(f'static thread_local int number_{name};')
    p.batch.functions.append([f'inline T{name}::T{name}() {{', f'    if (++number_{name} == 3)', '        throw 6;', '    block = NULL;', '}', ''])
    p.batch.functions.append([f'inline T{name}::~T{name}() {{', '    KEEP(block);', f'    number_{name} += 100;', '}', ''])
    p.leaf(name, [f'number_{name} = 0;', 'bool caught = false;', 'try {', f'    keep(new T{name}[hide({count})]); {p.mark(site)}', '} catch (int) {',
                  '    caught = true;', '}', f'CHECK(caught && number_{name} == 203);'])
    p.pairs(site, 8 + 8 * count, 1, temporary=None)


@action(weight=2, cpp=True, once=True, starts=True)
def through_a_library(p):
    """Out of a function that a library of C calls back."""
    name, inner, thrower, size = p.name('catches_behind'), p.name('calls_back'), p.name('throws_behind'), p.size()
    make = p.maker(size)
    site = p.site(make.via, thrower, inner, name)
    handle = f'handle_{inner}'
    p.batch.library().append([f'void {inner}(void (*call)(void));', f'__attribute__((visibility("default"))) APART void {inner}(void (*call)(void)) {{',
                              '    call();', '    KEEP(call);', '}', ''])
    p.declare(f'static void *held_{name}, *{handle};')
    p.define(f'void {thrower}(void)', [f'held_{name} = clear({make.text}, {size}); {p.mark(site)}', 'throw 5;'])
    p.leaf(name, [f'{handle} = dlopen(library_path, RTLD_NOW);', f'CHECK({handle} != NULL);', 'int caught = 0;', 'try {',
                  f'    ((void (*)(void (*)(void)))dlsym({handle}, "{inner}"))({thrower});', '} catch (int value) {', '    caught = value;', '}',
                  'CHECK(caught == 5);', f'{make.release}(held_{name});', f'held_{name} = NULL;'])
    p.life.opened += 1
    p.life.old_words = True
    p.pairs(site, size, 1, temporary=None)
    p.keep_for_later(lambda p: libraries.close_library(p, handle), in_child=False)
