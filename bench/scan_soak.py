#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""No false "lost": scans real programs that wait, that work with several threads, and that leave.

    /usr/bin/python3 bench/scan_soak.py --build build [--times 20] [--state idle,load,exit] [NAME...]

Prints one row per program and state: how often it was looked at, the most blocks that were seen, how many were called
lost or indirectly lost, and how many of these are not known to be truly lost. Whatever is lost is listed with its stack and
with the reason why it is right. Exit status 1 when something is called lost that no reason is known for.
"""
import argparse
import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'tests'))
import report_json  # noqa: E402

STATES = ('idle', 'load', 'exit')
ALL_LOST = ['--json', '--top', '0', '--kind', 'lost,indirect']
LOADED_S = 120  # until a program has the library, at most
KINDS = ('lost', 'indirect', 'possible', 'reachable')

PYTHON = '''
import threading, json, re, collections, sys, time
def work():
    d = collections.OrderedDict()
    while True:
        for i in range(1000):
            d[i] = json.loads('{"a": [1, 2, {"b": "%d"}]}' % i)
            re.sub("[0-9]+", "x", str(d[i]))
sys.stdin.readline()
for _ in range(3): threading.Thread(target=work, daemon=True).start()
time.sleep(float(sys.argv[1]))
'''
PERL = '''
use threads;
my ($times) = @ARGV;
sub work { for (1 .. $times) { my %h; $h{$_} = [split /,/, "a,b,$_"] for 1..2000; my @s = sort { $a <=> $b } keys %h; } }
<STDIN>;
my @t = map { threads->create(\\&work) } 1..3;
$_->join for @t;
'''
SQL = '''pragma threads = 4;
create table t(a integer primary key, b text, c blob); create index i on t(b);
with recursive n(i) as (select 1 union all select i + 1 from n where i < %d)
 insert into t select i, 'text ' || i, randomblob(100) from n;
''' + 'create index j on t(c); select count(*) from (select b from t order by c desc); drop index j;\n' * 200
NODE = '''const a = []; process.stdin.once('data', () => setInterval(() => {
for (let i = 0; i < 2000; i++) a[i % 5000] = Buffer.alloc(2000 + i % 100);
require('zlib').deflate(Buffer.alloc(100000, 'x'), () => 0); }, 1));'''
NODE_LEAVES = '''const zlib = require('zlib');
for (let i = 0; i < 50; i++) zlib.deflate(Buffer.alloc(1000000, 'x'), () => 0);
setTimeout(() => process.exit(0), 50);'''
NGINX = '''daemon off; master_process off; pid {folder}/pid; error_log stderr notice; thread_pool default threads=4;
events {{ worker_connections 64; }}
http {{ access_log off; server {{ listen unix:{folder}/web.sock; root {folder}; aio threads; output_buffers 2 64k;
location /hello {{ return 200 ok; }} }} }}
'''
C_FILE = ''.join('#include <%s.h>\n' % name for name in ('stdio', 'stdlib', 'string', 'pthread', 'sys/socket', 'math'))
C_FUNCTION = 'int f%d(int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i] * %d + (s >> 3); return s; }\n'

# What is truly lost: by program, a pattern of its stack, and how that is known.
TRULY_LOST = {
    # nginx -t returns from main, whose variables `cycle` and `init_cycle` alone led to the two pools.
    'nginx': [('< main ', "only variables of main led to it, which has returned; memcheck counts the same")],
    # A daemon thread ends when it asks for the interpreter's lock; what its first function got, it alone would free.
    # That function is static: without debug information it has no name, but it is called as a built-in, for 48 bytes.
    'python3': [('of 48 bytes: (thread_PyThread_start_new_thread|0x[0-9a-f]+) [^<]*< (cfunction_call|0x[0-9a-f]+) [^<]*< _PyObject_MakeTpCall ',
                 'its thread was ended by the interpreter, and nobody else has it; memcheck counts the same')],
    # Python 3.13 leaves interned strings and what they were made of behind: memcheck counts the same bytes and blocks.
    'python3, exit': [(r'\[python3\.1[3-9]\]', 'interned strings, which it does not free; memcheck counts the same')],
}


class Way:
    """A way to leave: to the program's own end, or by `signal` while `load` is at work."""

    def __init__(self, argv, number=None, load=None):
        self.argv, self.number, self.load = argv, number, load


class Program:
    """`argv` starts it and lets it wait. `feed` is then written to its standard input, `endless`ly or once, or else
    the shell command `load` gives it work; `ways` are those in which it leaves."""

    def __init__(self, name, argv, ways, feed=None, endless=False, load=None, env=None):
        self.name, self.argv, self.ways, self.env = name, argv, ways, env or {}
        self.load, self.feeds = load, feed is not None
        if feed is not None:
            cat = f'cat {feed}'
            self.load = f'while {cat}; do :; done' if endless else cat


def made(path, text):
    path.write_text(text)
    return path


def programs(folder):
    line = made(folder / 'line', 'go\n')
    sql = ['sqlite3', ':memory:']
    yield Program('sqlite3', sql, [Way([*sql, f'.read {made(folder / "short.sql", SQL % 2000)}'])],
                  feed=made(folder / 'long.sql', SQL % 100000))
    python, env = ['/usr/bin/python3', '-c', PYTHON], {'PYTHONMALLOC': 'malloc'}
    yield Program('python3', [*python, '1e6'], [Way([*python, '0.3'])], feed=line, env=env)
    perl = ['perl', '-e', PERL]
    yield Program('perl', [*perl, '1000000'], [Way([*perl, '3'])], feed=line)
    repository = str(Path(__file__).resolve().parents[1])
    git = ['git', '-C', repository]
    pack = [*git, 'pack-objects', '--threads=3', '--no-reuse-delta', '--no-reuse-object', '--window=50', '-q',
            '--stdout']
    heads = made(folder / 'heads', 'HEAD\n')
    yield Program('git', [*pack, '--revs'], [Way([*git, '--no-pager', 'log', '--stat', '-20']),
                                            Way([*git, 'grep', '--threads=3', '-c', 'the'])], feed=heads)
    objects = subprocess.run([*git, 'rev-list', '--objects', '-n', '300', 'HEAD'], stdout=subprocess.PIPE, text=True,
                             check=True).stdout
    objects = made(folder / 'objects', ''.join(each.split()[0] + '\n' for each in objects.splitlines()))
    yield Program('git cat-file', [*git, 'cat-file', '--batch'], [], feed=objects, endless=True)
    sock = folder / 'redis.sock'
    redis = ['redis-server', '--port', '0', '--unixsocket', str(sock), '--save', '', '--io-threads', '3']
    load = f'exec redis-benchmark -s {sock} -q -l -t set,lpush,hset -r 10000'
    yield Program('redis-server', redis, [Way(redis, signal.SIGTERM, load)], load=load)
    made(folder / 'page', 'x' * 3000000)
    settings = made(folder / 'nginx.conf', NGINX.format(folder=folder))
    nginx = ['nginx', '-e', 'stderr', '-p', str(folder), '-c', str(settings)]
    load = f'while :; do curl -s --unix-socket {folder}/web.sock http://x/page http://x/hello; done'
    yield Program('nginx', nginx, [Way([*nginx, '-t']), Way(nginx, signal.SIGTERM, load)], load=load)
    yield Program('node', ['node', '-e', NODE], [Way(['node', '-e', NODE_LEAVES])], feed=line)
    cc1 = subprocess.run(['gcc', '-print-prog-name=cc1'], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    cc1 = [cc1, '-quiet', '-g', '-O2', '-o', '/dev/null']
    small = made(folder / 'small.c', C_FILE + ''.join(C_FUNCTION % (i, i) for i in range(40)))
    yield Program('gcc (cc1)', [*cc1, '-'], [Way([*cc1, str(small)])],
                  feed=made(folder / 'big.c', C_FILE + ''.join(C_FUNCTION % (i, i) for i in range(4000))))


def lost_of(process):
    """{kind, mean size and stack: blocks} of what is lost."""
    found = collections.Counter()
    for site in process['sites']:
        if site['kind'] in ('lost', 'indirect'):
            frames = ' < '.join('%s [%s]' % (f['function'] or '%#x' % f['offset'], Path(f['module']).name)
                                for f in site['stack'])
            mean = site['live_bytes'] // max(site['live_blocks'], 1)
            found[f"{site['kind']}, of {mean} bytes: {frames}"] += site['live_blocks']
    return found


def reason_of(name, state, stack):
    known = TRULY_LOST.get(name.split()[0], []) + TRULY_LOST.get(f'{name.split()[0]}, {state}', [])
    return next((why for pattern, why in known if re.search(pattern, stack)), None)


class Seen:
    """What was found out about one program in one state."""

    def __init__(self):
        self.looks, self.most, self.lost, self.pauses = 0, 0, collections.Counter(), []

    def take(self, process):
        self.looks += 1
        self.most = max(self.most, sum(process['leaks'][kind]['blocks'] for kind in KINDS))
        self.lost += lost_of(process)
        self.pauses.append(process['leaks']['pause_s'])

    def pause(self):
        return sorted(self.pauses)[len(self.pauses) // 2] if self.pauses else 0


class Soak:
    def __init__(self, build, folder, settle):
        self.settle = settle
        self.seep, self.library, self.folder = build / 'seep', build / 'libseep.so', folder

    def environment(self, program, **more):
        return {**os.environ, 'LC_ALL': 'C.UTF-8', 'MALLOC_PERTURB_': '0', **program.env, **more}

    def clear(self):
        for left in self.folder.glob('*.sock'):  # by a server that was killed
            left.unlink()

    def start(self, program):
        self.clear()
        self.begun = time.monotonic()
        traced = subprocess.Popen(program.argv, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env=self.environment(
                                      program, LD_PRELOAD=self.library, SEEP_OUT=self.folder / 'left.seep'))
        time.sleep(2 * self.settle)
        return traced

    def give_work(self, load, traced=None):
        """`load` in a group of its own, since a shell and what it runs are to be ended together."""
        work = subprocess.Popen(['sh', '-c', load], start_new_session=True, stdin=subprocess.DEVNULL,
                                stdout=traced.stdin if traced else subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(self.settle)
        return work

    def stop(self, traced, work):
        if work:
            os.killpg(work.pid, signal.SIGKILL)
            work.wait()
        traced.kill()
        traced.wait()
        traced.stdin.close()

    def scan(self, traced, seen):
        done = subprocess.run([self.seep, 'scan', str(traced.pid), *ALL_LOST], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)
        if b'is not traced by seep' in done.stderr and not seen.looks and time.monotonic() < self.begun + LOADED_S:
            time.sleep(0.1)  # it is not loaded yet: the caller looks again
        elif done.returncode and traced.poll() is None:
            sys.exit(done.stderr.decode())
        if not done.returncode:
            seen.take(report_json.loads(done.stdout))

    def idle(self, program, times):
        seen, traced = Seen(), self.start(program)
        while seen.looks < times:
            self.scan(traced, seen)
        self.stop(traced, None)
        return seen

    def load(self, program, times):
        """A program with an end is started again."""
        seen = Seen()
        while seen.looks < times:
            traced = self.start(program)
            work = self.give_work(program.load, traced if program.feeds else None)
            if program.feeds:
                traced.stdin.close()
            while seen.looks < times and traced.poll() is None:
                self.scan(traced, seen)
                time.sleep(0.05)
            self.stop(traced, work)
        return seen

    def exit(self, program, times):
        seen = Seen()
        for way in program.ways:
            for _ in range(times):
                self.leave(program, way, seen)
        return seen

    def leave(self, program, way, seen):
        self.clear()
        report = self.folder / 'report.json'
        tool = subprocess.Popen([self.seep, 'run', *ALL_LOST, '--report', report, '-o',
                                 self.folder / 'out.seep', *way.argv],
                                cwd=self.folder, env=self.environment(program), stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        work = None
        if way.number:  # a server, which has its socket by then and knows the signal
            end = time.monotonic() + LOADED_S
            while not any(self.folder.glob('*.sock')) and tool.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
            time.sleep(2 * self.settle)
            work = self.give_work(way.load) if way.load else None
            tool.send_signal(way.number)  # which it hands on
        tool.wait()
        if work:
            os.killpg(work.pid, signal.SIGKILL)
            work.wait()
        whole = report_json.loads(report.read_text())
        for process in whole.get('processes') or [whole]:
            if process['leaks']:
                seen.take(process)


def show(name, state, seen):
    """One row; the lines to print below the table, and how many blocks have no reason."""
    notes, unknown = [], 0
    for stack, nr in seen.lost.most_common():
        why = reason_of(name, state, stack)
        unknown += 0 if why else nr
        notes.append(f'{name}, {state}: {nr} times {" < ".join(stack.split(" < ")[:8])}: {why or "NOT KNOWN"}')
    print(f'| {name} | {state} | {seen.looks} | {seen.most:,} | {sum(seen.lost.values()):,} | {unknown:,} | '
          f'{seen.pause() * 1000:.0f} ms |', flush=True)
    return notes, unknown


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--build', type=Path, default=Path('build'))
    parser.add_argument('--times', type=int, default=20)
    parser.add_argument('--state', default=','.join(STATES), help='of idle, load, exit')
    parser.add_argument('--settle', type=float, default=0.5, help='seconds from the start of work to the first look')
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    notes, unknown, nr = [], 0, 0
    print('| program | state | looks | most blocks | lost | without a reason | pause, median |')
    print('| --- | --- | ---: | ---: | ---: | ---: | ---: |')
    with tempfile.TemporaryDirectory(prefix='seep-soak-') as name:
        soak = Soak(options.build.resolve(), Path(name), options.settle)
        for program in programs(Path(name)):
            if options.names and program.name not in options.names and program.name.split()[0] not in options.names:
                continue
            if not shutil.which(program.argv[0]):
                print(f'| {program.name} | not installed | | | | | |')
                continue
            for state in (s for s in STATES if s in options.state.split(',') and (s != 'exit' or program.ways)):
                more, nr = show(program.name, state, getattr(soak, state)(program, options.times))
                notes += more
                unknown += nr
    print()
    print('\n'.join(notes))
    return 1 if unknown else 0


if __name__ == '__main__':
    sys.exit(main())
