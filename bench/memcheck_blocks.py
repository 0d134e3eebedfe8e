# SPDX-License-Identifier: BSD-2-Clause
"""Block by block: the class that seep gives at the end of a program beside the class that memcheck gives.

Blocks of both are matched by place: module and last three digits of the address, of the innermost frames of their
stack; loading never changes these digits. What has no counterpart at its place is matched by class among all places,
because the two unwinders may leave out other frames. A program whose number of blocks differs is not comparable.
"""
import collections
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

DEPTH = 4  # frames of a stack that are its place
LIMIT_S = 600
KINDS = {'Leak_DefinitelyLost': 'lost', 'Leak_IndirectlyLost': 'indirect', 'Leak_PossiblyLost': 'possible', 'Leak_StillReachable': 'reachable'}
VALGRIND = ['valgrind', '-q', '--leak-check=full', '--show-leak-kinds=all', '--leak-resolution=high', '--num-callers=50',
            '--run-libc-freeres=no', '--run-cxx-freeres=no', '--trace-children=no', '--read-inline-info=no', '--default-suppressions=no', '--xml=yes']


def name_of(path):
    """Of a module, without its version: one of both names it by the link."""
    return re.sub(r'(\.so)[.0-9]*$', r'\1', os.path.basename(path or '?'))


class Blocks:
    """{place: Counter of classes}, and the functions of each place."""

    def __init__(self):
        self.places = collections.defaultdict(collections.Counter)
        self.names = {}
        self.holders = collections.defaultdict(dict)  # place: {class: what holds the first block}

    def add(self, frames, kind, blocks, holder=None):
        """frames: (module, address of the call, function), innermost first. Of inlined functions memcheck repeats the address."""
        frames = [frame for i, frame in enumerate(frames) if i == 0 or frame[:2] != frames[i - 1][:2]]
        place = tuple((module, address & 0xfff) for module, address, _ in frames[:DEPTH])
        self.places[place][kind] += blocks
        if holder:
            self.holders[place].setdefault(kind, holder)
        self.names.setdefault(place, ' < '.join(f'{function or "?"} ({module})' for module, _, function in frames))

    def told(self, place, kind):
        holder = self.holders[place].get(kind)
        return self.names[place] + (f'; held by {holder}' if holder else '')

    def total(self):
        return sum(sum(classes.values()) for classes in self.places.values())


def of_report(process):
    """Of a process of seep's JSON, with its `frames` and `stacks`."""
    found = Blocks()
    for site in process['sites']:
        frames, stack = [], site['stack']
        while stack >= 0:
            frame, stack = process['stacks'][stack]
            one = process['frames'][frame]
            if not one['inlined']:
                frames.append((name_of(one['module']), (one['offset'] or 1) - 1, one['function']))
        holders = {one['kind']: one['text'] for one in reversed(site.get('held_by') or [])}
        for kind, sums in site.get('kinds', {}).items():
            found.add(frames, kind, sums['blocks'], holders.get(kind))
    return found


def of_memcheck(program, folder, **how):
    """(Blocks, None), or (None, why there are none)."""
    for old in folder.glob('memcheck.*.xml'):
        old.unlink()
    with open(folder / 'out', 'wb') as out:
        done = subprocess.Popen([*VALGRIND, f'--xml-file={folder}/memcheck.%p.xml', *program], stdout=out, stderr=out, **how)
        try:
            done.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            done.kill()
            done.wait()
            return None, f'memcheck does not end within {LIMIT_S} s'
    path = folder / f'memcheck.{done.pid}.xml'
    if not path.exists():
        return None, 'memcheck does not start it'
    text = re.sub(r'[^\x09\x0a\x20-\ud7ff]', '?', path.read_text(errors='replace'))
    try:
        tree = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return None, 'memcheck does not come to its end'
    if tree.find('fatal_signal') is not None:
        return None, f'memcheck: {tree.findtext("fatal_signal/signame")}'
    if not any(state.text == 'FINISHED' for state in tree.iter('state')):
        return None, 'it goes on as another program'
    found = Blocks()
    for error in tree.iter('error'):
        kind = KINDS.get(error.findtext('kind'))
        if not kind:
            continue
        frames = []
        for frame in error.find('stack'):
            module = name_of(frame.findtext('obj'))
            if not module.startswith('vgpreload_'):
                frames.append((module, int(frame.findtext('ip'), 16), frame.findtext('fn')))
        found.add(frames, kind, int(error.findtext('xwhat/leakedblocks')))
    return found, None


def take(left, right):
    """Takes away what both have of the same class."""
    both = left & right
    left -= both
    right -= both


def pairs(left, right):
    """What is left, paired: ((class here, class there), blocks)."""
    here, there = list(left.elements()), list(right.elements())
    return collections.Counter(zip(here, there)), here[len(there):], there[len(here):]


def compare(ours, theirs):
    """([(here, there, blocks, functions)], blocks compared): here or there None where only the other has the block."""
    differing = collections.Counter()
    only_here, only_there = {}, {}
    for place in {**ours.places, **theirs.places}:
        left, right = +ours.places.get(place, collections.Counter()), +theirs.places.get(place, collections.Counter())
        take(left, right)
        paired, rest_here, rest_there = pairs(left, right)
        for (here, there), blocks in paired.items():
            differing[here, there, ours.told(place, here)] += blocks
        if rest_here:
            only_here[place] = collections.Counter(rest_here)
        if rest_there:
            only_there[place] = collections.Counter(rest_there)
    # The nearest places first: so many frames are the same, the function that allocates is the same, anything.
    function = {place: names.split(' < ')[0] for names_of in (ours.names, theirs.names) for place, names in names_of.items()}
    same = [lambda here, there, depth=depth: here[:depth] == there[:depth] for depth in (3, 2, 1)]
    for near in (*same, lambda here, there: function[here] == function[there], lambda here, there: True):
        for here in only_here:
            for there in only_there:
                if near(here, there):
                    take(only_here[here], only_there[there])
    for depth in (2, 1):
        for here in only_here:
            for there in only_there:
                if here[:depth] == there[:depth]:
                    paired, rest_here, rest_there = pairs(only_here[here], only_there[there])
                    for (one, other), blocks in paired.items():
                        differing[one, other, ours.told(here, one)] += blocks
                    only_here[here], only_there[there] = collections.Counter(rest_here), collections.Counter(rest_there)
    for place, classes in only_here.items():
        for kind, blocks in classes.items():
            differing[kind, None, ours.told(place, kind)] += blocks
    for place, classes in only_there.items():
        for kind, blocks in classes.items():
            differing[None, kind, theirs.names[place]] += blocks
    rows = [(here, there, blocks, names) for (here, there, names), blocks in differing.items() if blocks]
    return sorted(rows, key=lambda row: -row[2]), max(ours.total(), theirs.total())
