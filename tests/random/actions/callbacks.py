# SPDX-License-Identifier: BSD-2-Clause
"""Functions of the program that others call back: the loader while it has its lock, walks of libc, a stream of the program's own,
code that was made at run time."""
import platform

import model

from . import action

# The call, and the arguments and result of what it calls once. They open files: only where the program may.
CALLS = [
    ('bsearch(two, two, 1, sizeof(int), {f});', 'int', 'const void *a, const void *b', 'return 0;'),
    ('{{ size_t nr = 1; lfind(two, two, &nr, sizeof(int), {f}); }}', 'int', 'const void *a, const void *b', 'return 0;'),
    ('{{ static pthread_once_t once = PTHREAD_ONCE_INIT; CHECK(pthread_once(&once, {f}) == 0); CHECK(pthread_once(&once, {f}) == 0); }}', 'void', 'void', ''),
    ('CHECK(nftw("/usr", {f}, 2, FTW_PHYS) == 5);', 'int', 'const char *path, const struct stat *stat, int kind, struct FTW *where', 'return 5;'),
    ('{{ cookie_io_functions_t own = {{NULL, {f}, NULL, NULL}}; FILE *file = fopencookie(two, "w", own); CHECK(file); fputs(letters(), file); '
     'CHECK(fclose(file) == 0); }}', 'ssize_t', 'void *cookie, const char *text, size_t size', 'CHECK(size == 2000); return 2000;'),
]


@action(weight=3, once=True)
def called_back(p):
    """By libc; what the function makes is kept, or freed at once."""
    if not p.life.follows:
        return
    name, inner, size = p.name('is_called_back'), p.name('called_by_libc'), p.size()
    make = p.maker(size)
    kept, brief = p.site(make.via, inner, name), p.site(make.via, inner, name)
    call, result, arguments, end = p.random.choice(CALLS)
    variable = f'g{name}'
    p.declare(f'static void *{variable};')
    p.define(f'{result} {inner}({arguments})', [f'CHECK({variable} == NULL);', f'{make.release}(clear({make.text}, {size})); {p.mark(brief)}',
                                                f'{variable} = clear({make.text}, {size}); {p.mark(kept)}', end])
    p.leaf(name, ['static int two[2];', call.format(f=inner)])
    p.life.old_words = p.life.old_words or 'nftw' in call or 'cookie' in call  # libc's own blocks
    p.pairs(brief, size, 1)
    group = p.allocate(kept, size, 1, model.held(variable))

    p.free_later('free', [f'{make.release}({variable});', f'{variable} = NULL;'], group)


@action(weight=2, once=True)
def while_the_loader_is_locked(p):
    """dl_iterate_phdr: its function allocates, and waits for another thread that does."""
    name, inner, work, size = p.name('iterates'), p.name('iterated'), p.name('works_beside'), p.size()
    make = p.maker(size)
    site, other = p.site(make.via, inner, name), model.Site(p.batch.next_number(), make.via, [work])
    p.batch.sites.append(other)
    variable, count = f'g{name}', p.random.randint(0, 2)
    p.declare(f'static void *{variable};')
    p.define(f'void *{work}(void *unused)', [f'{make.release}(clear({make.text}, {size})); {p.mark(other)}', 'return unused;'])
    p.define(f'int {inner}(struct dl_phdr_info *info, size_t size, void *data)',
             [f'{variable} = clear({make.text}, {size}); {p.mark(site)}', f'run_threads({work}, {count});', 'return 5;'])
    p.leaf(name, [f'CHECK(dl_iterate_phdr({inner}, NULL) == 5);'])
    if count:
        p.pairs(other, size, count, temporary=None)
    p.allocate(site, size, 1, model.held(variable))


@action(weight=2)
def through_made_code(p):
    """The page is gone after the call, and other code comes to lie there."""
    if platform.machine() != 'x86_64':
        return
    name, inner, size, count = p.name('makes_code'), p.name('called_by_code'), p.size(), p.random.randint(1, 4)
    make = p.maker(size)
    site, brief = p.site(make.via, inner, name), p.site(make.via, inner, name)
    p.define(f'void {inner}(void)', [f'clear({make.text}, {size}); {p.mark(site)}', f'{make.release}(clear({make.text}, {size})); {p.mark(brief)}'])
    p.leaf(name, [f'for (int i = 0; i < {count}; i++)', f'    run_made_code({inner});'])
    p.allocate(site, size, count, model.lost())
    p.pairs(brief, size, count)
