# SPDX-License-Identifier: BSD-2-Clause
"""seep export --format parquet: each event of a recording, read back by a reader of its own, and by DuckDB."""
import collections
import csv
import io
import json
import os
import shutil
from pathlib import Path

import parquet
import pytest
from harness import BUILD, SEEP, environment, need, run
from small_programs import program_source

DUCKDB = '@duckdb/node-api'
HERE = Path(__file__).parent


@pytest.fixture(scope='module')
def recording(tmp_path_factory):
    need('gcc')
    folder = tmp_path_factory.mktemp('parquet')
    done = run(['gcc', '-g', '-O1', '-fno-builtin', '-pthread', HERE / 'replay_threads.c', '-o', folder / 'program'])
    assert done.code == 0, done
    trace = folder / 'recording.seep'
    done = run([SEEP, 'run', '-q', '--scan', 'no', '--mode', 'record', '-o', trace, '--', folder / 'program'], cwd=folder)
    assert done.code == 0, done
    return trace


@pytest.fixture(scope='module')
def table(recording):
    done = run([SEEP, 'export', '--format', 'parquet', recording, '-o', recording.parent / 'events.parquet'])
    assert done.code == 0 and not done.err, done
    return recording.parent / 'events.parquet'


@pytest.fixture(scope='module')
def rows(recording):
    """The same as CSV."""
    done = run([SEEP, 'export', '--events', 'csv', recording])
    assert done.code == 0, done
    return list(csv.DictReader(io.StringIO(done.out.decode())))


def test_it_has_what_the_csv_has(table, rows):
    names, _, columns, groups = parquet.read(table)
    assert names == list(rows[0]) and len(groups) == 1
    for name in names:
        wanted = [row[name] for row in rows]
        if name == 'address':
            wanted = [int(text, 16) for text in wanted]
        elif name not in ('event', 'function', 'place'):
            wanted = [int(text) for text in wanted]
        assert columns[name] == wanted, name


def test_the_other_option_gives_the_same_bytes(recording, table):
    done = run([SEEP, 'export', '--events', 'parquet', recording])
    assert done.code == 0 and done.out == table.read_bytes()


@pytest.fixture(scope='module')
def duckdb(tmp_path_factory):
    """Folder with DuckDB for node: kept in the build directory."""
    need('node')
    need('npm')
    folder = BUILD / 'duckdb'
    if not (folder / 'node_modules' / DUCKDB).is_dir():
        made = tmp_path_factory.mktemp('duckdb')
        done = run(['npm', 'install', '--prefix', made, '--no-audit', '--no-fund', '--loglevel=error', f'{DUCKDB}@1.5.6-r.1'],
                   env=dict(os.environ))  # npm's own settings are in the home folder
        if done.code != 0:
            pytest.skip('npm has no ' + DUCKDB + ': ' + (done.err or done.out).decode(errors='replace').strip()[-200:].replace('\n', ' '))
        shutil.copytree(made, folder, symlinks=True, dirs_exist_ok=True)
    return folder / 'node_modules'


def test_duckdb_reads_the_same(table, rows, duckdb):
    script = HERE / 'parquet_duckdb.js'
    done = run(['node', script, table], env=environment(NODE_PATH=str(duckdb)))
    assert done.code == 0, done
    found = json.loads(done.out)
    assert int(found['rows']) == len(rows)
    assert int(found['bytes']) == sum(int(row['size']) for row in rows)
    assert int(found['addresses']) == sum(int(row['address'], 16) for row in rows)
    assert int(found['sites']) == sum(int(row['site']) for row in rows)
    times = [int(row['at_ns']) for row in rows]
    assert (int(found['first']), int(found['last'])) == (min(times), max(times))
    middle = (min(times) + max(times)) // 2
    assert int(found['late']) == sum(time > middle for time in times)
    counts, sums = collections.Counter(), collections.Counter()
    for row in rows:
        counts[row['event'], row['function']] += 1
        sums[row['event'], row['function']] += int(row['size'])
    assert {(a, b): (int(n), int(s)) for a, b, n, s in found['events']} == {key: (counts[key], sums[key]) for key in counts}
    assert dict((place, int(n)) for place, n in found['places']) == collections.Counter(row['place'] for row in rows)


def test_more_than_one_group(tmp_path):
    """Addresses have more values than a dictionary may have. Times of a chunk come from the clock at its ends, so that they may go
    back by some microseconds where the next one begins."""
    need('gcc')
    done = run(['gcc', '-O1', '-fno-builtin', HERE.parents[1] / 'bench/workloads/billion.c', '-o', tmp_path / 'billion'])
    assert done.code == 0, done
    trace, table, count = tmp_path / 't.seep', tmp_path / 't.parquet', 300000
    assert run([SEEP, 'run', '-q', '--scan', 'no', '--mode', 'record', '-o', trace, '--', tmp_path / 'billion', count]).code == 0
    assert run([SEEP, 'export', '--format', 'parquet', trace, '-o', table]).code == 0
    sql = run([SEEP, 'sql', '--csv', trace, 'select count(*), sum(size), sum(at_ns), sum(address % 65536) from event'])
    _, _, columns, groups = parquet.read(table)
    at_ns = columns['at_ns']
    assert len(groups) == 2 and all(later > before - 100_000 for before, later in zip(at_ns, at_ns[1:]))
    found = [len(columns['size']), sum(columns['size']), sum(at_ns), sum(at % 65536 for at in columns['address'])]
    assert sql.out.decode().split()[-1] == ','.join(str(number) for number in found), sql
    assert table.stat().st_size < 2.85 * len(columns['size'])  # 3.03 with indexes packed at level 9 alone


def test_addresses_that_are_neither_few_nor_near_one_another(tmp_path):
    """They are written as they are, because differences and a dictionary take more room."""
    need('perl')
    trace, table = tmp_path / 't.seep', tmp_path / 't.parquet'
    program = 'my %h; $h{$_ % 5000} .= "x" x ($_ % 50) for 1..60000'
    assert run([SEEP, 'run', '-q', '--scan', 'no', '--mode', 'record', '-o', trace, '--', 'perl', '-e', program]).code == 0
    assert run([SEEP, 'export', '--format', 'parquet', trace, '-o', table]).code == 0
    sql = run([SEEP, 'sql', '--csv', trace, 'select count(*), sum(size), sum(at_ns), sum(address % 65536) from event'])
    _, _, columns, (group,) = parquet.read(table)
    found = [len(columns['size']), sum(columns['size']), sum(columns['at_ns']), sum(at % 65536 for at in columns['address'])]
    assert sql.out.decode().split()[-1] == ','.join(str(number) for number in found), sql
    assert [chunk[3][2] for chunk in group[1] if chunk[3][3] == [b'address']] == [[0]]  # PLAIN
    assert table.stat().st_size < 3.1 * len(columns['size'])  # 3.4 by differences


def test_small_ones(tmp_path):
    """A handful of events, of which every column is a dictionary."""
    trace = tmp_path / 't.seep'
    (tmp_path / 'p.c').write_text(program_source('parquet_few.c'))
    assert run(['gcc', '-fno-builtin', 'p.c', '-o', 'p'], cwd=tmp_path).code == 0
    assert run([SEEP, 'run', '-q', '--scan', 'no', '--mode', 'record', '-o', trace, '--', './p'], cwd=tmp_path).code == 0
    assert run([SEEP, 'export', '--format', 'parquet', trace, '-o', tmp_path / 't.parquet']).code == 0
    _, _, columns, _ = parquet.read(tmp_path / 't.parquet')
    assert columns['event'][-4:] == ['allocation', 'free'] * 2
    assert columns['function'][-4:] == ['malloc', 'malloc', 'calloc', 'calloc'] and columns['size'][-4:] == [3, 3, 10, 10]


@pytest.mark.parametrize('words, code, said', [
    (['export', '--format', 'parquet', '--events', 'log'], 2, b'take one of them'),
    (['report', '--format', 'parquet'], 2, b'seep export'),
])
def test_wrong_use(recording, words, code, said):
    done = run([SEEP, *words, recording])
    assert done.code == code and said in done.err and done.err.count(b'\n') == 1, done


def test_no_recording(tmp_path):
    trace = tmp_path / 'live.seep'
    assert run([SEEP, 'run', '-q', '-o', trace, 'true']).code == 0
    done = run([SEEP, 'export', '--format', 'parquet', trace, '-o', tmp_path / 'x'])
    assert done.code == 1 and b'--mode record' in done.err and not (tmp_path / 'x').exists(), done
