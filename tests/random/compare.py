# SPDX-License-Identifier: BSD-2-Clause
"""What a report says against what the generator knows: a list of differences, each a line."""
import collections
import re
from pathlib import Path

OWN = re.compile(r'^p\d+_\w+_\d+$')
BY_PROBES_CUT = {'unread', 'depth'}  # of these the inner part is compared
FIGURES = ('allocations', 'allocated_bytes', 'frees', 'live_blocks', 'live_bytes')
HELPERS = re.compile(r'^(main|_start|__do_global_dtors_aux|bare_\w+|tick|play|run_deep|(run|start|resume|leave|raise|wait)_\w+|fault_and_jump|cancel_thread|'
                     r'clear|letters|getline|__gthread_\w+|bsearch|open_uring|submit_nothing|take_completion|v?fork_and_(f?exec(ve)?|exec_with|leave)|'
                     r'spawn(_with_a\w+|_by_path)?|exec_in_place|'
                     r'drop_rights|enter_root|own_size|set_limit|install_filter)$')
OUTERMOST = ('_start', 'clone3', '__clone3', '__GI___clone3', 'clone', '__clone', '__start_context', '?')


class Look:
    """How much a way of looking tells."""

    def __init__(self, name, lines=True, classes=True, wiped=False, temporary=True, by_probes=False):
        self.name, self.lines, self.classes, self.wiped = name, lines, classes, wiped
        self.temporary = temporary
        # Of functions that are one in glibc, and those that jump to one another, the name of one is told; children
        # that do nothing are there, and what is left running is not followed.
        self.by_probes = by_probes

    def via(self, name):
        return name.replace('[]', '').replace('aligned_alloc', 'memalign') if self.by_probes else name


def plain_name(function):
    """Without arguments and what compilers append to clones."""
    return re.sub(r'\(.*', '', function or '?').split('.')[0].split(' ')[-1]


def of_program(frame):
    return re.match(r'(memfd:)?batch(\.so)?( \(deleted\))?$', Path(frame['module'] or '').name) is not None


class Row:
    """A site of the report, or several that cannot be told apart."""

    def __init__(self):
        self.figures = collections.Counter()
        self.kinds, self.held_by, self.sites = collections.Counter(), [], 0

    def add(self, site):
        self.sites += 1
        for name in (*FIGURES, 'temporary'):
            self.figures[name] += site[name]
        for kind, what in (site.get('kinds') or {}).items():
            self.kinds[kind] += what['blocks']
        self.held_by += site.get('held_by') or []


def key_of(report, site, look):
    """(via, own functions innermost first, line), and whether the program itself makes the call; wrong frames."""
    frames = []
    node = site['stack']
    while node not in (-1, None):
        frame, node = report['stacks'][node]
        frames.append(report['frames'][frame])
    names = [plain_name(frame['function']) for frame in frames]
    own = [(name, frame) for name, frame in zip(names, frames) if OWN.match(name)]
    # Some names of the library's lambdas libiberty cannot read: they stay as the linker has them. (Seed 880018, of pmr strings.)
    strange = [name for name, frame in zip(names, frames)
               if of_program(frame) and not OWN.match(name) and not HELPERS.match(name)
               and not re.search(r'std::|__gnu_cxx|operator|^[A-Z]?p\d+_|~|^thread<|^_ZN?K?St', frame['function'] or '?')]
    path = [name for name, frame in own if not frame['inlined'] or '_inner_' in name]
    line = own[0][1]['line'] if own and look.lines else None
    via = look.via(site['via'])
    last = names[-1] if names else '?'
    return (via, tuple(path), line), bool(frames) and of_program(frames[0]), strange, last


def expected_key(row, look):
    path = ([row['inlined']] if row['inlined'] and look.lines else []) + row['path']
    path = [name for name in path if name != 'main']
    via = look.via(row['via'])
    return via, tuple(path), row['line'] if look.lines else None


def is_prefix(cut, direct, key, row):
    """Whether a stack that was cut can be the inner part of an expected one."""
    nr = min(len(cut[1]), len(key[1])) if row['tail'] else len(cut[1])
    return cut[0] == key[0] and cut[1][:nr] == key[1][:nr] and (not cut[1] or cut[2] == key[2]) \
        and row['by_library'] in (None, not direct)


def places_of(wanted, cut_rows, vague):
    """Lists of expected keys, each with the rows of cut stacks. Keys that a cut stack fits are in one list: its figures are
    part of theirs, and of which of them is not known. With the cut rows that fit none."""
    lists, strays = {key: [key] for key in wanted if key[1][0] not in vague}, []
    rows = collections.defaultdict(list)
    for (direct, cut), row in cut_rows.items():
        fitting = [key for key, group in wanted.items() if is_prefix(cut, direct, key, group[0])]
        if not fitting:
            strays.append((direct, cut, row))
        fitting = [key for key in fitting if key in lists]
        for key in fitting[1:]:
            if lists[key] is not lists[fitting[0]]:
                lists[fitting[0]] += lists[key]
                for other in lists[key]:
                    lists[other] = lists[fitting[0]]
        if fitting:
            rows[fitting[0]].append(row)
    places = {id(keys): keys for keys in lists.values()}.values()
    return [(keys, [row for key in keys for row in rows.get(key, ())]) for keys in places], strays


def compare_sums(expected, report, process, look):
    """Of a program without names: all calls that it makes itself, together."""
    group = [row for row in expected['sites'] if not row['by_library'] and (look.by_probes or not row['probes_only'])]
    if expected['vague'] or any(row['by_library'] is None for row in group) or not group:
        return []
    if look.by_probes:  # which do not know the file of its code
        least, got = sum(row['allocations'] for row in group), process['totals']['allocations']
        return [] if got >= least else [f'{got} allocations, expected at least {least}']
    sums = Row()
    for site in process['sites']:
        node = site['stack']
        if node not in (-1, None) and of_program(report['frames'][report['stacks'][node][0]]):
            sums.add(site)
    nameless = Look(**{**vars(look), 'lines': False})
    old_words = expected['dangling'] or expected['old_words'] and not look.wiped
    return compare_row(('any', ('any',), None), group, [sums], nameless, old_words, expected['in_allocator'])


def compare_sites(expected, report, process, look):
    if expected['nameless']:
        return compare_sums(expected, report, process, look)
    wrong = []
    rows = {True: collections.defaultdict(Row), False: collections.defaultdict(Row)}
    cut_rows = collections.defaultdict(Row)
    for site in process['sites']:
        key, direct, strange, last = key_of(report, site, look)
        if strange:
            wrong.append(f'strange frames {strange} in a stack of {key}')
        if key[1] and site['cut'] is None and last not in OUTERMOST and '_bare_' not in last:
            wrong.append(f'the stack of {key} ends at {last}')
        if look.by_probes and site['cut'] in BY_PROBES_CUT:
            cut_rows[direct, key].add(site)
        else:
            rows[direct][key].add(site)
    wanted = collections.defaultdict(list)
    for row in expected['sites']:
        if row['probes_only'] and not look.by_probes:
            continue
        wanted[expected_key(row, look)].append(row)
    used = set()
    places, strays = places_of(wanted, cut_rows, expected['vague'])
    for keys, found in places:
        for key in keys:
            tail, by_library = wanted[key][0]['tail'], wanted[key][0]['by_library']
            for direct in (True, False) if by_library is None else (not by_library,):
                for other, row in rows[direct].items():
                    if other == key or tail and (other[0], other[1][:len(key[1])], other[2]) == key:
                        found.append(row)
                        used.add((direct, other))
        group = [row for key in keys for row in wanted[key]]
        wrong += compare_row(keys[0], group, found, look, expected['dangling'] or expected['old_words'] and not look.wiped,
                             expected['in_allocator'])
    for key, row in rows[True].items():
        if (True, key) not in used and key[1] and key[1][0] not in expected['vague']:
            wrong.append(f'unexpected: {key} {dict(row.figures)}')
    wrong += [f'cut, and no part of an expected stack: {key} {dict(row.figures)}' for direct, key, row in strays
              if direct and key[1] and key[1][0] not in expected['vague']]
    return wrong


def compare_row(key, group, found, look, old_words, in_allocator):
    wrong = []
    if any(row['uncounted'] for row in group):
        return wrong
    what = f'{key[0]} in {" < ".join(key[1])} line {key[2]} (site {group[0]["site"]})'
    if not found:
        if any(row['allocations'] for row in group):
            wrong.append(f'{what}: not there; expected {group[0]}')
        return wrong
    for name in FIGURES:
        wish, got = sum(row[name] for row in group), sum(row.figures[name] for row in found)
        if wish != got:
            wrong.append(f'{what}: {name} {got}, expected {wish}')
    if look.temporary and all(row['temporary'] is not None for row in group):
        wish, got = sum(row['temporary'] for row in group), sum(row.figures['temporary'] for row in found)
        if wish != got:
            wrong.append(f'{what}: temporary {got}, expected {wish}')
    if look.classes:
        wrong += compare_kinds(what, group, found, look, old_words, in_allocator)
    return wrong


def compare_kinds(what, group, found, look, old_words, in_allocator):
    wish, got = collections.Counter(), collections.Counter()
    for row in group:
        wish.update(row['kinds'])
    for row in found:
        got.update(row.kinds)
    if look.wiped and wish['stale']:
        wish['lost'] += wish.pop('stale')
    if wish['stale'] or wish['any']:
        wish.pop('stale', None)
        wish.pop('any', None)
        return [f'{what}: classes {dict(got)}, expected at least {dict(wish)}'] if +(wish - got) else []
    if old_words and any(row['learnt'] for row in group) and sum(wish.values()) == sum(got.values()) \
            and got['lost'] <= wish['lost'] and got['indirect'] <= wish['indirect']:
        return []  # old words hide the header: what has a pointer into its middle may be possibly lost, and no more than that
    if +wish != +got and old_words and sum(wish.values()) == sum(got.values()) \
            and got['reachable'] >= wish['reachable'] and got['lost'] <= wish['lost']:
        return []  # old words hold what is lost
    # A thread in glibc's allocator has the address of its block's head, the last word of the block before. (Seed 57259.)
    by_heads = wish['lost'] - got['lost']
    if 0 < by_heads <= in_allocator and got['possible'] - wish['possible'] == by_heads and got['reachable'] == wish['reachable']:
        return []
    if +wish != +got:
        return [f'{what}: classes {dict(got)}, expected {dict(wish)}']
    wrong = []
    if look.lines:
        for row in group:
            for name, blocks in row['held_by'].items():
                told = [holder for other in found for holder in other.held_by]
                by_it = sum(holder['blocks'] for holder in told if re.search(rf'\b{name}\b', holder['text']))
                if by_it != blocks:
                    wrong.append(f'{what}: held by {told}, expected {name} with {blocks}')
    return wrong


def compare_unread(process):
    """Code is unread for milliseconds: in a long life few of the calls come from it."""
    unread = sum(site['allocations'] for site in process['sites'] if site['cut'] == 'unread')
    calls, seconds = process['totals']['allocations'], process['process']['duration_s']
    if seconds > 1 and calls > 10000 and unread > calls / 100:
        return [f'{unread} of {calls} allocations are unread after {seconds} s']
    return []


def compare_life(expected, report, process, look):
    wrong = compare_sites(expected, report, process, look)
    lost = {reason: n for reason, n in process['health']['lost'].items() if n and reason not in expected['health']}  # seldom: few lose any
    if lost:
        wrong.append(f'lost: {lost}')
    cuts = BY_PROBES_CUT if look.by_probes else set()
    if expected['may_be_cut']:  # vfork() of libc has its return address in a register, which no row of the probes can tell
        cuts = cuts | {'no_cfi'} | ({'bad_cfi'} if look.by_probes else set())
    if process['health']['stacks_cut'] and not set(process['health']['cut']) <= cuts:
        wrong.append(f'stacks cut: {process["health"]["cut"]}')
    if look.classes and expected['looked_at'] is not None and expected['looked_at'] != (process['leaks'] is not None):
        wrong.append(f'looked at: {process["leaks"] is not None}, expected {expected["looked_at"]}: {process["health"]["notes"]}')
    if look.by_probes:
        wrong += compare_unread(process)
    mismatches = collections.Counter()
    for one in process['mismatches']:
        mismatches[one['allocated_via'], one['released_via']] += one['count']
    wish = collections.Counter({(made, freed): n for made, freed, n in expected['mismatches']})
    if not look.by_probes and mismatches != wish:
        wrong.append(f'mismatches: {dict(mismatches)}, expected {dict(wish)}')
    return wrong


def processes_of(report):
    return report.get('processes') or ([report] if 'process' in report else [])


def number_of(process):
    args = process['process']['args']
    return int(args[1]) if len(args) > 1 and args[1].isdigit() else None


def compare(lives, reports, look):
    """All lives of a program against all processes of some reports."""
    found = [(report, process) for report in reports for process in processes_of(report) if process['process']['args'][:1] != ['sh']]
    wrong = []
    pairs = []
    for i, life in enumerate(lives):
        for k, (report, process) in enumerate(found):
            # Of a program that ends at once the probes may not have read the arguments.
            unread = look.by_probes and process['process']['origin'] in ('exec', 'spawn') and not process['process']['args']
            if number_of(process) != life['program'] and not unread:
                continue
            exit = process['process']['exit']
            # What a child did before it went on as another program has no names where the tool comes late.
            if look.by_probes and (life['left_behind'] or life['goes_on'] and life['origin'] == 'fork'):
                continue
            if life['goes_on'] != process['process']['went_on']:
                continue
            if exit is not None and exit != life['exit'] and len(lives) > 1:
                continue
            here = [] if exit in (None, life['exit']) else [f'exit {exit}, expected {life["exit"]}']
            looked_at = process['leaks'] is not None if life['looked_at'] is None else life['looked_at']
            one = Look(**{**vars(look), 'classes': look.classes and looked_at})
            here += compare_life(life, report, process, one)
            other = (life['origin'] == 'fork') != (process['process']['origin'] == 'fork')  # of sums alone either may do
            pairs.append((len(here), other, exit is None, life['optional'], i, k, here))
    done, taken = set(), set()
    for *_, i, k, here in sorted(pairs, key=lambda pair: pair[:4]):
        if i in done or k in taken:
            continue
        done.add(i)
        taken.add(k)
        wrong += [f'{name(lives[i])}: {line}' for line in here]
    for i, life in enumerate(lives):
        if i not in done and not lives[i]['optional'] and not (look.by_probes and (lives[i]['left_behind'] or lives[i]['goes_on'])):
            wrong.append(f'{name(life)}: not in the report')
    for k, (_, process) in enumerate(found):
        totals = process['totals']
        seldom = look.by_probes and (process['process']['origin'] == 'fork' or any(life['left_behind'] for life in lives))
        if k not in taken and totals['allocations'] and not seldom:
            wrong.append(f'unexpected process {process["process"]} {process["health"]["notes"]}')
    return wrong


def name(life):
    return f'life of program {life["program"]} by {life["origin"]}, exit {life["exit"]}'
