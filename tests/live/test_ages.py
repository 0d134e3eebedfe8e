# SPDX-License-Identifier: BSD-2-Clause
"""Births of blocks (--age): order, threads, filters; and none without it."""
import json

import pytest
import messages
from harness import LIBSEEP, SEEP, environment, need, no_losses, report, run
from raw_image import Image
from small_programs import program_source

SOURCE = program_source('ages.c')


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    need('gcc')
    folder = tmp_path_factory.mktemp('ages')
    (folder / 'ages.c').write_text(SOURCE)
    done = run(['gcc', '-g', '-O1', '-pthread', folder / 'ages.c', '-o', folder / 'ages'])
    assert done.code == 0, done
    return folder / 'ages'


def blocks(process):
    """Of the sizes that only the program asks for: (age, thread)."""
    all_of = [block for site in process['sites'] for block in site['blocks']]
    return {block['size']: (block['age_s'], block['thread']) for block in all_of if block['size'] in
            (111, 128, 222, 333, 5000)}


def test_ages_and_threads_of_blocks(program, tmp_path):
    trace = tmp_path / 'x.seep'
    assert run([SEEP, 'run', '-q', '--age', '-o', trace, '--', program]).code == 0
    (process,) = report(trace, '--blocks')
    no_losses(process)
    seen = blocks(process)
    assert sorted(seen) == [111, 128, 222, 333, 5000]
    main = process['process']['pid']
    assert all(seen[size][1] == main for size in (111, 128, 222, 5000)) and seen[333][1] not in (main, None)
    for old in (111, 128):
        for young in (222, 333, 5000):  # a realloc is a birth
            assert seen[old][0] >= seen[young][0] + 0.29, (old, young)
    assert seen[333][0] >= seen[222][0] >= seen[5000][0] >= 0

    between = (min(seen[111][0], seen[128][0]) + max(seen[222][0], seen[333][0])) / 2
    done = run([SEEP, 'report', '--json', '--blocks', '--older', f'{int(between * 1e6)}us', trace])
    assert sorted(blocks(json.loads(done.out))) == [111, 128]
    done = run([SEEP, 'report', '--sort', 'age', trace])
    assert done.code == 0 and b'oldest ' in done.out and b'\nages ' in done.out, done
    done = run([SEEP, 'report', '--json', '--by', 'thread', trace])
    groups = json.loads(done.out)['groups']
    assert sum(group['live_blocks'] for group in groups) == process['totals']['live_blocks']


def test_the_second_plane_leaves_the_first_alone(program, tmp_path):
    images = {}
    for age in ('0', '1'):
        out = tmp_path / f'{age}.seep'
        assert run([program], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=out, SEEP_AGE=age)).code == 0
        image = Image(out)
        assert not any(image.lost)
        images[age] = (image.totals(), sorted(size for _, size in image.blocks()))
    assert images['0'] == images['1']


def test_sampled_blocks_have_ages_too(program, tmp_path):
    trace = tmp_path / 'x.seep'
    assert run([SEEP, 'run', '-q', '--age', '--sample', '1', '-o', trace, '--', program]).code == 0
    (process,) = [json.loads(run([SEEP, 'report', '--json', '--blocks', trace]).out)]
    seen = blocks(process)
    assert seen[111][0] >= seen[222][0] + 0.29


def test_what_came_before_the_real_allocator_is_not_given_to_it(tmp_path):
    # libc notes in the library's own memory that the end is to be marked, and frees that at the end. Where the
    # thread cache is full, the real free looks at what it is given.
    need('gcc')
    source = tmp_path / 'full.c'
    source.write_text(program_source('ages_constructor.c'))
    assert run(['gcc', '-g', '-O0', source, '-o', tmp_path / 'full']).code == 0
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'full.seep', SEEP_AGE=1)
    for sample in (0, 1, 100, 1000000):
        done = run([tmp_path / 'full'], env={**env, 'SEEP_SAMPLE': str(sample)})
        assert (done.code, done.err) == (0, b''), sample


def test_without_it_there_are_none(program, tmp_path):
    trace = tmp_path / 'x.seep'
    assert run([SEEP, 'run', '-q', '-o', trace, '--', program]).code == 0
    (process,) = report(trace, '--blocks')
    assert {age for age, _ in blocks(process).values()} == {None}
    done = run([SEEP, 'report', '--older', '1s', trace])
    assert done.code == 1 and messages.NO_AGES.encode() in done.err
    done = run([program], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'y.seep', SEEP_AGE='perhaps'))
    assert done.err == f'libseep: SEEP_AGE: 0 or 1 is wanted; {messages.USES_THE_DEFAULT}\n'.encode()
