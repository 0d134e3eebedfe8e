# SPDX-License-Identifier: BSD-2-Clause
"""Limits of the kernel that the program sets for itself: they mean what they mean untraced."""
from . import action


@action(weight=2, once=True, starts=False)
def address_space(p):
    """By its own size, or a fixed one: what fits is given, what does not is refused."""
    if p.life.origin != 'fork':
        return  # of a child only: all that comes after it would be under it
    name, size = p.name('limit'), 20 << 20
    site = p.site('malloc', name)
    # Each busy thread may reserve an arena (64 to 128 MiB), and the image takes a part.
    limit = f'own_size() + ((size_t){p.random.choice([1700, 1800, 1900])} << 20)'
    p.leaf(name, [f'set_limit(RLIMIT_AS, {limit});',
                  f'void *block = keep(malloc({size})); {p.mark(site)}',
                  'CHECK(block != NULL);',
                  'CHECK(keep(malloc((size_t)2 << 30)) == NULL);',
                  'free(block);'])
    p.pairs(site, size, 1, temporary=None)
    p.life.health.add('limit')
    p.life.has_limit = True


@action(weight=1, once=True)
def data(p):
    if p.life.origin != 'fork':
        return
    name = p.name('limit_data')
    p.leaf(name, ['set_limit(RLIMIT_DATA, (size_t)400 << 20);', 'CHECK(keep(malloc((size_t)1 << 30)) == NULL);'])


@action(weight=1, once=True)
def descriptors(p):
    """None is left: the program's own open fails, and nothing else changes."""
    if p.life.origin != 'fork' or p.life.has_free_files:
        return
    name = p.name('limit_files')
    p.leaf(name, ['set_limit(RLIMIT_NOFILE, 3);', 'CHECK(open("/dev/null", O_RDONLY) == -1 && errno == EMFILE);'])
    p.life.confine()
    p.life.looked_at = p.life.looked_at and None  # it takes a descriptor to ask for it
