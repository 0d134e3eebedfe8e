# SPDX-License-Identifier: BSD-2-Clause
"""The lines that a report begins with: does it leak, what was freed wrong, what does it hold, what was the peak, what churns."""
import csv
import json
import re
import signal

import pytest

from harness import BUILD, SEEP, environment, need, run
from small_programs import built_program

PROGRAM = BUILD / 'tests/live/live-answers'


def answers(folder, how):
    """({kind: text} of the text report, the findings of the JSON report, the whole text)"""
    trace = folder / 'answers.seep'
    done = run([SEEP, 'run', '-q', '-o', trace, '--', PROGRAM, how])
    assert done.code == 0, done
    text = run([SEEP, 'report', trace])
    assert text.code == 0, text
    lines = text.out.decode().split('\n\n')[1].splitlines()
    found = json.loads(run([SEEP, 'report', '--json', trace]).out)['findings']
    shown = dict(line.split(None, 1) for line in lines)
    assert {one['kind']: one['text'] for one in found} == shown
    assert list(shown) == [kind for kind in ('leaks', 'grows', 'frees', 'holds', 'peak', 'churn') if kind in shown]
    return shown, {one['kind']: one for one in found}, text.out.decode()


def place(name):
    return rf'{name} \(answers\.c:\d+\)'


@pytest.mark.parametrize('how, kind, bad, words', [
    ('hold', 'leaks', False, 'nothing is lost'),
    ('leak', 'leaks', True, rf'1\.12 KiB lost in 50 blocks, all from {place("place_leak")}'),
    ('both', 'leaks', True, rf'1\.12 KiB lost in 50 blocks, all from {place("place_leak")}'),
    ('leak,hold', 'leaks', True, rf'1\.12 KiB lost in 50 blocks, all from {place("place_leak")}'),
    ('middle', 'leaks', False, r'nothing is lost; 100 blocks of 97\.7 KiB possibly'),
    ('leak,middle', 'leaks', True, rf'1\.12 KiB lost in 50 blocks, all from {place("place_leak")}; 100 blocks of 97\.7 KiB possibly'),
    ('leak,hold', 'holds', False, rf'98\.8 KiB in 150 blocks, 98\.9% from {place("place_hold")}; held by global void \*kept\[\] \(answers\.c:\d+\) in live-answers'),
    ('clean', 'holds', False, 'nothing: all was freed'),
    ('hold,peak', 'peak', False, rf'10\.1 MiB, 99\.1% from {place("place_peak")}'),
    ('two', 'peak', False, rf'15\.0 MiB, 66\.7% from {place("place_peak")}, 33\.3% from {place("place_two")}'),
    ('pairs', 'churn', False, rf'50\.0% of 10,000 .*\(5,000\) from {place("place_pairs")}'),
    ('hold,pairs,clean', 'churn', False, rf'49\.5% of 10,101 .*\(5,000\) from {place("place_pairs")}'),
    ('churn', 'churn', False, rf'100\.0% of 5,000 .*\(5,000\) from {place("place_churn")}'),
    ('hold,short', 'churn', False, rf'99\.5% of 20,100 allocations from {place("place_short")}, called by {place("two_short_ones")}: 1\.91 MiB in all, at most 200 B at once'),
    # Of 200 stacks: the twelve that have most are 6 % of it.
    ('deep', 'holds', False, rf'195 KiB in 200 blocks, all from {place("place_deep")}; held by .*'),
    ('deep', 'peak', False, rf'195 KiB, all from {place("place_deep")}'),
    ('deep', 'churn', False, rf'100\.0% of 12,000 allocations from {place("place_deep")}: 11\.4 MiB in all, at most 195 KiB at once'),
    ('rounds', 'churn', False, rf'(100\.0|99\.9)% of 15,0\d\d allocations from {place("place_round")}: 1\.4\d MiB in all, at most [\d.]+ (KiB|B) at once'),
])
def test_answers(how, kind, bad, words, tmp_path):
    shown, found, _ = answers(tmp_path, how)
    assert re.fullmatch(words, shown[kind]), shown
    assert found[kind]['bad'] is bad
    if 'answers' in words:
        assert re.fullmatch(place('place_[a-z]+'), found[kind]['place']) and 0 < found[kind]['place_value'] <= found[kind]['value']
    else:
        assert found[kind]['place'] is None


@pytest.mark.parametrize('how, options, words', [
    ('hold,server', [], rf"not known: none of 100 blocks from {place('place_hold')} was freed; 'seep run --interval 1s' tells"),
    ('rounds,server', [], None),
    ('crowd,server', ['--sample', '1M'], None),  # some 20 samples
])
def test_growth_of_a_server_without_looks_over_time(how, options, words, tmp_path):
    trace = tmp_path / 'answers.seep'
    done = run([SEEP, 'run', '-q', *options, '-o', trace, '--', PROGRAM, how])
    assert done.code == 128 + signal.SIGTERM, done
    found = {one['kind']: one for one in json.loads(run([SEEP, 'report', '--json', trace]).out)['findings']}
    assert ('grows' in found) == (words is not None), found
    if words:
        assert re.fullmatch(words, found['grows']['text']) and not found['grows']['bad'], found
        assert found['grows']['place_value'] == found['grows']['value'] > 0, found


def test_what_is_not_so_is_not_said(tmp_path):
    shown, _, text = answers(tmp_path, 'hold')
    assert set(shown) == {'leaks', 'holds', 'peak'}
    assert '--kind' not in text.splitlines()[-1]


def test_lost_blocks_are_what_to_look_at_next(tmp_path):
    text = answers(tmp_path, 'leak,hold')[2]
    assert re.search(r'\nnext: seep report \S+ --kind lost,indirect   \(only what is lost\)\n$', text)


@pytest.mark.parametrize('how, options, mode', [
    ('leak,hold,peak', ['--kind lost,indirect', '--sort peak'], 'live'),
    ('hold,peak', ['--at peak'], 'record'),
    ('hold,churn', ['--sort temporary'], 'live'),
    ('rounds', ['--sort allocations'], 'live'),
    ('hold', ['--blocks'], 'live'),  # all is here: more of the same
])
def test_each_first_line_has_the_command_that_shows_its_evidence(how, options, mode, tmp_path):
    trace = tmp_path / 'answers.seep'
    run([SEEP, 'run', '-q', '--mode', mode, '-o', trace, '--', PROGRAM, how])
    text = run([SEEP, 'report', trace]).out.decode()
    lines = text[text.index('\nnext: '):].split('\n')[1:-1]
    assert [line[6:].split('   (')[0].rstrip() for line in lines] == [f'seep report {trace} {option}' for option in options], lines
    assert len({line.index('(') for line in lines}) == 1 and all(line[:6] in ('next: ', ' ' * 6) for line in lines), lines
    for option in options:  # which is not advised again where it is given
        again = run([SEEP, 'report', trace, *option.split(' ')])
        assert again.code == 0 and f' {option}  ' not in again.out.decode().split('\nnext: ')[1], again


def test_by_function_passes_wrappers(tmp_path):
    answers(tmp_path, 'leak,hold')
    done = run([SEEP, 'report', '--json', '--by', 'function', tmp_path / 'answers.seep'])
    assert {row['key'] for row in json.loads(done.out)['groups'] if row['live_blocks']} == {'place_leak', 'place_hold'}


def test_blocks_freed_in_a_wrong_way_are_named(tmp_path):
    trace = tmp_path / 'wrong.seep'
    run([SEEP, 'run', '-q', '-o', trace, '--', BUILD / 'tests/live/live-wrong-releases'])
    found = json.loads(run([SEEP, 'report', '--json', trace]).out)['findings']
    frees, = [one for one in found if one['kind'] == 'frees']
    assert frees['bad'] and frees['value'] >= 1 and '(wrong_releases.cpp:' in frees['place']


@pytest.mark.parametrize('allocator, is_advised', [('pymalloc', True), ('malloc', False)])
def test_arenas_of_python_are_no_heap(allocator, is_advised, tmp_path):
    """Its objects are in no figure of the heap, unless it is told to take malloc."""
    need('/usr/bin/python3')
    done = run([SEEP, 'run', '-o', tmp_path / 'p.seep', '--', '/usr/bin/python3', '-c', 'kept = [str(i) * 3 for i in range(90000)]'],
               env=environment(PYTHONMALLOC=allocator))
    assert done.code == 0 and (b'PYTHONMALLOC=malloc' in done.err) == is_advised, done
    checked = run([SEEP, 'check', '/usr/bin/python3', '-S', '-c', '0'], env=environment(PYTHONMALLOC=allocator))
    assert (b'PYTHONMALLOC=malloc' in checked.err) == is_advised, checked


@pytest.mark.parametrize('name, size, is_advised', [('libglib-2.0.so.0.1', 1008, True), ('libglib-2.0.so.0.1', 1000, False),
                                                    ('libother.so', 1008, False)])
def test_slices_of_glib_hide_blocks(name, size, is_advised, tmp_path):
    """Valgrind makes GLib use malloc. Here a check that passes says what it did not see."""
    library = tmp_path / name
    built_program('glib_slices.c', tmp_path, '-DLIBRARY', '-shared', '-fPIC').rename(library)
    user = built_program('glib_slices.c', tmp_path, f'-DSIZE={size}', '-Wl,--no-as-needed', library)
    checked = run([SEEP, 'check', user])
    assert checked.code == 0 and (b'G_SLICE=always-malloc' in checked.err) == is_advised, checked
    reported = run([SEEP, 'run', '-o', tmp_path / 'user.seep', '--', user])
    assert (b'(each block: GLib has 8.86 KiB of them in slices)' in reported.err) == is_advised, reported


def test_live_estimates_have_the_error_of_their_own_samples(tmp_path):
    """20,000 blocks of 1000 bytes are held, of which some 300 are recorded."""
    trace = tmp_path / 'sampled.seep'
    done = run([SEEP, 'run', '-q', '--sample', '64K', '-o', trace, '--', PROGRAM, 'crowd,churn'])
    assert done.code == 0, done
    totals = json.loads(run([SEEP, 'report', '--json', trace]).out)['totals']
    assert 150 < totals['live_samples'] < 600
    assert totals['live_error_percent'] == pytest.approx(100 / totals['live_samples'] ** 0.5, rel=0.02)
    # The peak rests on nearly the same samples.
    assert totals['peak_error_percent'] == pytest.approx(totals['live_error_percent'], rel=0.1)
    assert f"estimated: ±{totals['peak_error_percent']:.0f}%" in run([SEEP, 'report', trace]).out.decode()
    # Six standard deviations: once in 500 million runs.
    assert abs(totals['live_bytes'] / 20e6 - 1) < 6 * totals['live_error_percent'] / 100
    for by, nr in (('site', 'row'), ('module', 'module')):
        text = run([SEEP, 'report', '--csv', '--by', by, '--top', '0', trace]).out.decode()
        rows = [row for row in csv.DictReader(text.splitlines()) if row.get('row', 'site') == 'site']
        assert nr in rows[0] and None not in rows[0], rows[0]
        most = max(rows, key=lambda row: int(row['samples']))
        assert int(most['samples']) > 150 and float(most['error_percent']) == pytest.approx(
            100 / int(most['samples']) ** 0.5, abs=0.1), most
    text = run([SEEP, 'report', trace]).out.decode()
    assert re.search(rf"estimated from {totals['live_samples']} live samples: ±\d+%$", text, re.M)
