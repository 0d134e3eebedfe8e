# SPDX-License-Identifier: BSD-2-Clause
"""How bench/memcheck_blocks.py matches the blocks of seep with those of memcheck."""
import collections
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import memcheck_blocks  # noqa: E402


def blocks(*rows):
    """Of rows (functions, class, number): each function is at an address of its own in one module."""
    found = memcheck_blocks.Blocks()
    for functions, kind, number in rows:
        found.add([("a.so", 0x1000 + 16 * ord(one), one) for one in functions], kind, number)
    return found


def compared(ours, theirs):
    rows, number = memcheck_blocks.compare(ours, theirs)
    return [(here, there, count, names.replace(" (a.so)", "")) for here, there, count, names in rows], number


@pytest.mark.parametrize("ours, theirs, rows, number", [
    ([("ab", "lost", 3)], [("ab", "lost", 3)], [], 3),
    ([("ab", "lost", 3)], [("ab", "reachable", 3)], [("lost", "reachable", 3, "a < b")], 3),
    ([("ab", "lost", 2), ("ab", "reachable", 1)], [("ab", "lost", 1), ("ab", "reachable", 2)], [("lost", "reachable", 1, "a < b")], 3),
    # The outer frames beyond memcheck_blocks.DEPTH tell no places apart.
    ([("abcdx", "lost", 1), ("abcdy", "lost", 1)], [("abcdz", "lost", 2)], [], 2),
    # Only one of both has a block more.
    ([("ab", "lost", 2)], [("ab", "lost", 1)], [("lost", None, 1, "a < b")], 2),
    ([("ab", "lost", 1)], [("ab", "lost", 1), ("ab", "possible", 1)], [(None, "possible", 1, "a < b")], 2),
    # One unwinder leaves out a frame: the nearest place with the same class counts, then any place.
    ([("abcd", "lost", 1)], [("abce", "lost", 1)], [], 1),
    ([("abcd", "lost", 1)], [("axyz", "lost", 1)], [], 1),
    ([("abcd", "lost", 1)], [("wxyz", "lost", 1)], [], 1),
    # Of two places with frames in common, that of the same class.
    ([("abcd", "lost", 1)], [("abce", "reachable", 1), ("awxy", "lost", 1)], [(None, "reachable", 1, "a < b < c < e")], 2),
    # The nearest first: what would match the second place is at the first.
    ([("abcd", "lost", 1), ("axyz", "lost", 1)], [("abce", "lost", 1), ("auvw", "reachable", 1)],
     [("lost", "reachable", 1, "a < x < y < z")], 2),
    ([("axyz", "lost", 1), ("abcd", "lost", 1)], [("abce", "lost", 1), ("auvw", "reachable", 1)],
     [("lost", "reachable", 1, "a < x < y < z")], 2),
    # A near place of another class is the same block; a far one is not.
    ([("abcd", "lost", 1)], [("abce", "reachable", 1)], [("lost", "reachable", 1, "a < b < c < d")], 1),
    ([("abcd", "lost", 1)], [("wxyz", "reachable", 1)], [("lost", None, 1, "a < b < c < d"), (None, "reachable", 1, "w < x < y < z")], 1),
])
def test_blocks_are_matched_by_place_then_by_class(ours, theirs, rows, number):
    assert collections.Counter(compared(blocks(*ours), blocks(*theirs))[0]) == collections.Counter(rows)
    assert compared(blocks(*ours), blocks(*theirs))[1] == number


def swapped(ours_of, theirs_of):
    """Two places whose classes are swapped: found only where both know each place as the same. Else the classes match."""
    ours, theirs = memcheck_blocks.Blocks(), memcheck_blocks.Blocks()
    for first, here, there in ((0x100, "lost", "reachable"), (0x200, "reachable", "lost")):
        ours.add(ours_of(first), here, 1)
        theirs.add(theirs_of(first), there, 1)
    return sum(row[2] for row in memcheck_blocks.compare(ours, theirs)[0])


def test_a_place_is_the_same_wherever_its_module_is_loaded():
    here, there = memcheck_blocks.name_of("/lib/liba.so.6"), memcheck_blocks.name_of("/lib/liba.so.6.0.1")
    assert swapped(lambda first: [(here, 0x12000 + first, "f")], lambda first: [(there, 0x7f0000abc000 + first, "f")]) == 2


def test_inlined_functions_are_one_frame():
    """memcheck repeats the address for each of them."""
    assert swapped(lambda first: [("a.so", first, "outer"), ("a.so", 0x300, "main")],
                   lambda first: [("a.so", first, "inlined"), ("a.so", first, "outer"), ("a.so", 0x300, "main")]) == 2


def test_four_frames_are_a_place():
    outer = [("a.so", address, "f") for address in (0x300, 0x400, 0x500)]
    assert swapped(lambda first: [("a.so", first, "f"), *outer, ("a.so", 0x600, "f")],
                   lambda first: [("a.so", first, "f"), *outer, ("a.so", 0x700, "f")]) == 2


def test_a_row_tells_the_holder_of_its_class():
    ours = memcheck_blocks.Blocks()
    for kind, holder in (("possible", "global x"), ("reachable", "global y")):
        ours.add([("a.so", 0x100, "f")], kind, 1, holder)
    theirs = memcheck_blocks.Blocks()
    theirs.add([("a.so", 0x100, "f")], "reachable", 2)
    assert memcheck_blocks.compare(ours, theirs)[0] == [("possible", "reachable", 1, "f (a.so); held by global x")]


def test_of_report_leaves_out_inlined_frames_and_counts_each_class():
    process = {"frames": [{"module": "/bin/a", "offset": 0x201, "function": "main", "inlined": False},
                          {"module": "/bin/a", "offset": 0x201, "function": "inlined", "inlined": True},
                          {"module": "/lib/libb.so.1", "offset": 0x101, "function": "f", "inlined": False}],
               "stacks": [[0, -1], [1, 0], [2, 1]],
               "sites": [{"stack": 2, "kinds": {"lost": {"blocks": 2}, "reachable": {"blocks": 1}},
                          "held_by": [{"kind": "reachable", "text": "global x"}, {"kind": "reachable", "text": "global y"}]}]}
    found = memcheck_blocks.of_report(process)
    place = (("libb.so", 0x100), ("a", 0x200))
    assert dict(found.places) == {place: {"lost": 2, "reachable": 1}}
    assert found.told(place, "reachable") == "f (libb.so) < main (a); held by global x"
    assert found.told(place, "lost") == "f (libb.so) < main (a)"
