# SPDX-License-Identifier: BSD-2-Clause
"""A random program: its source as it grows, and the model of what it does.

Actions write into the function that is at hand (the *body*) in the order in which the program will run, and tell
the model at the same time. A line that allocates ends with /*@N*/, the number of its site.
"""
import contextlib
import random
import re

import model
from model import Life, Site

# How blocks are allocated and freed: via, expression, release; {n} is the size, a multiple of 16 for `even` ones.
FAMILY = [
    ('malloc', 'malloc({n})', 'free'),
    ('malloc', 'malloc({n})', 'free'),
    ('malloc', 'malloc({n})', 'free'),
    ('calloc', 'calloc(1, {n})', 'free'),
    ('calloc', 'calloc(hide({n}), 1)', 'free'),
    ('realloc', 'realloc(null_pointer(), hide({n}))', 'free'),
    ('reallocarray', 'reallocarray(null_pointer(), hide({n}), 1)', 'free'),
    ('memalign', 'memalign(64, {n})', 'free'),
    ('posix_memalign', 'by_posix_memalign', 'free'),
    ('aligned_alloc', 'aligned_alloc(32, {n})', 'free'),
    ('valloc', 'valloc({n})', 'free'),
]
FAMILY_CPP = [
    ('operator new', 'operator new({n})', 'operator delete'),
    ('operator new[]', 'operator new[]({n})', 'operator delete[]'),
    ('operator new', 'operator new({n}, std::nothrow)', 'operator delete'),
    ('operator new[]', '(new char[hide({n})])', 'operator delete[]'),
]


class Maker:
    """One way to allocate a block of `size` bytes: `text` is the expression."""

    def __init__(self, via, text, release):
        self.via, self.text, self.release = via, text, release


class Body:
    def __init__(self, name, path, result='void', arguments='void'):
        self.name, self.path, self.lines = name, path, []
        self.head = f'{result} {name}({arguments})'
        self.last = []  # lines at its end


class Program:
    def __init__(self, batch, number, seed):
        self.batch, self.number, self.cpp = batch, number, batch.cpp
        self.random = random.Random(seed)
        self.life = Life('start', number)
        self.lives = [self.life]
        self.needs_descriptors = False  # what they hold, a life that follows holds, too
        self.output = []     # lines that it prints
        self.bodies = []     # that have not returned
        self.later = []      # (function, works in a child): what may be done at any later moment
        self.at_exit = []    # functions of a Life: what handlers of exit do, in order of registration
        self.threads = 0     # others that live on
        self.times = 1       # how often the body at hand runs
        self.depth = 0
        self.paused = None   # expected state at the pause
        self.pause_at = None
        self.steps = 0
        self.tags = set()    # what it has in it
        self.states = []     # how each life ended
        self.silent = False  # nothing is printed: the time is not known
        self.codes = 2       # exit codes of lives differ, to tell them apart

    # ---- names, sites, lines ----

    def name(self, kind):
        return f'p{self.number}_{kind}_{self.batch.next_number()}'

    def site(self, via, *inner):
        """A site whose innermost functions are `inner`, called by the body at hand."""
        site = Site(self.batch.next_number(), via, [*inner, *self.bodies[-1].path])
        self.batch.sites.append(site)
        return site

    def mark(self, site):
        return f'/*@{site.number}*/'

    def line(self, text):
        self.bodies[-1].lines.append(text)

    def declare(self, text):
        """Variables, that the compiler may not take out."""
        self.batch.declarations.append(f'__attribute__((used)) {text}')

    def define(self, head, lines, attributes='APART static'):
        """A function of file scope."""
        self.batch.declarations.append(f'{attributes} {head};')
        self.batch.functions.append([f'{attributes} {head} {{', *(f'    {line}' for line in lines), '}', ''])

    def leaf(self, kind, lines):
        """A function of these lines that the body at hand calls, and that leaves nothing in stack or registers."""
        self.define(f'void {kind}(void)', lines)
        self.line(f'play({kind});')

    def say(self, text):
        """Statement that prints a line; the model expects it."""
        assert self.times == 1
        self.output.append(text)
        return f'say("{text}\\n");'

    def next_code(self):
        self.codes += 1
        return self.codes

    def finish_life(self, active=None):
        """The life at hand is over; the functions of `active` have not returned."""
        if self.life.seen or self.life.maybe:
            self.states.append(self.life.snapshot(self.active if active is None else active))

    # ---- bodies ----

    @contextlib.contextmanager
    def body(self, kind, called_by=None, result='void', arguments='void', times=1, entry=False):
        """A function that actions fill. `entry`: nothing of the program calls it (a thread). `called_by`: functions between."""
        path = [] if entry else [*(called_by or []), *(self.bodies[-1].path if self.bodies else ['main'])]
        name = self.name(kind)
        body = Body(name, [name, *path], result, arguments)
        self.bodies.append(body)
        self.times *= times
        self.depth += 1
        yield body
        self.depth -= 1
        self.times //= times
        self.bodies.pop()
        # What its variables held is held no longer.
        for group in self.life.groups.values():
            if group.tie.frame == body.name:
                group.tie = model.lost()
        self.define(body.head, [*body.lines, *body.last])

    def has_large_stack(self):
        """Whether ten thousand frames fit: not on the stack of a coroutine, or on that of a handler."""
        return not any(re.search(r'_(coroutine|handler|jumping)_', body.name) for body in self.bodies)

    @property
    def active(self):
        return [body.name for body in self.bodies]

    @property
    def of_this_thread(self):
        """The functions on the stack that is in use."""
        for i in range(len(self.bodies) - 1, -1, -1):
            if self.bodies[i].path == [self.bodies[i].name]:
                return self.active[i:]
        return self.active

    # ---- the heap ----

    def maker(self, size):
        """A random way to make a block of `size` bytes."""
        via, text, release = self.random.choice(FAMILY + (FAMILY_CPP * 2 if self.cpp else []))
        if text == 'by_posix_memalign':
            text = '({{ void *q = NULL; posix_memalign(&q, 128, {n}) ? NULL : q; }})'
        return Maker(via, text.format(n=size), release)

    def maker_for_free(self, size):
        """A maker whose block free() and realloc() take."""
        make = self.maker(size)
        while make.release != 'free':
            make = self.maker(size)
        return make

    def size(self, least=1):
        pick = self.random.random()
        if pick < 0.70:
            return self.random.randint(least, max(least, 200))
        if pick < 0.95:
            return self.random.randint(max(least, 200), 5000)
        return self.random.randint(max(least, 130000), 300000)

    def allocate(self, site, size, count, tie):
        """The model's side of an allocation; returns the number of the group."""
        number = self.batch.next_number()
        self.life.allocate(number, site, size, count * self.times, tie)
        return number

    def pairs(self, site, size, count, temporary=True):
        """Blocks that were freed: at once (`temporary`), after others, or it does not matter (None)."""
        number = self.allocate(site, size, count, model.lost())
        self.life.free(number, temporary=temporary)

    def keep_for_later(self, function, in_child=True):
        if self.times == 1:
            self.later.append((function, in_child))

    def free_later(self, kind, lines, *groups, in_child=True):
        """At a later moment a function of these lines frees all blocks of the groups."""

        def free_them(p):
            p.leaf(p.name(kind), lines)
            for group in groups:
                p.life.free(group)

        self.keep_for_later(free_them, in_child)

    # ---- the pause ----

    def maybe_pause(self):
        """Between two actions, while one thread of the program does something."""
        self.steps += 1
        if self.paused is None and self.pause_at is not None and self.steps >= self.pause_at and self.times == 1 \
                and self.life.seen and self.life.follows and not self.life.in_namespace:
            self.line('scrub();')
            self.line('pause_here();')
            self.paused = (self.life, self.life.snapshot(self.active))


def place_lines(text, sites):
    """Tells each site the number of its line."""
    lines = {}
    for number, line in enumerate(text.splitlines(), 1):
        for mark in re.findall(r'/\*@(\d+)\*/', line):
            lines[int(mark)] = number
    for site in sites:
        site.line = lines.get(site.number, site.line)
