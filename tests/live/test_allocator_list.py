# SPDX-License-Identifier: BSD-2-Clause
"""seep run --allocator A,B: the program itself with each allocator in turn, compared in one table."""
import csv
import io
import json
from pathlib import Path

import pytest
import messages
from harness import SEEP, library, need, run
from small_programs import program_source

HERE = Path(__file__).parent


def compare(folder, allocators, *words, code=0, **more):
    done = run([SEEP, 'run', '--allocator', allocators, '--rounds', 3, *words], cwd=folder, **more)
    assert done.code == code, done
    return done


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    """Its peak is known, and which allocator it has: it writes both."""
    need('gcc')
    folder = tmp_path_factory.mktemp('list')
    done = run(['gcc', '-O1', '-fno-builtin', HERE / 'replay_memory.c', '-o', folder / 'program'])
    assert done.code == 0, done
    return folder / 'program'


def test_each_in_turn_and_nothing_is_traced(program, tmp_path):
    jemalloc = library('libjemalloc.so.2')
    done = compare(tmp_path, f'glibc,jemalloc,{jemalloc},glibc:mmap_threshold=4096', '--report', 'table.json', '--json', '--',
                   program)
    result = json.loads((tmp_path / 'table.json').read_text())
    assert not done.out and not done.err and not list(tmp_path.glob('*.seep')), done
    assert result['program'] == str(program) and result['rounds'] == 3
    rows = {row['allocator']: row for row in result['allocators']}
    assert list(rows) == ['glibc', 'jemalloc', str(jemalloc), 'glibc:mmap_threshold=4096']
    for row in rows.values():
        assert row['time_ns'] > 0 and row['ratio_low'] <= row['ratio'] <= row['ratio_high']
        assert row['rss_bytes'] and row['rss_every_ns'] >= 1000000
        assert 64 << 20 < row['peak_rss_bytes'] < 160 << 20 and max(row['rss_bytes']) <= row['peak_rss_bytes'] * 1.05
    # Blocks with mappings of their own share no pages, so the faults tell that the tunable has arrived.
    assert rows['glibc:mmap_threshold=4096']['page_faults'] > 200 + rows['glibc']['page_faults']


def test_the_library_is_loaded_behind_what_the_user_preloads(tmp_path):
    jemalloc = library('libjemalloc.so.2')
    done = compare(tmp_path, f'glibc,{jemalloc}', '--', 'sh', '-c', 'cat /proc/self/maps >>seen')
    assert not done.out
    text = (tmp_path / 'seen').read_text()
    # Two to look at memory, and four rounds of two.
    runs = text.count('[stack]')
    assert runs == 10 and 0 < text.count(str(jemalloc.resolve())) <= runs * 10 // 2


def test_what_it_writes_and_reads(tmp_path):
    """Of the first run only, with its status; and each run gets the whole input, from a pipe or a file."""
    count = ['sh', '-c', 'wc -c | tee -a seen; exit 3']
    done = compare(tmp_path, 'glibc,glibc', '--report', '-', '--csv', '--', *count, code=3, input=b'x' * 100000)
    lines = done.out.decode().splitlines()
    assert lines[0] == '100000'
    rows = list(csv.DictReader(io.StringIO('\n'.join(lines[1:]))))
    assert [row['allocator'] for row in rows] == ['glibc', 'glibc'] and float(rows[0]['ratio']) == 1
    assert (tmp_path / 'seen').read_text().split() == ['100000'] * 10
    (tmp_path / 'input').write_bytes(b'y' * 5000)
    (tmp_path / 'seen').unlink()
    script = 'exec <input; dd bs=1000 count=1 of=/dev/null status=none; exec "$@"'  # a run begins where seep did
    done = run(['sh', '-c', script, 'sh', SEEP, 'run', '--allocator', 'glibc,glibc', '--rounds', 3, *count], cwd=tmp_path)
    assert done.code == 3, done
    assert (tmp_path / 'seen').read_text().split() == ['4000'] * 10


def test_the_text_is_a_table(tmp_path):
    done = compare(tmp_path, 'glibc,glibc:arena_max=1', '--', 'true')
    lines = done.err.decode().splitlines()
    assert lines[0].startswith('ran true: 3 rounds') and lines[2].split()[0] == 'allocator'
    # A name that is wider than its column has a line of its own.
    assert [line.split()[0] for line in lines[3:] if not line.startswith(' ')] == ['glibc', 'glibc:arena_max=1'], lines


NOTHING_TRACED = b'nothing is traced'


@pytest.mark.parametrize('words, code, said', [
    (['glibc,nosuch', 'true'], 1, b"no library of 'nosuch' is installed"),
    (['glibc,glibc:arena_max', 'true'], 2, b'no value (glibc:arena_max=1, for example)'),
    (['glibc,', 'true'], 2, messages.EMPTY_IN_LIST.encode()),
    (['glibc,jemalloc', 'nosuch'], 127, messages.NOT_IN_PATH.encode()),
    (['glibc,jemalloc', '--mode', 'record', 'true'], 2, NOTHING_TRACED),
    (['glibc,jemalloc', '-o', 'x.seep', 'true'], 2, NOTHING_TRACED),
    (['glibc,jemalloc', '--tree', 'true'], 2, NOTHING_TRACED),
])
def test_wrong_use(words, code, said, tmp_path):
    done = compare(tmp_path, *words, code=code)
    assert said in done.err and done.err.count(b'\n') == 1, done


def test_rounds_alone_and_a_static_program(tmp_path):
    need('gcc')
    done = run([SEEP, 'run', '--rounds', 3, 'true'], cwd=tmp_path)
    assert done.code == 2 and b'--rounds needs a list' in done.err, done
    (tmp_path / 'static.c').write_text(program_source('empty_main.c'))
    assert run(['gcc', '-static', 'static.c', '-o', 'static'], cwd=tmp_path).code == 0
    done = compare(tmp_path, 'glibc,jemalloc', './static', code=1)
    assert b'static' in done.err and b'nothing can be preloaded' in done.err and done.err.count(b'\n') == 1, done


def test_one_that_crashes_is_named(program, tmp_path):
    need('gcc')
    done = run(['gcc', '-O1', '-fno-builtin', '-shared', '-fPIC', '-DDIES=abort()', HERE / 'replay_allocators.c', '-o', 'dies.so'],
               cwd=tmp_path)
    assert done.code == 0, done
    done = compare(tmp_path, 'glibc,./dies.so', '--', program, code=1)
    assert b'with ./dies.so the program was ended by signal 6' in done.err and b'leave it out' in done.err, done
    assert done.err.count(b'\n') == 1, done


def test_one_that_does_not_return_is_ended(program, tmp_path):
    need('gcc')
    done = run(['gcc', '-O1', '-fno-builtin', '-shared', '-fPIC', '-DDIES=pause()', HERE / 'replay_allocators.c', '-o', 'waits.so'],
               cwd=tmp_path)
    assert done.code == 0, done
    done = compare(tmp_path, 'glibc,./waits.so', '--', program, code=1)
    assert b'with ./waits.so the program had not ended after ' in done.err and done.err.count(b'\n') == 1, done
