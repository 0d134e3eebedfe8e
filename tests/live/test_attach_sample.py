# SPDX-License-Identifier: BSD-2-Clause
"""seep attach -s N: each allocation is recorded with the chance of 1 in N, whatever the order they come in."""
import re
import pytest

from harness import BUILD, SEEP, need, report, run
from test_attach import PROBES, can  # noqa: F401
from small_programs import built_program, program_source

ROUNDS = 4000

# 104 allocations a round, two of which are never freed: every 2nd or 4th would always be one of the same.
SOURCE = program_source('attach_sample.c')
# By function: allocations and live blocks of a round, and the size of each live one.
MADE = {'big': (1, 1, 1000), 'small': (1, 1, 21), 'brief': (102, 0, 0), 'grown': (11, 1, 410),
        'from_nothing': (1, 1, 64), 'array': (1, 1, 72)}


@pytest.fixture(scope='module')
def rounds(tmp_path_factory):
    need('gcc')
    folder = tmp_path_factory.mktemp('rounds')
    (folder / 'rounds.c').write_text(SOURCE)
    built = run(['gcc', '-g', '-O1', '-D_GNU_SOURCE', folder / 'rounds.c', '-o', folder / 'rounds'])
    assert built.code == 0, built
    return folder / 'rounds'


def of_main(process):
    """Without what the C library's start allocates: allocations, live blocks, live bytes by function."""
    found = {}
    for site in process['sites']:
        names = [frame['function'] for frame in site['stack']]
        if 'main' in names:
            figures = [site['allocations'], site['live_blocks'], site['live_bytes']]
            found[names[0]] = [a + b for a, b in zip(figures, found.get(names[0], [0] * 3))]
    return found


def about(found, made, rate):
    """Of the binomial distribution, within six standard deviations: once in 500 million."""
    expected = made / rate
    return abs(found - expected) <= 6 * (made * (1 / rate) * (1 - 1 / rate)) ** 0.5


@pytest.mark.parametrize('rate', [2, 4, 10])
@pytest.mark.parametrize('probes', PROBES)
def test_no_place_is_left_out(rounds, tmp_path, probes, rate):
    trace = tmp_path / 'rounds.seep'
    done = run([SEEP, 'attach', '-s', rate, '--probes', probes, '--output', trace, '--', rounds, ROUNDS], cwd=tmp_path)
    assert done.code == 0, done
    process, = report(trace)
    assert process['health']['lost'] == {}, process['health']
    assert [re.findall('[0-9]+', note) for note in process['health']['notes'] if note.code == 'sampled'] == [[str(rate)]], process['health']
    found = of_main(process)
    assert set(found) == set(MADE)
    for name, (allocations, live, size) in MADE.items():
        nr_allocations, nr_live, live_bytes = found[name]
        assert about(nr_allocations, allocations * ROUNDS, rate), (name, found)
        assert about(nr_live, live * ROUNDS, rate), (name, found)
        assert live_bytes == nr_live * size, (name, found)


def test_a_function_that_jumps_to_another_has_one_chance(tmp_path):
    """operator new that jumps to malloc; new[] that jumps to new, which jumps to malloc. The next call of a
    function that did not jump is not taken for a jump."""
    done = run([SEEP, 'attach', '-s', '4', '--output', tmp_path / 'a.seep', '--', BUILD / 'tests/live/live-attach-jumps',
                ROUNDS], cwd=tmp_path)
    assert done.code == 0, done
    process, = report(tmp_path / 'a.seep')
    found = {site['size_max']: site['allocations'] for site in process['sites'] if site['allocations'] > 1}
    assert len(found) == 5 and all(about(nr, ROUNDS, 4) for nr in found.values()), found


def test_without_a_rate_all_are_exact(rounds, tmp_path):
    trace = tmp_path / 'rounds.seep'
    done = run([SEEP, 'attach', '--output', trace, '--', rounds, 100], cwd=tmp_path)
    assert done.code == 0, done
    process, = report(trace)
    assert of_main(process) == {
        name: [100 * allocations, 100 * live, 100 * live * size] for name, (allocations, live, size) in MADE.items()}


@pytest.mark.parametrize('probes', PROBES)
def test_another_process_of_the_same_memory_frees(tmp_path, probes):
    """What a child with CLONE_VM has allocated its parent frees. The sample was kept by the process, so such blocks stayed live."""
    need('gcc')
    program, trace = built_program('frees_of_another.c', tmp_path, '-g', '-O1'), tmp_path / 't.seep'
    done = run([SEEP, 'attach', '-s', 2, '--probes', probes, '--output', trace, '--', program])
    assert done.code == 0, done
    sites = [site for process in report(trace) for site in process['sites']
             if 'makes' in [frame['function'] for frame in site['stack']]]
    assert sum(site['frees'] for site in sites) > 300 and not any(site['live_blocks'] for site in sites), sites
