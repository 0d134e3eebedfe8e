# SPDX-License-Identifier: BSD-2-Clause
"""What the live tests share: where the built things are, running a program under seep, reading the report.

Every helper takes its working directory from the test (pytest's tmp_path), so tests may run in parallel.
"""
import csv
import functools
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import report_json  # noqa: E402
from libraries import ALLOCATORS, library  # noqa: E402, F401

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 120  # of any child: a hang ends a test, it is no measurement


def build_dir():
    return Path(os.environ.get('SEEP_BUILD') or ROOT / 'build').resolve()


BUILD = build_dir()
SEEP = BUILD / 'seep'
LIBSEEP = BUILD / 'libseep.so'
WITNESS = BUILD / 'tests/live/libcountshim.so'
PROGRAMS = BUILD / 'tests/programs'


def need(*names):
    """Skips the test, with the reason, when a program it is about is not installed."""
    for name in names:
        if not shutil.which(name):
            pytest.skip(f'{name} is not installed')


@functools.cache
def bpf_items():
    """What `seep info` says of BPF here: by name, 'verdict' and 'value'. Asked once by each worker: it loads programs to find out."""
    done = run([SEEP, 'info', '--json'])
    assert done.code == 0, done
    return json.loads(done.out)['bpf']


def root_only():
    if os.geteuid() != 0:
        pytest.skip('only root can set this up')


def need_bpf(*more):
    """Skips the test, with the reason, where programs cannot be traced by probes, or an item of `more` is missing. Returns the items."""
    bpf = bpf_items()
    for name in ('in this build', 'PID namespace', 'BPF programs', 'kernel types (BTF)', 'BPF ring buffer', 'BPF task storage', *more):
        if bpf.get(name, {}).get('verdict') == 'bad':
            pytest.skip(f"{name}: {bpf[name]['value']}")
    return {name for name in bpf if bpf[name]['verdict'] == 'good'}


def word_in_library(place):
    """Arguments of exit_scan_data_of_library.c: a word of libseep.so that this program never sees in use, as the one near the end of
    bare_areas, or of seep_boot_memory, the memory that the library gives before there is an allocator."""
    if place in ('', 'data'):
        return [place] if place else []
    symbols = [line.split() for line in run(['nm', '-S', LIBSEEP]).out.decode().splitlines()]
    ends = [int(line[0], 16) + int(line[1], 16) for line in symbols if len(line) == 4 and line[3] == place]
    if not ends:
        pytest.skip('the library has no symbols')
    return [hex(end - 24) for end in ends]


def environment(**more):
    """A small environment, the same for traced and untraced runs."""
    env = {
        'PATH': '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
        'LC_ALL': 'C.UTF-8',
        'HOME': '/proc/nonexistent',
        'MALLOC_PERTURB_': '0',
        'TERM': 'dumb',
        'TZ': 'UTC',
    }
    if 'SEEP_DEBUG_DIR' in os.environ:
        env['SEEP_DEBUG_DIR'] = os.environ['SEEP_DEBUG_DIR']
    env.update({k: str(v) for k, v in more.items()})
    return env


def environment_of_others(**more):
    """The same for another user, who may not reach the folder of the build."""
    env = environment(**more)
    env.pop('SEEP_DEBUG_DIR', None)
    return env


class Done:
    """A finished command."""

    def __init__(self, args, code, out, err):
        self.args, self.code, self.out, self.err = args, code, out, err

    def __repr__(self):
        return f'<{self.args}: {self.code}\nstdout: {self.out[-2000:]!r}\nstderr: {self.err[-2000:]!r}>'


def run(args, *, env=None, cwd=None, input=None, timeout=TIMEOUT):
    args = [str(a) for a in args]
    done = subprocess.run(
        args,
        env=env or environment(),
        cwd=cwd,
        input=input,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=None if input is not None else subprocess.DEVNULL,
        timeout=timeout,
    )
    return Done(args, done.returncode, done.stdout, done.stderr)


def most_memory_of(*command):
    """Peak resident bytes. A small process starts the command, because a child's peak begins with what its parent had at the fork."""
    script = 'import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); ' \
             'print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)'
    code, kib = run([sys.executable, '-c', script, *command]).out.split()
    assert code == b'0'
    return int(kib) << 10


def exit_status(code):
    """The shell's number for what subprocess returns: 128+N for signal N."""
    return code if code >= 0 else 128 - code


def report(trace, *options):
    """The processes of a trace, each as in the JSON report, all sites."""
    done = run([SEEP, 'report', '--json', '--top', '1000000', *options, trace])
    assert done.code == 0, done
    whole = report_json.spread(json.loads(done.out))
    assert whole['seep']['schema'] == 2
    processes = whole['processes'] if 'processes' in whole else [whole]
    for process in processes:
        check_sums(process)
    return processes


def totals(trace):
    """The processes of a trace without their sites, whose sums are taken by function: deep stacks make JSON large."""
    done = run([SEEP, 'report', '--json', '--top', '1', trace])
    assert done.code == 0, done
    whole = json.loads(done.out)
    processes = whole.get('processes') or [whole]
    for process in processes:
        check_totals(process)
    done = run([SEEP, 'report', '--csv', '--by', 'function', '--top', '0', trace])
    assert done.code == 0, done
    rows = list(csv.DictReader(done.out.decode().splitlines()))
    for key in ('allocations', 'allocated_bytes', 'frees', 'freed_bytes', 'live_blocks', 'live_bytes'):
        assert sum(int(row[key]) for row in rows) == sum(p['totals'][key] for p in processes), key
    return processes


class Traced(Done):
    def report(self, *options):
        return report(self.trace, *options)

    def totals(self):
        return totals(self.trace)


def traced(args, tmp_path, *, options=(), env=None, cwd=None, input=None, timeout=TIMEOUT, name='run'):
    """Runs a program under `seep run -q`; the trace goes to tmp_path/<name>.seep."""
    trace = Path(tmp_path) / f'{name}.seep'
    done = run(
        [SEEP, 'run', '-q', '-o', trace, *options, '--', *args],
        env=env,
        cwd=cwd,
        input=input,
        timeout=timeout,
    )
    result = Traced(done.args, done.code, done.out, done.err)
    result.trace = trace
    return result


def in_mount_namespace(script, *args, env=None):
    """Runs a command after a script has mounted its file systems."""
    root_only()
    need('unshare', 'mount')
    if subprocess.run(['unshare', '-m', 'true'], stderr=subprocess.DEVNULL).returncode:
        pytest.skip('no mount namespaces here')
    return run(['unshare', '-m', 'sh', '-c', f'{script} && exec "$@"', 'sh', *args], env=env)


def add_up(process, key):
    return sum(site[key] for site in process['sites'])


def check_sums(process):
    """What must hold for every report: sites, functions and totals tell the same story."""
    if process['health']['lost'].get('fork_inexact'):
        return  # forked while its parent was too busy: what it began with is known to within a few events, and that is said
    totals = process['totals']
    who = f"{process['process']['exe']} {process['process']['args']}"
    for key in ('allocations', 'allocated_bytes', 'live_blocks', 'live_bytes'):
        assert add_up(process, key) == totals[key], f'{who}: sites and totals differ in {key}'
    check_totals(process)
    for site in process['sites']:
        assert site['live_blocks'] == site['allocations'] - site['frees'], (who, site)
        assert site['size_min'] <= site['size_max'], (who, site)


def check_totals(process):
    totals, who = process['totals'], process['process']
    assert sum(totals['by_function'].values()) == totals['allocations'], who
    assert totals['live_blocks'] == totals['allocations'] - totals['frees'], who
    assert totals['live_bytes'] == totals['allocated_bytes'] - totals['freed_bytes'], who
    assert totals['peak_bytes'] >= totals['live_bytes'], who


def no_losses(process):
    assert not any(process['health']['lost'].values()), process['health']


# ---- the witness (count_shim.c) --------------------------------------------------------------------

WITNESS_FIGURES = struct.Struct('=4Q5Q')
WITNESS_NAMES = (
    'allocations',
    'bytes',
    'frees',
    'failed',
    'malloc',
    'calloc',
    'realloc',
    'reallocarray',
    'memalign',
)


def read_witness(folder):
    """What the witness saw, one dictionary per process image, in order of (pid, number)."""
    seen = []
    for path in sorted(Path(folder).glob('witness.*'), key=lambda p: [int(n) for n in p.name.split('.')[1:]]):
        page = path.read_bytes()
        magic, pid = struct.unpack_from('=2Q', page)
        assert magic == 0x315353454E544957, path
        now = dict(zip(WITNESS_NAMES, WITNESS_FIGURES.unpack_from(page, 16)))
        inherited = dict(zip(WITNESS_NAMES, WITNESS_FIGURES.unpack_from(page, 16 + WITNESS_FIGURES.size)))
        exe = page[16 + 2 * WITNESS_FIGURES.size :].split(b'\0')[0].decode()
        seen.append(
            {
                'pid': pid,
                'exe': exe,
                'now': now,
                'inherited': inherited,
                'own': now['allocations'] - inherited['allocations'] + now['frees'] - inherited['frees'],
            }
        )
    return seen


def with_witness(folder, env=None):
    """The environment in which a traced program has the witness behind libseep.so."""
    env = dict(env or environment())
    env['COUNT_SHIM_OUT'] = str(Path(folder) / 'witness')
    env['LD_PRELOAD'] = str(WITNESS)
    return env


def by_function(process, *names):
    return sum(process['totals']['by_function'].get(name, 0) for name in names)


def check_witness(processes, folder, compare_bytes=True):
    """Each traced process has exactly the figures that the witness has for it."""
    seen = [w for w in read_witness(folder) if Path(w['exe']).name != SEEP.name]
    assert seen, 'the witness saw no process'
    compared = 0
    for witness in seen:
        same = [
            p
            for p in processes
            if p['process']['pid'] == witness['pid'] and p['process']['exe'] == witness['exe']
        ]
        if witness['own'] == 0 and witness['now']['allocations']:
            continue  # a fork child without a heap operation has no image; it may become another program
        assert same, f'no report for {witness}'
        # A process that becomes the same program once more has two images: each must find its own.
        # Of a forked one: what it did itself; what it began with is not known by function.
        own = {name: nr - witness['inherited'][name] for name, nr in witness['now'].items()}
        forked = any(witness['inherited'].values())
        wanted = {k: own[k] for k in ('allocations', 'frees')}
        if compare_bytes:
            wanted['bytes'] = own['bytes']
        if not forked:
            wanted['calloc'] = own['calloc']
            wanted['realloc'] = own['realloc'] + own['reallocarray']
        got = []
        for p in same:
            totals = p['totals']
            figures = {
                'allocations': totals['allocations'] - totals.get('inherited_blocks', 0),
                'bytes': totals['allocated_bytes'] - totals.get('inherited_bytes', 0),
                'frees': totals['frees'] + (totals.get('unknown_frees') or 0),
                'calloc': by_function(p, 'calloc'),
                'realloc': by_function(p, 'realloc', 'reallocarray'),
            }
            got.append({k: figures[k] for k in wanted})
        assert wanted in got, f"{witness['exe']} ({witness['pid']}): the witness saw {wanted}, seep {got}"
        compared += 1
    assert compared, 'no process was compared'
    return compared


# ---- EXPECT blocks -----------------------------------------------------------------------------------


def expectation(source):
    """The JSON after `// EXPECT:` in a program's source, and the lines marked `// LINE: name`."""
    lines = Path(source).read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip() == '// EXPECT:')
    block = []
    for line in lines[start + 1 :]:
        if not line.startswith('//'):
            break
        block.append(line[2:])
    marks = {line.split('// LINE:')[1].strip(): i + 1 for i, line in enumerate(lines) if '// LINE:' in line}
    return json.loads('\n'.join(block)), marks


def own_frames(site, own):
    return [
        frame for frame in site['stack'] if any(Path(frame['module'] or '').name.startswith(o) for o in own)
    ]


def plain_name(function):
    """Without arguments, namespaces and clone suffixes: `Holder::Holder(unsigned long)` is `Holder`."""
    name = re.sub(r'<[^<>]*>', '', re.sub(r'<[^<>]*>', '', function or '?')).split('(')[0].split('.')[0]
    return name.split('::')[-1].split(' ')[-1]


SITE_FIGURES = ('allocations', 'allocated_bytes', 'frees', 'live_blocks', 'live_bytes', 'temporary')


def direct(site, own):
    """The program itself called the allocation function (not libc on its behalf)."""
    return bool(site['stack']) and own_frames({'stack': site['stack'][:1]}, own) != []


def matches(site, wanted, own):
    frames = own_frames(site, own)
    if not frames or (not direct(site, own) and not wanted.get('by_library')):
        return False
    names = [plain_name(f['function']) for f in frames]
    if wanted['in'] not in names if wanted.get('reaching') else wanted['in'] != names[0]:
        return False
    if 'path' in wanted and names[: len(wanted['path'])] != wanted['path']:
        return False
    if 'size' in wanted and not site['size_min'] == wanted['size'] == site['size_max']:
        return False
    return 'via' not in wanted or site['via'] == wanted['via']


def check_expectation(process, expected, own, marks):
    """Every expected site is there with its figures, and the program has no others."""
    used = set()
    for wanted in expected['sites']:
        hits = [i for i, site in enumerate(process['sites']) if matches(site, wanted, own)]
        used.update(hits)
        hits = [process['sites'][i] for i in hits]
        if not hits and wanted.get('optional'):
            continue
        assert hits, f'no site for {wanted} among {list_sites(process, own)}'
        for key in SITE_FIGURES:
            if key in wanted:
                got = sum(site[key] for site in hits)
                assert got == wanted[key], f"{wanted['in']}: {key} is {got}, not {wanted[key]}"
        if 'size_min' in wanted:
            assert min(site['size_min'] for site in hits) == wanted['size_min'], wanted['in']
        if 'size_max' in wanted:
            assert max(site['size_max'] for site in hits) == wanted['size_max'], wanted['in']
        if 'nr_sites' in wanted:
            assert len(hits) == wanted['nr_sites'], f"{wanted['in']}: {len(hits)} sites"
        if 'reaches' in wanted:
            for site in hits:
                names = [plain_name(f['function']) for f in own_frames(site, own)]
                assert wanted['reaches'] in names and names[-1] in ('main', '_start', '__start'), names
        if 'line' in wanted:
            assert {own_frames(site, own)[0]['line'] for site in hits} == {marks[wanted['line']]}, wanted[
                'in'
            ]
    if not expected.get('others'):
        rest = [site for i, site in enumerate(process['sites']) if i not in used and direct(site, own)]
        assert not rest, f'sites that are not expected: {list_sites({"sites": rest}, own)}'


def list_sites(process, own):
    return [
        ([plain_name(f['function']) for f in own_frames(s, own)][:4], s['via'], s['allocations'], s['frees'])
        for s in process['sites']
        if own_frames(s, own)
    ]


def ended(exit_field):
    """{'code': 3} or {'signal': 9} as the shell's number."""
    return exit_field['code'] if 'code' in exit_field else 128 + exit_field['signal']


def wait_until(condition, what, timeout=TIMEOUT):
    """Waits for something that must come; the time is only the point at which a hang is a failure."""
    import time

    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f'waited in vain for {what}'
        time.sleep(0.01)


def state_of(pid):
    """The letter of its state: proc(5), /proc/PID/stat."""
    return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0]


def states_of(pid):
    """The same of each thread that is still there."""
    states = []
    for thread in Path(f'/proc/{pid}/task').glob('*'):
        try:
            states.append(state_of(f'{pid}/task/{thread.name}'))
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            pass
    return states


def status_of(pid, key):
    """The first word behind the key in /proc/PID/status. None: the process is gone."""
    try:
        lines = Path(f'/proc/{pid}/status').read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return next((line.split()[1] for line in lines if line.startswith(key + ':')), None)


def has_ended(pid):
    """Whether a process has ended, waited for or not: who waits for it may do so at any moment."""
    try:
        return state_of(pid) == 'Z'
    except (FileNotFoundError, ProcessLookupError):
        return True


def kill(process):
    """Ends a child of the test, if it still runs."""
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()


def by_start(processes):
    """Reports of a process and of its descendants, in order of their start. After the last pid, pids begin again."""
    pids = {one['process']['pid'] for one in processes}
    return sorted(processes, key=lambda one: (one['process']['parent'] in pids, one['process']['start'], one['process']['pid']))


def children_of(pid):
    """Children of all its threads, zombies included; none where the process has ended."""
    found = []
    for file in Path(f'/proc/{pid}/task').glob('*/children'):
        try:
            found += [int(word) for word in file.read_text().split()]
        except (FileNotFoundError, ProcessLookupError):  # a thread that has ended
            pass
    return found


def is_asleep(pid):
    """Whether no thread of the process or of its children runs, or waits for a processor or a disk."""
    return not any(state in 'RD' for process in (pid, *children_of(pid)) for state in states_of(process))


def wait_until_idle(pid):
    """Waits until the process sleeps at ten looks in a row."""
    looks = []

    def sleeps():
        looks.append(is_asleep(pid))
        return len(looks) >= 10 and all(looks[-10:])

    wait_until(sleeps, 'it sleeps')


def waits_of(pid):
    """How often the first thread of a process gave up the processor to wait."""
    return int(status_of(pid, 'voluntary_ctxt_switches'))


def wait_for_turns(pid, nr):
    """Waits until a process that acts at each interval has acted that often again."""
    before = waits_of(pid)
    wait_until(lambda: waits_of(pid) >= before + nr, f'{nr} turns of {pid}')


class Told:
    """A program under `seep run` that does what it is told, line by line, and nothing else. It answers each line, and begins with a
    line of its own."""

    def __init__(self, folder, name, options, program, first=b'ok\n'):
        self.run = subprocess.Popen([SEEP, 'run', '-q', '-o', str(folder / name), *options, '--', *program],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), cwd=folder)
        assert self.run.stdout.readline() == first
        self.pid = children_of(self.run.pid)[0]

    def answer(self, step):
        self.run.stdin.write(f'{step}\n'.encode())
        self.run.stdin.flush()
        return self.run.stdout.readline()

    def tell(self, *steps):
        for step in steps:
            assert self.answer(step) == b'ok\n'

    def end(self):
        if self.run.poll() is None:
            self.run.stdin.close()
            self.run.wait(timeout=TIMEOUT)
        self.run.stdout.close()


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def answers(port):
    with socket.socket() as s:
        return s.connect_ex(('127.0.0.1', port)) == 0


def pids_with(field, number):
    """The processes that have the number in that field of /proc/PID/stat, counted from the state, but for those that have ended."""
    found = []
    for name in filter(str.isdigit, os.listdir('/proc')):
        try:
            stat = Path(f'/proc/{name}/stat').read_text(errors='replace').rsplit(')', 1)[1].split()
        except OSError:
            continue
        if int(stat[field]) == number and stat[0] not in 'ZX':
            found.append(int(name))
    return found


# What git writes is then the same each time.
GIT = {'GIT_CONFIG_GLOBAL': '/dev/null', 'GIT_CONFIG_NOSYSTEM': 1, 'GIT_AUTHOR_DATE': '2020-01-01T00:00:00Z',
       'GIT_COMMITTER_DATE': '2020-01-01T00:00:00Z', 'GIT_AUTHOR_NAME': 'a', 'GIT_AUTHOR_EMAIL': 'a@b', 'GIT_COMMITTER_NAME': 'a',
       'GIT_COMMITTER_EMAIL': 'a@b'}
