# SPDX-License-Identifier: BSD-2-Clause
"""The looks of --interval as moments of a trace: listed, FILE@3, FILE@12s, in JSON, in diffs."""
import json
import re

import pytest

import messages
from harness import BUILD, SEEP, run

PROGRAM = BUILD / 'tests/live/live-answers'


def report(source, *options):
    done = run([SEEP, 'report', '--json', *options, source])
    assert done.code == 0, done
    return json.loads(done.out)


@pytest.fixture(scope='module')
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp('snapshots') / 'grows.seep'
    done = run([SEEP, 'run', '-q', '--interval', '0.05s', '-o', path, '--', PROGRAM, 'slowly'])
    assert done.code == 0, done
    return path


def snapshots(trace):
    return report(trace)['growth']['snapshots']


def test_each_is_a_moment(trace):
    all_of_them = snapshots(trace)
    assert len(all_of_them) >= 5 and [one['number'] for one in all_of_them] == list(range(1, len(all_of_them) + 1))
    for one in all_of_them:
        then = report(f'{trace}@{one["number"]}')
        assert (then['totals']['live_bytes'], then['totals']['live_blocks']) == (one['live_bytes'], one['live_blocks'])
        assert sum(site['live_bytes'] for site in then['sites']) == one['live_bytes']
        assert {note['code'] for note in then['health']['notes']} >= {'of_snapshot'}
    assert all_of_them[-1]['live_bytes'] > all_of_them[0]['live_bytes']


def test_a_time_is_the_last_snapshot_until_then(trace):
    all_of_them = snapshots(trace)
    assert len(all_of_them) > 2
    for one, after in zip(all_of_them[1:], all_of_them[2:]):
        middle_us = int((one['at_s'] + after['at_s']) / 2 * 1e6)
        assert report(f'{trace}@{middle_us}us')['totals']['live_bytes'] == one['live_bytes']


def test_what_is_not_there_says_what_is(trace):
    for name, said in (('999', messages.NO_MARK_OR_SNAPSHOT), ('1us', messages.NO_MARK_OR_SNAPSHOT), ('nothing', messages.NO_MARK)):
        done = run([SEEP, 'report', f'{trace}@{name}'])
        assert done.code != 0 and (f'seep: {trace}: ' + said % name).encode() in done.err, done
    done = run([SEEP, 'report', f'{trace}@999'])
    assert re.search(rb'it has \d+ snapshots, from \d+ ms to [\d.]+ m?s\)\n$', done.err), done


def test_a_diff_of_two(trace):
    all_of_them = snapshots(trace)
    done = run([SEEP, 'diff', '--json', f'{trace}@2', f'{trace}@4'])
    assert done.code == 0, done
    totals = json.loads(done.out)['totals']
    assert (totals['old']['live_bytes'], totals['new']['live_bytes']) == (all_of_them[1]['live_bytes'], all_of_them[3]['live_bytes'])


def test_growth_lists_them(trace):
    done = run([SEEP, 'growth', trace])
    numbers = re.findall(r'^  @(\d+) ', done.out.decode(), re.M)
    all_of_them = snapshots(trace)
    assert numbers[0] == '1' and numbers[-1] == str(len(all_of_them)) and len(numbers) == min(20, len(all_of_them))
