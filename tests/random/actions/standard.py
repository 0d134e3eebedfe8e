# SPDX-License-Identifier: BSD-2-Clause
"""More of the standard library of C++: shared_ptr that points elsewhere, weak_ptr, futures, functions, lists, streams."""
import model

from . import action


@action(weight=2, cpp=True, once=True)
def aliasing(p):
    """A shared_ptr to a member of what it owns: it leads to the counts, and those to the object."""
    name, together = p.name('aliases'), p.random.random() < 0.5
    variable = f'g{name}'
    p.batch.declarations.append(f'struct W{name} {{ char before[72]; int member; char behind[52]; }};')
    p.declare(f'static std::shared_ptr<int> *{variable};')
    site, counts = p.site('operator new', name), p.site('operator new', name)
    owner = f'auto owner = std::make_shared<W{name}>(); {p.mark(site)}' if together else \
        f'auto *object = new W{name}(); {p.mark(site)}'
    p.leaf(name, ['static char room[sizeof(std::shared_ptr<int>)];', owner, '' if together else f'std::shared_ptr<W{name}> owner(object); {p.mark(counts)}',
                  f'{variable} = new (room) std::shared_ptr<int>(owner, &owner->member);', '' if together else 'object = NULL;'])
    groups = [p.allocate(site, 16 + 128 if together else 128, 1, model.held())]
    if not together:
        groups.append(p.allocate(counts, 24, 1, model.held()))

    def drop(p):
        drop = p.name('drops_alias')
        p.leaf(drop, [f'{variable}->reset();'])
        for group in groups:
            p.life.free(group)

    p.keep_for_later(drop)


@action(weight=2, cpp=True, once=True)
def weak(p):
    """Only a weak_ptr is left: the object is gone, and the block with the counts stays."""
    name, together = p.name('weak'), p.random.random() < 0.5
    variable = f'g{name}'
    p.batch.declarations.append(f'struct W{name} {{ char room[128]; }};')
    p.declare(f'static std::weak_ptr<W{name}> *{variable};')
    site, counts = p.site('operator new', name), p.site('operator new', name)
    p.leaf(name, [f'static char room[sizeof(std::weak_ptr<W{name}>)];',
                  f'auto owner = std::make_shared<W{name}>(); {p.mark(site)}' if together else f'auto *object = new W{name}(); {p.mark(site)}',
                  '' if together else f'std::shared_ptr<W{name}> owner(object); {p.mark(counts)}',
                  f'{variable} = new (room) std::weak_ptr<W{name}>(owner);', 'owner.reset();', f'CHECK({variable}->expired());'])
    if together:
        group = p.allocate(site, 16 + 128, 1, model.held())
    else:
        p.pairs(site, 128, 1, temporary=None)
        group = p.allocate(counts, 24, 1, model.held())
        p.life.dangling = True  # the weak_ptr keeps the address of the object

    p.free_later('drops_weak', [f'{variable}->reset();'], group)


@action(weight=2, cpp=True, once=True)
def asynchronous(p):
    """std::async and a future; the function makes a block for the one who waits."""
    name, work, size = p.name('awaits'), p.name('works_async'), p.size()
    deferred = p.random.random() < 0.3
    make = p.maker(size)
    site = model.Site(p.batch.next_number(), make.via, [work, *([name, *p.bodies[-1].path] if deferred else [])])
    own = p.site('operator new', name)
    own.uncounted = True
    p.batch.sites.append(site)
    p.define(f'void *{work}(int unused)', [f'return clear({make.text}, {size}); {p.mark(site)}'])
    p.leaf(name, ['void *block = NULL;', f'{{ auto future = std::async(std::launch::{"deferred" if deferred else "async"}, {work}, 5); block = future.get(); }} {p.mark(own)}',
                  f'{make.release}(block);', 'block = NULL;'])
    p.life.old_words = True
    p.pairs(own, 1, 1, temporary=None)
    p.pairs(site, size, 1, temporary=None)


@action(weight=2, cpp=True, once=True)
def promised(p):
    """A promise that a thread keeps, or breaks."""
    name, thread, size = p.name('promises'), p.name('fulfils'), p.size()
    breaks = p.random.random() < 0.3
    make = p.maker(size)
    own, site = p.site('operator new', name), model.Site(p.batch.next_number(), make.via, [thread])
    text = model.Site(p.batch.next_number(), 'operator new', [thread])  # of the exception
    own.uncounted = text.uncounted = True
    p.batch.sites += [site, text]
    p.declare(f'static std::promise<void *> *promise_{name};')
    p.define(f'void *{thread}(void *unused)',
             ['{ std::promise<void *> mine(std::move(*promise_' + name + '));', f'  void *block = clear({make.text}, {size}); {p.mark(site)}',
              f'  {make.release}(block); }}' + p.mark(text) if breaks else '  mine.set_value(block); }' + p.mark(text), 'return unused;'])
    p.leaf(name, [f'{{ std::promise<void *> promise; promise_{name} = &promise; auto future = promise.get_future(); {p.mark(own)}',
                  f'run_thread({thread});', 'bool broken = false; void *block = NULL;',
                  'try { block = future.get(); } catch (const std::future_error &) { broken = true; }',
                  f'CHECK(broken == {str(breaks).lower()});', '' if breaks else f'{make.release}(block);', f'promise_{name} = NULL; }}'])
    p.life.old_words = True
    p.pairs(own, 1, 1, temporary=None)
    p.pairs(text, 1, 1, temporary=None)
    p.pairs(site, size, 1, temporary=None)


@action(weight=2, cpp=True, once=True)
def function_object(p):
    """std::function of more than fits into it: a block of its own, which holds another one."""
    name, size, room = p.name('functions'), p.size(), 8 * p.random.randint(3, 30)
    make = p.maker(size)
    inner, site = p.site(make.via, name), p.site('operator new', name)
    variable = f'g{name}'
    p.batch.declarations.append(f'struct F{name} {{ void *block; char room[{room}]; void operator()() const {{ KEEP(block); }} }};')
    p.declare(f'static std::function<void()> *{variable};')
    p.leaf(name, ['static char place[sizeof(std::function<void()>)];', f'F{name} object = {{clear({make.text}, {size}), {{}}}}; {p.mark(inner)}',
                  f'{variable} = new (place) std::function<void()>(object); {p.mark(site)}', f'(*{variable})();'])
    top = p.allocate(site, 8 + room, 1, model.held())
    rest = p.allocate(inner, size, 1, model.under(top))

    def drop(p):
        drop = p.name('drops_function')
        p.leaf(drop, [f'*{variable} = NULL;', f'memset((void *){variable}, 0, sizeof(*{variable}));'])
        p.life.free(top)
        p.life.groups[rest].tie = model.lost()
        p.life.old_words = True  # the block of the function is free, and handed out again

    p.keep_for_later(drop)


@action(weight=2, cpp=True)
def list_of_numbers(p):
    """A node for each; lost with the list they are a ring."""
    name, count = p.name('list'), p.random.randint(1, 60)
    site = p.site('operator new', name)
    lose = p.random.random() < 0.4
    p.leaf(name, ['alignas(16) char room[sizeof(std::list<long>)];', 'auto *l = new (room) std::list<long>;', f'for (int i = 0; i < {count}; i++)',
                  f'    l->push_back(i); {p.mark(site)}', 'KEEP(l);' if lose else 'l->~list();'])
    if lose and p.times == 1:
        p.allocate(site, 24, count, model.ring())
    elif lose:
        p.allocate(site, 24, count, model.unknown())
    else:
        p.pairs(site, 24, count, temporary=None)


@action(weight=2, cpp=True)
def many_of_the_library(p):
    """Some whose sizes and numbers are the library's own business."""
    name = p.name('library_of_cpp')
    calls = ['std::unordered_map<int, std::string> m; for (int i = 0; i < 100; i++) m[i * 7] = letters(); CHECK(m.size() == 100);',
             'std::deque<std::string> d; for (int i = 0; i < 300; i++) { d.push_back("a text that is longer than what fits"); if (i % 3) d.pop_front(); }',
             'std::ostringstream s; for (int i = 0; i < 500; i++) s << i << letters()[0]; CHECK(s.str().size() > 500);',
             'std::vector<std::vector<int>> v(50); for (int i = 0; i < 50; i++) v[i].resize(i * 10); v.shrink_to_fit();',
             'std::set<std::string> s; for (int i = 0; i < 50; i++) s.insert(std::to_string(i * 1234567) + letters()); CHECK(s.size() == 50);',
             'std::unique_ptr<std::string[]> a(new std::string[20]); for (int i = 0; i < 20; i++) a[i] = letters();',
             'std::vector<bool> bits(10000); std::string text(letters()); text += text; text.shrink_to_fit(); CHECK(text.size() == 4000);']
    site = p.site('operator new', name)
    array = p.site('operator new[]', name)
    site.uncounted = array.uncounted = True
    p.leaf(name, [f'{{ {p.random.choice(calls)} }} {p.mark(site)}{p.mark(array)}'])
    p.life.old_words = True
    p.pairs(site, 1, 1, temporary=None)
    p.pairs(array, 1, 1, temporary=None)
