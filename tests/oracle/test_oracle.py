# SPDX-License-Identifier: BSD-2-Clause
"""Every stack that capture records, of every test program and of short runs of real ones, is what libgcc's
unwinder sees at the same moment: no difference, and nothing cut where there is call-frame information."""
import http.client
import json
import os
import random
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
from harness import (  # noqa: E402
    BUILD,
    PROGRAMS,
    ROOT,
    answers,
    ended,
    environment,
    exit_status,
    expectation,
    free_port,
    kill,
    need,
    run,
    wait_until,
)
from small_programs import program_source  # noqa: E402

ORACLE = BUILD / 'tests/oracle/libseep-oracle.so'
NAMES = (
    'magic',
    'samples',
    'frames',
    'max_depth',
    'different',
    'cut',
    'partial',
    'unwinder_failed',
    'text_used',
)
MAGIC = 0x31454C4341524F53


def read_oracle(path):
    page = path.read_bytes()
    order = '<' if page.startswith(MAGIC.to_bytes(8, 'little')) else '>'  # of the program's CPU
    found = dict(zip(NAMES, struct.unpack_from(f'{order}{len(NAMES)}Q', page)))
    assert found['magic'] == MAGIC, f'{path} is not of the oracle: {found}'
    found['text'] = page[4096 : 4096 + min(found['text_used'], len(page) - 4096)].decode(errors='replace')
    return found


def under_oracle(tmp_path, env=None):
    return {
        **(env or environment()),
        'LD_PRELOAD': str(ORACLE),
        'SEEP_OUT': str(tmp_path / 'out.%p.seep'),
        'SEEP_ORACLE_OUT': str(tmp_path / 'oracle'),
    }


def check(tmp_path, *, at_least, may_cut=False, partial=False):
    found = read_oracle(tmp_path / 'oracle')
    figures = json.dumps({k: found[k] for k in NAMES if k not in ('magic', 'text_used')})
    print(figures)
    assert found['different'] == 0, figures + '\n' + found['text']
    assert found['unwinder_failed'] == 0, figures
    assert found['samples'] >= at_least, figures
    if not may_cut:
        assert found['cut'] == 0, figures + '\n' + found['text']
    if not partial:
        assert found['partial'] == 0, figures
    return found


def compare(args, tmp_path, *, at_least, env=None, cwd=None, input=None, code=0, **more):
    done = run(args, env=under_oracle(tmp_path, env), cwd=cwd or tmp_path, input=input)
    assert exit_status(done.code) == code, done
    return check(tmp_path, at_least=at_least, **more)


def programs():
    for source in sorted((ROOT / 'tests/programs').glob('*.c*')):
        if '// EXPECT:' not in source.read_text():
            continue
        expected, _ = expectation(source)
        one = expected.get('runs', [{}])[0]
        for program in sorted(PROGRAMS.glob(f'*@{source.stem}')):
            yield pytest.param(
                program, one.get('args', []), ended(one.get('exit', {'code': 0})), id=program.name
            )


@pytest.mark.parametrize('program, args, code', programs())
def test_program(program, args, code, tmp_path):
    found = compare([program, *args], tmp_path, at_least=1, code=code)
    if program.name.endswith('@recursion'):
        assert found['max_depth'] > 5000


def test_recursion_deeper_than_can_be_kept(tmp_path):
    """Cut stacks grow from one another. The frames that are left of each stack are its innermost ones."""
    (tmp_path / 'deeper.c').write_text(program_source('run_deeper.c'))
    build = ['gcc', '-O1', '-fno-builtin', '-fno-optimize-sibling-calls', '-o', 'deeper', 'deeper.c']
    assert run(build, cwd=tmp_path).code == 0
    assert compare([tmp_path / 'deeper'], tmp_path, at_least=700, may_cut=True)['cut'] > 200


# ---- the workloads of the benchmark ----------------------------------------------------------------

sys.path.insert(0, str(ROOT / 'bench'))
import common  # noqa: E402

# name: program, arguments, stacks that must be met at least. Sizes that take a second or two.
WORKLOADS = {
    **{f'pairs-depth-{depth}': ('pairs', ['-d', depth, '-n', 4000], 4000) for depth in (5, 20, 60, 200)},
    **{f'change-{frames}': ('pairs', ['-s', 'change', '-k', frames, '-n', 6000], 6000) for frames in (1, 3, 10)},
    'one-live-block': ('pairs', ['-l', 1, '-n', 4000], 4000),
    'many-live-blocks': ('pairs', ['-l', 20000, '-n', 20000], 40_000),
    'recursion': ('pairs', ['-s', 'recursion', '-n', 12800], 12_800),
    'calloc': ('pairs', ['-s', 'calloc', '-n', 4000], 4000),
    'realloc': ('pairs', ['-s', 'realloc', '-n', 4000], 4000),
    'sites': ('pairs', ['-s', 'sites', '-d', 41, '-b', 10, '-n', 4000], 5000),
    'new': ('pairs_cxx', ['-n', 6000], 6000),
    'two-threads': ('pairs', ['-j', 2, '-n', 3000], 6000),
    'short': ('patterns', ['-p', 'short', '-j', 4, '-n', 40], 4000),
    'handoff': ('patterns', ['-p', 'handoff', '-j', 1, '-n', 6000], 6000),
    'exchange': ('patterns', ['-p', 'exchange', '-j', 2, '-n', 6000], 6000),
    'server': ('patterns', ['-p', 'server', '-j', 2, '-n', 10_000], 10_000),
    'stress': ('patterns', ['-p', 'stress', '-j', 2, '-n', 10_000], 5_000),
    'fraction': ('fraction', [60], 5_000),
    'memory-blocks': ('memory', ['blocks', 10_000, 32], 10_000),
    'heap': ('heap', [4000, 10], 4000),
    'memory-threads': ('memory', ['threads', 20], 160),
}


@pytest.fixture(scope='session')
def workload(tmp_path_factory):
    """Compiles a workload as the benchmark does, once."""
    folder = tmp_path_factory.mktemp('workloads')

    def compiled(name):
        source = next((ROOT / 'bench/workloads').glob(f'{name}.c*'))
        cxx = source.suffix == '.cpp'
        flags = [*common.COMMON_FLAGS, *common.GCC_FLAGS, *common.VARIANTS['plain'][2]]
        target = folder / name
        assert common.compile_one(['g++' if cxx else 'gcc', *flags], str(source), str(target))
        return target

    return compiled


@pytest.mark.parametrize('name', WORKLOADS)
def test_benchmark(name, workload, tmp_path):
    program, arguments, at_least = WORKLOADS[name]
    compare([workload(program), *map(str, arguments)], tmp_path, at_least=at_least)


def test_every_workload_of_the_benchmark_is_here():
    not_traced = {'launch', 'spawn',  # start other programs
                  'held',  # waits for its input to end
                  'billion'}  # takes minutes
    sources = {path.stem for path in (ROOT / 'bench/workloads').glob('*.c*')}
    assert {program for program, _, _ in WORKLOADS.values()} == sources - not_traced


def test_sqlite3(tmp_path):
    need('sqlite3')
    pick = random.Random(1)
    script = ['create table t(id integer primary key, a text, b real);', 'create index i on t(a);', 'begin;']
    script += [
        f"insert into t values({i}, 'text {pick.randrange(500)}', {pick.random()});" for i in range(1500)
    ]
    script += [
        'commit;',
        'select a, sum(b) from t group by a order by 2 limit 5;',
        'delete from t where id % 3 = 0;',
        'with recursive c(n) as (select 1 union all select n + 1 from c where n < 3000) '
        'select group_concat(n) from c;',
        'vacuum;',
    ]
    compare(['sqlite3', ':memory:'], tmp_path, input='\n'.join(script).encode(), at_least=2_000)  # 3.46 allocates less


def test_jq(tmp_path):
    need('jq')
    text = json.dumps(
        [
            {'id': i, 'tags': [f't{i * k % 50}' for k in range(6)], 'y': {'z': 'w' * (i % 40)}}
            for i in range(1200)
        ]
    )
    compare(
        [
            'jq',
            '[.[] | select(.id % 2 == 0) | {n: (.tags | unique | length), y}] | group_by(.n) | tojson | test("z")',
        ],
        tmp_path,
        input=text.encode(),
        at_least=20_000,
    )


def test_python3(tmp_path):
    script = r'''
import json, re, threading
class A:
    def __init__(self, n): self.n = [n] * 3
    def __lt__(self, other): return self.n < other.n
def deep(n): return [deep(n - 1)] if n else []
def gen(n):
    if n:
        yield n
        yield from gen(n - 1)
def work():
    json.loads(json.dumps([{"a": deep(20), "b": i} for i in range(60)]))
    sorted(A(i * 7 % 50) for i in range(200))
    re.sub(r"(\w+) (\w+)", lambda m: m.group(2) + m.group(1), "hello world " * 200)
    for k in range(20): list(gen(60))
    try: [][1]
    except IndexError as e: str(e)
ts = [threading.Thread(target=work) for _ in range(3)]
[t.start() for t in ts]; work(); [t.join() for t in ts]
'''
    compare(
        ['/usr/bin/python3', '-S', '-c', script],
        tmp_path,
        at_least=50_000,
        env=environment(PYTHONMALLOC='malloc', PYTHONDONTWRITEBYTECODE=1),
    )


def compiler(language):
    path = run(['gcc', f'-print-prog-name={language}']).out.decode().strip()
    if not os.path.isabs(path):
        pytest.skip(f'{language} is not installed')
    return path


def test_cc1(tmp_path):
    source = [
        f'static int f{i}(int a, int b) {{ int s = {i}; for (int k = 0; k < a; k++) s += b * k ^ {i * 77}; '
        f'switch (s) {{ case {i}: return a; case 99: s--; }} return s{f" + f{i - 1}(b, a)" if i else ""}; }}'
        for i in range(30)
    ]
    source += ['int main(int c, char **v) { return f29(c, 3); }']
    (tmp_path / 'in.c').write_text('\n'.join(source))
    compare([compiler('cc1'), '-quiet', '-O2', '-g', 'in.c', '-o', 'out.s'], tmp_path, at_least=10_000)


def test_cc1plus(tmp_path):
    (tmp_path / 'in.cpp').write_text(program_source('oracle_templates.cpp'))
    compare(
        [compiler('cc1plus'), '-quiet', '-O2', '-std=c++17', 'in.cpp', '-o', 'out.s'],
        tmp_path,
        at_least=10_000,
    )


def test_clang(tmp_path):
    need('clang')
    (tmp_path / 'in.c').write_text(
        ''.join(
            f'int f{i}(int *a, int n) {{ int s = {i}; for (int k = 0; k < n; k++) s += a[k] * k ^ s >> {i % 7}; '
            f'switch (s & 7) {{ case 1: return n; case 5: s *= n; }} return s{f" + f{i - 1}(a, s & 15)" if i else ""}; }}\n'
            for i in range(12)
        )
    )
    # One process: the driver's own, which compiles in itself where it can.
    found = compare(['clang', '-w', '-O2', '-c', 'in.c', '-o', 'out.o'], tmp_path, at_least=10_000, partial=True)
    # Destructors of a library are called by __do_global_dtors_aux, which has no call-frame information: libgcc ends there.
    assert found['partial'] <= 2, found


def test_z3(tmp_path):
    need('z3')
    lines = [f'(declare-const x{i} Int)' for i in range(12)]
    lines += [f'(assert (< (+ x{i} (* 3 x{(i + 1) % 12})) {100 + i * 7}))' for i in range(12)]
    lines += [f'(assert (> (- (* 2 x{i}) x{(i + 5) % 12}) {-50 - i}))' for i in range(12)]
    lines += ['(assert (= 17 (mod (+ x1 x2 x3) 23)))', '(check-sat)', '(get-model)']
    compare(['z3', '-in'], tmp_path, input='\n'.join(lines).encode(), at_least=5_000)


def test_perl(tmp_path):
    need('perl')
    script = (
        'sub d { my $n = shift; return $n ? [d($n - 1)] : [] } my %h; for (1..6000) { push @{$h{$_ % 70}}, '
        '"v $_" x ($_ % 5); } d(50); my @s = sort { $a->[0] cmp $b->[0] } map { [$_ % 97, d(3)] } 1..500; '
        'my $t = join ",", keys %h; $t =~ s/(\\d)(\\d)/$2$1/g; eval { die { a => 1 } }; print length($t), "\\n";'
    )
    compare(['perl', '-e', script], tmp_path, at_least=10_000)


def test_git(tmp_path):
    need('git')
    env = environment(GIT_CONFIG_GLOBAL='/dev/null', GIT_CONFIG_NOSYSTEM=1)
    stream = []
    for i in range(40):
        data = ''.join(f'line {(i * j) % 97}\n' for j in range(60))
        stream.append(
            f'commit refs/heads/main\ncommitter a <a@b> {1577836800 + i} +0000\ndata 1\nc\n'
            f'M 100644 inline dir{i % 7}/file{i % 11}\ndata {len(data)}\n{data}\n'
        )
    assert run(['git', 'init', '-q', '-b', 'main', 'repo'], env=env, cwd=tmp_path).code == 0
    repo = tmp_path / 'repo'
    compare(
        ['git', '-C', repo, 'fast-import', '--quiet'],
        tmp_path,
        env=env,
        input=''.join(stream).encode(),
        at_least=500,
    )
    compare(['git', '-C', repo, 'log', '--stat', '-p'], tmp_path, env=env, at_least=2_000)
    compare(['git', '-C', repo, 'gc', '-q'], tmp_path, env=env, at_least=3_000)


def test_nginx(tmp_path):
    need('nginx')
    port = free_port()
    (tmp_path / 'logs').mkdir()
    (tmp_path / 'page.txt').write_text('a line of text that compresses\n' * 300)
    (tmp_path / 'nginx.conf').write_text(
        'daemon off; master_process off; error_log logs/error.log; pid nginx.pid; events { worker_connections 64; }\n'
        'http { access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u;\n'
        'scgi_temp_path s; gzip on; gzip_types text/plain; default_type text/plain;\n'
        f'server {{ listen 127.0.0.1:{port}; root .; location / {{ ssi on; ssi_types text/plain; }} }} }}\n'
    )
    server = subprocess.Popen(
        ['/usr/sbin/nginx', '-p', f'{tmp_path}/', '-c', 'nginx.conf'],
        env=under_oracle(tmp_path),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: answers(port), 'nginx')
        for _ in range(50):
            client = http.client.HTTPConnection('127.0.0.1', port, timeout=60)
            client.request('GET', '/page.txt', headers={'Accept-Encoding': 'gzip'})
            assert client.getresponse().status == 200
            client.close()
        server.send_signal(signal.SIGQUIT)
        assert server.wait(timeout=60) == 0
    finally:
        kill(server)
    check(tmp_path, at_least=500)


def test_redis(tmp_path):
    need('redis-server', 'redis-benchmark')
    port = free_port()
    server = subprocess.Popen(
        ['redis-server', '--port', str(port), '--bind', '127.0.0.1', '--dir', str(tmp_path), '--save', ''],
        env=under_oracle(tmp_path),
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: answers(port), 'redis-server')
        run(
            [
                'redis-benchmark',
                '-p',
                port,
                '-q',
                '-n',
                '1500',
                '-c',
                '5',
                '-t',
                'set,lpush,sadd,hset,zadd,lrange_100',
            ]
        )
        script = "for i = 1, 300 do redis.call('set', 'k' .. i, cjson.encode({i, {i}})) end return 1"
        assert run(['redis-cli', '-p', port, 'eval', script, '0']).code == 0
        run(['redis-cli', '-p', port, 'shutdown', 'nosave'])
        assert server.wait(timeout=60) == 0
    finally:
        kill(server)
    check(tmp_path, at_least=10_000)
