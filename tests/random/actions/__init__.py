# SPDX-License-Identifier: BSD-2-Clause
"""What programs may do. Each file has actions of one kind; an action is a function with @action.

It gets the program, writes into the body at hand, and tells the model the same. What it needs is said in the table:
    weight   how often it is taken
    once     its body must run once only: it has variables of its own, prints, or starts something
    cpp      C++ only
    nests    it has bodies that are filled with actions
    starts   it starts processes, which must be traceable here
"""
import collections

Action = collections.namedtuple('Action', 'name run weight once cpp nests starts')
TABLE = []
EXITS = []  # the ways to end a process
DEEPEST = 4


def action(weight=1, once=False, cpp=False, nests=False, starts=False):
    def enter(run):
        TABLE.append(Action(run.__name__, run, weight, once, cpp, nests, starts))
        return run
    return enter


def way_out(weight=1, cpp=False, child=True):
    """A way to end: writes the last statement and tells the model. `child`: also for a forked one."""
    def enter(run):
        EXITS.append(Action(run.__name__, run, weight, False, cpp, child, False))
        return run
    return enter


def fits(p, entry):
    return not (entry.once and p.times > 1 or entry.cpp and not p.cpp or entry.nests and p.depth >= DEEPEST
                or entry.starts and (not p.life.follows or p.times > 1) or p.batch.without & {entry.name})


def fill(p, least, most):
    """Writes some random actions into the body at hand."""
    for _ in range(p.random.randint(least, most)):
        choices = [entry for entry in TABLE if fits(p, entry)]
        if p.later and p.times == 1 and p.random.random() < 0.2:
            run_later(p)
        else:
            entry = p.random.choices(choices, [e.weight for e in choices])[0]
            p.tags.add(entry.name)
            p.life.maybe = True
            entry.run(p)
        p.maybe_pause()


def run_later(p):
    index = p.random.randrange(len(p.later))
    function, in_child = p.later[index]
    if p.life.origin == 'fork' and not in_child:
        return
    del p.later[index]
    function(p)


from . import blocks, reallocs, arenas, pools, threads, forks, execs, signals, libraries, coroutines  # noqa: E402,F401
from . import exceptions, containers, limits, filters, exits, stale, corners, kernel, early, services, unusual, hidden, places  # noqa: E402,F401
from . import standard, callbacks  # noqa: E402,F401
