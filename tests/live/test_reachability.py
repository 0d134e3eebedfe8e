# SPDX-License-Identifier: BSD-2-Clause
"""seep scan: classes of blocks, holders, real programs, and that the process goes on as it was."""
import collections
import functools
import json
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import harness
import messages
from harness import LIBSEEP, SEEP, environment, state_of, status_of

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'golden'))
import seep_reader  # noqa: E402
from small_programs import built_program, program_source
PATIENCE_S = 60
LOOKS = int(os.environ.get('SEEP_LOOKS') or 8)  # at programs at work, which is costly: make hostile takes more


def seep(*args):
    """A command of seep, with what it wrote as text."""
    done = harness.run([SEEP, *args])
    done.out, done.err = done.out.decode(), done.err.decode()
    return done


class Traced:
    """A program that runs under libseep.so until the test ends."""

    def __init__(self, *args, cwd, wait='ready', preload=True, **env):
        more = {'LD_PRELOAD': LIBSEEP, 'SEEP_OUT': Path(cwd) / 'left.seep'} if preload else {}
        self.process = subprocess.Popen([str(a) for a in args], cwd=cwd, env=environment(**more, **env),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.pid = self.process.pid
        self.said = b''
        if wait:
            while wait.encode() not in self.said:
                if not select.select([self.process.stdout], [], [], PATIENCE_S)[0]:
                    self.process.kill()
                    pytest.fail(f'it does not say {wait!r}: {self.said}')
                piece = os.read(self.process.stdout.fileno(), 65536)
                assert piece, self.said
                self.said += piece

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.stdout.close()
        self.process.wait(PATIENCE_S)


def scan(pid, *options, code=0):
    done = seep('scan', pid, *options)
    assert done.code == code, done
    return done


def scan_json(pid, *options):
    return harness.report_json.spread(json.loads(scan(pid, '--json', *options).out))


def kinds_by_size(report):
    kinds = collections.defaultdict(collections.Counter)
    for site in report['sites']:
        # What the loader allocates is as long as a path is: it must not be taken for a block of ours.
        if 'ld-linux' not in (site['stack'][0]['module'] or ''):
            for block in site['blocks']:
                kinds[block['size']][block['kind']] += 1
    return kinds


def expected(source):
    """{size: class} from the "SCAN:" comments of a source."""
    found = re.findall(r'// SCAN: (\d+) (\w+)', Path(source).read_text())
    assert len(found) == len(set(size for size, _ in found)) and len(found) >= 18
    return {int(size): kind for size, kind in found}


def build(tmp_path, source, level, *more):
    compiler = ['g++', '-std=gnu++17'] if source.endswith('.cpp') else ['gcc', '-std=gnu11']
    output = tmp_path / (Path(source).stem + level)
    harness.need(compiler[0])
    subprocess.run([*compiler, '-g', level, '-w', '-D_GNU_SOURCE', '-pthread', str(HERE / source), '-o', str(output),
                    '-ldl', *more], check=True, timeout=PATIENCE_S)
    return output


@pytest.fixture(scope='module')
def blocks_built(tmp_path_factory):
    """blocks_built(level): the command of scan_blocks.c, compiled once."""

    @functools.cache
    def make(level):
        folder = tmp_path_factory.mktemp('blocks')
        library = build(folder, 'scan_library.c', level, '-shared', '-fPIC')
        copies = [shutil.copy(library, folder / name) for name in ('libstays.so', 'libgoes.so')]
        return [build(folder, 'scan_blocks.c', level), *copies]

    return make


@pytest.fixture
def blocks(blocks_built, tmp_path):
    """blocks(level): scan_blocks.c at work."""
    return lambda level, **more: Traced(*blocks_built(level), cwd=tmp_path, **more)


def check_kinds(report, wanted):
    kinds = kinds_by_size(report)
    wrong = {size: (kind, dict(kinds[size])) for size, kind in wanted.items() if set(kinds[size]) != {kind}}
    assert not wrong, 'size: (expected, found) ' + repr(wrong)


@pytest.mark.parametrize('how', [[], ['--cow']])
def test_guard_pages_are_no_memory(tmp_path, how):
    """Those made by madvise (stacks, from glibc 2.42 on) lie in a mapping that may be read: nothing is behind them."""
    with Traced(harness.BUILD / 'tests/live/live-guard-pages', cwd=tmp_path) as program:
        word, address = program.said.decode().split()[:2]
        with open(f'/proc/{program.pid}/pagemap', 'rb') as pagemap:
            pagemap.seek((int(address, 16) // os.sysconf('SC_PAGESIZE') + 1) * 8)
            told = int.from_bytes(pagemap.read(8), 'little') >> 58 & 1
        report = scan_json(program.pid, '--blocks', *how)
    if word == 'none' or not told:
        pytest.skip('this kernel has no guard pages by madvise (Linux 6.13), or does not tell of them (6.15)')
    check_kinds(report, {1001: 'reachable'})
    assert report['leaks']['reachable']['blocks'] >= 32 and report['leaks']['unread_bytes'] == 0, report['leaks']
    assert not report['health']['notes'], report['health']


@pytest.mark.parametrize('level', ['-O0', '-O2'])
def test_classes_of_c(blocks, level):
    # it loads libraries, of which the loader keeps something by pointers into the middle
    with blocks(level) as program:
        report = scan_json(program.pid, '--blocks', '--no-default-suppressions')
        check_kinds(report, expected(HERE / 'scan_blocks.c'))
        again = scan_json(program.pid, '--blocks', '--no-default-suppressions')
        assert kinds_by_size(again) == kinds_by_size(report)
        leaks = report['leaks']
        for kind in ('lost', 'indirect', 'possible', 'reachable'):
            found = [b for s in report['sites'] for b in s['blocks'] if b['kind'] == kind]
            assert leaks[kind] == {'blocks': len(found), 'bytes': sum(b['size'] for b in found)}
        assert leaks['unread_bytes'] == 0 and leaks['pause_s'] > 0


@pytest.mark.parametrize('level', ['-O0', '-O2'])
def test_classes_of_cpp(tmp_path, level):
    with Traced(build(tmp_path, 'scan_blocks.cpp', level), cwd=tmp_path) as program:
        check_kinds(scan_json(program.pid, '--blocks'), expected(HERE / 'scan_blocks.cpp'))


def test_roots_as_lsan_has_them(blocks):
    with blocks('-O0') as program:
        kinds = kinds_by_size(scan_json(program.pid, '--blocks', '--roots', 'lsan'))
        assert set(kinds[2144]) == {'lost'}  # only a mapping of the program holds it
        assert set(kinds[2000]) == set(kinds[2184]) == set(kinds[2248]) == set(kinds[3400]) == {'reachable'}


def test_who_holds_it(blocks):
    with blocks('-O0') as program:
        report = scan_json(program.pid, '--blocks')
        holders = {b['size']: s['held_by'] for s in report['sites'] for b in s['blocks'] if len(s['blocks']) == 1}
        program_name = 'scan_blocks-O0'
        # All blocks of make() come from sites that differ in the line of their caller.
        table = rf'global struct node \*table\[63\] \(scan_blocks.c:\d+\) in {program_name}'
        assert re.fullmatch(rf'global struct node \*plain \(scan_blocks.c:\d+\) in {program_name}', holders[2000])
        assert re.fullmatch(table, holders[2016])
        block = r'block of %d B \(struct node\) from make \(scan_blocks.c:\d+\)'
        assert re.match(rf'{table} -> {block % 2016} .b -> {block % 2032} .', holders[2048])
        assert holders[1000 + 16] is None
        assert holders[1032].startswith('lost block of 1016 B from make')
        assert re.match(r"stack of thread \d+( in \w+ .*)?$", holders[2264])
        # Another thread's variables and values of keys lie at the top of its stack, and are none of it. (A copy of one may still
        # lie in its stack, too.)
        assert any(holders[size].startswith(messages.THREAD_LOCAL + ' ') for size in (2248, 2280)), holders
        text = scan(program.pid, '--top', '0').out
        assert 'held by: global struct node *plain (' in text and 'indirectly lost' in text and 'paused' in text


def test_kind_filter_and_saved_result(blocks, tmp_path):
    with blocks('-O0') as program:
        lost = scan_json(program.pid, '--kind', 'lost', '--blocks')
        sizes = sorted(b['size'] for s in lost['sites'] for b in s['blocks'])
        assert 1016 in sizes and 1032 not in sizes and 2000 not in sizes
        assert all(s['kind'] == 'lost' for s in lost['sites'])
        saved = tmp_path / 'saved.seep'
        report = scan_json(program.pid, '--blocks', '-o', saved)
        loaded = harness.report_json.spread(json.loads(seep('report', saved, '--json', '--blocks').out))
        for key in ('leaks', 'sites'):
            assert loaded[key] == report[key]
        chains = seep_reader.read(saved.read_bytes())['processes'][0]['chains']
        assert len(chains['holders']) == len(report['leaks']['holders'])
        assert any(chain[0]['kind'] == 1 for chain in chains['sites'].values()) # data of a module
        done = seep('report', program.pid, '--kind', 'lost')
        assert done.code == 1 and messages.NEEDS_A_SCAN in done.err
        assert "unknown value 'gone'" in scan(program.pid, '--kind', 'gone', code=2).err


# ---- the process goes on as it was ----


def wait_state(pid, states):
    harness.wait_until(lambda: state_of(pid) in states, f'one of the states {states}')


def test_stopped_by_job_control_stays_stopped(blocks):
    with blocks('-O0') as program:
        os.kill(program.pid, signal.SIGSTOP)
        wait_state(program.pid, 'T')
        check_kinds(scan_json(program.pid, '--blocks'), {2000: 'reachable', 1016: 'lost'})
        assert status_of(program.pid, 'TracerPid') == '0'
        os.kill(program.pid, signal.SIGCONT)
        wait_state(program.pid, 'S')


def test_system_calls_do_not_notice(tmp_path):
    """Waiting calls go on, epoll_wait too, which the kernel alone would let fail with EINTR."""
    source = tmp_path / 'waits.c'
    source.write_text(program_source('reachability_calls.c'))
    output = tmp_path / 'waits'
    subprocess.run(['gcc', '-w', '-pthread', str(source), '-o', str(output)], check=True, timeout=PATIENCE_S)
    with Traced(output, cwd=tmp_path) as program:
        for _ in range(10):
            assert scan_json(program.pid)['leaks']['lost']['blocks'] == 0
        os.set_blocking(program.process.stdout.fileno(), False)
        harness.wait_until_idle(program.pid)  # in its calls; otherwise it would have left one, and printed that
        assert program.process.stdout.read() in (None, b'')
        assert program.process.poll() is None


def test_killed_in_the_middle_the_process_goes_on(tmp_path):
    program_text = 'import time\nx = [[i] for i in range(300000)]\nprint("ready", flush=True)\n' \
                   'while True:\n    x[0] = [1]\n    time.sleep(0.001)\n'
    harness.need('/usr/bin/python3')
    with Traced('/usr/bin/python3', '-c', program_text, cwd=tmp_path, PYTHONMALLOC='malloc') as program:
        landed = 0
        for i in range(8):
            tool = subprocess.Popen([str(SEEP), 'scan', str(program.pid)], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
            time.sleep(0.01 * (i + 1))
            tool.kill()
            landed += tool.wait(PATIENCE_S) == -signal.SIGKILL
            wait_state(program.pid, 'RS')
            assert status_of(program.pid, 'TracerPid') == '0'
        assert landed > 0, 'all kills came too late'
        scan(program.pid)


# ---- trouble ----


def test_troubles_are_told(tmp_path):
    assert 'no process' in scan(2 ** 22 + 1, code=1).err
    assert 'x.seep: cannot open' in scan('x.seep', code=1).err
    with Traced('/bin/sleep', '1000', cwd=tmp_path, wait='', preload=False) as untraced:
        wait_state(untraced.pid, 'S')
        assert messages.NOT_TRACED in scan(untraced.pid, code=1).err
        wait_state(untraced.pid, 'S')
    text = 'print("ready", flush=True)\nimport time\ntime.sleep(1000)\n'
    with Traced('/usr/bin/python3', '-c', text, cwd=tmp_path, SEEP_SAMPLE=65536) as sampled:
        assert 'without --sample' in scan(sampled.pid, code=1).err
        wait_state(sampled.pid, 'S')


UNDUMPABLE = 'import ctypes, os, time\nos.setgid(65534)\nos.setuid(65534)\nctypes.CDLL(None).prctl(4, 0)\n' \
    'print("ready", flush=True)\ntime.sleep(1000)\n'


def test_the_right_that_is_missing_is_told(tmp_path):
    if os.geteuid() != 0:
        pytest.skip('only root can make processes of other users')
    harness.need('setpriv')
    # Where others may run it from.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        tool = shutil.copy(SEEP, folder)
        nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', tool]
        text = 'print("ready", flush=True)\nimport time\ntime.sleep(1000)\n'
        for program, words in ((text, 'belongs to another user (0): be that user, or root, or have CAP_SYS_PTRACE'),
                               (UNDUMPABLE, 'is protected, though of your user')):
            with Traced('/usr/bin/python3', '-c', program, cwd=tmp_path) as traced:
                for command in (['scan'], ['scan', '--cow'], ['whois', '0x1000'], ['report'], ['snap']):
                    operands = [command[0], traced.pid, *command[1:]]
                    done = harness.run([*nobody, *operands], cwd=folder, env=harness.environment_of_others())
                    assert done.code == 1 and done.err.count(b'\n') == 1, done
                    yama = b'kernel.yama.ptrace_scope is' in done.err and words.startswith('is protected')
                    assert words.encode() in done.err or yama, done  # seldom: with Yama
                wait_state(traced.pid, 'S')
    if Path('/proc/2/comm').exists() and Path('/proc/2/comm').read_text() == 'kthreadd\n':
        assert 'it is a thread of the kernel' in scan(2, code=1).err
    assert 'no process 4194305' in scan(2 ** 22 + 1, code=1).err


def test_process_that_ends_meanwhile(tmp_path):
    """Whatever moment it ends at: a report or one line of error, never more."""
    for delay in range(10):
        text = f'import time\nprint("ready", flush=True)\ntime.sleep(0.0{delay})\n'
        with Traced('/usr/bin/python3', '-c', text, cwd=tmp_path) as program:
            done = seep('scan', program.pid)
            assert done.code in (0, 1), done
            assert done.err.count('\n') <= 1, done


def test_reservations_of_terabytes(tmp_path):
    """Only what is there is read; pointers in it hold."""
    source = tmp_path / 'reserve.c'
    source.write_text(program_source('reachability_reservations.c'))
    output = tmp_path / 'reserve'
    subprocess.run(['gcc', '-O1', '-w', str(source), '-o', str(output)], check=True, timeout=PATIENCE_S)
    with Traced(output, cwd=tmp_path) as program:
        report = scan_json(program.pid, '--blocks')
        kinds = kinds_by_size(report)
        assert set(kinds[1000]) == set(kinds[1016]) == set(kinds[1032]) == {'reachable'}
        assert report['leaks']['read_bytes'] < 64 << 20 and report['leaks']['unread_bytes'] == 0


# ---- real programs ----


def lost_of(report):
    lines = []
    for site in report['sites']:
        if site['kind'] in ('lost', 'indirect'):
            lines.append((site['live_bytes'], [f"{f['function']} {f['module']}" for f in site['stack'][:8]]))
    return lines


def test_busy_threads(tmp_path):
    source = tmp_path / 'busy.cpp'
    source.write_text(program_source('reachability_busy.cpp'))
    output = tmp_path / 'busy'
    harness.need('g++')
    subprocess.run(['g++', '-O2', '-g', '-w', '-pthread', str(source), '-o', str(output)], check=True,
                   timeout=PATIENCE_S)
    with Traced(output, cwd=tmp_path) as program:
        for _ in range(LOOKS):
            report = scan_json(program.pid, '--kind', 'lost,indirect')
            assert lost_of(report) == []
            assert report['leaks']['reachable']['blocks'] > 1000


IN_NAMESPACE = ['unshare', '--pid', '--fork', '--kill-child']


@pytest.mark.parametrize('prefix', [[], IN_NAMESPACE], ids=['here', 'namespace'])
def test_reallocs_at_work(prefix, tmp_path):
    """What only a block points to that realloc is moving at this moment is not lost; the numbers of threads may be others."""
    if prefix and (not shutil.which('unshare') or subprocess.run([*prefix, 'true'], stderr=subprocess.DEVNULL).returncode):
        pytest.skip('no process namespaces here')
    source = tmp_path / 'moves.c'
    source.write_text(program_source('reachability_reallocs_at_work.c'))
    output = tmp_path / 'moves'
    subprocess.run(['gcc', '-O2', '-g', '-w', '-pthread', str(source), '-o', str(output)], check=True,
                   timeout=PATIENCE_S)
    with Traced(*prefix, output, cwd=tmp_path) as program:
        pid, = Path(f'/proc/{program.pid}/task/{program.pid}/children').read_text().split() if prefix else [program.pid]
        for _ in range(LOOKS):
            assert lost_of(scan_json(pid, '--kind', 'lost,indirect')) == []


def test_python_at_work(tmp_path):
    text = '''
import threading, json, re, collections, sys
def work():
    d = collections.OrderedDict()
    while True:
        for i in range(1000):
            d[i] = json.loads('{"a": [1, 2, {"b": "%d"}]}' % i)
            re.sub("[0-9]+", "x", str(d[i]))
threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
for t in threads: t.start()
print("ready", flush=True)
threads[0].join()
'''
    with Traced('/usr/bin/python3', '-c', text, cwd=tmp_path, PYTHONMALLOC='malloc') as program:
        for _ in range(LOOKS):
            assert lost_of(scan_json(program.pid, '--kind', 'lost,indirect')) == []


def test_sqlite(tmp_path):
    harness.need('sqlite3')
    script = ("create table t(a integer primary key, b text, c blob); create index i on t(b);\n"
              "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)\n"
              " insert into t select i, 'text ' || i, randomblob(100) from n;\n"
              ".system echo ready\n"
              "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n, t;\n")
    (tmp_path / 'script').write_text(script)
    with Traced('sqlite3', ':memory:', f'.read {tmp_path}/script', cwd=tmp_path) as program:
        for _ in range(5):
            assert lost_of(scan_json(program.pid)) == []


def test_redis(tmp_path):
    harness.need('redis-server', 'redis-cli')
    socket = tmp_path / 'redis.sock'
    with Traced('redis-server', '--port', '0', '--unixsocket', socket, '--save', '',
                '--enable-debug-command', 'yes', cwd=tmp_path,
                wait='eady to accept') as program:
        fill = subprocess.run(['redis-cli', '-s', str(socket), 'debug', 'populate', '20000'], timeout=PATIENCE_S,
                              stdout=subprocess.PIPE)
        assert fill.returncode == 0
        for _ in range(5):
            report = scan_json(program.pid)
            assert lost_of(report) == []
            assert report['leaks']['reachable']['blocks'] + report['leaks']['possible']['blocks'] > 20000


def test_nginx(tmp_path):
    harness.need('nginx')
    config = tmp_path / 'nginx.conf'
    config.write_text(f'''daemon off; master_process off; pid {tmp_path}/pid; error_log stderr notice;
events {{ worker_connections 64; }}
http {{ access_log off; server {{ listen unix:{tmp_path}/web.sock; location / {{ return 200 ok; }} }} }}
''')
    with Traced('nginx', '-e', 'stderr', '-p', tmp_path, '-c', config, cwd=tmp_path,
                wait='using the "epoll"') as program:
        harness.wait_until((tmp_path / 'web.sock').exists, 'it listens')
        harness.wait_until_idle(program.pid)  # in epoll_wait: it has started
        for _ in range(5):
            assert lost_of(scan_json(program.pid)) == []


def test_an_allocator_that_puts_a_header_in_front(tmp_path):
    """Pointers behind the header hold, because nearly all blocks of that place have them; that is said. Others do not."""
    done = harness.run([SEEP, 'run', '-q', '-o', tmp_path / 'h.seep', harness.BUILD / 'tests/live/live-headers'])
    assert done.code == 0, done
    (process,) = harness.report(tmp_path / 'h.seep')
    nr = {kind: process['leaks'][kind]['blocks'] for kind in ('lost', 'indirect', 'possible', 'reachable')}
    assert nr == {'lost': 7, 'indirect': 0, 'possible': 3, 'reachable': 100}, nr
    assert any(note.startswith('100 blocks are held by pointers behind a header') for note in process['health']['notes']), process['health']


def test_memory_that_jemalloc_hands_out_beside_malloc(tmp_path):
    """By mallocx, as redis does for its interpreters: no hook sees it, and it holds what it points to, as does free memory there."""
    if not Path('/usr/include/jemalloc/jemalloc.h').exists():
        pytest.skip('libjemalloc-dev is not installed')
    (tmp_path / 'p.c').write_text(program_source('reachability_mallocx.c'))
    done = harness.run(['gcc', '-g', '-O1', '-fno-builtin', '-w', tmp_path / 'p.c', '-o', tmp_path / 'p', '-ljemalloc'])
    assert done.code == 0, done
    with Traced(tmp_path / 'p', cwd=tmp_path) as program:
        report = scan_json(program.pid)
    kinds = {site['live_bytes']: site['kind'] for site in report['sites'] if site['live_bytes'] in (77, 1234)}
    assert kinds[1234] == 'reachable' and 77 in kinds, kinds
    assert any('mallocx of jemalloc' in note for note in report['health']['notes']), report['health']


@pytest.mark.parametrize('own', ['MI', 'JE'])
def test_each_of_two_allocators_beside_malloc(own, tmp_path):
    """The program calls functions of one of them, whichever it is that the loader has put first."""
    program = built_program('beside_two.c', tmp_path, '-fno-builtin', f'-D{own}', '-Wl,--no-as-needed,-ljemalloc,-lmimalloc')
    done = harness.run([SEEP, 'run', '-q', '-o', tmp_path / 'p.seep', program])
    assert done.code == 0, done
    report = json.loads(seep('report', '--json', tmp_path / 'p.seep').out)
    assert [note['code'] for note in report['health']['notes']] == ['beside_malloc'], report['health']


def test_a_signal_stack_of_a_handler_within_a_hook(tmp_path):
    """The handler leaves by longjmp, so the kernel keeps the stack, and nothing else leads to it."""
    with Traced(built_program('signal_stack_in_hook.c', tmp_path, '-O1', '-fno-builtin'), cwd=tmp_path) as program:
        report = scan_json(program.pid)
    (site,) = (site for site in report['sites'] if site['size_min'] == 70001)
    assert (site['kind'], site['live_blocks']) == ('reachable', 8), site
    assert 'reentered' not in report['health']['lost'], report['health']


def test_a_signal_stack_after_the_image_was_mapped_over(tmp_path):
    """The thread's slot is in the image: it is not asked any more."""
    program = built_program('signal_stack_without_image.c', tmp_path)
    done = harness.run([SEEP, 'run', '-q', '-o', tmp_path / 'p.seep', program])
    assert (done.code, done.out) == (0, b'mapped over\n'), done


def test_questions_to_an_allocator_are_no_memory_beside_malloc(tmp_path):
    """tc_malloc_size allocates nothing: then a block that is freed twice is named, and there is no note."""
    (tmp_path / 'p.c').write_text(program_source('reachability_tc_malloc_size.c'))
    done = harness.run(['gcc', '-g', '-O1', '-fno-builtin', tmp_path / 'p.c', '-ltcmalloc_minimal', '-o', tmp_path / 'p'])
    assert done.code == 0, done
    done = harness.run([SEEP, 'run', '-q', '-o', tmp_path / 'p.seep', tmp_path / 'p'])
    assert done.code == 0, done
    report = json.loads(seep('report', '--json', tmp_path / 'p.seep').out)
    assert [note['code'] for note in report['health']['notes']] == [], report['health']


@pytest.mark.parametrize('modules, codes', [(2, []), (10, ['beside_malloc'])])
def test_modules_with_more_names_than_are_read(modules, codes, tmp_path):
    """Each has 8 MiB of names, and none names a function beside malloc: those that are not read may."""
    harness.library('libtcmalloc_minimal.so.4')
    program = built_program('beside_many_names.c', tmp_path, '-fno-builtin', '-Wl,--no-as-needed,-l:libtcmalloc_minimal.so.4')
    names_at, nr = 4096, 8 << 20
    header = struct.pack('<16sHHIQQQIHHHHHH', b'\x7fELF\2\1\1', 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    dynamic = struct.pack('<IIQQQQQQ', 2, 4, 1024, 1024, 1024, 48, 48, 8)
    entries = struct.pack('<6Q', 5, names_at, 10, nr, 0, 0)
    with open(tmp_path / 'module', 'wb') as module:
        module.write((header + dynamic).ljust(1024, b'\0') + entries)
        module.truncate(names_at + nr)
    done = harness.run([SEEP, 'run', '-q', '-o', tmp_path / 'p.seep', program, tmp_path / 'module', modules])
    assert done.code == 0, done
    report = json.loads(seep('report', '--json', tmp_path / 'p.seep').out)
    assert [note['code'] for note in report['health']['notes']] == codes, report['health']


def test_memory_that_tcmalloc_hands_out_beside_malloc(tmp_path):
    """By tc_malloc: it holds what it points to, and its free is no second free of the block that was there before."""
    (tmp_path / 'p.c').write_text(program_source('reachability_tc_malloc.c'))
    link = ['-ltcmalloc_minimal', '-o', tmp_path / 'p']
    done = harness.run(['gcc', '-g', '-O1', '-fno-builtin', tmp_path / 'p.c', *link])
    assert done.code == 0, done
    done = harness.run([SEEP, 'run', '-q', '-o', tmp_path / 'p.seep', tmp_path / 'p'])
    assert (done.code, done.out) == (0, b'1\n'), done  # the address is the same one
    report = json.loads(seep('report', '--json', tmp_path / 'p.seep').out)
    kinds = {site['live_bytes']: site['kind'] for site in report['sites']}
    assert kinds[1234] == 'reachable', kinds
    assert report['mismatches'] == [] and report['totals']['unknown_frees'] == 1, report
    assert [note['code'] for note in report['health']['notes']] == ['beside_malloc'], report['health']
