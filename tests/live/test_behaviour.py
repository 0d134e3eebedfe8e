# SPDX-License-Identifier: BSD-2-Clause
"""A traced program does what it does untraced: output, exit status, files, services; under the tool and with the
library alone. Also with other allocators, linked or preloaded beside seep."""
import hashlib
import os
import pty
import select
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from harness import (
    ALLOCATORS,
    GIT,
    LIBSEEP,
    PROGRAMS,
    SEEP,
    answers,
    environment,
    exit_status,
    free_port,
    kill,
    library,
    need,
    no_losses,
    report,
    run,
    wait_until,
)
from small_programs import program_source
from terminal import read_to_the_end

COVERS = [
    ('all descriptors closed', 'covered', 'test_closes_every_descriptor', ''),
    ("jemalloc, mimalloc, tcmalloc as the program's own", 'covered', 'test_other_allocators', ''),
    ('jemalloc, mimalloc, tcmalloc by LD_PRELOAD', 'covered', 'test_other_allocators', 'behind libseep.so'),
    ('C++ sized and aligned new', 'covered', 'test_other_allocators_in_cpp',
     'of allocators that have operators of their own'),
    ('RLIMIT_NOFILE', 'covered', 'test_small_stack_and_address_space', ''),
]


class Way:
    """How seep gets into the program: by `seep run`, or the library alone."""

    def __init__(self, name, folder):
        self.name, self.folder, self.count = name, folder, 0

    def command(self, args, env=None):
        """The command and environment to start the program with."""
        self.count += 1
        env = dict(env or environment())
        if self.name == 'tool':
            return [SEEP, 'run', '-q', '-o', self.folder / f'{self.count}.seep', '--', *args], env
        env['SEEP_OUT'] = str(self.folder / f'{self.count}.%p.seep')
        env['LD_PRELOAD'] = ':'.join(filter(None, [str(LIBSEEP), env.get('LD_PRELOAD')]))
        return list(args), env

    def run(self, args, env=None, **more):
        command, env = self.command(args, env)
        return run(command, env=env, **more)

    def traces(self):
        return sorted(self.folder.glob('*.seep'))


@pytest.fixture(params=['tool', 'alone'])
def way(request, tmp_path):
    folder = tmp_path / 'traces'
    folder.mkdir()
    return Way(request.param, folder)


def same(way, args, *, env=None, cwd=None, input=None):
    """Runs it untraced and traced; output and status are the same, and there is a trace."""
    plain = run(args, env=env, cwd=cwd, input=input)
    under = way.run(args, env=env, cwd=cwd, input=input)
    assert exit_status(under.code) == exit_status(plain.code), (plain, under)
    assert under.out == plain.out, (plain, under)
    assert under.err == plain.err, (plain, under)
    assert way.traces(), under
    return under


def files_of(folder):
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(Path(folder).rglob('*'))
        if p.is_file()
    }


# ---- ordinary programs -----------------------------------------------------------------------------


def test_sqlite3(way, tmp_path):
    need('sqlite3')
    script = 'create table t(a, b); begin;' + ''.join(
        f"insert into t values({i}, 'x{i % 7}');" for i in range(2000)
    )
    script += "commit; select b, count(*), sum(a) from t group by b; select * from nothing; .exit 3\n"
    same(way, ['sqlite3', '-bail', ':memory:'], input=script.encode())
    for name, runner in (('plain', run), ('under', way.run)):
        (tmp_path / name).mkdir()
        assert (
            runner(
                [
                    'sqlite3',
                    tmp_path / name / 'x.db',
                    'create table t(a); insert into t values(zeroblob(90000));',
                ]
            ).code
            == 0
        )
    assert files_of(tmp_path / 'plain') == files_of(tmp_path / 'under')


def test_jq(way):
    need('jq')
    text = '[' + ','.join('{"a": %d, "b": "%s"}' % (i, 'x' * (i % 50)) for i in range(500)) + ']'
    same(
        way,
        ['jq', '-S', 'map(select(.a % 3 == 0)) | group_by(.b | length) | map(length)'],
        input=text.encode(),
    )
    same(way, ['jq', '.a | error("this way")'], input=b'{}')


def test_python3(way):
    script = (
        'import sys, subprocess, threading, json\n'
        't = [threading.Thread(target=lambda: json.dumps(list(range(1000)))) for _ in range(8)]\n'
        '[x.start() for x in t]; [x.join() for x in t]\n'
        'print(subprocess.run(["/bin/echo", "child"], capture_output=True).stdout)\n'
        'import multiprocessing as m\n'
        'print(m.get_context("fork").Pool(2).map(len, [[1], [2, 3], []]))\n'
        'print("err", file=sys.stderr); sys.exit(7)'
    )
    same(way, ['/usr/bin/python3', '-S', '-c', script], env=environment(PYTHONMALLOC='malloc'))


def test_perl(way):
    need('perl')
    same(
        way,
        [
            'perl',
            '-e',
            'my @l = map { $_ * 3 % 101 } 1..5000; print join(",", sort { $a <=> $b } @l), "\n"; '
            'print `echo sub`; my $p = open(my $f, "-|") // die; if (!$p) { print "forked"; exit 0 } print <$f>; '
            'warn "w\n"; exit 9',
        ],
    )


def test_git(way, tmp_path):
    need('git')
    env = environment(**GIT)
    heads = []
    for name, runner in (('plain', run), ('under', way.run)):
        repo = tmp_path / name
        assert runner(['git', 'init', '-q', '-b', 'main', repo], env=env).code == 0
        for i in range(3):
            (repo / f'f{i}').write_text('line\n' * (i * 50 + 1))
            assert runner(['git', '-C', repo, 'add', '.'], env=env).code == 0
            assert runner(['git', '-C', repo, 'commit', '-q', '-m', f'c{i}'], env=env).code == 0
        assert runner(['git', '-C', repo, 'gc', '-q'], env=env).code == 0
        heads.append(run(['git', '-C', repo, 'log', '--format=%H', '-p'], env=env).out)
    assert heads[0] == heads[1]
    same(way, ['git', '-C', tmp_path / 'plain', 'log', '--stat', '-p'], env=env)
    same(way, ['git', '-C', tmp_path / 'plain', 'no-such-command'], env=env)


def test_gcc_makes_the_same_files(way, tmp_path):
    need('gcc')
    source = '#include <stdio.h>\n' + ''.join(
        f'int f{i}(int a) {{ return a * {i} + {f"f{i - 1}(a)" if i else 1}; }}\n' for i in range(60)
    )
    source += 'int main(void) { printf("%d\\n", f59(3)); return 0; }\n'
    made = []
    for runner in (run, way.run):
        work = tmp_path / 'work'  # its name is in the debug information
        work.mkdir()
        (work / 'a.c').write_text(source)
        assert runner(['gcc', '-O2', '-g', '-c', 'a.c'], cwd=work).code == 0
        assert runner(['gcc', 'a.o', '-o', 'a'], cwd=work).code == 0
        made.append(files_of(work))
        shutil.rmtree(work)
    assert made[0] == made[1]
    assert sorted(made[0]) == ['a', 'a.c', 'a.o']
    (tmp_path / 'bad.c').write_text(program_source('behaviour_broken.c'))
    same(way, ['gcc', '-c', tmp_path / 'bad.c', '-o', '/dev/null'])


def test_z3(way):
    need('z3')
    lines = [f'(declare-const x{i} Int)' for i in range(8)]
    lines += [f'(assert (< (+ x{i} (* 3 x{(i + 1) % 8})) {100 + i * 7}))' for i in range(8)]
    lines += [f'(assert (> (- (* 2 x{i}) x{(i + 5) % 8}) {-50 - i}))' for i in range(8)] + [
        '(check-sat)',
        '(get-model)',
    ]
    same(way, ['z3', '-in'], input='\n'.join(lines).encode())


def test_64_threads(way):
    same(way, [PROGRAMS / 'gcc-O2@many_threads'])


def test_shell_pipeline_and_descriptors(way):
    """The program's descriptors are its own: it sees the same ones, with the same numbers, as untraced."""
    same(
        way,
        ['sh', '-c', 'printf "b\\na\\n" | sort | tee /dev/stderr; exec ls /proc/self/fd | sort -n; exit 4'],
    )
    same(way, ['sh', '-c', 'exec 5</dev/null; ls -1 /proc/self/fd | wc -l; (exit 3)'])


def test_closes_every_descriptor(way):
    """A daemon's habit: close all descriptors, then go on allocating, and open files under low numbers."""
    script = (
        'import os\nos.closerange(3, 4096)\nx = [bytearray(1000) for _ in range(1000)]\n'
        'fd = os.open("/dev/null", os.O_RDONLY)\nprint(fd)\nif os.fork() == 0:\n    y = [bytearray(9) for _ in range(99)]; os._exit(0)\n'
        'print(os.wait()[1])'
    )
    same(way, ['/usr/bin/python3', '-S', '-c', script], env=environment(PYTHONMALLOC='malloc'))


def test_small_stack_and_address_space(way):
    """Limits that programs run under: seep finds another way or steps aside, and the program goes on."""
    same(way, ['sh', '-c', 'ulimit -s 256; exec perl -e "print join q(,), map { $_ x 3 } 1..500"'])
    same(way, ['sh', '-c', 'ulimit -v 300000; exec perl -e "print join q(,), map { $_ x 3 } 1..500"'])
    same(way, ['sh', '-c', 'ulimit -n 10; exec perl -e "print join q(,), map { $_ x 3 } 1..500"'])
    same(way, ['sh', '-c', 'ulimit -f 0; exec perl -e "print join q(,), map { $_ x 3 } 1..500"'])


# ---- services ----------------------------------------------------------------------------------------


def get(port, path):
    with socket.create_connection(('127.0.0.1', port), timeout=30) as s:
        s.sendall(f'GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n'.encode())
        text = b''
        while chunk := s.recv(65536):
            text += chunk
    head, _, body = text.partition(b'\r\n\r\n')
    return head.split(b'\r\n')[0], body


def test_nginx(way, tmp_path):
    need('nginx')
    port = free_port()
    (tmp_path / 'www').mkdir()
    (tmp_path / 'www/page').write_text('hello ' * 20000)
    (tmp_path / 'nginx.conf').write_text(
        f'daemon off; master_process on; worker_processes 2; pid {tmp_path}/pid; error_log {tmp_path}/error.log;\n'
        f'user root; events {{ worker_connections 64; }} http {{ access_log off; gzip on; gzip_types *; \n'
        + ''.join(
            f'{k}_temp_path {tmp_path}/{k};\n' for k in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi')
        )
        + f'server {{ listen 127.0.0.1:{port}; root {tmp_path}/www; }} }}\n'
    )
    os.chmod(tmp_path, 0o755)
    command, env = way.command(
        ['nginx', '-p', tmp_path, '-e', tmp_path / 'error.log', '-c', tmp_path / 'nginx.conf']
    )
    server = subprocess.Popen(
        [str(c) for c in command], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        wait_until(lambda: answers(port) or server.poll() is not None, 'nginx')
        assert server.poll() is None, server.stdout.read()
        for _ in range(100):
            status, body = get(port, '/page')
            assert status.endswith(b'200 OK') and body == b'hello ' * 20000
        assert b'404' in get(port, '/none')[0]
        master = int((tmp_path / 'pid').read_text())
        os.kill(master, signal.SIGHUP)
        for _ in range(20):
            assert get(port, '/page')[1] == b'hello ' * 20000
        os.kill(master, signal.SIGQUIT)
        assert server.wait(timeout=60) == 0, server.stdout.read()
    finally:
        kill(server)
    assert way.traces()


def test_redis(way, tmp_path):
    need('redis-server', 'redis-cli')
    port = free_port()
    data = tmp_path / 'data'
    data.mkdir()

    def ask(*words):
        done = run(['redis-cli', '-p', port, *words])
        assert done.code == 0, done
        return done.out.decode().strip()

    command, env = way.command(
        ['redis-server', '--port', port, '--bind', '127.0.0.1', '--dir', data, '--save', '']
    )
    server = subprocess.Popen(
        [str(c) for c in command], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        wait_until(lambda: answers(port) or server.poll() is not None, 'redis-server')
        assert server.poll() is None, server.stdout.read()
        script = "for i = 1, 2000 do redis.call('set', 'k' .. i, string.rep('v', i % 100)) end return 2000"
        assert ask('eval', script, '0') == '2000'
        assert ask('get', 'k50') == 'v' * 50
        assert ask('dbsize') == '2000'
        assert 'saving started' in ask('bgsave')
        wait_until(lambda: 'rdb_bgsave_in_progress:0' in ask('info', 'persistence'), 'BGSAVE')
        assert 'rdb_last_bgsave_status:ok' in ask('info', 'persistence')
        assert (data / 'dump.rdb').stat().st_size > 2000
        run(['redis-cli', '-p', port, 'shutdown', 'nosave'])
        assert server.wait(timeout=60) == 0, server.stdout.read()
    finally:
        kill(server)
    check = run(['redis-check-rdb', data / 'dump.rdb'])
    assert check.code == 0, check


# ---- a terminal --------------------------------------------------------------------------------------


def talk(command, env, lines):
    """Types the lines into the program on a terminal of its own; returns the screen's text and the status."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, env)
    text = b''
    try:
        for line, answer in lines:
            os.write(terminal, line)
            end = time.monotonic() + 60
            while answer not in text:
                assert time.monotonic() < end, f'no {answer!r} in {text!r}'
                if select.select([terminal], [], [], 0.1)[0]:
                    text += os.read(terminal, 4096)
        ended = []
        text += read_to_the_end(terminal, lambda: ended.append(os.waitpid(pid, 0)[1]))
        return text, os.waitstatus_to_exitcode(ended[0])
    finally:
        os.close(terminal)


def test_shell_on_a_terminal(way):
    command, env = way.command(
        ['bash', '--norc', '--noprofile', '-i'], environment(PS1='ready> ', HISTFILE='')
    )
    text, code = talk(
        [str(c) for c in command],
        env,
        [
            (b'', b'ready> '),
            (b'echo $((6*7)) | cat\n', b'42\r\n'),
            (b'sleep 100\n\x03', b'^C'),
            (b'jobs; echo still $((1+1))\n', b'still 2\r\n'),
            (b'exit 5\n', b'exit'),
        ],
    )
    assert code == 5, text
    assert way.traces()


def test_tmux(way, tmp_path):
    need('tmux')
    name = tmp_path / 'socket'
    command, env = way.command(
        [
            'tmux',
            '-S',
            name,
            '-f',
            '/dev/null',
            'new-session',
            '-d',
            '-x',
            '80',
            '-y',
            '24',
            'sh',
            '-c',
            'echo in the window; exec cat',
        ],
        environment(TERM='xterm', HOME=tmp_path),
    )
    server = subprocess.Popen([str(c) for c in command], env=env)

    def tmux(*words):
        return run(['tmux', '-S', name, *words], env=environment(TERM='xterm', HOME=tmp_path))

    try:
        wait_until(lambda: b'in the window' in tmux('capture-pane', '-p').out, 'the window')
        tmux('send-keys', 'typed', 'Enter')
        wait_until(lambda: tmux('capture-pane', '-p').out.count(b'typed') == 2, 'the echo')
        assert tmux('kill-server').code == 0
        assert server.wait(timeout=60) == 0
    finally:
        tmux('kill-server')
        kill(server)
    wait_until(way.traces, 'a trace')


# ---- other allocators --------------------------------------------------------------------------------

ALLOCATOR_PROGRAM = program_source('behaviour_allocator_program.c')
# Of tcmalloc the whole, with its profiler.
WHOLE = {**ALLOCATORS, 'tcmalloc': tuple(reversed(ALLOCATORS['tcmalloc']))}


def check_balanced(trace):
    """Four threads that give everything back, and the 150 blocks that main leaks."""
    process = report(trace)[0]
    no_losses(process)
    work = [s for s in process['sites'] if any(f['function'] == 'work' for f in s['stack'])]
    assert sum(s['allocations'] for s in work) == 80_000
    assert sum(s['live_blocks'] for s in work) == 0
    leaks = {
        s['via']: (s['live_blocks'], s['live_bytes'])
        for s in process['sites']
        if s['stack'] and s['stack'][0]['function'] == 'main'
    }
    assert leaks == {'malloc': (100, 800), 'calloc': (50, 1350)}


@pytest.mark.parametrize('allocator', WHOLE)
@pytest.mark.parametrize('how', ['linked', 'preloaded'])
def test_other_allocators(way, tmp_path, allocator, how):
    need('gcc')
    other = library(*WHOLE[allocator])
    (tmp_path / 'p.c').write_text(ALLOCATOR_PROGRAM)
    link = ['-Wl,--no-as-needed', str(other)] if how == 'linked' else []
    done = run(
        ['gcc', '-g', '-O1', '-D_GNU_SOURCE', '-pthread', '-fno-builtin', 'p.c', '-o', 'p', *link],
        cwd=tmp_path,
    )
    assert done.code == 0, done
    env = environment(LD_PRELOAD=other) if how == 'preloaded' else environment()
    done = way.run([tmp_path / 'p'], env=env)
    assert (done.code, done.out, done.err) == (0, b'done\n', b''), done
    check_balanced(way.traces()[0])


@pytest.mark.parametrize('allocator', WHOLE)
def test_other_allocators_in_cpp(way, tmp_path, allocator):
    """Allocators that bring their own operator new: what is allocated by one pair is freed by the same."""
    other = library(*WHOLE[allocator])
    done = way.run([PROGRAMS / 'gcc-O2@operators', 'no-failures'], env=environment(LD_PRELOAD=other))
    assert (done.code, done.err) == (0, b''), done
    process = report(way.traces()[0])[0]
    no_losses(process)
    sites = [
        s
        for s in process['sites']
        if s['stack'] and (s['stack'][0]['function'] or '').split('(')[0] == 'aligned_array'
    ]
    assert [(s['via'], s['live_blocks'], s['live_bytes']) for s in sites if s['live_blocks']] == [
        ('operator new[]', 1, 130)
    ]
