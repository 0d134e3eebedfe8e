# SPDX-License-Identifier: BSD-2-Clause
"""What a generated program does to its heap: sites, groups of blocks and what holds them, and lives of processes.

The generator calls it in the order in which the program will run, so at any moment it says what a report must say.
"""
import collections
import copy

CLASSES = ('lost', 'indirect', 'possible', 'reachable')
ANY = 'any'  # a class that is not compared


class Site:
    """A call of an allocation function: `path` are the program's functions, innermost first."""

    def __init__(self, number, via, path):
        self.number, self.via, self.path, self.line = number, via, tuple(path), None
        self.temporary_known = True
        self.inlined = None    # the function that is inlined into the innermost one
        self.uncounted = False  # how often is not known
        self.tail = False      # the path goes on in ways that are not known
        self.probes_only = False  # a C library makes it that is not traced by preload
        self.by_library = False  # a function of a library makes the call; None: maybe
        self.learnt = False      # where its blocks are pointed to the tool learns, which old words can spoil


class Tie:
    """What holds a group of blocks. `name` is in the words of the report for who holds it; None: any words."""

    def __init__(self, kind, name=None, under=None, frame=None, thread=False, parent=False):
        self.kind, self.name, self.under, self.frame, self.thread, self.parent = kind, name, under, frame, thread, parent


def held(name=None):
    return Tie('reachable', name)


def of_thread():
    """Held by another thread of the process, which its children do not have."""
    return Tie('reachable', thread=True)


def of_parent():
    """Held by memory of the process that a child of fork does not get: there it is lost."""
    return Tie('reachable', parent=True)


def middle(name=None):
    """Only a pointer into its middle."""
    return Tie('possible', name)


def lost():
    return Tie('lost')


def ring():
    """Blocks in a ring that nothing leads to: one is lost, the others are indirectly."""
    return Tie('ring')


def under(group):
    """Held by another group, and of its fate."""
    return Tie('under', under=group)


def of_frame(body):
    """Held by a variable of a function while that runs."""
    return Tie('frame', frame=body)


def unknown():
    return Tie(ANY)


def stale():
    """Only old words lead to it: lost where memory is wiped."""
    return Tie('stale')


class Group:
    """`count` live blocks of the same site and size, held in the same way."""

    def __init__(self, site, size, count, tie):
        self.site, self.size, self.count, self.tie = site, size, count, tie


FIGURES = ('allocations', 'allocated_bytes', 'frees', 'temporary')


class Life:
    """A process from its start, its fork or its exec on."""

    def __init__(self, origin, program):
        self.origin, self.program = origin, program
        self.figures = collections.defaultdict(collections.Counter)  # by Site
        self.groups = {}  # number: Group
        self.mismatches = collections.Counter()  # (allocated by, or None where it is no block, released by): blocks
        self.exit = None          # {'code': n} or {'signal': n}
        self.looked_at = True     # leak classes are known when it leaves; None: maybe
        self.leaves_file = True   # when the library is alone
        self.seen = origin == 'start'  # a forked one that makes no heap operation has no image
        self.left_behind = False  # a daemon
        self.dangling = False     # libc has addresses of what is gone, where blocks may lie now
        self.goes_on = False      # as another program
        self.nameless = False     # its functions have no names in reports
        self.parent = None
        self.vague = set()        # sites of which it is not known what of them a child of fork begins with
        self.old_words = False    # libc has got memory that it does not fill
        self.in_allocator = 0     # threads that are in calls of the allocator when it leaves
        self.ticks = False        # a timer's handler leaves registers far below the frames that scrub() clears
        self.maps_at_any_time = False  # of what a handler unmaps a pending child cannot know what it was
        self.maybe = False        # libc may have made one for it
        self.optional = False     # what has it may be counted as lost
        self.may_be_cut = False   # a handler that is seen comes at any moment
        self.health = set()       # losses that are no surprise
        self.in_namespace = False # of processes, which has other numbers for them
        self.has_free_files = False # below 3
        self.has_limit = False    # of address space, which a program that it executes has too
        self.follows = True       # later lives that this one starts are traced
        self.timer_thread = False # libc has a thread that waits for timers, and never ends
        self.busy = set()         # sites where other threads are at work
        self.at_quick_exit = []   # (group, site, size) of its handlers
        self.opened = 0           # how often the library is open
        self.library_handlers = []  # effects of those that it registered
        self.in_library = []      # groups that its variables hold

    def fork(self):
        child = copy.copy(self)
        child.origin, child.seen, child.maybe = 'fork', False, False
        child.groups = {number: copy.copy(group) for number, group in self.groups.items()}
        child.figures = collections.defaultdict(collections.Counter)
        for group in child.groups.values():
            child.figures[group.site].update(allocations=group.count, allocated_bytes=group.count * group.size)
        child.mismatches = collections.Counter()
        child.health = set(self.health)
        child.in_library = list(self.in_library)
        child.library_handlers = list(self.library_handlers)
        child.parent = self
        child.vague = self.vague | self.busy
        return child

    def confine(self):
        """From here on it cannot begin an image; where it has none yet it is counted as lost, for its parent."""
        self.follows = self.leaves_file = False
        if not self.seen:
            self.may_be_lost()

    def may_be_lost(self):
        """It may have no image: then it is counted as lost, for the nearest of those before it that has one."""
        self.optional = True
        life = self.parent
        life.health.add('fork')
        while not life.seen and life.parent:
            life = life.parent
            life.health.add('fork')

    def allocate(self, number, site, size, count, tie):
        self.groups[number] = Group(site, size, count, tie)
        self.figures[site].update(allocations=count, allocated_bytes=count * size)
        self.seen = True

    def free(self, number, count=None, temporary=None):
        group = self.groups[number]
        if temporary is None:  # it depends on what came between
            group.site.temporary_known = False
        count = group.count if count is None else count
        group.count -= count
        self.figures[group.site].update(frees=count, temporary=count if temporary else 0)
        if group.count == 0:
            del self.groups[number]
        self.seen = True

    def kinds_of(self, group, active):
        """Counter of the classes of its blocks. `active`: functions that have not returned."""
        kind = group.tie.kind
        if kind == 'ring':
            return collections.Counter(lost=1, indirect=group.count - 1)
        if kind == 'frame':
            kind = 'reachable' if group.tie.frame in active else 'lost'
        if kind == 'under':
            above = self.groups.get(group.tie.under)
            kinds = set(self.kinds_of(above, active)) if above else {'none'}
            kind = ('lost' if kinds == {'none'} else 'indirect' if kinds & {'lost', 'indirect'}
                    else 'possible' if 'possible' in kinds else ANY if ANY in kinds else 'reachable')
        return collections.Counter({kind: group.count})

    def snapshot(self, active=()):
        """The expected state as data: a row for each site."""
        rows = {}
        for site, figures in self.figures.items():
            rows[site] = {'site': site.number, 'via': site.via, 'path': list(site.path), 'line': None,
                          'inlined': site.inlined, 'uncounted': site.uncounted, 'tail': site.tail, 'by_library': site.by_library, 'learnt': site.learnt,
                          'probes_only': site.probes_only, **{name: figures[name] for name in FIGURES}, 'live_blocks': 0, 'live_bytes': 0,
                          'kinds': collections.Counter(),
                          'held_by': collections.Counter()}
            if not site.temporary_known:
                rows[site]['temporary'] = None
        for group in self.groups.values():
            row = rows[group.site]
            row['live_blocks'] += group.count
            row['live_bytes'] += group.count * group.size
            row['kinds'].update(self.kinds_of(group, active))
            if group.tie.name:
                row['held_by'][group.tie.name] += group.count
        for row in rows.values():
            row['kinds'] = {kind: n for kind, n in row['kinds'].items() if n}
            row['held_by'] = dict(row['held_by'])
        return {'origin': self.origin, 'program': self.program, 'left_behind': self.left_behind,
                'old_words': self.old_words, 'dangling': self.dangling, 'in_allocator': self.in_allocator,
                'goes_on': self.goes_on, 'nameless': self.nameless, 'vague': sorted(site.path[0] for site in self.vague),
                'may_be_cut': self.may_be_cut, 'optional': self.optional or not self.seen, 'exit': self.exit, 'looked_at': self.looked_at,
                'leaves_file': self.leaves_file, 'health': sorted(self.health),
                'mismatches': [[*key, n] for key, n in sorted(self.mismatches.items(), key=str)],
                'sites': [row for _, row in sorted(rows.items(), key=lambda item: item[0].number)]}
