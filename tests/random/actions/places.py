# SPDX-License-Identifier: BSD-2-Clause
"""Where the only address of a block can lie: in files that are mapped, in room that a function takes on its stack, in what libc or
the kernel keeps, in front of what the program has an address of."""
import model

from . import action
from .blocks import ALIGNED

MAPPED = [
    'int file = memfd_create("held", MFD_CLOEXEC); CHECK(ftruncate(file, {room}) == 0); '
    '{v} = (void **)mmap(NULL, {room}, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0); close(file);',
    'int file = memfd_create("copied", MFD_CLOEXEC); CHECK(ftruncate(file, {room}) == 0); '
    '{v} = (void **)mmap(NULL, {room}, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0); close(file);',
    'FILE *file = tmpfile(); CHECK(file && ftruncate(fileno(file), {room}) == 0); '
    '{v} = (void **)mmap(NULL, {room}, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0); fclose(file);',
    'int key = shmget(IPC_PRIVATE, {room}, 0600); CHECK(key >= 0); {v} = (void **)shmat(key, NULL, 0); '
    'CHECK(shmctl(key, IPC_RMID, NULL) == 0);',
    'int file = open("/dev/zero", O_RDWR | O_CLOEXEC); {v} = (void **)mmap(NULL, {room}, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0); '
    'close(file);',
]


@action(weight=3, once=True)
def in_a_mapped_file(p):
    """Of a file, of shared memory: by one view, or by a second one when the first is gone."""
    if not p.life.follows:
        return
    name, size, count = p.name('maps_file'), p.size(), p.random.randint(1, 12)
    make = p.maker(size)
    site = p.site(make.via, name)
    variable, room = f'g{name}', 4096 * p.random.randint(1, 30)
    p.declare(f'static void **{variable};')
    how = p.random.choice(MAPPED)
    twice = 'memfd' in how and 'MAP_SHARED' in how and p.random.random() < 0.5
    lines = [how.format(v=variable, room=room) if not twice else how.format(v=variable, room=room).replace('close(file);', '')]
    lines += [f'CHECK({variable} != MAP_FAILED);', f'for (int i = 0; i < {count}; i++)', f'    {variable}[i * 2] = clear({make.text}, {size}); {p.mark(site)}']
    if twice:
        lines += [f'void **second = (void **)mmap(NULL, {room}, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);',
                  f'CHECK(second != MAP_FAILED && munmap({variable}, {room}) == 0);', f'{variable} = second;', 'close(file);']
    p.leaf(name, lines)
    p.life.old_words = p.life.old_words or 'tmpfile' in how
    group = p.allocate(site, size, count, model.held())

    def unmap(p):
        unmap = p.name('unmaps_file')
        p.leaf(unmap, [f'CHECK({"shmdt" if "shmat" in how else "munmap"}({variable}{"" if "shmat" in how else f", {room}"}) == 0);', f'{variable} = NULL;'])
        p.life.groups[group].tie = model.lost()
        p.life.maybe = True

    p.keep_for_later(unmap)


@action(weight=2, once=True)
def in_a_sparse_mapping(p):
    """A reservation of gigabytes, of which the program has touched two pages."""
    if p.life.origin == 'fork' or p.life.has_limit:
        return  # it may get a limit
    name, size = p.name('reserves'), p.size()
    make = p.maker(size)
    site = p.site(make.via, name)
    variable, at = f'g{name}', p.random.randrange(8, 3 << 30, 8)
    p.declare(f'static char *{variable};')
    p.leaf(name, [f'{variable} = (char *)mmap(NULL, (size_t)3 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);',
                  f'CHECK({variable} != MAP_FAILED);',
                  f'CHECK(mprotect({variable} + ({at}l & ~4095l), 4096, PROT_READ | PROT_WRITE) == 0);',
                  f'*(void **)({variable} + {at}l) = clear({make.text}, {size}); {p.mark(site)}'])
    p.allocate(site, size, 1, model.held())


@action(weight=2, once=True)
def in_room_of_a_frame(p):
    """alloca: how much is known at run time."""
    name, size, count = p.name('for_room'), p.size(), p.random.randint(1, 300)
    make = p.maker(size)
    site = p.site(make.via, name)
    p.define(f'void {name}(void **to)', [f'*to = clear({make.text}, {size}); {p.mark(site)}'])
    variable = f'room_{name}'
    p.line(f'void **volatile {variable} = (void **)__builtin_alloca(hide({count} * 8));')
    p.line(f'memset((void *){variable}, 0, {count} * 8);')
    p.line(f'{name}({variable} + {p.random.randrange(count)});')
    p.line('scrub();')
    p.bodies[-1].last.append(f'KEEP({variable});')
    p.allocate(site, size, 1, model.of_frame(p.bodies[-1].name))


@action(weight=2, once=True)
def in_the_environment(p):
    """putenv takes the program's own block."""
    name, size = p.name('puts'), p.size(40)
    site = p.site('malloc', name)
    p.leaf(name, [f'char *text = (char *)clear(malloc({size}), {size}); {p.mark(site)}', f'strcpy(text, "{name}=x");', 'CHECK(putenv(text) == 0);'])
    group = p.allocate(site, size, 1, model.held())
    p.life.old_words = True

    def take_out(p):
        out = p.name('takes_out')
        free = p.random.random() < 0.5
        p.leaf(out, [f'char *text = getenv("{name}") - {len(name) + 1};', f'CHECK(unsetenv("{name}") == 0);', 'free(text);' if free else 'KEEP(text);'])
        if free:
            p.life.free(group)
        else:
            p.life.groups[group].tie = model.unknown()  # libc may have the old list of the environment

    p.keep_for_later(take_out)


@action(weight=2, once=True)
def as_a_buffer_of_stdio(p):
    """setvbuf takes the program's own block; libc's structure of the file holds it."""
    if not p.life.follows:
        return
    name, size = p.name('buffers'), p.size(128)
    make = p.maker(size)
    site = p.site(make.via, name)
    file = f'file_{name}'
    p.declare(f'static FILE *{file};')
    p.leaf(name, [f'{file} = fopen("/dev/null", "w");', f'CHECK({file} && setvbuf({file}, (char *)clear({make.text}, {size}), _IOFBF, {size}) == 0); {p.mark(site)}',
                  f'fputs("some words", {file});'])
    group = p.allocate(site, size, 1, model.held())
    p.life.old_words = True

    def close(p):
        close = p.name('closes')
        p.leaf(close, [f'fclose({file});', f'{file} = NULL;'])
        p.life.groups[group].tie = model.unknown()  # libc's structure is freed, and what it had may be read in free memory
        p.life.maybe = True

    p.keep_for_later(close)


@action(weight=2, once=True)
def argument_of_a_handler(p):
    """on_exit: libc has the address until the program leaves; the handler frees it."""
    name, handler, size = p.name('registers'), p.name('on_exit'), p.size()
    site = p.site('malloc', name)
    p.define(f'void {handler}(int code, void *block)', ['(void)code;', 'free(block);', 'scrub();'])
    p.leaf(name, [f'CHECK(on_exit({handler}, clear(malloc({size}), {size})) == 0); {p.mark(site)}'])
    group = p.allocate(site, size, 1, model.held())
    p.life.old_words = True
    p.at_exit.append(lambda life: life.free(group))


@action(weight=2, once=True)
def behind_a_header(p):
    """The program's own allocator puts a header in front. Where sixteen or more blocks have it the tool learns it (docs/scan.md)."""
    name, inner, size = p.name('heads'), p.name('headed'), p.size(160)
    learnt = p.random.random() < 0.5
    count, header = p.random.randint(20, 60) if learnt else p.random.randint(1, 12), p.random.choice([8, 16, 32, 64])
    make = p.maker(size)
    while make.via in ALIGNED:
        make = p.maker(size)
    site = p.site(make.via, inner, name)  # of one call, because a compiler may unroll the loop
    site.learnt = learnt
    variable = f'g{name}'
    p.declare(f'static char *{variable}[{count}];')
    p.define(f'char *{inner}(void)', [f'return (char *)clear({make.text}, {size}) + {header}; {p.mark(site)}'])
    p.leaf(name, [f'for (int i = 0; i < {count}; i++)', f'    {variable}[i] = {inner}();'])
    group = p.allocate(site, size, count, model.held(variable) if learnt else model.middle(variable))

    p.free_later('frees_headed', [f'for (int i = 0; i < {count}; i++) {{', f'    {make.release}({variable}[i] - {header});', f'    {variable}[i] = NULL;', '}'], group)


@action(weight=2, once=True)
def data_of_epoll(p):
    """The kernel gives it back when the descriptor is ready."""
    if not p.life.follows:
        return
    name, size = p.name('watches'), p.size()
    make = p.maker(size)
    site = p.site(make.via, name)
    files = f'files_{name}'
    p.declare(f'static int {files}[2];')
    p.leaf(name, [f'{files}[0] = epoll_create1(EPOLL_CLOEXEC);', f'{files}[1] = eventfd(1, EFD_CLOEXEC);', f'CHECK({files}[0] >= 0 && {files}[1] >= 0);',
                  'struct epoll_event event;', 'memset(&event, 0, sizeof(event));', 'event.events = EPOLLIN;',
                  f'event.data.ptr = clear({make.text}, {size}); {p.mark(site)}',
                  f'CHECK(epoll_ctl({files}[0], EPOLL_CTL_ADD, {files}[1], &event) == 0);', 'memset(&event, 0, sizeof(event));'])
    group = p.allocate(site, size, 1, model.held())
    p.needs_descriptors = True

    p.free_later('takes_event', ['struct epoll_event event;', f'CHECK(epoll_wait({files}[0], &event, 1, 0) == 1);', f'{make.release}(event.data.ptr);',
                                 'memset(&event, 0, sizeof(event));', f'close({files}[0]);', f'close({files}[1]);'], group, in_child=False)


@action(weight=2, once=True)
def value_of_a_timer(p):
    """The kernel would send it with the timer's signal; a child of fork has no timers."""
    name, size = p.name('sets_timer'), p.size()
    make = p.maker(size)
    site = p.site(make.via, name)
    timer = f'timer_{name}'
    p.declare(f'static timer_t {timer};')
    p.leaf(name, ['struct sigevent event;', 'memset(&event, 0, sizeof(event));', 'event.sigev_notify = SIGEV_SIGNAL;', 'event.sigev_signo = SIGRTMIN + 5;',
                  f'event.sigev_value.sival_ptr = clear({make.text}, {size}); {p.mark(site)}',
                  f'CHECK(timer_create(CLOCK_MONOTONIC, &event, &{timer}) == 0);', 'memset(&event, 0, sizeof(event));'])
    group = p.allocate(site, size, 1, model.of_thread())

    def delete(p):
        delete = p.name('deletes_timer')
        p.leaf(delete, [f'CHECK(timer_delete({timer}) == 0);', f'{timer} = 0;'])
        p.life.groups[group].tie = model.lost()
        p.life.maybe = True

    p.keep_for_later(delete, in_child=False)


@action(weight=2, once=True)
def in_a_second_base(p):
    """An object of two bases, of which the program has the second, and deletes it by that: the table of its functions tells whose it is."""
    if not p.cpp:
        return
    name = p.name('second_base')
    count = p.random.randint(1, 12)
    site = p.site('operator new', name)
    variable = f'g{name}'
    p.batch.declarations += [f'struct F{name} {{ virtual ~F{name}() {{}} long first[3] = {{}}; }};', f'struct B{name} {{ virtual ~B{name}() {{}} long second[3] = {{}}; }};',
                             f'struct D{name} : F{name}, B{name} {{ long own[5] = {{}}; }};']
    p.declare(f'static B{name} *{variable}[{count}];')
    p.leaf(name, [f'for (int i = 0; i < {count}; i++)', f'    {variable}[i] = new D{name}; {p.mark(site)}'])
    group = p.allocate(site, 104, count, model.held(variable))

    p.free_later('deletes', [f'for (auto &each : {variable}) {{', '    delete each;', '    each = NULL;', '}'], group)
