# SPDX-License-Identifier: BSD-2-Clause
"""seep attach under many events: each is counted, or counted as lost. A minute of it is `make soak ONLY=attach`."""
import pytest

from harness import BUILD, report
from test_attach import Attached, can, hear, private, say  # noqa: F401

LOAD = BUILD / 'tests/live/live-attach-load'
NR = 100000


def trace_of(private, tmp_path, *options):  # noqa: F811
    program = private(LOAD, NR)
    trace = tmp_path / 'load.seep'
    attached = Attached(program.pid, '--output', trace, *options)
    say(program)
    hear(program)
    attached.stop()
    process, = report(trace)
    return process


@pytest.mark.parametrize('probes', ['best', 'multi', 'perf'])
def test_nothing_is_lost_and_nothing_is_left(private, tmp_path, probes):  # noqa: F811
    process = trace_of(private, tmp_path, '--probes', probes)
    totals = process['totals']
    assert process['health']['lost'] == {}, process['health']
    assert totals['allocations'] == totals['frees'] == NR
    assert totals['live_blocks'] == totals['live_bytes'] == totals['unknown_frees'] == 0
    assert totals['allocated_bytes'] == totals['freed_bytes']


def test_what_finds_no_room_is_counted_exactly(private, tmp_path):  # noqa: F811
    process = trace_of(private, tmp_path, '--buffer', '4K')
    totals, lost = process['totals'], process['health']['lost']
    assert lost['ring'] > 0 and not process['health']['complete']
    seen = totals['allocations'] + totals['by_release'].get('free', 0) + totals['unknown_frees']
    assert seen + lost['ring'] == 2 * NR
    # A free that was not seen is known when the address is given out again.
    assert totals['by_release'].get('implicit', 0) == lost.get('free_unseen', 0)
