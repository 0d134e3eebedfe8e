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


@action(weight=2, cpp=True, once=True)
def of_the_language(p):
    """C++20: the frame is a block, of which the handle is the start; a local variable in it holds another one."""
    if not p.batch.cpp20:
        return
    name, work, frame, made = p.name('starts'), p.name('works'), p.name('frame'), p.name('local')
    size, room = p.size(), 1024
    site, inner = p.site('operator new', frame, work, name), p.site('malloc', made, work, name)
    variable, task = f'g{name}', f'T{name}'
    p.batch.declarations += [f'APART static void *{frame}(size_t size);', f'''struct {task} {{
    struct promise_type {{
        void *operator new(size_t size) {{ return {frame}(size); }}
        void operator delete(void *block) {{ ::operator delete(block); }}
        {task} get_return_object() {{ return {{std::coroutine_handle<promise_type>::from_promise(*this)}}; }}
        std::suspend_always initial_suspend() {{ return {{}}; }}
        std::suspend_always final_suspend() noexcept {{ return {{}}; }}
        void return_void() {{}}
        void unhandled_exception() {{}}
    }};
    std::coroutine_handle<promise_type> handle;
}};''']
    p.declare(f'static void *{variable};')
    p.define(f'void *{frame}(size_t size)', [f'CHECK(size <= {room});',
                                            f'return clear(operator new({room}), {room}); {p.mark(site)}'])
    p.define(f'void *{made}(void)', [f'return clear(malloc({size}), {size}); {p.mark(inner)}'])
    p.define(f'{task} {work}(int number)', [f'void *volatile mine = {made}();', 'KEEP(number);',
                                            'co_await std::suspend_always{};', 'free(mine);'])
    ends = p.random.choice(['held', 'lost', 'to the end'])
    p.leaf(name, [f'void *address = keep({work}(1).handle.address());',
                  f'auto handle = std::coroutine_handle<{task}::promise_type>::from_address(address);', 'handle.resume();',
                  {'held': f'{variable} = address;', 'lost': '',
                   'to the end': 'handle.resume(); CHECK(handle.done()); handle.destroy();'}[ends]])
    if ends == 'to the end':
        p.pairs(site, room, 1, temporary=None)
        p.pairs(inner, size, 1)
        return
    top = p.allocate(site, room, 1, model.held(variable) if ends == 'held' else model.lost())
    rest = p.allocate(inner, size, 1, model.under(top))

    def resume(p):
        resume = p.name('resume')
        p.leaf(resume, [f'auto handle = std::coroutine_handle<{task}::promise_type>::from_address({variable});',
                        'handle.resume();', 'CHECK(handle.done());', 'handle.destroy();', f'{variable} = NULL;'])
        p.life.free(rest)
        p.life.free(top)

    if ends == 'held':
        p.keep_for_later(resume)
