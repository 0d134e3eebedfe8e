# SPDX-License-Identifier: BSD-2-Clause
"""seep kernel: the kernel's own allocators, traced while this process makes it allocate.

The machine is never still, so figures of a stack have a lower bound that this process sets, and an end: what
it gave back is gone. Without the right to load BPF programs all of it is skipped, with the reason.
"""
import csv
import io
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from harness import ROOT, SEEP, TIMEOUT, environment, need_bpf, run, wait_until
from small_programs import program_source

sys.path.insert(0, str(ROOT / 'tests/cli'))
import schema  # noqa: E402

SCHEMA = json.loads((ROOT / 'docs/report.schema.json').read_text())

NR = 200  # of pipes: each has a kmalloc of its own, which goes at once when it is closed


@pytest.fixture(scope='module', autouse=True)
def can():
    good = need_bpf('kernel addresses')
    done = run([SEEP, 'kernel', '1ms', '1'])
    assert done.code == 0, done
    return good


class Traced:
    """A seep kernel that runs; each report as JSON."""

    def __init__(self, *options):
        self.process = subprocess.Popen([str(SEEP), 'kernel', '--json', *options], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment())

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def next(self):
        lines = []
        while True:  # one after the other, each of several lines
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read()
            lines.append(line)
            if line.endswith(b'}\n'):
                try:
                    report = json.loads(b''.join(lines))
                    break
                except ValueError:
                    continue
        assert not schema.check(report, SCHEMA, SCHEMA)
        return report

    def until(self, holds):
        """The first report of which that is so."""
        for _ in range(TIMEOUT):
            report = self.next()
            if holds(report):
                return report
        raise AssertionError('never so: %s' % json.dumps(report)[:4000])


def sites_of(report):
    """Sites of both processes that have something left, each with the names of its functions."""
    sites = []
    for process in report['processes']:
        for site in process['sites']:
            if site['live_blocks']:
                node, names = site['stack'], []
                while node is not None and node >= 0:
                    frame, node = report['stacks'][node]
                    names.append(report['frames'][frame]['function'] or '')
                sites.append({**site, 'names': names, 'allocator': names[0].split()[0],
                              'cache': names[0].partition(' (also ')[0].partition(' ')[2]})
    return sites


def total(report, key, process=None):
    return sum(each['totals'][key] for each in report['processes'] if process in (None, each['process']['exe']))


def note(report, code):
    """The text of a note of the health; None: there is none."""
    return next((note['text'] for process in report['processes'] for note in process['health']['notes']
                 if note['code'] == code), None)


def blocks_by(report, function, allocator):
    return max([site['live_blocks'] for site in sites_of(report) if site['allocator'] == allocator
                and function in site['names']], default=0)


def blocks_of_cache(report, cache):
    return sum(site['live_blocks'] for site in sites_of(report) if site['cache'] == cache)


@pytest.mark.parametrize('combined', [[], ['-C']])
def test_what_stays_is_seen_and_goes(combined):
    options = combined or ['--older', '0']
    with Traced('-T', '0', *options, '1s') as traced:
        before = traced.next()  # attached by now
        assert blocks_by(before, 'alloc_pipe_info', 'kmalloc') < NR
        pipes = [os.pipe() for _ in range(NR)]
        try:
            # The files of each come from a cache with a name. A report may be made amid the loop.
            report = traced.until(lambda r: blocks_by(r, 'alloc_pipe_info', 'kmalloc') >= NR and
                                  blocks_of_cache(r, 'filp') >= 2 * NR)
            for site in sites_of(report):
                assert site['allocator'] in ('kmalloc', 'kmem_cache', 'pages', 'not'), site
                assert bool(site['cache']) == (site['allocator'] in ('kmem_cache', 'not')), site
                # The probe's own frames are not shown.
                assert not any(name.startswith(('bpf_prog_', 'bpf_trace_run')) for name in site['names'][1:2]), site
        finally:
            for end in sum(pipes, ()):
                os.close(end)
        traced.until(lambda r: blocks_by(r, 'alloc_pipe_info', 'kmalloc') < NR)


def group_of(report, key):
    return next((group for group in report['processes'][0]['groups'] if group['key'] == key), None)


@pytest.fixture
def named():
    """This process has a name of its own meanwhile; its row."""
    with open('/proc/self/comm') as comm:
        before = comm.read().strip()
    with open('/proc/self/comm', 'w') as comm:
        comm.write('python-of-pipes')
    yield '%d python-of-pipes' % os.getpid()
    with open('/proc/self/comm', 'w') as comm:
        comm.write(before)


class Pipes:
    """Pipes of this process."""

    def __enter__(self):
        self.ends = sum((os.pipe() for _ in range(NR)), ())

    def __exit__(self, *exception):
        for end in self.ends:
            os.close(end)


def test_who_allocated_and_what_slabs_gave(named):
    with Traced('--by', 'process', '-a', '-T', '0', '--older', '0', '1s') as traced:
        traced.next()
        with Pipes():
            report = traced.until(lambda r: (group_of(r, named) or {'live_blocks': 0})['live_blocks'] >= 3 * NR)
    process = report['processes'][0]
    assert process['by'] == 'process' and sum(each['live_bytes'] for each in process['groups']) == process['totals']['live_bytes']
    mine = group_of(report, named)
    assert mine['slab_bytes'] > mine['live_bytes'] > 0
    pipe = max((site for site in sites_of(report) if 'alloc_pipe_info' in site['names'] and site['allocator'] == 'kmalloc'),
               key=lambda site: site['live_blocks'])
    each = pipe['slab_bytes'] / pipe['live_blocks']
    assert each >= pipe['size_max'] and each in (192, 256, 512, 1024, 2048, 4096)
    assert os.getpid() in {block['thread'] for block in pipe['blocks']}


def test_a_trace_has_processes_and_slabs(named, tmp_path):
    trace = tmp_path / 'kernel.seep'
    process = subprocess.Popen([str(SEEP), 'kernel', '--older', '0', '-T', '0', '--output', str(trace), '1s', '1'],
                               stdout=subprocess.PIPE, env=environment())
    assert process.stdout.readline().startswith(b'Attaching')
    with Pipes():
        out, _ = process.communicate(timeout=TIMEOUT)
    assert named.encode() + b' (' in out and b' bytes of slabs)' in out and b', for which slabs gave ' in out, out[-3000:]
    done = run([SEEP, 'report', '--by', 'process', '--csv', '--top', '0', trace])
    rows = list(csv.DictReader(io.StringIO(done.out.decode())))
    row = next(row for row in rows if row['process'] == named + ', in [kernel]')
    assert int(row['slab_bytes']) > int(row['live_bytes']) > 0
    assert named.encode() in run([SEEP, 'report', '--by', 'process', '--top', '0', trace]).out


def test_a_process_that_renames_itself_takes_no_other_ones_place():
    """There are 65,536 places. It has blocks under 40 of its 70,000 names."""
    renames = ("import os, sys\n"
               "comm = os.open('/proc/self/comm', os.O_WRONLY)\n"
               "kept = []\n"
               "for i in range(70000):\n"
               "    os.write(comm, b'name-%d' % i)\n"
               "    pipe = os.pipe()\n"
               "    if i < 40: kept += pipe\n"
               "    else: os.close(pipe[0]), os.close(pipe[1])\n"
               "print('done', flush=True)\n"
               "sys.stdin.read()\n")
    with Traced('--by', 'process', '-T', '0', '--older', '0', '1s') as traced:
        traced.next()
        other = subprocess.Popen([sys.executable, '-c', renames], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert other.stdout.readline() == b'done\n'
        late = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        report = traced.until(lambda r: (group_of(r, '%d cat' % late.pid) or {'live_blocks': 0})['live_blocks'])
        late.communicate()
        other.communicate()
    its = [each['key'] for each in report['processes'][0]['groups'] if each['key'].startswith('%d ' % other.pid)]
    assert 2 < len(its) <= 16 and '%d (other names)' % other.pid in its, its
    assert not note(report, 'processes_lost'), report['processes'][0]['health']


def test_a_user_with_many_processes_takes_no_entry_of_roots(tmp_path):
    """From then on allocations of users' new processes count as those of an unknown process."""
    subprocess.run(['cc', '-O1', '-w', '-xc', '-', '-o', tmp_path / 'many'], input=program_source('kernel_many_names.c').encode(), check=True)
    with Traced('--by', 'process', '-T', '0', '--older', '0', '1s') as traced:
        traced.next()
        assert subprocess.run([tmp_path / 'many']).returncode == 0
        user = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=12345, group=12345)
        late = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        report = traced.until(lambda r: (group_of(r, '%d cat' % late.pid) or {'live_blocks': 0})['live_blocks'] and
                              note(r, 'processes_lost'))
        late.communicate()
        user.communicate()
    assert not (group_of(report, '%d cat' % user.pid) or {'live_blocks': 0})['live_blocks']


def test_csv():
    done = run([SEEP, 'kernel', '--csv', '--older', '0', '300ms', '1'])
    assert done.code == 0 and b'size_min,size_max,slab_bytes,via' in done.out.splitlines()[0]
    assert len({len(row) for row in csv.reader(io.StringIO(done.out.decode()))}) == 1


def test_pages_are_apart():
    with Traced('-T', '0', '--older', '0', '1s') as traced:
        traced.next()
        mine = bytearray(32 << 20)
        report = traced.until(lambda r: total(r, 'live_bytes', '[kernel pages]') >= len(mine))
        pages = sum(site['live_bytes'] for site in sites_of(report) if site['allocator'] == 'pages')
        rest = sum(site['live_bytes'] for site in sites_of(report) if site['allocator'] != 'pages')
        assert (rest, pages) == (total(report, 'live_bytes', '[kernel]'), total(report, 'live_bytes', '[kernel pages]'))
        # Of all that was recorded, too, what is gone again.
        for process in report['processes']:
            assert process['totals']['allocations'] - process['totals']['frees'] == process['totals']['live_blocks']
            assert process['totals']['frees'] > 0


def test_per_cpu_memory():
    def has_percpu(report):
        return any(site['allocator'] == 'percpu' and len(site['names']) > 1 for site in sites_of(report))
    with Traced('-T', '0', '--older', '0', '-P', '1s') as traced:
        traced.next()
        with Traced('100s'):  # has maps with an entry for each CPU
            assert has_percpu(traced.until(has_percpu))


def test_areas_of_vmalloc():
    """The arrays of another seep kernel are areas of known size, which go with it."""
    def areas(report):
        return max([site['size_max'] for site in sites_of(report) if site['allocator'] == 'vmalloc'], default=0)
    with Traced('-T', '0', '--older', '0', '--vmalloc', '-z', '16M', '1s') as traced:
        traced.next()
        with Traced('--max-blocks', '2000000', '100s') as other:
            report = traced.until(lambda r: areas(r) >= 32 << 20)
            assert all(site['size_min'] >= 16 << 20 for site in sites_of(report))
            other.process.kill()
            other.process.wait()
        traced.until(lambda r: areas(r) < 32 << 20)


def test_frees_that_pass_no_tracepoint(can):
    """An entry of an epoll goes by kfree_rcu: by its slab, which goes too, or when its address is given out again."""
    if 'bpf_get_kmem_cache' not in can:
        pytest.skip('this kernel cannot tell whether a slab is gone: no bpf_get_kmem_cache')
    nr = 30000

    def holds(report):  # others allocate too: the first two hold, it may be, before the loop has begun
        return total(report, 'allocations') > nr and blocks_of_cache(report, 'eventpoll_epi') < nr / 10 and \
            note(report, 'frees_implied')

    with Traced('-T', '0', '--older', '0', '-F', '1s') as traced:
        traced.next()
        with select.epoll() as poll:
            read, write = os.pipe()
            for _ in range(nr):
                poll.register(read)
                poll.unregister(read)
            os.close(read)
            os.close(write)
        traced.until(holds)


def test_a_small_map_loses_and_says_so():
    with Traced('--max-blocks', '100', '--older', '0', '1s') as traced:
        traced.next()
        pipes = [os.pipe() for _ in range(NR)]
        try:
            report = traced.until(lambda r: note(r, 'blocks_lost'))
            # There are twice as many places, because some are not found before that.
            assert total(report, 'live_blocks') <= 2 * 100 + 7
        finally:
            for end in sum(pipes, ()):
                os.close(end)
    done = run([SEEP, 'kernel', '--max-blocks', '1', '--older', '0', '1s', '1'])
    assert b'health: INCOMPLETE' in done.out and b'(give a higher --max-blocks)' in done.out, done
    assert b'in no figure: 0 ' not in done.out, done


def test_sizes():
    with Traced('-T', '0', '--older', '0', '-z', '4096', '-Z', '8192', '1s', '1') as traced:
        report = traced.next()
        assert traced.process.wait(TIMEOUT) == 0
    assert all(4096 <= site['size_min'] <= site['size_max'] <= 8192 for site in sites_of(report))


def test_blocks_have_ages():
    with Traced('-T', '0', '--older-ms', '200', '-a', '1s', '1') as traced:
        report = traced.next()
    assert sites_of(report)
    for site in sites_of(report):
        ages = [block['age_s'] for block in site['blocks']]
        assert len(ages) == site['live_blocks']
        assert min(ages) >= 0.2
        assert sum(block['size'] for block in site['blocks']) == site['live_bytes']


def test_the_text_has_the_shape_that_scripts_know():
    done = run([SEEP, 'kernel', '-T', '3', '--older', '0', '--wa-missing-free', '500ms', '2'])
    assert done.code == 0, done
    assert done.out.startswith(b'Attaching to kernel allocators, Ctrl+C to quit.\n')
    assert done.out.count(b'stacks with outstanding allocations:\n') == 2
    assert done.out.count(b'stacks with outstanding pages:\n') == 2
    assert done.out.count(b'health: ') == 2


def test_a_signal_leaves_reports_whole():
    """The first signal comes while a pipe that nobody reads is full."""
    ours, theirs = os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
    with subprocess.Popen([SEEP, 'kernel', '--json', '--older', '0', '300ms'], stdout=theirs, stderr=subprocess.PIPE) as process:
        os.close(theirs)
        wait_until(lambda: 'pipe' in Path('/proc/%d/wchan' % process.pid).read_text(), 'a full pipe')
        process.send_signal(signal.SIGINT)
        text = b''
        while part := os.read(ours, 65536):
            text += part
        assert process.wait(TIMEOUT) == 0, process.stderr.read()
    os.close(ours)
    decoder, rest, nr = json.JSONDecoder(), text.decode().lstrip(), 0
    while rest:
        _, end = decoder.raw_decode(rest)
        rest, nr = rest[end:].lstrip(), nr + 1
    assert nr


def test_a_saved_trace_is_one_for_all_commands(tmp_path):
    old, new = tmp_path / 'old.seep', tmp_path / 'new.seep'
    assert run([SEEP, 'kernel', '--older', '0', '--output', old, '200ms', '1']).code == 0
    with Traced('--older', '0', '--output', str(new), '1s') as traced:
        traced.next()
        pipes = [os.pipe() for _ in range(NR)]
        try:
            traced.process.send_signal(signal.SIGINT)
            assert traced.process.wait(TIMEOUT) == 0
        finally:
            for end in sum(pipes, ()):
                os.close(end)
    done = run([SEEP, 'report', '--json=1', '--top', '1000000', new])
    assert done.code == 0, done
    whole = json.loads(done.out)
    slab, pages = whole['processes']
    assert (slab['process']['exe'], pages['process']['exe']) == ('[kernel]', '[kernel pages]')
    assert slab['health']['modules_without_symbols'] == []
    mine = [site for site in slab['sites'] if 'alloc_pipe_info' in [frame['function'] for frame in site['stack']]]
    assert max(site['live_blocks'] for site in mine) >= NR
    for site in slab['sites']:
        if not site['live_blocks']:
            continue
        names = [frame['function'] for frame in site['stack']]
        assert site['via'] == 'kernel' and names[0].split()[0] in ('kmalloc', 'kmem_cache', 'not')
        assert not any((name or '').startswith(('bpf_prog_', 'bpf_trace_run')) for name in names[1:2]), names
    assert {site['stack'][0]['function'] for site in pages['sites'] if site['live_blocks']} <= {'pages'}
    assert run([SEEP, 'report', '--by', 'function', '--top', '0', new]).out.count(b'kmem_cache filp') == 1
    done = run([SEEP, 'diff', '--top', '0', old, new])
    assert done.code == 0 and b'alloc_pipe_info' in done.out, done


def programs_of(pid):
    """Ids of the programs that a process has in the kernel."""
    ids = set()
    for name in os.listdir('/proc/%d/fdinfo' % pid):
        with open('/proc/%d/fdinfo/%s' % (pid, name)) as info:
            ids |= {int(line.split()[1]) for line in info if line.startswith('prog_id:')}
    return ids


def is_loaded(tool, program):
    return subprocess.run([tool, 'prog', 'show', 'id', str(program)], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.parametrize('how', [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left(how):
    tool = shutil.which('bpftool', path='/usr/sbin:/usr/bin:/sbin:/bin')
    if not tool:
        pytest.skip('no bpftool to look for programs')
    process = subprocess.Popen([str(SEEP), 'kernel', '100s'], stdout=subprocess.PIPE, env=environment())
    try:
        assert process.stdout.readline().startswith(b'Attaching')
        programs = programs_of(process.pid)
        assert len(programs) >= 7
        assert all(is_loaded(tool, program) for program in programs)
    finally:
        process.send_signal(how)
        out, _ = process.communicate(timeout=TIMEOUT)
    assert (b'health: ' in out) == (how == signal.SIGINT)
    # The kernel takes them away after a grace period.
    wait_until(lambda: not any(is_loaded(tool, program) for program in programs), 'their end')


@pytest.mark.parametrize('dropped, missing', [
    ('-sys_admin,-perfmon', 'needs CAP_PERFMON,'),
    ('-sys_admin,-bpf', 'needs CAP_BPF,'),
    ('-sys_admin,-bpf,-perfmon', 'needs CAP_BPF and CAP_PERFMON,'),
])
def test_which_right_is_missing(dropped, missing):
    if not shutil.which('setpriv'):
        pytest.skip('no setpriv')
    done = run(['setpriv', '--bounding-set=' + dropped, SEEP, 'kernel', '1s', '1'])
    if b'setpriv:' in done.err:
        pytest.skip(done.err.decode().strip())
    assert done.code == 1 and missing in done.err.decode(), done
    assert done.err.count(b'\n') == 1


def test_addresses_that_the_kernel_hides():
    """kptr_restrict is the machine's, not ours: its place is taken by a file that says less, in a mount namespace of its own."""
    if not shutil.which('unshare'):
        pytest.skip('no unshare')
    script = "awk '{print \"0000000000000000\", $2, $3}' /proc/kallsyms > $1/k && mount --bind $1/k /proc/kallsyms && exec $2 kernel 1s 1"
    with tempfile.TemporaryDirectory() as folder:
        done = run(['unshare', '-m', 'sh', '-c', script, 'sh', folder, SEEP])
    if b'unshare:' in done.err or b'mount:' in done.err:
        pytest.skip(done.err.decode().strip())
    assert done.code == 1 and not done.out, done
    assert b'the kernel hides its addresses' in done.err and b'kptr_restrict' in done.err
    assert done.err.count(b'\n') == 1
