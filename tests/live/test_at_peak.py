# SPDX-License-Identifier: BSD-2-Clause
"""What each site held when the live bytes of the process were highest, against what the program itself counted."""

import pytest

import messages
from harness import BUILD, SEEP, run, traced
import report_json

PROGRAM = BUILD / 'tests/live/live-at-peak'


def told(out):
    return {name: int(value) for name, value in (line.split() for line in out.decode().splitlines())}


def at_peak(trace, *options):
    done = run([SEEP, 'report', '--json=1', '--top', '0', *options, f'{trace}@peak'])
    assert done.code == 0, done
    whole = report_json.loads(done.out)
    return whole.get('processes') or [whole]


def by_place(process):
    sums = {}
    for site in process['sites']:
        for frame in site['stack']:
            if (frame['function'] or '').startswith('place_'):
                sums[frame['function']] = sums.get(frame['function'], 0) + site['live_bytes']
    return sums


def test_json_has_it(tmp_path):
    done = traced([PROGRAM, 'one'], tmp_path)
    whole = report_json.loads(run([SEEP, 'report', '--json=2', '--top', '0', done.trace]).out)
    process, = whole.get('processes') or [whole]
    assert sorted(site['at_peak_bytes'] for site in process['sites'])[-2:] == [500000, 30000000]


def test_other_commands_have_it(tmp_path):
    done = traced([PROGRAM, 'one'], tmp_path)
    folded = run([SEEP, 'export', '--format', 'folded', f'{done.trace}@peak'])
    assert folded.code == 0, folded
    sizes = sorted(int(line.rsplit(b' ', 1)[1]) for line in folded.out.splitlines())
    assert sizes[-2:] == [500000, 30000000]
    asked = run([SEEP, 'sql', '--csv', f'{done.trace}@peak', 'select live_bytes from site order by 1 desc limit 2'])
    assert asked.out.split() == [b'live_bytes', b'30000000', b'500000'], asked


def check(process, expected):
    """The moment is one at which the process held as much to within 1 %. What churns at that height, as some places
    do here, may by then have gone from one place to another."""
    peak = expected['peak']
    found = by_place(process)
    assert peak * 0.99 <= process['totals']['live_bytes'] <= peak * 1.01 + 8192, (process['totals'], expected)
    for name, bytes_then in expected.items():
        if name != 'peak':
            assert abs(found.get(name, 0) - bytes_then) <= peak / 25, (name, found, expected)


@pytest.mark.parametrize('mode', ['one', 'rising', 'churn'])
def test_one_thread(mode, tmp_path):
    done = traced([PROGRAM, mode, 7], tmp_path)
    assert done.code == 0, done
    process, = at_peak(done.trace)
    check(process, told(done.out))


@pytest.mark.parametrize('seed', range(1, 13))
def test_seeds(seed, tmp_path):
    done = traced([PROGRAM, 'churn', seed], tmp_path)
    process, = at_peak(done.trace)
    check(process, told(done.out))


def test_threads(tmp_path):
    """Each thread tells the process of its bytes in steps of 64 KiB. They may be as high again with other places: the sum of the
    places is what was live."""
    done = traced([PROGRAM, 'threads', 3], tmp_path)
    process, = at_peak(done.trace)
    peak, live, slack = told(done.out)['peak'], process['totals']['live_bytes'], 5 * (64 << 10)
    assert peak * 0.99 - slack <= live <= peak * 1.01 + slack + 8192, process['totals']
    found = by_place(process)
    assert len(found) > 3 and 0.95 * live <= sum(found.values()) <= live, (found, live)


def test_child_of_fork(tmp_path):
    done = traced([PROGRAM, 'child', 5], tmp_path)
    parent, child = at_peak(done.trace)
    check(child, told(done.out))
    check(parent, {'peak': 1000000, 'place_0': 334000, 'place_1': 333000, 'place_2': 333000})


def test_alone_and_sampled(tmp_path):
    """The file that the library leaves has it, too; with sampling it is an estimate like all else."""
    done = traced([PROGRAM, 'one'], tmp_path, options=['--sample', '64K'])
    process, = at_peak(done.trace)
    assert by_place(process).get('place_1') == 30000000, process
    assert 'place_2' not in by_place(process)


def test_order_and_text(tmp_path):
    done = traced([PROGRAM, 'one'], tmp_path)
    text = run([SEEP, 'report', '--sort', 'peak', '--top', '1', done.trace]).out.decode()
    assert f'#1  30,000,000 bytes {messages.AT_THE_PEAK} in 1 block' in text, text
    text = run([SEEP, 'report', '--top', '0', done.trace]).out.decode()
    assert f'500,000 bytes {messages.AT_THE_PEAK}' in text, text
    diff = run([SEEP, 'diff', f'{done.trace}@peak', done.trace])
    assert diff.code == 0 and '-30,000,000' in diff.out.decode(), diff
