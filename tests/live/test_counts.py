# SPDX-License-Identifier: BSD-2-Clause
"""Real programs: allocations, frees and bytes are exactly what an independent witness in the same process saw."""
import json
import random
import shutil
import subprocess

import pytest
from harness import BUILD, GIT, PROGRAMS, check_witness, environment, need, no_losses, run, traced, with_witness
from small_programs import built_program, program_source


def compare(args, tmp_path, *, at_least, env=None, processes=1, **more):
    """Runs args under seep with the witness behind it and compares every process."""
    done = traced(args, tmp_path, env=with_witness(tmp_path, env), **more)
    assert done.code == 0, done
    reported = done.totals()
    for process in reported:
        no_losses(process)
    assert check_witness(reported, tmp_path) >= processes
    assert sum(p['totals']['allocations'] for p in reported) >= at_least
    return reported


def sql_script():
    pick = random.Random(1)
    lines = [
        'create table t(id integer primary key, a text, b real, c text);',
        'create index i on t(a);',
        'begin;',
    ]
    for i in range(4000):
        lines.append(
            f"insert into t values({i}, 'text {pick.randrange(500)}', {pick.random()}, '{'x' * pick.randrange(90)}');"
        )
    lines += ['commit;']
    lines += [f"select count(*), group_concat(c) from t where a like 'text {i}%';" for i in range(40)]
    lines += [
        'select a, sum(b) from t group by a order by 2 desc limit 5;',
        'delete from t where id % 3 = 0;',
        'vacuum;',
    ]
    return '\n'.join(lines)


def json_document(nr):
    pick = random.Random(2)
    return json.dumps(
        [
            {
                'id': i,
                'name': f'item {i}',
                'tags': [f't{pick.randrange(50)}' for _ in range(6)],
                'nested': {'x': pick.random(), 'y': [None, True, 'z' * pick.randrange(40)]},
            }
            for i in range(nr)
        ]
    )


PYTHON_SCRIPT = r'''
import json, re, threading, collections
class Thing:
    def __init__(self, n):
        self.n, self.name, self.more = n, "thing %d" % n, {"k": [n] * 3}
    def __repr__(self):
        return "Thing(%r)" % self.name
def work(k):
    things = [Thing(i) for i in range(500)]
    text = json.dumps([t.more for t in things])
    words = re.findall(r"\d+", text)
    groups = collections.Counter(re.sub(r"(.)(.)", r"\2\1", w) for w in words)
    results[k] = (len(repr(things)), len(groups), len(json.loads(text)))
results = [None] * 4
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(results)
'''


def c_source():
    pick = random.Random(3)
    lines = []
    for i in range(150):
        lines.append(
            f'static int f{i}(int a, int b) {{ int s = {i}; for (int k = 0; k < a; k++) s += b * k ^ '
            f'{pick.randrange(1 << 20)}; return s{f" + f{i - 1}(b, a)" if i else ""}; }}'
        )
    lines.append('int main(int argc, char **argv) { return f149(argc, 3); }')
    return '\n'.join(lines)


def test_sqlite3(tmp_path):
    need('sqlite3')
    compare(['sqlite3', ':memory:'], tmp_path, input=sql_script().encode(), at_least=5_000)  # 3.46 allocates less


def test_jq(tmp_path):
    need('jq')
    (tmp_path / 'in.json').write_text(json_document(2000))
    compare(
        [
            'jq',
            '[.[] | select(.id % 2 == 0) | {name, n: (.tags | unique | length), y: .nested.y}] | group_by(.n)',
            tmp_path / 'in.json',
        ],
        tmp_path,
        at_least=50_000,
    )


def test_python3(tmp_path):
    need('/usr/bin/python3')
    (tmp_path / 'script.py').write_text(PYTHON_SCRIPT)
    compare(
        ['/usr/bin/python3', '-S', tmp_path / 'script.py'],
        tmp_path,
        at_least=100_000,
        env=environment(PYTHONMALLOC='malloc', PYTHONDONTWRITEBYTECODE=1),
    )


def test_gcc_and_its_children(tmp_path):
    need('gcc')
    (tmp_path / 'in.c').write_text(c_source())
    reported = compare(
        ['gcc', '-O1', '-g', '-Wall', 'in.c', '-o', 'out'],
        tmp_path,
        cwd=tmp_path,
        at_least=20_000,
        processes=4,
    )
    names = {p['process']['exe'].split('/')[-1] for p in reported}
    assert 'cc1' in names and any(
        n.startswith('x86_64-linux-gnu-gcc') or n.startswith('gcc') for n in names
    ), names


def test_perl(tmp_path):
    need('perl')
    script = (
        'my %h; for my $i (1..20000) { push @{$h{$i % 700}}, "value $i" x ($i % 5); } '
        'my $s = join ",", map { scalar @{$h{$_}} } sort keys %h; $s =~ s/(\\d)(\\d)/$2$1/g; print length $s;'
    )
    compare(['perl', '-e', script], tmp_path, at_least=20_000)


def make_repository(folder):
    env = environment(**GIT)
    stream = []
    for i in range(150):
        data = ''.join(f'line {(i * j) % 97}\n' for j in range(100))
        stream.append(
            f'commit refs/heads/main\ncommitter a <a@b> {1577836800 + i} +0000\ndata 3\nc{i % 10}\n'
            f'M 100644 inline dir{i % 7}/file{i % 31}\ndata {len(data)}\n{data}\n'
        )
    assert run(['git', 'init', '-q', '-b', 'main', folder], env=env).code == 0
    assert (
        run(['git', '-C', folder, 'fast-import', '--quiet'], env=env, input=''.join(stream).encode()).code
        == 0
    )
    return env


@pytest.mark.parametrize(
    'command',
    [['log', '--stat', '-p'], ['gc', '-q'], ['blame', 'main', '--', 'dir0/file0']],
    ids=lambda c: c[0],
)
def test_git(tmp_path, command):
    need('git')
    env = make_repository(tmp_path / 'repo')
    compare(['git', '-C', tmp_path / 'repo', *command], tmp_path, env=env, at_least=2_000)


CPP_SOURCE = program_source('counts_cpp.cpp')


def test_cpp_with_threads(tmp_path):
    need('g++')
    (tmp_path / 'p.cpp').write_text(CPP_SOURCE)
    subprocess.run(['g++', '-O1', '-std=c++17', '-pthread', 'p.cpp', '-o', 'p'], cwd=tmp_path, check=True)
    reported = compare([tmp_path / 'p'], tmp_path, at_least=300_000)
    assert reported[0]['totals']['by_function']['operator new'] > 200_000


def test_64_threads(tmp_path):
    program = PROGRAMS / 'gcc-O2@many_threads'
    reported = compare([program], tmp_path, at_least=128_000)
    assert reported[0]['totals']['by_function']['calloc'] >= 64_000


def test_peak_of_a_site_of_two_threads(tmp_path):
    """No less than what is live of it. The peak of the process is bound by what both had at most."""
    process, = traced([built_program('site_of_two_threads.c', tmp_path)], tmp_path).report()
    site, = [site for site in process['sites'] if site['allocations'] == 100]
    assert (site['live_bytes'], site['peak_bytes']) == (10_000, 10_000), site
    totals = process['totals']
    assert 0 < totals['peak_error_bytes'] < 1000 < totals['peak_bytes'], totals


def test_blocks_add_up(tmp_path):
    """The list of live blocks is as long and as heavy as the totals say, and no block is in it twice."""
    need('perl')
    done = traced(
        ['perl', '-e', 'use POSIX (); my @x = map { "v$_" x ($_ % 9) } 1..30000; POSIX::_exit(0)'], tmp_path
    )
    assert done.code == 0, done
    process = done.report('--blocks')[0]
    blocks = [b for site in process['sites'] for b in site['blocks']]
    assert len(blocks) == process['totals']['live_blocks'] > 30_000
    assert sum(b['size'] for b in blocks) == process['totals']['live_bytes']
    spans = sorted((int(b['address'], 16), b['size']) for b in blocks)
    assert all(a + size <= b for (a, size), (b, _) in zip(spans, spans[1:])), 'blocks overlap'


def test_c_compiler_alone(tmp_path):
    """cc1 itself as the traced program."""
    need('gcc')
    cc1 = run(['gcc', '-print-prog-name=cc1']).out.decode().strip()
    if not shutil.which(cc1):
        pytest.skip('gcc does not say where its cc1 is')
    (tmp_path / 'in.c').write_text(c_source())
    compare([cc1, '-quiet', '-O2', tmp_path / 'in.c', '-o', tmp_path / 'out.s'], tmp_path, at_least=20_000)


def test_functions_that_call_one_another_by_name(tmp_path):
    """A library behind ours: a call that is made within another is the other's."""
    env = environment(LD_PRELOAD=BUILD / 'tests/live/libnested-allocator.so')
    under = traced([BUILD / 'tests/live/live-nested-calls'], tmp_path, env=env)
    assert under.code == 0, under
    (process,) = under.report()
    assert process['health']['lost'] == {}, process['health']
    sites = [s for s in process['sites'] if s['size_max'] == 100 and s['via'] in ('posix_memalign', 'calloc', 'aligned_alloc')]
    assert sorted((s['via'], s['allocations'], s['frees'], s['live_bytes']) for s in sites) == [
        (via, 10, 7, 300) for via in ('aligned_alloc', 'calloc', 'posix_memalign')]
    assert sum(s['allocations'] for s in process['sites'] if s['via'] in ('memalign',)) == 0


@pytest.mark.parametrize('mode', ['live', 'count', 'record'])
def test_a_reallocarray_that_fails_frees_nothing(mode, tmp_path):
    program = built_program('count_failing_reallocarray.c', tmp_path, '-fno-builtin')
    done = run([BUILD / 'seep', 'run', '-q', '--mode', mode, '--scan', 'no', '-o', tmp_path / 'p.seep', program])
    assert done.code == 0, done
    totals = json.loads(run([BUILD / 'seep', 'report', '--json', tmp_path / 'p.seep']).out)['totals']
    assert (totals['allocations'], totals['frees'], totals['failed']) == (1, 1, 10), totals
