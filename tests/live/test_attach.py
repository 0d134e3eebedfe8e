# SPDX-License-Identifier: BSD-2-Clause
"""seep attach: probes in the kernel on running programs.

Probes belong to a file, and a traced libc is slower for everyone: so each program here runs with a private copy
of libc and loader. Without the right to load BPF programs all of it is skipped, with the reason.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from harness import BUILD, SEEP, TIMEOUT, environment, library, need, report, run


@pytest.fixture(scope='module', autouse=True)
def can():
    """What this kernel lets us do."""
    done = run([SEEP, 'info', '--json'])
    assert done.code == 0, done
    bpf = json.loads(done.out)['bpf']
    for name in ('in this build', 'BPF programs', 'kernel types (BTF)', 'BPF ring buffer', 'BPF task storage'):
        if bpf.get(name, {}).get('verdict') == 'bad':
            pytest.skip('%s: %s' % (name, bpf[name]['value']))
    return {name for name in bpf if bpf[name]['verdict'] == 'good'}


@pytest.fixture
def private(tmp_path):
    """private(program, *args): starts it with its own copy of the C library, waiting for input."""
    started = []

    def copy_of(path):
        target = tmp_path / os.path.basename(path)
        if not target.exists():
            shutil.copy(os.path.realpath(path), target)
        return target

    def start(program, *args, env=None):
        libraries = subprocess.run(['ldd', str(program)], stdout=subprocess.PIPE, check=True).stdout.decode()
        loader = None
        for path in re.findall(r'(/\S+)', libraries):
            if 'libc.so' in path:
                copy_of(path)
            if 'ld-linux' in path or 'ld-musl' in path:
                loader = copy_of(path)
        process = subprocess.Popen([str(loader), '--library-path', str(tmp_path), str(program), *map(str, args)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env or environment())
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


class Attached:
    """A seep attach that has its probes in place."""

    def __init__(self, pid, *options):
        self.process = subprocess.Popen([str(SEEP), 'attach', *map(str, options), str(pid)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment())
        first = self.process.stdout.readline().decode()
        assert first.startswith('Attaching to pid'), (first, self.process.communicate())

    def stop(self, how=signal.SIGINT):
        """Its output after the first line."""
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=TIMEOUT)
        assert self.process.returncode == 0, (out, err)
        return out.decode()


def say(process):
    process.stdin.write(b'\n')
    process.stdin.flush()


def hear(process, word=b'done\n'):
    assert process.stdout.readline() == word


def no_probes_in(pid):
    """Nothing of ours is left in the code that the process runs."""
    areas = [line.split() for line in open('/proc/%d/maps' % pid) if 'r-xp' in line and 'libc.so' in line]
    assert areas
    for area in areas:
        start, end = (int(x, 16) for x in area[0].split('-'))
        with open('/proc/%d/mem' % pid, 'rb') as memory, open(area[5], 'rb') as file:
            memory.seek(start)
            file.seek(int(area[2], 16))
            assert memory.read(end - start) == file.read(end - start)


STEPS = BUILD / 'tests/live/live-attach-steps'
PROBES = ['best', 'multi', 'perf']


@pytest.mark.parametrize('probes', PROBES)
def test_every_call_is_counted(private, tmp_path, can, probes):
    program = private(STEPS, 20)
    trace = tmp_path / 'steps.seep'
    attached = Attached(program.pid, '--save', trace, '--probes', probes, '--older', '0')
    say(program)
    hear(program)
    attached.stop()
    no_probes_in(program.pid)
    process, = report(trace)
    assert process['health']['lost'] == {}, process['health']
    assert process['health']['stacks_cut'] == 0
    assert process['process']['exit'] is None
    totals = process['totals']
    rounds = 20
    made = {'malloc': rounds * (3 + 1 + 50), 'calloc': rounds * 51, 'realloc': rounds * 51,
            'posix_memalign': rounds * 50}
    assert {k: v for k, v in totals['by_function'].items() if v} == made
    assert totals['allocations'] == sum(made.values())
    assert totals['live_blocks'] == rounds * 5
    assert totals['live_bytes'] == rounds * (100 + 101 + 102 + 24 + 300)
    live = {}
    for site in process['sites']:
        if site['live_blocks']:
            names = tuple(frame['function'] for frame in site['stack'])
            assert names[-1] == '_start' and 'main' in names, names
            key = (site['via'], names[:2])
            blocks, size = live.get(key, (0, 0))
            live[key] = (blocks + site['live_blocks'], size + site['live_bytes'])
    assert live == {
        ('malloc', ('make', 'leave')): (60, rounds * 303),
        ('calloc', ('leave', 'main')): (20, 480),
        ('realloc', ('leave', 'main')): (20, 6000),
    }


def test_memleak_shape(private, tmp_path):
    program = private(STEPS, 2)
    attached = Attached(program.pid, '-a', '-o', '0', '-T', '1')
    say(program)
    hear(program)
    out = attached.stop()
    assert re.match(r'\[\d\d:\d\d:\d\d\] Top 1 stacks with outstanding allocations:\n', out), out
    assert re.search(r'^ {8}600 bytes in 2 allocations from stack$', out, re.M), out
    assert len(re.findall(r'^ {16}addr = 0x[0-9a-f]+ size = 300 age = .*$', out, re.M)) == 2, out
    assert re.search(r'^ {16}leave\+0x[0-9a-f]+ \[live-attach-steps\]  \(attach_steps\.c:\d+\)$', out, re.M), out
    assert re.search(r'^health: complete', out, re.M), out




def test_the_end_of_the_process_ends_the_trace(private, tmp_path):
    program = private(STEPS, 1)
    attached = Attached(program.pid)
    say(program)
    hear(program)
    say(program)
    out, err = attached.process.communicate(timeout=TIMEOUT)
    assert attached.process.returncode == 0, err
    # Whatever their age: nothing will free them any more.
    assert '300 bytes in 1 allocations' in out.decode()


def test_a_killed_tracer_leaves_nothing(private, tmp_path):
    program = private(STEPS, 1)
    attached = Attached(program.pid)
    attached.process.kill()
    attached.process.communicate()
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            no_probes_in(program.pid)
            break
        except AssertionError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    say(program)
    hear(program)


def test_a_process_with_the_library_is_read_by_its_image(private, tmp_path):
    program = private(STEPS, 1, env=environment(LD_PRELOAD=str(BUILD / 'libseep.so'), SEEP_OUT=str(tmp_path / 'x')))
    say(program)
    hear(program)
    done = run([SEEP, 'attach', program.pid, '50ms', '1'])
    assert done.code == 0, done
    assert b'libseep.so: reading its image' in done.out
    assert b'300 bytes in 1 allocations' in done.out
    no_probes_in(program.pid)


def test_sampling_takes_every_nth(private, tmp_path):
    program = private(STEPS, 40)
    trace = tmp_path / 'sampled.seep'
    attached = Attached(program.pid, '--save', trace, '-s', '4', '--older', '0')
    say(program)
    hear(program)
    attached.stop()
    process, = report(trace)
    totals = process['totals']
    everything = 40 * (54 + 51 + 51 + 50)
    assert everything / 6 < totals['allocations'] < everything / 2
    # What is freed is known to be, sampled or not.
    assert totals['live_blocks'] <= 40 * 5
    assert any('every 4th' in note for note in process['health']['notes'])


@pytest.fixture
def from_start(tmp_path):
    """from_start(program): a copy of it whose loader and libraries are private, and the environment to run it in."""
    folder = tempfile.mkdtemp(prefix='s', dir='/tmp')  # short: its name has to fit where the loader's was

    def make(program):
        name = os.path.join(folder, 'l')
        listing = subprocess.run(['ldd', str(program)], stdout=subprocess.PIPE, check=True).stdout.decode()
        for path in re.findall(r'(/\S+)', listing):
            shutil.copy(os.path.realpath(path), name if 'ld-linux' in path else tmp_path / os.path.basename(path))
        image = Path(program).read_bytes()
        loader = re.search(rb'/lib64/ld-linux-x86-64\.so\.2\0', image).group(0)
        copy = tmp_path / os.path.basename(program)
        copy.write_bytes(image.replace(loader, name.encode().ljust(len(loader), b'\0'), 1))
        copy.chmod(0o755)
        return copy, environment(LD_LIBRARY_PATH=str(tmp_path))

    yield make
    shutil.rmtree(folder)


def sites_of(trace):
    """Counts by function called and stack, for what both ways of tracing must agree on."""
    process, = report(trace)
    assert process['health']['lost'] == {}, process['health']
    assert process['health']['stacks_cut'] == 0, process['health']
    sites = {}
    for site in process['sites']:
        stack = tuple(frame['function'] for frame in site['stack'])
        # The loader gives each thread memory for the thread-local data of the library, which one of them has.
        if '_dl_allocate_tls' in stack or '_dl_init' in stack:
            continue
        # new[] jumps into new, and leaves no frame.
        key = (site['via'].replace('[]', ''), stack)
        counts = [site[name] for name in ('allocations', 'allocated_bytes', 'frees', 'freed_bytes', 'temporary')]
        sites[key] = [a + b for a, b in zip(counts, sites.get(key, [0] * 5))]
    return sites, process


@pytest.mark.parametrize('name', ['callbacks', 'containers', 'coroutines', 'exceptions', 'jumps', 'threads'])
def test_from_its_start_a_program_is_as_the_library_sees_it(name, from_start, tmp_path):
    program, env = from_start(BUILD / 'tests/programs' / ('gcc-O2@' + name))
    by_library, by_probes = tmp_path / 'library.seep', tmp_path / 'probes.seep'
    first = run([SEEP, 'run', '-q', '-o', by_library, program], env=env, cwd=tmp_path)
    second = run([SEEP, 'attach', '--save', by_probes, '--', program], env=env, cwd=tmp_path)
    assert first.code == second.code == 0, (first, second)
    expected, _ = sites_of(by_library)
    found, process = sites_of(by_probes)
    assert process['process']['exit'] == {'code': 0}
    assert len(expected) >= 3
    assert found == expected


def test_a_static_program_from_its_start(tmp_path):
    need('gcc')
    program = tmp_path / 'static'
    source = Path(__file__).with_name('attach_steps.c')
    done = run(['gcc', '-O2', '-static', '-w', source, '-o', program])
    if done.code:
        pytest.skip('no static C library: %s' % done.err[-200:])
    done = run([SEEP, 'attach', '--save', tmp_path / 'a.seep', '-c', "%s '7'" % program], input=b'\n\n', cwd=tmp_path)
    assert done.code == 0, done
    process, = report(tmp_path / 'a.seep')
    # glibc's start allocates as well.
    sites = [site for site in process['sites'] if 'main' in [frame['function'] for frame in site['stack']]]
    made = dict.fromkeys(process['totals']['by_function'], 0)
    for site in sites:
        made[site['via']] += site['allocations']
    assert {k: v for k, v in made.items() if v} == {
        'malloc': 7 * 54, 'calloc': 7 * 51, 'realloc': 7 * 51, 'posix_memalign': 7 * 50}
    assert sum(site['live_blocks'] for site in sites) == 7 * 5
    assert process['health']['stacks_cut'] == 0


def test_a_program_that_cannot_be_run(tmp_path):
    assert run([SEEP, 'attach', '--', tmp_path / 'absent']).code == 127
    (tmp_path / 'text').write_text('no program')
    assert run([SEEP, 'attach', '--', tmp_path / 'text']).code == 126


def test_a_small_buffer_counts_what_it_loses(from_start, tmp_path):
    program, env = from_start(STEPS)
    trace = tmp_path / 'small.seep'
    done = run([SEEP, 'attach', '--buffer', '4K', '--save', trace, '-c', '%s 2000' % program], env=env, input=b'\n\n',
               cwd=tmp_path)
    assert done.code == 0, done
    process, = report(trace)
    lost = process['health']['lost'].get('ring', 0)
    seen = process['totals']['allocations']
    made = 2000 * (54 + 51 + 51 + 50)
    assert lost > 0 and b'health: INCOMPLETE' in done.out, process['health']
    assert seen < made <= seen + lost


def test_children_begin_with_the_blocks_of_their_parent(from_start, tmp_path):
    program, env = from_start(BUILD / 'tests/live/live-attach-children')
    trace = tmp_path / 'children.seep'
    done = run([SEEP, 'attach', '--save', trace, '--', program], env=env, cwd=tmp_path)
    assert done.code == 0, done
    parent, child = report(trace)
    stacks = [{site['stack'][0]['function']: (site['live_blocks'], site['live_bytes'], site['frees'])
               for site in process['sites']} for process in (parent, child)]
    assert stacks[0] == {'keep': (1, 1000, 0), 'hand_over': (1, 55, 0)}
    assert stacks[1] == {'keep': (1, 1000, 0), 'hand_over': (0, 0, 1), 'child_keeps': (10, 770, 0)}
    done = run([SEEP, 'attach', '--children', 'ignore', '--save', trace, '--', program], env=env, cwd=tmp_path)
    assert done.code == 0, done
    assert len(report(trace)) == 1


def test_operators_that_throw_are_left_alone(from_start, tmp_path):
    """An allocator with operators of its own: no return probe on what throws, or bad_alloc would end the program."""
    allocator = shutil.copy(library('libjemalloc.so.2'), tmp_path)
    program, env = from_start(BUILD / 'tests/programs/gcc-O2@operators')
    env['LD_PRELOAD'] = str(allocator)
    plain = run([program], env=env)
    assert plain.code == 0, plain
    done = run([SEEP, 'attach', '--save', tmp_path / 'a.seep', '--', program], env=env, cwd=tmp_path)
    assert done.code == 0, done
    process, = report(tmp_path / 'a.seep')
    assert process['process']['exit'] == {'code': 0}
    assert any('is not covered' in note for note in process['health']['notes'])
    assert b'health: INCOMPLETE' in done.out
    assert process['totals']['by_function']['malloc'] > 0


def test_breakpoints_of_another_tracer_are_told(private, tmp_path):
    program = private(STEPS, 1)
    deadline = time.monotonic() + TIMEOUT
    while 'libc.so' not in Path('/proc/%d/maps' % program.pid).read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    # On a function that the program does not call: nobody would catch it.
    line, = [x.split() for x in open('/proc/%d/maps' % program.pid) if 'r-xp' in x and 'libc.so' in x]
    symbols = run(['readelf', '--dyn-syms', '-W', line[5]]).out.decode()
    offset = int(re.search(r': ([0-9a-f]+) .* valloc@', symbols).group(1), 16)
    with open('/proc/%d/mem' % program.pid, 'r+b', buffering=0) as memory:
        for at in range(offset, offset + 12):  # wherever the probe comes to lie
            memory.seek(int(line[0].split('-')[0], 16) + at - int(line[2], 16))
            memory.write(b'\xcc')
    attached = Attached(program.pid)
    assert 'another tracer has breakpoints in the allocator functions' in attached.stop()


def test_a_process_in_another_mount_namespace(tmp_path):
    """Its files are read as it sees them: here the program lies where we see nothing."""
    need('unshare', 'mount', 'ldd')
    inside = tmp_path / 'inside'
    inside.mkdir()
    listing = subprocess.run(['ldd', str(STEPS)], stdout=subprocess.PIPE, check=True).stdout.decode()
    script = 'mount -t tmpfs none %s && cp %s %s && ' % (inside, STEPS, inside)
    script += ''.join('cp -L %s %s && ' % (path, inside) for path in re.findall(r'(/\S+)', listing))
    script += 'exec %s/ld-linux-x86-64.so.2 --library-path %s %s/%s 3' % (inside, inside, inside, STEPS.name)
    program = subprocess.Popen(['unshare', '--mount', 'sh', '-c', script], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    try:
        deadline = time.monotonic() + TIMEOUT
        while 'inside/libc.so' not in Path('/proc/%d/maps' % program.pid).read_text():
            if program.poll() is not None:
                pytest.skip('no mount namespace: %s' % program.stderr.read()[-200:])
            assert time.monotonic() < deadline
            time.sleep(0.02)
        attached = Attached(program.pid, '-o', '0')
        say(program)
        hear(program)
        out = attached.stop()
        assert '900 bytes in 3 allocations' in out
        assert re.search(r'^ +leave\+0x[0-9a-f]+ \[live-attach-steps\]  \(attach_steps\.c:\d+\)$', out, re.M), out
    finally:
        program.kill()
        program.communicate()
