#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs of others do under seep what they do without it, and their counts are Valgrind's.

    /usr/bin/python3 bench/programs_soak.py --build build [--modes live,record,check,attach] [NAME...]

Runs each program twice untraced, then in each mode. Exit status, standard output and standard error have to be those of the
untraced run; of a program whose output differs from run to run, only the status. Where two traced runs count the same, the
calls and the classes of blocks are compared with memcheck's. Prints one row per program and lists each difference. Exit
status 1 when there is one. Mode attach needs root.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT_S = 300
MODES = ('live', 'record', 'check', 'attach')
ANY = ['--max-leaked', '1T', '--max-mismatches', '1000000000']
VALGRIND = ['valgrind', '--leak-check=full', '--show-leak-kinds=all', '--run-libc-freeres=no', '--run-cxx-freeres=no', '--trace-children=no']
CLASSES = {'lost': 'definitely lost', 'indirect': 'indirectly lost', 'possible': 'possibly lost', 'reachable': 'still reachable'}

PERL = 'my %h = map { $_ => [map { "$_$_" } 1..3] } 1..500; my $s = join ",", sort keys %h; $s =~ s/(.)/<$1>/g; print length $s'
PYTHON = 'import ctypes, sqlite3, threading; t = [threading.Thread(target=lambda: [str(i) for i in range(9999)]) for _ in range(4)]; ' \
         '[x.start() for x in t]; [x.join() for x in t]; print(sqlite3.connect(":memory:").execute("select 6 * 7").fetchone())'
PROGRAMS = {
    'awk': ['awk', 'BEGIN { for (i = 0; i < 20000; i++) a[i] = i "x"; for (k in a) n += length(a[k]); print n }'],
    'bash': ['bash', '-c', 'for i in 1 2 3; do x=$(echo $i | tr 1 2); echo $x; done; cat <(echo a)'],
    'bwrap': ['bwrap', '--ro-bind', '/', '/', '--tmpfs', '/tmp', '--proc', '/proc', '--dev', '/dev', '--unshare-all', 'ls', '/usr'],
    'curl': ['curl', '-s', 'file:///etc/passwd'],
    'file': ['file', '/bin/ls', 'README.md', '/'],
    'gcc': ['gcc', '-x', 'c', '-fsyntax-only', '/dev/null'],
    'gdb': ['gdb', '-q', '-nx', '-batch', '-ex', 'print 6 * 7'],
    'git': ['git', '--version'],
    'gst': ['gst-launch-1.0', '-q', 'audiotestsrc', 'num-buffers=50', '!', 'audioconvert', '!', 'queue', '!', 'fakesink'],
    'jq': ['jq', '-n', '[range(5000) | {a: ., b: "x\\(.)"}] | map(.a) | add'],
    'ltrace': ['ltrace', '-o', '/dev/null', 'true'],
    'lua': ['lua5.4', '-e', 'local t = {} for i = 1, 20000 do t[i] = {i, tostring(i)} end print(#t)'],
    'man': ['man', '-P', 'cat', 'ls'],
    'node': ['node', '-e', 'console.log(require("zlib").deflateSync(Buffer.alloc(1e5)).length)'],
    'nohup': ['nohup', 'setsid', '-w', 'timeout', '20', 'ls', '/usr'],
    'objdump': ['objdump', '-d', '/bin/true'],
    'openssl': ['openssl', 'prime', '-generate', '-bits', '64', '-safe'],
    'perf': ['perf', 'stat', '-x,', '-o', '/dev/null', 'true'],
    'perl': ['perl', '-e', PERL],
    'python': ['/usr/bin/python3', '-c', PYTHON],
    'qemu': ['qemu-system-x86_64', '-machine', 'help'],
    'setpriv': ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', 'ls', '/usr'],
    'sqlite': ['sqlite3', ':memory:', 'create table t (a, b); insert into t values (1, 2), (3, 4); select sum(a), max(b) from t'],
    'strace': ['strace', '-f', '-o', '/dev/null', 'true'],
    'systemd-analyze': ['systemd-analyze', 'unit-paths'],
    'tar': ['tar', 'cf', '-', '--exclude=.git', 'docs'],
    'unshare': ['unshare', '-Urpf', '--mount-proc', 'ls', '/usr'],
}
# Programs whose counts differ from memcheck's, and why.
OWN_COUNTS = {
    'ltrace': 'it reads the symbols of the libraries of its program, of which there is one more under seep',
    'perf': 'the kernel counts nothing for it under Valgrind',
    'python': 'its threads take turns in another order',
    'qemu': 'it asks the processor what it can do, and that of Valgrind can do less',
}


def run(command, folder):
    """(exit status, output, errors); the status is None if it does not end in time."""
    with open(folder / 'out', 'wb') as out, open(folder / 'err', 'wb') as err:
        try:
            code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=LIMIT_S, check=False).returncode
        except subprocess.TimeoutExpired:
            code = None
    return code, (folder / 'out').read_bytes(), (folder / 'err').read_bytes()


def command_of(mode, seep, trace, program):
    quiet = [seep, 'run', '-q', '--no-default-suppressions', '-o', trace]
    return {'live': [*quiet, '--', *program], 'record': [*quiet, '--mode', 'record', '--', *program],
            'check': [seep, 'check', '-q', *ANY, '-o', trace, '--', *program],
            'attach': [seep, 'attach', '--output', trace, '--', *program]}[mode]


def differences(mode, plain, steady, done, trace):
    found = []
    unsure = mode == 'check' and b'seep: check: not sure' in done[2]
    if done[0] != plain[0] and not (unsure and done[0] == 1):
        found.append(f'status {done[0]}, untraced {plain[0]}')
    if not trace.exists():
        found.append('no trace')
    # seep attach reports on standard output, seep check on standard error.
    if steady[0] and (plain[1] not in done[1] if mode == 'attach' else plain[1] != done[1]):
        found.append('another output')
    ours = [line for line in done[2].splitlines(keepends=True) if not (line.startswith(b'seep: ') or mode == 'attach')]
    if steady[1] and mode != 'attach' and b''.join(ours) != plain[2]:
        found.append('other errors: ' + b''.join(ours)[:200].decode(errors='replace'))
    return found


def counts(seep, trace):
    """Of the only process: its calls, and the blocks of each class. None: there are more processes."""
    done = subprocess.run([seep, 'report', '--json', trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    process = json.loads(done.stdout) if done.returncode == 0 else {}
    if 'processes' in process or 'totals' not in process:
        return None
    leaks = process.get('leaks') or {}
    return {'allocs': process['totals']['allocations'], 'frees': process['totals']['frees'],
            **{name: leaks[name]['blocks'] for name in CLASSES if name in leaks}}


def memcheck(program, folder):
    text = run([*VALGRIND, *program], folder)[2].decode(errors='replace').replace(',', '')
    text = text.rsplit('HEAP SUMMARY', 1)[-1]  # a forked child prints the same before
    usage = re.search(r'total heap usage: (\d+) allocs (\d+) frees', text)
    if not usage:
        return {}
    found = {'allocs': int(usage[1]), 'frees': int(usage[2])}
    for name, words in CLASSES.items():
        line = re.search(words + r': \d+ bytes in (\d+) blocks', text)
        found[name] = int(line[1]) if line else 0
    return found


def look(name, seep, modes, folder):
    program = PROGRAMS[name]
    plain, again = run(program, folder), run(program, folder)
    steady = [plain[i] == again[i] for i in (1, 2)]
    found, seen = [], []
    for mode in modes:
        trace = folder / f'{mode}.seep'
        done = run(command_of(mode, seep, trace, program), folder)
        found += [f'{mode}: {words}' for words in differences(mode, plain, steady, done, trace)]
        if mode in ('live', 'record') and trace.exists():
            seen.append(counts(seep, trace))
    same = name not in OWN_COUNTS and len(seen) == 2 and seen[0] and seen[0] == seen[1]
    if same:
        theirs = memcheck(program, folder)
        found += [f'{key}: {seen[0][key]}, memcheck {theirs[key]}' for key in theirs if key in seen[0] and seen[0][key] != theirs[key]]
    print(f'{name:16} {"as untraced" if not found else "DIFFERS":12} {seen[0] if same else OWN_COUNTS.get(name, "counts not compared")}', flush=True)
    for words in found:
        print(f'    {words}', flush=True)
    return not found


def main():
    parser = argparse.ArgumentParser(description='Run programs of others under seep.')
    parser.add_argument('--build', type=Path, required=True)
    parser.add_argument('--modes', default=','.join(MODES if os.geteuid() == 0 else MODES[:-1]))
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    # GLib leaves its own allocator out under Valgrind.
    os.environ.update(PERL_HASH_SEED='0', PYTHONHASHSEED='0', G_SLICE='always-malloc')
    good = True
    for name in options.names or PROGRAMS:
        if not shutil.which(PROGRAMS[name][0]):
            print(f'{name:16} not installed')
            continue
        with tempfile.TemporaryDirectory() as folder:
            good &= look(name, options.build.resolve() / 'seep', options.modes.split(','), Path(folder))
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
