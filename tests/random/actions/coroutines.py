# SPDX-License-Identifier: BSD-2-Clause
"""Coroutines with stacks of their own: one that ends, and one that waits and holds."""
import platform

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


@action(weight=2, once=True)
def on_a_block(p):
    """Its stack is a block; what its variable holds is held while a variable holds that."""
    name, size, room = p.name('on_block'), p.size(), p.random.choice([65536, 200000, 400000])
    make = p.maker(size)
    maker = p.name('made_on_block')
    site = model.Site(p.batch.next_number(), make.via, [maker, name])
    start = p.name('starts_on_block')
    site_of_stack = p.site('malloc', start)
    p.batch.sites.append(site)
    p.declare(f'static struct coroutine c{name};')
    p.declare(f'static void *s{name};')
    p.define(f'void {maker}(void *volatile *to)', [f'*to = clear({make.text}, {size}); {p.mark(site)}'])
    p.define(f'void {name}(void)', ['void *volatile mine = NULL;', f'{maker}(&mine);', 'scrub_little();', f'leave_coroutine(&c{name});',
                                    f'{make.release}(mine);', 'mine = NULL;'])
    p.leaf(start, [f's{name} = clear(malloc({room}), {room}); {p.mark(site_of_stack)}',
                   f'start_coroutine_on(&c{name}, {name}, s{name}, {room});'])
    top = p.allocate(site_of_stack, room, 1, model.held())
    group = p.allocate(site, size, 1, model.held())
    thread = p.random.random() < 0.5

    def resume(p):
        resume = p.name('resume')
        lines = [f'CHECK(swapcontext(&c{name}.back, &c{name}.here) == 0);', f'memset(s{name}, 0, {room});', f'free(s{name});',
                 f's{name} = NULL;', f'memset(&c{name}, 0, sizeof(c{name}));']
        if thread:  # it goes on in another thread than it began in
            p.define(f'void *{resume}(void *unused)', [*lines, 'return unused;'])
            p.line(f'run_thread({resume});')
        else:
            p.leaf(resume, lines)
        p.life.free(group)
        p.life.free(top)

    p.keep_for_later(resume)


@action(weight=2, once=True)
def of_own_assembly(p):
    """One that waits, and is left for good later."""
    if platform.machine() != 'x86_64':
        return
    name, size = p.name('bare'), p.size()
    make = p.maker(size)
    maker = p.name('made_in_bare')
    site, again = model.Site(p.batch.next_number(), make.via, [maker, name]), model.Site(p.batch.next_number(), 'malloc', [maker, name])
    for one in (site, again):
        p.batch.sites.append(one)
    p.declare(f'static struct bare c{name};')
    p.declare(f'static void *s{name};')
    p.define(f'void {maker}(void *volatile *to)', [f'free(clear(malloc({size + 1}), {size + 1})); {p.mark(again)}',
                                                   f'*to = clear({make.text}, {size}); {p.mark(site)}'])
    p.define(f'void {name}(void)', ['void *volatile mine = NULL;', f'{maker}(&mine);', 'scrub();',
                                    f'bare_switch(&c{name}.here, &c{name}.back);', f'{make.release}(mine);', 'mine = NULL;',
                                    f'bare_switch(&c{name}.here, &c{name}.back);', '__builtin_trap();'])
    start = p.name('starts_bare')
    p.leaf(start, [f's{name} = bare_stack(&c{name}, {name});', f'bare_switch(&c{name}.back, &c{name}.here);'])
    p.pairs(again, size + 1, 1)
    group = p.allocate(site, size, 1, model.held())

    p.free_later('resume', [f'bare_switch(&c{name}.back, &c{name}.here);', f'CHECK(munmap(s{name}, 1 << 19) == 0);'], group)
