# SPDX-License-Identifier: BSD-2-Clause
"""Where blocks are sampled, what is passed by is counted all the same: with what is recorded it is what the witness saw."""
import pytest
from harness import LIBSEEP, WITNESS, environment, need, read_witness, run
from raw_image import THREAD, THREADS, Image
from test_raw_image import COMMANDS
from small_programs import program_source

FAILED, SKIPPED, SAMPLED = 17, slice(18, 21), slice(21, 24)  # of a thread's slot: allocations, bytes, frees


def slots(path):
    (trace,) = path.glob('x.*.seep')
    image = Image(trace)
    return image, [THREAD.unpack(image.element(THREADS, THREAD.size, i)) for i in range(image.areas[THREADS][2])]


def compiled(path, source, *options):
    need('gcc')
    (path / 'program.c').write_text(source)
    done = run(['gcc', '-g', '-O1', '-fno-builtin', path / 'program.c', '-o', path / 'program', *options])
    assert done.code == 0, done
    return path / 'program'


@pytest.mark.parametrize('sample', ['1', '4096', '524288'])
@pytest.mark.parametrize('name', COMMANDS)
def test_nothing_is_passed_by_uncounted(name, sample, tmp_path):
    need(COMMANDS[name][0])
    env = environment(
        LD_PRELOAD=f'{LIBSEEP}:{WITNESS}',
        SEEP_OUT=tmp_path / 'x.%p.seep',
        SEEP_SAMPLE=sample,
        PYTHONMALLOC='malloc',
        COUNT_SHIM_OUT=tmp_path / 'witness',
    )
    done = run(COMMANDS[name], env=env)
    assert done.code == 0, done
    image, threads = slots(tmp_path)
    saw = read_witness(tmp_path)[0]['now']
    allocations, size, frees = (sum(slot[SKIPPED][i] + slot[SAMPLED][i] for slot in threads) for i in range(3))
    assert allocations == saw['allocations']
    if name != 'operators':  # operator new rounds sizes up before it calls the allocator
        assert size == saw['bytes']
    assert frees == saw['frees']
    assert not any(image.lost), image.lost


def test_failures_are_none_that_were_passed_by(tmp_path):
    program = compiled(
        tmp_path,
        program_source('sampled_counts_failures.c'),
    )
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'x.%p.seep', SEEP_SAMPLE='524288')
    done = run([program], env=env)
    assert done.code == 0, done
    _, (slot,) = slots(tmp_path)
    assert slot[FAILED] == 500
    assert [a + b for a, b in zip(slot[SKIPPED], slot[SAMPLED])] == [2, 30, 2]


def test_what_is_passed_by_in_between_is_not_nothing(tmp_path):
    """A block is temporary when its free follows at once, not when a skipped allocation or free comes first."""
    program = compiled(
        tmp_path,
        program_source('sampled_counts_between.c'),
    )
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'x.%p.seep', SEEP_SAMPLE='1')
    done = run([program], env=env)
    assert done.code == 0, done
    image, (slot,) = slots(tmp_path)
    assert slot[SAMPLED][0] == 400
    totals = image.totals()
    assert 4 * totals['temporary'] == totals['allocations']


def test_a_thread_s_first_allocation_is_one_as_others_are(tmp_path):
    """It was always recorded: with a weight for as many as no point falls into."""
    program = compiled(
        tmp_path,
        program_source('sampled_counts_first.c'),
        '-pthread',
    )
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'x.%p.seep', SEEP_SAMPLE=str(1 << 30))
    done = run([program], env=env)
    assert done.code == 0, done
    _, threads = slots(tmp_path)
    assert sum(slot[SAMPLED][0] for slot in threads) == 0
    assert sum(slot[SKIPPED][0] for slot in threads) >= 200
