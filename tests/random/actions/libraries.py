# SPDX-License-Identifier: BSD-2-Clause
"""A library that is loaded while the program runs, allocates, holds, and is closed again."""
import model

from . import action


def close_library(p, handle):
    close = p.name('close')
    p.leaf(close, [f'CHECK(dlclose({handle}) == 0);', f'{handle} = NULL;'])
    p.life.opened -= 1
    p.life.dangling = True
    if not p.life.opened:  # it was opened as often: now it is gone
        while p.life.library_handlers:
            effect = p.life.library_handlers.pop()
            p.at_exit.remove(effect)
            effect(p.life)
        for number in p.life.in_library:
            if number in p.life.groups:  # what of a thread was the library's is freed when the thread asks for another
                p.life.groups[number].tie = model.unknown() if p.life.groups[number].tie.thread else model.lost()
        p.life.in_library = []


@action(weight=3, once=True, starts=True)
def loaded(p):
    """Its variable holds while it is loaded; what it made is known by name when it is closed again.

    Not RTLD_GLOBAL: closed, the loader's list of such libraries keeps its old address, where other blocks come to lie.
    """
    inner, size, count = p.name('of_library'), p.size(), p.random.randint(1, 9)
    caller = p.name('calls_library')
    site = p.site('malloc', inner, caller)
    library = p.batch.library()
    variable = f'g{inner}'
    library.append([f'__attribute__((used)) static void *{variable}[{count}];',
                    f'void {inner}(void);',
                    f'__attribute__((visibility("default"))) APART void {inner}(void) {{',
                    f'    for (int i = 0; i < {count}; i++)',
                    f'        {variable}[i] = clear(malloc({size}), {size}); {p.mark(site)}', '}', ''])
    handle = f'handle_{inner}'
    p.declare(f'static void *{handle};')
    p.leaf(caller, [f'{handle} = dlopen(library_path, {p.random.choice(["RTLD_NOW", "RTLD_LAZY"])});',
                    f'CHECK({handle} != NULL);',
                    f'((void (*)(void))dlsym({handle}, "{inner}"))();'])
    group = p.allocate(site, size, count, model.held(variable))
    p.life.opened += 1
    p.life.old_words = True  # the loader's own list of what is loaded
    p.life.in_library.append(group)

    def close(p):
        close_library(p, handle)

    p.keep_for_later(close, in_child=False)


@action(weight=1, once=True, starts=True)
def in_a_namespace(p):
    """By dlmopen, with a C library of its own: what it allocates is seen by probes only. It is never closed."""
    inner, size, count = p.name('of_namespace'), p.size(), p.random.randint(1, 9)
    caller = p.name('calls_namespace')
    site = p.site('malloc', inner, caller)
    site.probes_only = True
    p.batch.library().append([f'void {inner}(void);', f'__attribute__((visibility("default"))) APART void {inner}(void) {{',
                              f'    for (int i = 0; i < {count}; i++)',
                              f'        free(clear(malloc({size}), {size})); {p.mark(site)}', '}', ''])
    p.leaf(caller, ['void *handle = dlmopen(LM_ID_NEWLM, library_path, RTLD_NOW);', 'CHECK(handle != NULL);',
                    f'((void (*)(void))dlsym(handle, "{inner}"))();'])
    p.life.old_words = True
    p.pairs(site, size, count)


@action(weight=2, once=True, starts=True)
def with_a_handler(p):
    """A library registers a handler by atexit: it is called when the library is closed, or when the program leaves."""
    inner, end, size = p.name('registers'), p.name('library_ends'), p.size()
    caller = p.name('calls_registers')
    site = p.site('malloc', inner, caller)
    brief = model.Site(p.batch.next_number(), 'malloc', [end])
    brief.tail = True
    p.batch.sites.append(brief)
    variable, handle = f'g{inner}', f'handle_{inner}'
    p.batch.library().append([f'__attribute__((used)) static void *{variable};', f'APART static void {end}(void) {{',
                              f'    free({variable});', f'    {variable} = NULL;', f'    free(clear(malloc({size + 1}), {size + 1})); {p.mark(brief)}', '}',
                              f'void {inner}(void);', f'__attribute__((visibility("default"))) APART void {inner}(void) {{',
                              f'    {variable} = clear(malloc({size}), {size}); {p.mark(site)}', f'    CHECK(atexit({end}) == 0);', '}', ''])
    p.declare(f'static void *{handle};')
    p.leaf(caller, [f'{handle} = dlopen(library_path, RTLD_NOW);', f'CHECK({handle} != NULL);', f'((void (*)(void))dlsym({handle}, "{inner}"))();'])
    group = p.allocate(site, size, 1, model.held(variable))
    number = p.batch.next_number()
    p.life.old_words = True
    p.life.opened += 1

    def effect(life):
        life.free(group)
        life.allocate(number, brief, size + 1, 1, model.lost())
        life.free(number, temporary=True)

    p.at_exit.append(effect)
    p.life.library_handlers = [*p.life.library_handlers, effect]

    def close(p):
        close_library(p, handle)

    p.keep_for_later(close, in_child=False)


@action(weight=2, once=True, starts=True)
def in_storage_of_a_thread(p):
    """A variable of the library that each thread has one of; the loader allocates it when the thread first asks for it."""
    if p.of_this_thread != p.active:
        return  # of the first thread, because it ends with its thread
    inner, size = p.name('of_storage'), p.size()
    caller = p.name('calls_storage')
    site = p.site('malloc', inner, caller)
    variable, handle = f't{inner}', f'handle_{inner}'
    p.batch.library().append([f'__attribute__((used)) static __thread void *{variable}[{p.random.choice([1, 30, 1000])}];', f'void {inner}(void);',
                              f'__attribute__((visibility("default"))) APART void {inner}(void) {{',
                              f'    {variable}[0] = clear(malloc({size}), {size}); {p.mark(site)}', '}', ''])
    p.declare(f'static void *{handle};')
    p.leaf(caller, [f'{handle} = dlopen(library_path, RTLD_NOW);', f'CHECK({handle} != NULL);', f'((void (*)(void))dlsym({handle}, "{inner}"))();'])
    group = p.allocate(site, size, 1, model.of_thread())
    p.life.opened += 1
    p.life.old_words = True
    p.life.in_library.append(group)
    p.keep_for_later(lambda p: close_library(p, handle), in_child=False)
