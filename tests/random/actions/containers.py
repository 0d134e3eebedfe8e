# SPDX-License-Identifier: BSD-2-Clause
"""Containers and smart pointers of C++."""
import model

from . import action


@action(weight=3, cpp=True)
def vector(p):
    """Doubles its room as it grows; in the end it frees all."""
    name, count = p.name('vector'), p.random.randint(1, 200)
    site = p.site('operator new', name)
    p.leaf(name, ['std::vector<void *> v;', f'for (int i = 0; i < {count}; i++)', f'    v.push_back(NULL); {p.mark(site)}',
                  'KEEP(v.data());'])
    room = 1
    while True:
        p.pairs(site, 8 * room, 1, temporary=None)
        if room >= count:
            break
        room *= 2


@action(weight=2, cpp=True, once=True)
def vector_kept(p):
    name, item, count, size = p.name('keeps_vector'), p.name('item'), p.random.randint(1, 50), p.size()
    site, site_of_item = p.site('operator new', name), p.site('operator new[]', item, name)
    variable = f'g{name}'
    p.declare(f'static std::vector<char *> *{variable};')
    p.define(f'char *{item}(void)', [f'return (char *)clear(new char[hide({size})], {size}); {p.mark(site_of_item)}'])
    p.leaf(name, ['static char room[sizeof(std::vector<char *>)];', f'{variable} = new (room) std::vector<char *>;',
                  f'{variable}->reserve({count}); {p.mark(site)}', f'for (int i = 0; i < {count}; i++)',
                  f'    {variable}->push_back({item}());'])
    top = p.allocate(site, 8 * count, 1, model.held())
    rest = p.allocate(site_of_item, size, count, model.under(top))

    def destroy(p):
        destroy = p.name('destroy')
        each = p.random.random() < 0.5
        p.leaf(destroy, [f'for (char *each : *{variable})', '    delete[] each;' if each else '    KEEP(each);',
                         f'memset({variable}->data(), 0, {8 * count});',
                         f'{variable}->~vector();', f'memset((void *){variable}, 0, sizeof(*{variable}));'])
        p.life.free(top)
        if each:
            p.life.free(rest)
        else:
            p.life.groups[rest].tie = model.lost()

    p.keep_for_later(destroy)


@action(weight=2, cpp=True, once=True)
def shared(p):
    """make_shared puts object and counts into one block; a circle of two is lost."""
    name = p.name('shared')
    circle = p.random.random() < 0.5
    site = p.site('operator new', name)
    p.batch.declarations.append(f'struct S{name} {{ std::shared_ptr<S{name}> other; char more[100]; }};')
    p.leaf(name, [f'std::shared_ptr<S{name}> both[2];', 'for (auto &each : both)',
                  f'    each = std::make_shared<S{name}>(); {p.mark(site)}', 'both[0]->other = both[1];',
                  'both[1]->other = both[0];' if circle else ''])
    size = 16 + 16 + 104
    if circle:
        p.allocate(site, size, 2, model.ring())
    else:
        p.pairs(site, size, 2, temporary=None)


@action(weight=1, cpp=True, once=True)
def array_of_none(p):
    """new T[0] of a class with a destructor: the pointer is just past the count in front."""
    name = p.name('none')
    count = p.random.choice([0, 0, 1, 7])
    site = p.site('operator new[]', name)
    variable = f'g{name}'
    p.batch.declarations.append(f'struct D{name} {{ void *member; ~D{name}() {{ KEEP(member); }} }};')
    p.declare(f'static D{name} *{variable};')
    p.leaf(name, [f'{variable} = new D{name}[hide({count})]; {p.mark(site)}',
                  f'memset((void *){variable}, 0, {8 * count});'])
    p.allocate(site, 8 + 8 * count, 1, model.held(variable))


@action(weight=1, cpp=True)
def string(p):
    name, length = p.name('string'), p.random.randint(16, 300)
    site = p.site('operator new', name)
    site.by_library = None
    p.leaf(name, [f'std::string text(hide({length}), \'x\'); {p.mark(site)}', 'KEEP(text.data());'])
    p.pairs(site, length + 1, 1)


@action(weight=2, cpp=True)
def map_of_numbers(p):
    """A node for each."""
    name, count = p.name('map'), p.random.randint(1, 60)
    site = p.site('operator new', name)
    lose = p.random.random() < 0.4
    p.leaf(name, ['alignas(16) char room[sizeof(std::map<int, long>)];', 'auto *m = new (room) std::map<int, long>;',
                  f'for (int i = 0; i < {count}; i++)', f'    (*m)[i] = i; {p.mark(site)}',
                  'KEEP(m);' if lose else 'm->~map();'])
    if lose and p.times == 1:
        # Nodes lead to their parents: a ring, of which the root leads.
        p.allocate(site, 48, count, model.ring())
    elif lose:
        p.allocate(site, 48, count, model.unknown())
    else:
        p.pairs(site, 48, count, temporary=None)


@action(weight=2, cpp=True, once=True)
def global_object(p):
    """Its destructor frees when the program leaves by exit."""
    name, size = p.name('owner'), p.size()
    site = p.site('operator new[]', name)
    variable = f'g{name}'
    p.batch.declarations.append(f'struct O{name} {{ char *block; ~O{name}() {{ delete[] block; block = NULL; KEEP(this); }} }};')
    p.leaf(name, [f'static O{name} {variable};', f'KEEP(&{variable});',
                  f'{variable}.block = (char *)clear(new char[hide({size})], {size}); {p.mark(site)}'])
    group = p.allocate(site, size, 1, model.held())
    p.at_exit.append(lambda life: life.free(group))


@action(weight=1, cpp=True, once=True)
def global_object_that_leaks(p):
    """Its destructor makes a block and forgets it."""
    name, end, size = p.name('leaky'), p.name('leaky_end'), p.size()
    site = model.Site(p.batch.next_number(), 'operator new[]', [end])
    site.tail = True  # exit() may be called from anywhere
    p.batch.sites.append(site)
    p.batch.declarations += [f'APART static void {end}(void);', f'struct O{name} {{ int used; ~O{name}() {{ {end}(); }} }};']
    p.define(f'void {end}(void)', [f'clear(new char[hide({size})], {size}); {p.mark(site)}', 'scrub();'])
    p.leaf(name, [f'static O{name} object;', 'KEEP(&object);'])
    number = p.batch.next_number()
    p.at_exit.append(lambda life: life.allocate(number, site, size, 1, model.lost()))


@action(weight=2, cpp=True)
def over_aligned(p):
    """Objects and arrays of a class that is aligned to more than a block of malloc is."""
    name, align, count = p.name('over_aligned'), p.random.choice([32, 64, 256, 4096]), p.random.randint(1, 5)
    array = p.random.random() < 0.5
    site = p.site('operator new[]' if array else 'operator new', name)
    p.batch.declarations.append(f'struct alignas({align}) A{name} {{ char c[{align}]; }};')
    lose = p.random.random() < 0.4
    made = f'new A{name}[hide({count})]' if array else f'new A{name}'
    size = align * count if array else align
    p.leaf(name, [f'auto *block = (A{name} *)keep({made}); {p.mark(site)}', f'CHECK((uintptr_t)block % {align} == 0);',
                  f'clear(block, {size});', 'KEEP(block);' if lose else f'delete{"[]" if array else ""} block;'])
    if lose:
        p.allocate(site, size, 1, model.lost())
    else:
        p.pairs(site, size, 1)


@action(weight=1, cpp=True)
def memory_resource(p):
    """std::pmr: what goes through a pool is not known, what goes through the default resource is."""
    name, size = p.name('resource'), 64 * p.random.randint(1, 100)  # probes see it rounded up to the alignment
    site = p.site('operator new', name)
    site.by_library = None  # a compiler may know which resource it is
    lines = [f'void *block = clear(std::pmr::new_delete_resource()->allocate({size}, 64), {size}); {p.mark(site)}',
             f'std::pmr::new_delete_resource()->deallocate(block, {size}, 64);']
    if p.random.random() < 0.5:  # in a function of its own: without lines its calls would be taken for this one's
        pool = p.name('pool')
        p.define(f'void {pool}(void)', ['std::pmr::unsynchronized_pool_resource pool;', 'std::pmr::vector<std::pmr::string> texts(&pool);',
                                        f'for (int i = 0; i < {p.random.randint(1, 200)}; i++)', '    texts.emplace_back(letters());'])
        lines.append(f'{pool}();')
    p.leaf(name, lines)
    p.pairs(site, size, 1)


@action(weight=2, cpp=True)
def operators_of_a_class(p):
    """A class with operators of its own, which use another way; `::new` does not."""
    name, size = p.name('own_operators'), p.size()
    others = p.random.random() < 0.4
    site = p.site('operator new' if others else 'malloc', name)
    p.batch.declarations.append(f'struct C{name} {{ virtual ~C{name}() {{}} char room[{size}]; '
                                'APART static void *operator new(size_t size) { return malloc(size); } '
                                'APART static void operator delete(void *block, size_t) { free(block); } };')
    p.leaf(name, [f'auto *object = (C{name} *)keep({"::" if others else ""}new C{name}); {p.mark(site)}', f'{"::" if others else ""}delete object;'])
    p.pairs(site, (8 + size + 7) // 8 * 8, 1)


@action(weight=2, cpp=True, once=True)
def of_std_thread(p):
    """A lambda that holds a shared_ptr, joined."""
    name, size = p.name('std_thread'), p.size()
    make = p.maker(size)
    site = p.site(make.via, name)
    state = p.site('operator new', name)
    p.declare(f'static void *held_{name};')
    p.leaf(name, [f'held_{name} = clear({make.text}, {size}); {p.mark(site)}',
                  f'std::thread thread([] {{ {make.release}(held_{name}); held_{name} = NULL; }}); {p.mark(state)}', 'thread.join();'])
    p.pairs(site, size, 1, temporary=None)
    p.pairs(state, 16, 1, temporary=None)


OBJECTS = [  # of allocator {a}, or made by {make}: what is made, how many blocks of which size, for {n}
    ('std::vector<long, {a}<long>>', '{v}->reserve({n});', lambda n: (1, 8 * n)),
    ('std::list<long, {a}<long>>', 'for (int i = 0; i < {n}; i++) {v}->push_back(i);', lambda n: (n, 24)),
    ('std::map<int, long, std::less<int>, {a}<std::pair<const int, long>>>', 'for (int i = 0; i < {n}; i++) (*{v})[i] = i;', lambda n: (n, 48)),
    ('std::basic_string<char, std::char_traits<char>, {a}<char>>', '{v}->append(letters() + 2000 - {n} - 30);', lambda n: (1, n + 31)),
]


@action(weight=3, cpp=True, once=True)
def own_allocator(p):
    """A container with an allocator of the program's: a template, or a std::pmr::memory_resource."""
    name, take, count = p.name('with_allocator'), p.name('takes_for'), p.random.randint(1, 60)
    text, fill, blocks = p.random.choice(OBJECTS)
    nr, size = blocks(count)
    site = p.site('malloc', take, name)
    p.batch.declarations.append(f'APART static void *{take}(size_t size);')
    p.define(f'void *{take}(size_t size)', ['return clear(malloc(size), size); ' + p.mark(site)])
    by_resource = p.random.random() < 0.5
    if by_resource:
        p.batch.declarations += [
            f'struct R{name} : std::pmr::memory_resource {{ void *do_allocate(size_t size, size_t) override {{ return {take}(size); }} '
            'void do_deallocate(void *block, size_t, size_t) override { free(block); } '
            'bool do_is_equal(const std::pmr::memory_resource &) const noexcept override { return true; } };', f'static R{name} resource_{name};']
    else:
        p.batch.declarations.append(
            f'template <class T> struct A{name} {{ typedef T value_type; A{name}() {{}} template <class U> A{name}(const A{name}<U> &) {{}} '
            f'T *allocate(size_t nr) {{ return (T *){take}(nr * sizeof(T)); }} void deallocate(T *block, size_t) {{ free(block); }} '
            f'template <class U> bool operator==(const A{name}<U> &) const {{ return true; }} '
            f'template <class U> bool operator!=(const A{name}<U> &) const {{ return false; }} }};')
    kind, variable = text.format(a='std::pmr::polymorphic_allocator' if by_resource else f'A{name}'), f'g{name}'
    p.batch.declarations.append(f'typedef {kind} C{name};')
    p.declare(f'static C{name} *{variable};')
    p.leaf(name, [f'alignas(16) static char room[sizeof(C{name})];', f'{variable} = new (room) C{name}{f"(&resource_{name})" if by_resource else ""};',
                  fill.format(v=variable, n=count)])
    group = p.allocate(site, size, nr, model.held())

    p.free_later('destroys', [f'{variable}->~C{name}();', f'memset((void *){variable}, 0, sizeof(*{variable}));'], group)


@action(weight=2, cpp=True)
def sized_delete(p):
    """The forms of delete that get the size, the alignment, or std::nothrow."""
    name, array, align = p.name('sized'), p.random.choice(['', '[]']), p.random.choice([0, 0, 32, 512])
    size = align * p.random.randint(1, 9) if align else p.size()
    quiet = p.random.random() < 0.3
    site = p.site(f'operator new{array}', name)
    more = f', std::align_val_t({align})' if align else ''
    p.leaf(name, [f'void *block = clear(operator new{array}({size}{more}{", std::nothrow" if quiet else ""}), {size}); {p.mark(site)}',
                  f'operator delete{array}(block{"" if quiet else f", (size_t){size}"}{more}{", std::nothrow" if quiet else ""});'])
    p.pairs(site, size, 1)
