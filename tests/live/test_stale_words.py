# SPDX-License-Identifier: BSD-2-Clause
"""Old words in memory that is handed out again hold nothing where it is wiped, as seep check has it by default."""
import pytest
from harness import BUILD, SEEP, environment, report, run

PROGRAM = BUILD / 'tests/live/live-stale-words'
WAYS = ['malloc', 'realloc', 'memalign']


def lost(tmp_path, how, *options):
    trace = tmp_path / 'w.seep'
    done = run([SEEP, 'run', '-q', '-o', trace, *options, '--', PROGRAM, how])
    assert done.code == 0, done
    (process,) = report(trace)
    return process['leaks']['lost']['blocks'], process['health']['notes']


@pytest.mark.parametrize('how', WAYS)
def test_old_words_hold_nothing_where_memory_is_wiped(how, tmp_path):
    """Nearly all of a thousand are held by old words; wiped, none is, and the report says that it was."""
    stale, notes = lost(tmp_path, how)
    assert stale < 100 and not any('wiped' in str(note) for note in notes), (stale, notes)  # seldom: other notes
    wiped, notes = lost(tmp_path, how, '--wipe-freed', 'yes')
    assert wiped == 1000 and any('wiped' in str(note) for note in notes), (wiped, notes)


@pytest.mark.parametrize('how', WAYS)
@pytest.mark.parametrize('setting', [{'MALLOC_PERTURB_': '170'}, {'GLIBC_TUNABLES': 'glibc.malloc.perturb=170'}])
def test_memory_that_glibc_fills_is_not_wiped(setting, how, tmp_path):
    """Who looks for uses of memory that is not initialized finds the byte asked for, and old words hold nothing all the same."""
    trace = tmp_path / 'w.seep'
    done = run([SEEP, 'run', '-q', '-o', trace, '--wipe-freed', 'yes', '--', PROGRAM, how], env=environment(**setting))
    assert (done.code, int(done.out) > 900) == (0, True), done
    (process,) = report(trace)
    assert process['leaks']['lost']['blocks'] == 1000, process['leaks']


@pytest.mark.parametrize('how', WAYS)
def test_blocks_that_are_not_sampled_are_wiped(how, tmp_path):
    def old_words(*options):
        done = run([SEEP, 'run', '-q', '-o', tmp_path / 'w.seep', '--sample', '1G', *options, '--', PROGRAM, how])
        assert done.code == 0, done
        return int(done.out)
    assert old_words() > 900
    assert old_words('--wipe-freed', 'yes') == 0


def test_a_check_wipes_by_itself():
    assert run([SEEP, 'check', PROGRAM, 'malloc']).code == 1
