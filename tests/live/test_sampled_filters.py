# SPDX-License-Identifier: BSD-2-Clause
"""Filters on blocks, where blocks are samples: what passes is weighted as the whole is."""

import pytest

from harness import SEEP, need, run
import report_json
from small_programs import program_source


@pytest.fixture(scope='module')
def trace(tmp_path_factory):
    """Blocks of 10 and of 1000 bytes from one place, and of 300 from another, about one in 4 KiB recorded."""
    need('gcc')
    folder = tmp_path_factory.mktemp('sampled')
    (folder / 'program.c').write_text(program_source('sampled_filters_trace.c'))
    done = run(['gcc', '-g', '-O1', '-fno-optimize-sibling-calls', folder / 'program.c', '-o', folder / 'program'])
    assert done.code == 0, done
    done = run([SEEP, 'run', '-q', '--sample', '4K', '--scan', 'no', '-o', folder / 'x.seep', folder / 'program'])
    assert done.code == 0, done
    return folder / 'x.seep'


def sites(trace, *options):
    done = run([SEEP, 'report', trace, '--json', '--top', '0', *options])
    assert done.code == 0, done
    found = {}
    for site in report_json.loads(done.out)['sites']:  # a compiler may make two places of one
        if site['live_blocks']:
            before = found.get(site['stack'][1]['function'], (0, 0))
            found[site['stack'][1]['function']] = (before[0] + site['live_bytes'], before[1] + site['live_blocks'])
    return found


def test_all_that_pass_are_the_whole(trace):
    whole = sites(trace)
    assert set(whole) == {'one', 'two'}
    assert sites(trace, '--min-size', '1') == whole
    assert sites(trace, '--min-size', '300', '--max-size', '300') == {'one': whole['one']}


def test_some_are_their_share(trace):
    whole = sites(trace)['two']
    small, big = (sites(trace, *options)['two'] for options in (('--max-size', '10'), ('--min-size', '1000')))
    for i in range(2):
        assert abs(small[i] + big[i] - whole[i]) <= 1
    # 10,000 of each; a small one is recorded once in 400, so there are about 25 samples of them.
    assert 8000000 < big[0] < 12000000 and 8000 < big[1] < 12000, big
    assert 10000 < small[0] < 300000 and 1000 < small[1] < 30000, small
