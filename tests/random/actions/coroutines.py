# SPDX-License-Identifier: BSD-2-Clause
"""Coroutines with stacks of their own: one that ends, and one that waits and holds."""
import model

from . import action, fill


@action(weight=2, nests=True, once=True)
def that_ends(p):
    with p.body('coroutine', entry=True) as body:
        fill(p, 1, 3)
    p.line(f'run_coroutine({body.name});')
    p.line('scrub();')


@action(weight=2, once=True)
def that_waits(p):
    """On a mapped stack: what its variable holds is held."""
    name, size = p.name('suspended'), p.size()
    make = p.maker(size)
    number, maker = p.batch.next_number(), p.name('made_in_coroutine')
    site = model.Site(number, make.via, [maker, name])
    p.batch.sites.append(site)
    p.declare(f'static struct coroutine c{name};')
    p.define(f'void {maker}(void *volatile *to)', [f'*to = clear({make.text}, {size}); {p.mark(site)}'])
    p.define(f'void {name}(void)', ['void *volatile mine = NULL;', f'{maker}(&mine);', 'scrub();',
                                    f'leave_coroutine(&c{name});', f'{make.release}(mine);'])
    p.line(f'start_coroutine(&c{name}, {name});')
    p.line('scrub();')
    group = p.allocate(site, size, 1, model.held())

    def resume(p):
        p.line(f'resume_coroutine(&c{name});')
        p.line('scrub();')
        p.life.free(group)

    p.keep_for_later(resume)
