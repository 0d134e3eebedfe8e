#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""No false "lost": scans real programs while their threads work, and looks at them when they leave.

    /usr/bin/python3 bench/scan_soak.py --build build [--times 20] [NAME...]

Prints one row per program: scans made, blocks seen, blocks called lost or indirectly lost. Whatever is lost is listed
with its stack, so that each can be judged. Exit status 1 when a live scan calls anything lost.
"""
import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PYTHON = '''
import threading, json, re, collections, sys
def work():
    d = collections.OrderedDict()
    while True:
        for i in range(1000):
            d[i] = json.loads('{"a": [1, 2, {"b": "%d"}]}' % i)
            re.sub("[0-9]+", "x", str(d[i]))
for _ in range(3): threading.Thread(target=work, daemon=True).start()
threading.Event().wait()
'''
PERL = 'while (1) { my %h; $h{$_} = [split /,/, "a,b,$_"] for 1..2000; my @s = sort { $a <=> $b } keys %h; }'
SQL = '''create table t(a integer primary key, b text, c blob); create index i on t(b);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
 insert into t select i, 'text ' || i, randomblob(100) from n;
with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n, t;
'''
NODE = '''const a = []; setInterval(() => { for (let i = 0; i < 2000; i++) a[i % 5000] = Buffer.alloc(2000 + i % 100);
require('zlib').deflate(Buffer.alloc(100000, 'x'), () => 0); }, 1);'''
NGINX = '''daemon off; master_process off; pid {folder}/pid; error_log stderr notice;
events {{ worker_connections 64; }}
http {{ access_log off; server {{ listen unix:{folder}/web.sock; location / {{ return 200 ok; }} }} }}
'''
C_FILE = '#include <%s.h>\\n' * 6 % ('stdio', 'stdlib', 'string', 'pthread', 'sys/socket', 'math') + ''.join(
    'int f%d(int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i] * %d + (s >> 3); return s; }\\n' % (i, i)
    for i in range(800))


class Program:
    """How to run it: `live` for as long as it is let, `leaving` to its own end; `load` keeps it busy."""

    def __init__(self, name, live, leaving, load=None, env=None):
        self.name, self.live, self.leaving, self.load, self.env = name, live, leaving, load, env or {}


def programs(folder):
    (folder / 'script.sql').write_text(SQL)
    (folder / 'nginx.conf').write_text(NGINX.format(folder=folder))
    (folder / 'big.c').write_text(C_FILE.replace('\\n', '\n'))
    python = {'PYTHONMALLOC': 'malloc'}
    short = PYTHON.replace('threading.Event().wait()', 'import time; time.sleep(0.3)')
    sock = folder / 'redis.sock'
    redis = ['redis-server', '--port', '0', '--unixsocket', str(sock), '--save', '']
    benchmark = ['redis-benchmark', '-s', str(sock), '-q', '-l', '-t', 'set,lpush,hset', '-r', '10000']
    repository = Path(__file__).resolve().parents[1]
    yield Program('sqlite3', ['sqlite3', ':memory:', f'.read {folder}/script.sql'],
                  ['sqlite3', ':memory:', 'create table t(a); insert into t values (1), (2); select sum(a) from t'])
    yield Program('python3', ['/usr/bin/python3', '-c', PYTHON], ['/usr/bin/python3', '-c', short], env=python)
    yield Program('perl', ['perl', '-e', PERL], ['perl', '-e', PERL.replace('while (1)', 'for my $i (1..20)')])
    yield Program('git', ['git', '-C', str(repository), 'cat-file', '--batch'],
                  ['git', '-C', str(repository), 'log', '--stat', '-20', '--no-pager'][:5] + ['-20'], load='git')
    yield Program('redis-server', redis, redis, load=benchmark)
    yield Program('nginx', ['nginx', '-e', 'stderr', '-p', str(folder), '-c', str(folder / 'nginx.conf')],
                  ['nginx', '-t', '-e', 'stderr', '-p', str(folder), '-c', str(folder / 'nginx.conf')], load='web')
    yield Program('node', ['node', '-e', NODE], ['node', '-e', '[1,2,3].map(x => Buffer.alloc(9999 * x))'])
    cc1 = subprocess.run(['gcc', '-print-prog-name=cc1'], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    yield Program('gcc (cc1)', [cc1, '-O2', '-quiet', str(folder / 'big.c'), '-o', '/dev/null'],
                  [cc1, '-O2', '-quiet', str(folder / 'big.c'), '-o', '/dev/null'])


def lost_of(process):
    """{stack: (blocks, bytes)} of what is lost."""
    found = collections.Counter()
    for site in process['sites']:
        if site['kind'] in ('lost', 'indirect'):
            frames = ' < '.join('%s [%s]' % (f['function'] or '?', f['module']) for f in site['stack'][:6])
            found[f"{site['kind']}: {frames}"] += site['live_blocks']
    return found


class Soak:
    def __init__(self, build, folder):
        self.seep, self.library, self.folder = build / 'seep', build / 'libseep.so', folder
        self.lost = {}

    def environment(self, program, **more):
        return {**os.environ, 'LC_ALL': 'C.UTF-8', 'MALLOC_PERTURB_': '0', **program.env, **more}

    def start_load(self, program, traced):
        if program.load == 'git':  # asks for objects without pause
            names = subprocess.run(['git', 'rev-list', '--all', '--objects', '-n', '3000'], cwd=program.live[2],
                                   stdout=subprocess.PIPE, check=True).stdout
            names = b''.join(line.split()[0] + b'\n' for line in names.splitlines())
            (self.folder / 'names').write_bytes(names)
            return subprocess.Popen(['sh', '-c', f'while cat {self.folder}/names; do :; done'], stdout=traced.stdin)
        if program.load == 'web':
            return subprocess.Popen(['sh', '-c', f'while :; do curl -s --unix-socket {self.folder}/web.sock http://x/; done'],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if program.load:
            return subprocess.Popen(program.load, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return None

    def start(self, program):
        traced = subprocess.Popen(program.live, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env=self.environment(
                                      program, LD_PRELOAD=self.library, SEEP_OUT=self.folder / 'left.seep'))
        time.sleep(1)
        load = self.start_load(program, traced)
        time.sleep(0.5)
        return traced, load

    def stop(self, traced, load):
        for process in (load, traced):
            if process:
                process.kill()
                process.wait()
        traced.stdin.close()

    def live(self, program, times):
        scans, blocks, lost, pauses = 0, 0, collections.Counter(), []
        traced, load = self.start(program)
        while scans < times:
            if traced.poll() is not None:  # a program with an end: once more
                self.stop(traced, load)
                traced, load = self.start(program)
            done = subprocess.run([self.seep, 'scan', str(traced.pid), '--json'], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, check=False)
            if done.returncode:
                if traced.poll() is None:
                    sys.exit(done.stderr.decode())
                continue
            process = json.loads(done.stdout)
            scans += 1
            blocks = max(blocks, sum(process['leaks'][k]['blocks'] for k in ('lost', 'indirect', 'possible', 'reachable')))
            pauses.append(process['leaks']['pause_s'])
            lost += lost_of(process)
            time.sleep(0.05)
        self.stop(traced, load)
        return scans, blocks, lost, sorted(pauses)[len(pauses) // 2]

    def leaving(self, program, times):
        looks, blocks, lost = 0, 0, collections.Counter()
        for _ in range(times):
            report = self.folder / 'report.json'
            tool = subprocess.Popen([self.seep, 'run', '--json', '--report', report, '-o', self.folder / 'out.seep',
                                     *program.leaving], cwd=self.folder, env=self.environment(program),
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if program.name == 'redis-server':
                time.sleep(0.7)
                tool.terminate()  # which it takes as the wish to leave
            tool.wait()
            whole = json.loads(report.read_text())
            for process in whole.get('processes') or [whole]:
                if process['leaks']:
                    looks += 1
                    blocks = max(blocks, sum(process['leaks'][k]['blocks'] for k in
                                             ('lost', 'indirect', 'possible', 'reachable')))
                    lost += lost_of(process)
        return looks, blocks, lost


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--build', type=Path, default=Path('build'))
    parser.add_argument('--times', type=int, default=20)
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    failed = False
    print('| program | live scans | most blocks | lost | pause, median | looks at exit | most blocks | lost |')
    print('| --- | --- | --- | --- | --- | --- | --- | --- |')
    with tempfile.TemporaryDirectory(prefix='seep-soak-') as name:
        soak = Soak(options.build.resolve(), Path(name))
        notes = []
        for program in programs(Path(name)):
            if options.names and program.name.split()[0] not in options.names:
                continue
            if not shutil.which(program.live[0]):
                print(f'| {program.name} | not installed | | | | | | |')
                continue
            scans, blocks, lost, pause = soak.live(program, options.times)
            looks, exit_blocks, exit_lost = soak.leaving(program, options.times)
            print(f'| {program.name} | {scans} | {blocks:,} | {sum(lost.values())} | {pause * 1000:.0f} ms | {looks} | '
                  f'{exit_blocks:,} | {sum(exit_lost.values())} |', flush=True)
            failed |= bool(lost)
            for when, found in (('live', lost), ('at exit', exit_lost)):
                notes += [f'{program.name}, {when}: {nr} times {where}' for where, nr in found.most_common(8)]
    print()
    print('\n'.join(notes))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
