# SPDX-License-Identifier: BSD-2-Clause
"""Handlers of signals that allocate: raised, on a stack of their own, left by siglongjmp, and of a bad access."""
import model

from . import action, fill


@action(weight=3, once=True, nests=True)
def handler(p):
    signal, stack = p.random.choice(['SIGUSR1', 'SIGUSR2', 'SIGRTMIN']), p.random.random() < 0.4
    with p.body('handler', arguments='int signal') as body:
        body.lines.append('(void)signal;')
        fill(p, 1, 2)
    p.line(f'{"raise_on_own_stack" if stack else "raise_here"}({signal}, {body.name});')
    p.line('scrub();')


@action(weight=2, once=True, nests=True)
def jumps_out(p):
    """Out of the handler of a bad access, or of a raised signal."""
    with p.body('jumping', arguments='int signal') as body:
        body.lines.append('(void)signal;')
        fill(p, 1, 2)
        body.last.append('jump_back();')
    p.line(f'{p.random.choice(["fault_and_jump", "raise_and_jump"])}({body.name});')
    p.line('scrub();')


@action(weight=1)
def long_jump(p):
    """Out of a function that has allocated."""
    name, inner, size = p.name('jump'), p.name('jumps'), p.size()
    make = p.maker(size)
    site = p.site(make.via, inner, name)
    p.define(f'void {inner}(jmp_buf back, void *volatile *to)',
             [f'*to = clear({make.text}, {size}); {p.mark(site)}', 'longjmp(back, 5);'])
    p.leaf(name, ['jmp_buf back;', 'void *volatile block = NULL;', 'int came = setjmp(back);', 'if (!came)',
                  f'    {inner}(back, &block);', 'CHECK(came == 5);', f'{make.release}(block);'])
    p.pairs(site, size, 1)


@action(weight=1)
def jump_out_of_nest(p):
    """Over several frames, each of which has made a block and has room of a size that is known at run time."""
    name, inner, size, depth = p.name('nest'), p.name('nested'), p.size(), p.random.randint(1, 12)
    make = p.maker(size)
    number = p.batch.next_number()
    p.define(f'void {inner}(jmp_buf back, void *volatile *to, int depth)',
             ['volatile char room[hide(100) + 50 * depth];', 'room[0] = 1;',
              f'to[depth] = clear({make.text}, {size}); /*@{number}*/', 'if (depth == 0)', '    longjmp(back, 7);',
              f'{inner}(back, to, depth - 1);', 'room[1] = room[0];'])
    for level in range(depth + 1):
        site = model.Site(number, make.via, [*[inner] * (level + 1), name, *p.bodies[-1].path])
        p.batch.sites.append(site)
        p.pairs(site, size, 1, temporary=None)
    p.leaf(name, ['jmp_buf back;', f'void *volatile blocks[{depth + 1}] = {{NULL}};', 'int came = setjmp(back);', 'if (!came)',
                  f'    {inner}(back, blocks, {depth});', 'CHECK(came == 7);', f'for (int i = 0; i <= {depth}; i++) {{',
                  f'    {make.release}(blocks[i]);', '    blocks[i] = NULL;', '}'])


@action(weight=1, nests=True)
def compared(p):
    """Called back by qsort."""
    with p.body('compare', result='int', arguments='const void *a, const void *b', times=1) as body:
        fill(p, 1, 2)
        body.last.append('return *(const int *)a - *(const int *)b;')
    p.line(f'{{ int two[2] = {{2, 1}}; qsort(two, 2, sizeof(int), {body.name}); CHECK(two[0] == 1); }}')
    p.line('scrub();')


@action(weight=2, nests=True)
def loop(p):
    """Several times the same."""
    times = p.random.randint(2, 5)
    with p.body('loop', times=times) as body:
        fill(p, 1, 3)
    p.line(f'for (int i = 0; i < {times}; i++)')
    p.line(f'    {body.name}();')
    p.line('scrub();')


@action(weight=2, nests=True)
def called(p):
    """By another function, with some room on the stack."""
    with p.body('called') as body:
        p.line(f'volatile char room[{p.random.choice([8, 100, 5000, 100000])}];')
        p.line('room[0] = 1;')
        fill(p, 1, 3)
    p.line(f'{body.name}();')
    p.line('scrub();')


@action(weight=1, once=True)
def ticking(p):
    """A timer from here on, whose handler does nothing but interrupt."""
    name = p.name('tick')
    p.define(f'void {name}(int signal)', ['(void)signal;'])
    p.life.ticks = True
    p.line(f'tick({name}, {p.random.choice([200, 1000, 5000])});')


@action(weight=1, once=True)
def maps_in_a_handler(p):
    """A timer from here on, whose handler maps and unmaps, at whatever moment it comes."""
    name = p.name('tick')
    p.define(f'void {name}(int signal)', [
        '(void)signal;', 'int before = errno;', 'void *room = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);',
        'if (room != MAP_FAILED)', '    munmap(room, 8192);', 'errno = before;'])
    p.life.ticks = p.life.maps_at_any_time = p.life.maybe = p.life.may_be_cut = True  # clone() of libc has no rows around its system call
    p.life.health |= {'reentered', 'no_thread'}  # in the midst of a hook, or of the search for a slot
    p.life.busy = p.life.busy | {model.Site(p.batch.next_number(), 'mmap', [name])}
    p.line(f'tick({name}, {p.random.choice([200, 1000, 5000])});')
