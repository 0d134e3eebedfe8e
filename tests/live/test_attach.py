# SPDX-License-Identifier: BSD-2-Clause
"""seep attach: probes in the kernel on running programs.

Probes belong to a file, and a traced libc is slower for everyone: so each program here runs with a private copy
of libc and loader. Without the right to load BPF programs all of it is skipped, with the reason.
"""
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

import messages
import report_json
from harness import BUILD, SEEP, TIMEOUT, children_of, environment, library, need, need_bpf, report, run, wait_until, wait_until_idle
from small_programs import built_program, program_source


@pytest.fixture(scope='module', autouse=True)
def can():
    """What this kernel lets us do."""
    return need_bpf()


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
        words = [str(SEEP), 'attach', *map(str, options)] + ([str(pid)] if pid else [])
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        first = self.process.stdout.readline().decode()
        assert first.startswith('Attaching to'), (first, self.process.communicate())

    def stop(self, how=signal.SIGINT):
        """Its output after the first line."""
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=TIMEOUT)
        assert self.process.returncode == 0, (out, err)
        return out.decode()


def hold_until_mapped(pid):
    """Until the loader has mapped the C library."""
    wait_until(lambda: 'libc.so' in Path('/proc/%d/maps' % pid).read_text(), 'the C library')


def verified_instructions(pid):
    """Of each BPF program that the process has loaded: what the kernel's verifier went through."""
    found = []
    for info in Path('/proc/%d/fdinfo' % pid).iterdir():
        found += [int(n) for n in re.findall(r'^verified_insns:\t(\d+)$', info.read_text(), re.M)]
    return found


def say(process):
    process.stdin.write(b'\n')
    process.stdin.flush()


def hear(process, word=b'done\n'):
    assert process.stdout.readline() == word


def no_probes_in(pid, library='libc.so'):
    """Nothing of ours is in the code that the process runs."""
    areas = [line.split() for line in open('/proc/%d/maps' % pid) if 'r-xp' in line and library in line]
    assert areas
    for area in areas:
        start, end = (int(x, 16) for x in area[0].split('-'))
        with open('/proc/%d/mem' % pid, 'rb') as memory, open(area[5], 'rb') as file:
            memory.seek(start)
            file.seek(int(area[2], 16))
            assert memory.read(end - start) == file.read(end - start)


READING = b'Reading the image of pid'
STEPS = BUILD / 'tests/live/live-attach-steps'
PROBES = ['best', 'multi', 'perf']


@pytest.mark.parametrize('probes', PROBES)
def test_every_call_is_counted(private, tmp_path, can, probes):
    program = private(STEPS, 20)
    trace = tmp_path / 'steps.seep'
    attached = Attached(program.pid, '--output', trace, '--probes', probes, '--older', '0')
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


def test_the_verifier_looks_at_each_function_once(private):
    """What it takes is most of the time until the probes are there, and kernels have a limit of a million."""
    program = private(STEPS, 1)
    attached = Attached(program.pid)
    verified = verified_instructions(attached.process.pid)
    attached.stop()
    if not verified:
        pytest.skip('this kernel does not tell what its verifier went through')
    assert len(verified) > 5 and 1000 < max(verified) < 20_000, verified


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


@pytest.mark.parametrize('options, hint', [
    ([], '10 live blocks are younger than 500 ms: --older 0 shows them'),
    (['--older', '1m', '-z', '102'], '4 live blocks are younger than 60.00 s: --older 0 shows them'),
    (['-z', '1000'], None),  # no block is that big
    (['-o', '0'], None)])
def test_blocks_that_are_hidden_by_their_age_are_told(private, options, hint):
    program = private(STEPS, 2)
    attached = Attached(program.pid, *options)
    say(program)
    hear(program)
    out = attached.stop()
    assert ('Top 0 stacks with outstanding allocations:\n' in out) == (options != ['-o', '0']), out
    assert re.findall(r'^ {8}(.*younger.*)$', out, re.M) == ([hint] if hint else []), out


def test_each_call_is_a_line(private, tmp_path):
    program = private(STEPS, 1)
    attached = Attached(program.pid, '-t')
    say(program)
    hear(program)
    out = attached.stop()
    lines = re.findall(r'^(\d+\.\d{6}) (\d+)/(\d+) (.*)$', out, re.M)
    assert {int(pid) for _, pid, _, _ in lines} == {program.pid}
    # Of the calls, not of the tool's look every 10 ms: a call with its probes takes about a microsecond.
    times = [float(seconds) for seconds, _, _, _ in lines]
    assert times == sorted(times) and len(set(times)) > len(times) / 5, times
    calls = [call for _, _, _, call in lines]
    address = r'(0x[0-9a-f]+)'
    where = r'from %s\+0x[0-9a-f]+ \[live-attach-steps\]  \(attach_steps\.c:\d+\)$'
    assert re.match('malloc 100 bytes = %s %s' % (address, where % 'make'), calls[0]), calls[0]
    made = re.match('malloc 10 bytes = %s ' % address, calls[4]).group(1)
    assert calls[5] == 'realloc of ' + made
    assert re.match('realloc 300 bytes = %s %s' % (address, where % 'leave'), calls[6]), calls[6]
    assert sum(call == 'realloc failed' for call in calls) == 50
    assert sum(call.startswith('free 0x') for call in calls) == 150
    assert out.count('outstanding allocations:') == 1


def refused(pid, *options):
    """What is said, in one line and before anything is attached."""
    done = run([SEEP, 'attach', *options, pid, '1s', '1'])
    assert (done.code, done.out) == (1, b''), done
    assert done.err.count(b'\n') == 1, done
    return done.err.decode()


def test_what_is_no_process_to_trace():
    kthreadd = Path('/proc/2/stat')
    # In a container's own pid namespace it is another program, or there is none.
    if kthreadd.exists() and int(kthreadd.read_text().rsplit(')', 1)[1].split()[6]) & 0x200000:
        assert "is a thread of the kernel ('seep kernel' traces" in refused('2')
    child = subprocess.Popen(['true'])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert 'has ended and waits for its parent' in refused(child.pid)
    child.wait()
    assert 'No such process' in refused(child.pid)
    done = run(['sh', '-c', 'exec %s attach $$ 1s 1' % SEEP])
    assert done.code == 1 and done.out == b'' and b'that is seep itself' in done.err, done
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        said = refused(thread.native_id)
        assert '%d is a thread of process %d (name the process)' % (thread.native_id, os.getpid()) in said, said
    finally:
        end.set()
        thread.join()


@pytest.mark.parametrize('place, why', [('none/x.seep', 'No such file'), ('', 'is a directory')])
def test_a_trace_without_a_place_is_said_before_hours_of_tracing(private, tmp_path, place, why):
    program = private(STEPS, 1)
    said = refused(program.pid, '--output', '%s/%s' % (tmp_path, place))
    assert why in said and 'nothing was traced; name another place with --output' in said, said


def test_a_trace_that_cannot_be_saved_in_the_end(private, tmp_path):
    program = private(STEPS, 1)
    done = run([SEEP, 'attach', '--output', '/dev/full', program.pid, '100ms', '1'])
    assert done.code == 1 and b'health: complete' in done.out, done
    assert b'No space left on device (make room there, or name another place with --output)' in done.err, done


def test_under_a_server_that_forks_all_the_time(can):
    """Its children cost no report, and SIGTERM ends it."""
    server = subprocess.Popen(['sh', '-c', 'while :; do /bin/true; done'])
    try:
        done = run([SEEP, 'attach', server.pid, '1s', '2'], timeout=TIMEOUT)
        assert done.code == 0 and len(re.findall(rb'^\[[0-9:]+\] Top ', done.out, re.M)) == 2, done
        attached = Attached(server.pid, '-o', '0')
        assert 'Top ' in attached.stop(signal.SIGTERM)
    finally:
        server.kill()
        server.wait()


def test_interrupted_at_any_moment(private, tmp_path):
    """There is a report, or we were gone before there could be one; nothing is left in the process."""
    program = private(STEPS, 1)
    hold_until_mapped(program.pid)
    nr_reports = nr_early = 0
    for moment in range(100):
        if moment >= 10 and nr_reports:  # on a busy machine the probes are in place later
            break
        tool = subprocess.Popen([str(SEEP), 'attach', str(program.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=environment())
        time.sleep(moment * 0.04)
        tool.send_signal(signal.SIGINT)
        out, err = tool.communicate(timeout=TIMEOUT)
        nr_reports += tool.returncode == 0
        nr_early += tool.returncode != 0
        if tool.returncode == 0:
            assert b'health: ' in out and err == b'', (moment, out, err)
        else:
            too_early = (1, b'seep: interrupted before the probes stood: nothing was traced\n')
            assert (tool.returncode, err) in ((-signal.SIGINT, b''), too_early) and not out, (moment, out, err)
    assert nr_reports and nr_early, (nr_reports, nr_early)
    no_probes_in(program.pid)
    say(program)
    hear(program)


def test_children_that_end_at_once_refuse_no_file(private, tmp_path):
    """Probes of a child that has ended meanwhile cannot be set: that is no fault of the file."""
    program, trace = private(BUILD / 'tests/live/live-attach-forks'), tmp_path / 'forks.seep'
    assert program.stdout.readline() == b'ready\n'
    done = run([SEEP, 'attach', '--output', trace, program.pid, '300ms', '5'])
    assert done.code == 0, done
    assert messages.NO_PROBES_ON.encode() not in done.out + done.err, done
    processes = report(trace)
    assert len(processes) > 5
    notes = [str(note) for process in processes for note in process['health']['notes']]
    assert not [note for note in notes if messages.NO_PROBES_ON in note]
    assert any('milliseconds is not known; with --cgroup PATH instead' in note for note in notes), notes
    program.stdin.close()
    assert program.wait(TIMEOUT) == 0


def test_a_process_that_is_killed(private, tmp_path):
    program, trace = private(STEPS, 2), tmp_path / 'killed.seep'
    attached = Attached(program.pid, '--output', trace)
    say(program)
    hear(program)
    program.kill()
    out, err = attached.process.communicate(timeout=TIMEOUT)
    assert attached.process.returncode == 0 and err == b'', err
    process, = report(trace)
    assert process['totals']['live_bytes'] == 2 * (303 + 24 + 300) and b'health: complete' in out


@pytest.mark.parametrize('options', [[], ['-s', '1000'], ['--probes', 'multi']])
def test_mappings_and_page_faults(private, tmp_path, options):
    """What the program maps; and which pages it touched are still there, however the others went."""
    program = private(BUILD / 'tests/live/live-attach-mappings')
    trace = tmp_path / 'mappings.seep'
    attached = Attached(program.pid, '--faults', '-o', '0', '--output', trace, *options)
    say(program)
    hear(program)
    out = attached.stop()
    process, = report(trace)
    assert process['health']['lost'] == {}, process['health']
    page = 4096
    mapped = {}
    for site in process['mappings']['sites']:
        assert site['stack'][-1]['function'] == '_start'
        key, counts = (site['via'], site['stack'][0]['function']), [site[x] for x in ('maps', 'mapped_bytes', 'live', 'live_bytes')]
        mapped[key] = [a + b for a, b in zip(counts, mapped.get(key, [0] * 4))]
    assert mapped == {
        # The second one was moved.
        ('mmap', 'map'): [2, 110 * page, 2, 80 * page],
        ('mmap', 'main'): [1, 1024 * page, 1, 1024 * page],
        ('mremap', 'main'): [1, 16 * page, 0, 0],
        ('sbrk', 'grow_break'): [1, 8 * page, 1, 8 * page],
    }
    assert process['mappings']['totals']['live_bytes'] == (80 + 1024 + 8) * page
    faults = {}
    for site in process['page_faults']['sites']:
        count, resident = faults.get(site['stack'][0]['function'], (0, 0))
        faults[site['stack'][0]['function']] = count + site['faults'], resident + site['resident_bytes']
    assert faults['touch'] == (40, 40 * page)
    assert faults['touch_and_drop'] == (24, 0)
    # The top of the heap area before it was full.
    assert faults['grow_break'] in [(8, 8 * page), (7, 7 * page)]
    assert faults['touch_huge'] in [(1, 512 * page), (1, page)]
    assert process['page_faults']['resident_bytes'] == sum(resident for _, resident in faults.values())
    assert '%d bytes in memory by 40 page faults from stack' % (40 * page) in out
    assert '%d bytes in 2 mappings from stack' % (80 * page) in out


@pytest.mark.parametrize('from_its_start', [False, True])
def test_what_is_lost_of_the_outstanding_blocks(from_start, private, tmp_path, from_its_start):
    """Blocks from before the attach are not known, but hold what they have."""
    trace = tmp_path / 'lost.seep'
    if from_its_start:
        program, env = from_start(BUILD / 'tests/live/live-attach-lost')
        attached = subprocess.Popen([str(SEEP), 'attach', '--scan', '--output', str(trace), '--', str(program)], env=env,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
        hear(attached, b'ready\n')
        say(attached)
        hear(attached)
        attached.send_signal(signal.SIGINT)
        attached.wait(timeout=TIMEOUT)
        _, err = attached.communicate(timeout=TIMEOUT)  # the end of its input ends the program
        assert attached.returncode == 0, err
        out = err.decode()
    else:
        program = private(BUILD / 'tests/live/live-attach-lost')
        hear(program, b'ready\n')
        attached = Attached(program.pid, '--scan', '--output', trace)
        say(program)
        hear(program)
        out = attached.stop()
    process, = report(trace)
    assert process['health']['lost'] == {}, process['health']
    leaks = process['leaks']
    assert {kind: (leaks[kind]['blocks'], leaks[kind]['bytes']) for kind in ('lost', 'indirect', 'possible')} == {
        'lost': (6, 1900), 'indirect': (1, 500), 'possible': (0, 0)}, leaks
    assert leaks['reachable']['bytes'] == 300 + (64 if from_its_start else 0)
    assert re.search(r'lost +6 +1,900', out), out


def test_frees_of_blocks_from_before_are_unknown(private, tmp_path):
    """They are counted and told as such: no block of them was freed in a wrong way."""
    need('gcc')
    (tmp_path / 'before.c').write_text(program_source('attach_frees_before.c'))
    done = run(['gcc', '-g', '-O1', '-fno-builtin', tmp_path / 'before.c', '-o', tmp_path / 'before'])
    assert done.code == 0, done
    program, trace = private(tmp_path / 'before'), tmp_path / 'before.seep'
    hear(program, b'ready\n')
    attached = Attached(program.pid, '--output', trace, '-o', '0')
    say(program)
    hear(program)
    attached.stop()
    process, = report(trace)
    assert process['health']['lost'] == {} and process['totals']['unknown_frees'] == 3, process
    assert process['mismatches'] == []
    assert (process['totals']['allocations'], process['totals']['frees']) == (1, 1)
    assert re.search(rb'\n +unknown +3 +\S', run([SEEP, 'report', trace]).out)


def test_what_libc_frees_for_a_thread_that_ends_is_no_free(from_start, tmp_path):
    """Its cache of free blocks, and the memory of that cache: the program has freed the blocks before."""
    need('gcc')
    program, env = from_start(built_program('attach_thread_ends.c', tmp_path, '-pthread'))
    trace = tmp_path / 'ends.seep'
    done = run([SEEP, 'attach', '--output', trace, '--', program], env=env)
    assert done.code == 0, done
    process, = report(trace)
    assert process['health']['lost'] == {}, process['health']
    assert (process['totals']['by_function']['malloc'], process['totals']['frees']) == (7, 7), process['totals']
    assert process['totals']['unknown_frees'] == 0, process['totals']


def test_functions_of_an_allocator_with_names_of_its_own(private, tmp_path):
    """-S: the program calls je_malloc and je_free, and those alone are traced."""
    need('gcc')
    source = program_source('loading_bump.c').replace('SCOPE', '__attribute__((noipa))').replace('PREFIX_', 'je_')
    source += program_source('attach_prefix.c')
    (tmp_path / 'own.c').write_text(source)
    done = run(['gcc', '-g', '-O1', '-rdynamic', tmp_path / 'own.c', '-o', tmp_path / 'own'])
    assert done.code == 0, done
    program, trace = private(tmp_path / 'own'), tmp_path / 'own.seep'
    hear(program, b'ready\n')
    attached = Attached(program.pid, '-S', 'je_', '-O', tmp_path / 'own', '--output', trace, '-o', '0')
    say(program)
    hear(program)
    attached.stop()
    process, = report(trace)
    assert process['health']['lost'] == {}, process['health']
    assert (process['totals']['allocations'], process['totals']['frees'], process['totals']['live_bytes']) == (10, 5, 100)
    assert {site['stack'][0]['function'] for site in process['sites'] if site['allocations']} == {'main'}


def test_code_in_a_file_that_is_no_elf_file(tmp_path, can):
    """As the image of a Lisp system: it is named, and no right of the user would help."""
    image = tmp_path / 'lisp.core'
    image.write_bytes(bytes(4096))
    script = ('import mmap, sys; file = open(sys.argv[1]); '
              'code = mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC); print("ready", flush=True); sys.stdin.read()')
    with subprocess.Popen([sys.executable, '-c', script, image], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        hear(program, b'ready\n')
        trace = tmp_path / 't.seep'
        Attached(program.pid, '--output', trace, '-o', '0').stop()
        program.stdin.close()
    process, = report(trace)
    said = [note for note in process['health']['notes'] if note.code == 'files_unreadable']
    assert len(said) == 1 and str(image) in said[0], said


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
    assert READING in done.out
    assert b'300 bytes in 1 allocations' in done.out
    no_probes_in(program.pid)
    trace = tmp_path / 'quiet.seep'
    done = run([SEEP, 'attach', '--backend', 'bpf', '-q', '--output', trace, program.pid, '50ms', '1'])
    assert (done.code, done.out, done.err) == (0, b'', b''), done
    assert b'%d' % program.pid in run([SEEP, 'report', trace]).out


def test_a_sample_knows_its_frees(private, tmp_path):
    program = private(STEPS, 40)
    trace = tmp_path / 'sampled.seep'
    attached = Attached(program.pid, '--output', trace, '-s', '4', '--older', '0')
    say(program)
    hear(program)
    attached.stop()
    process, = report(trace)
    totals = process['totals']
    everything = 40 * (54 + 51 + 51 + 50)
    assert everything / 6 < totals['allocations'] < everything / 2
    # What is freed is known to be, sampled or not.
    assert totals['live_blocks'] <= 40 * 5
    assert [re.findall('[0-9]+', note) for note in process['health']['notes'] if note.code == 'sampled'] == [['4']], process['health']


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
    second = run([SEEP, 'attach', '--output', by_probes, '--', program], env=env, cwd=tmp_path)
    assert first.code == second.code == 0, (first, second)
    expected, _ = sites_of(by_library)
    found, process = sites_of(by_probes)
    assert process['process']['exit'] == {'code': 0}
    assert len(expected) >= 3
    assert found == expected


def test_a_stack_whose_first_function_returns_to_exit(from_start, tmp_path):
    """Stacks as Boost.Context makes them are whole."""
    program, env = from_start(BUILD / 'tests/live/live-control-flow')
    trace = tmp_path / 't.seep'
    done = run([SEEP, 'attach', '--output', trace, '--', program, 'exits'], env=env, cwd=tmp_path)
    assert done.code == 0, done
    _, process = sites_of(trace)
    assert process['health']['stacks_cut'] == 0, process['health']
    assert process['totals']['allocations'] >= 200


def test_a_program_that_is_named_to_its_loader(from_start, tmp_path):
    """`ld.so PROGRAM`: the kernel starts the loader, and the program is seen from its first instruction all the same."""
    program, env = from_start(BUILD / 'tests/programs/gcc-O2@callbacks')
    by_kernel, by_loader = tmp_path / 'kernel.seep', tmp_path / 'loader.seep'
    for trace, words in ((by_kernel, [program]), (by_loader, ['/lib64/ld-linux-x86-64.so.2', program])):
        done = run([SEEP, 'attach', '--output', trace, '--', *words], env=env, cwd=tmp_path)
        assert done.code == 0, done
    expected, _ = sites_of(by_kernel)
    assert len(expected) >= 3
    assert sites_of(by_loader)[0] == expected


def test_in_a_pid_namespace_nothing_is_seen_and_that_is_said(can):
    """BPF programs know processes by the kernel's own numbers: a report of nothing would be called complete."""
    need('unshare')
    inside = ['unshare', '--pid', '--fork', '--mount-proc', SEEP]
    if run([*inside[:-1], 'true']).code:
        pytest.skip('no process namespaces here')
    done = run([*inside, 'attach', '--', 'true'])
    assert done.code == 1 and b'BPF programs do not know the processes of this PID namespace (run it on the host' in done.err, done
    assert b'PID namespace        NO: ' in run([*inside, 'info']).out and b'PID namespace' not in run([SEEP, 'info']).out


def test_a_program_that_is_named_to_the_loader_of_musl(tmp_path):
    """That loader is musl's libc itself, which has no soname."""
    need('musl-gcc')
    program, loader = tmp_path / 'program', '/lib/ld-musl-x86_64.so.1'
    if not os.path.exists(loader):
        pytest.skip('no %s' % loader)
    (tmp_path / 'leak.c').write_text(program_source('musl_leak.c'))
    assert run(['musl-gcc', '-O1', '-g', '-w', tmp_path / 'leak.c', '-o', program]).code == 0
    done = run([SEEP, 'attach', '--output', tmp_path / 'a.seep', '--', loader, program], cwd=tmp_path)
    assert done.code == 0, done
    process, = report(tmp_path / 'a.seep')
    stacks = [[frame['function'] for frame in site['stack']][:1] for site in process['sites'] if site['live_blocks']]
    assert stacks == [['main']] and process['totals']['live_bytes'] == 5


@pytest.mark.parametrize('probes', PROBES)
def test_a_static_program_from_its_start(tmp_path, probes):
    need('gcc')
    program = tmp_path / 'static'
    source = Path(__file__).with_name('attach_steps.c')
    done = run(['gcc', '-O2', '-static', '-w', source, '-o', program])
    if done.code:
        pytest.skip('no static C library: %s' % done.err[-200:])
    done = run([SEEP, 'attach', '--probes', probes, '--output', tmp_path / 'a.seep', '-c', "%s '7'" % program], input=b'\n\n',
               cwd=tmp_path)
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


def test_a_program_that_has_ended_before_its_exec_gets_no_signal(tmp_path):
    """The tool has waited for it, so its pid may be another process's."""
    need('strace')
    (tmp_path / 'text').write_text('no program')
    (tmp_path / 'text').chmod(0o755)
    done = run(['strace', '-o', tmp_path / 'calls', '-e', 'trace=kill,wait4,clone', '-E', 'LC_ALL=C', SEEP, 'attach', '--', tmp_path / 'text'])
    text = (tmp_path / 'calls').read_text()
    started = re.findall(r'^wait4\((\d+), \[\{WIFEXITED', text, re.M)
    assert done.code == 126 and started, (done, text)
    killed = [text.find(f'kill({pid}, SIGKILL)') > text.find(f'wait4({pid}, [{{WIFEXITED') for pid in started]
    assert not any(killed), text


def test_the_exit_status_is_the_programs(tmp_path):
    """The exit status is the program's, as with `seep run`, also where the trace has no room."""
    quiet = ['-q', '--output', tmp_path / 'quiet.seep']
    for script, status, options in (('exit 7', 7, []), ('kill -TERM $$', 128 + signal.SIGTERM, []), ('exec sh -c "exit 9"', 9, quiet)):
        done = run([SEEP, 'attach', *options, '--', 'sh', '-c', script])
        assert (done.code, done.out, done.err == b'') == (status, b'', bool(options)), (script, done)
    for status in (0, 3):
        done = run([SEEP, 'attach', '--output', '/dev/full', '--', 'sh', '-c', f'exit {status}'])
        assert done.code == (status or 1) and done.err.splitlines()[-1].count(b'No space left on device') == 1, done


def test_a_report_that_cannot_be_written_is_told_once():
    with open('/dev/full', 'wb') as full, subprocess.Popen(['sleep', '1000']) as program:
        for options in ([], ['--json']):
            done = subprocess.run([str(SEEP), 'attach', *options, str(program.pid), '100ms', '1'], stdout=full, stderr=subprocess.PIPE,
                                  env=environment(), timeout=TIMEOUT)
            assert (done.returncode, done.stderr.count(b'\n')) == (1, 1) and b'No space left on device' in done.stderr, done
        program.kill()


def test_the_report_of_a_program_that_cannot_be_written_leaves_its_status(tmp_path):
    trace = tmp_path / 'a.seep'
    with open('/dev/full', 'wb') as full:
        for command, status in ((['attach', '--output', trace, '--', 'sh', '-c', 'exit 3'], 3), (['attach', '--', 'true'], 1),
                                (['attach', '--json', '--', 'true'], 1)):
            done = subprocess.run([str(SEEP), *command], stdout=subprocess.PIPE, stderr=full, env=environment(), timeout=TIMEOUT)
            assert (done.returncode, done.stdout) == (status, b''), done
    assert report(trace)[0]['process']['exit'] == {'code': 3}


@pytest.mark.parametrize('options,most_per_line', [([], 0.5), (['--trace'], 1)])
def test_the_report_of_a_program_goes_to_standard_error_at_once(tmp_path, options, most_per_line):
    """Standard error has no buffer: the report, and the lines of calls, were written word by word."""
    need('strace')
    calls = tmp_path / 'calls'
    done = run(['strace', '-o', calls, '-e', 'trace=write', SEEP, 'attach', *options, '--', 'ls', '-d', '/'])
    assert (done.code, done.out) == (0, b'/\n') and b'\nhealth: ' in done.err, done
    assert 0 < calls.read_text().count('write(2') < done.err.count(b'\n') * most_per_line


def test_the_exit_status_is_0_while_the_program_runs_on():
    tool = subprocess.Popen([str(SEEP), 'attach', '--', 'sh', '-c', 'echo ready; read line; exit 7'],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    assert tool.stdout.readline() == b'ready\n'
    tool.send_signal(signal.SIGINT)
    assert tool.wait(timeout=TIMEOUT) == 0
    tool.communicate(b'\n', timeout=TIMEOUT)  # now it ends, too


def test_a_small_buffer_counts_what_it_loses(from_start, tmp_path):
    program, env = from_start(STEPS)
    trace = tmp_path / 'small.seep'
    done = run([SEEP, 'attach', '--buffer', '4K', '--output', trace, '-c', '%s 600' % program], env=env, input=b'\n\n',
               cwd=tmp_path)
    assert done.code == 0, done
    process, = report(trace)
    lost = process['health']['lost'].get('ring', 0)
    seen = process['totals']['allocations']
    made = 600 * (54 + 51 + 51 + 50)
    assert lost > 0 and b'health: INCOMPLETE' in done.err, process['health']
    assert seen < made <= seen + lost


def ring_bytes(text):
    """Of the ring buffer among the descriptors of `cat /proc/PID/fdinfo/*`."""
    return [int(size) for size in re.findall(rb'map_type:\s*27\n(?:\w+:.*\n)*?max_entries:\s*(\d+)', text)]


def test_a_program_that_is_started_gets_a_buffer_by_the_free_memory(from_start, tmp_path):
    """It sends the memory of its stacks until its files are read: that of a JVM does not fit into half of 16 MiB."""
    program, env = from_start('/bin/cat')
    look = ['sh', '-c', 'exec "$0" /proc/$PPID/fdinfo/*', program]
    done = run([SEEP, 'attach', '--', *look], env=env, cwd=tmp_path)
    size, = ring_bytes(done.out)
    with open('/proc/meminfo') as file:
        free = 1024 * int(re.search(r'MemAvailable:\s*(\d+)', file.read()).group(1))
    limits = [path.read_text().strip() for path in Path('/sys/fs/cgroup').glob('**/memory.max')]
    assert size in (16 << 20, 32 << 20, 64 << 20) and (size == 16 << 20 or size <= 2 * free / 64)
    if free > 8 << 30 and set(limits) <= {'max'}:
        assert size == 64 << 20
    done = run([SEEP, 'attach', '--buffer', '1M', '--', *look], env=env, cwd=tmp_path)
    assert ring_bytes(done.out) == [1 << 20]


def test_children_begin_with_the_blocks_of_their_parent(from_start, tmp_path):
    program, env = from_start(BUILD / 'tests/live/live-attach-children')
    trace = tmp_path / 'children.seep'
    done = run([SEEP, 'attach', '-C', '--sort', 'count', '-T', '1', '--output', trace, '--', program], env=env, cwd=tmp_path)
    assert done.code == 0, done
    # By bytes it is the one of 1000, which both have.
    assert re.findall(b'.* bytes in .*', done.err) == [b'        770 bytes in 10 allocations from stack']
    parent, child = report(trace)
    stacks = [{site['stack'][0]['function']: (site['live_blocks'], site['live_bytes'], site['frees'])
               for site in process['sites']} for process in (parent, child)]
    assert stacks[0] == {'keep': (1, 1000, 0), 'hand_over': (1, 55, 0)}
    assert stacks[1] == {'keep': (1, 1000, 0), 'hand_over': (0, 0, 1), 'child_keeps': (10, 770, 0)}
    done = run([SEEP, 'attach', '--children', 'ignore', '--output', trace, '--', program], env=env, cwd=tmp_path)
    assert done.code == 0, done
    assert len(report(trace)) == 1


LIVES = program_source('attach_lives.c')


def test_lives_have_their_parents_times_and_ends(tmp_path):
    (tmp_path / 'lives.c').write_text(LIVES)
    subprocess.run(['gcc', '-O1', '-w', '-o', tmp_path / 'lives', tmp_path / 'lives.c'], check=True)
    trace = tmp_path / 'lives.seep'
    done = run([SEEP, 'attach', '--output', trace, '--', tmp_path / 'lives'])
    assert done.code == 5, done
    first, *others = [process['process'] for process in report(trace)]
    assert first['exit'] == {'code': 5}
    spawned = [life for life in others if life['name'] == 'true']
    assert [life['exit'] for life in spawned] == [{'code': 0}] * 3
    assert all(life['args'] for life in spawned), spawned
    went_on, follows = [life for life in others if life['name'] in ('lives', 'sh') and life['exit'] != {'signal': 6}]
    assert (went_on['origin'], went_on['exit']) == ('fork', None)
    assert (follows['origin'], follows['exit'], follows['pid']) == ('exec', {'code': 3}, went_on['pid'])
    aborted, = [life for life in others if life['exit'] and 'signal' in life['exit']]
    assert {life['parent'] for life in others} == {first['pid']}
    # Each is over before its parent is: of times that run until the trace is saved it would not be so.
    assert sum(life['duration_s'] for life in others) < first['duration_s']


@pytest.mark.skipif(platform.machine() != 'x86_64', reason='its assembly is for x86-64')
def test_a_childs_stack_is_not_taken_for_its_parents(tmp_path):
    """Even if the addresses of their calls differ in the same bits as the process ids."""
    program, trace = built_program('attach_call_of_pid.c', tmp_path, '-O0'), tmp_path / 't.seep'
    done = run([SEEP, 'attach', '--output', trace, '--', program])
    assert done.code == 0, done
    places = {}
    for process in report(trace):
        assert process['health']['lost'] == {}, process['health']
        for site in process['sites']:
            assert site['allocations'] <= 1 and [f['function'] for f in site['stack']][:3] == ['calls', 'call', 'main'], site
            places[site['size_max']] = site['stack'][0]['offset']
    assert places[1001] != places[1002]


def test_stacks_while_the_mappings_change(tmp_path):
    """Then the kernel cannot look up mappings. The report does not say that the code of such a stack lacks information."""
    program, trace = built_program('attach_mappings_change.c', tmp_path, '-O1', '-fomit-frame-pointer', '-pthread'), tmp_path / 't.seep'
    for number in range(20):
        shutil.copy(program, '%s.%d' % (program, number))
    done = run([SEEP, 'attach', '--output', trace, '--', program, 'all'], timeout=120)
    assert done.code == 0, done
    copies = [process for process in report(trace) if re.search(r'\.\d+$', process['process']['exe'])]
    assert len(copies) == 20, [process['process'] for process in copies]
    for process in copies:
        assert process['health']['lost'] == {} and set(process['health']['cut']) <= {'unread'}, process['health']
        assert process['totals']['allocations'] >= 2000, process['totals']


def test_a_process_id_that_is_given_again(tmp_path):
    program, trace = built_program('attach_pid_again.c', tmp_path, '-O1'), tmp_path / 't.seep'
    for _ in range(20):
        done = run([SEEP, 'attach', '--output', trace, '--', program])
        if done.code != 77:  # another process has the id
            break
    assert done.code == 0, done
    _, *children = report(trace)
    assert len({child['process']['pid'] for child in children}) == 1 and len(children) == 4, children
    for child in children:
        assert child['health']['lost'] == {}, child['health']
        assert [site['stack'][0]['function'] for site in child['sites']] == ['main'], child['sites']


def test_arguments_of_a_life_are_not_those_of_the_next(tmp_path):
    """Who executes another program at once has its own in the report: the kernel tells them with the exec."""
    trace = tmp_path / 'execs.seep'
    script = 'for i in 1 2 3 4 5 6; do sh -c "exec sh -c \\"exec /bin/true $i\\""; done'
    done = run([SEEP, 'attach', '--output', trace, '--', 'sh', '-c', script], timeout=120)
    assert done.code == 0, done
    lives = [process['process'] for process in report(trace)]
    went_on = [life for life in lives if life['went_on'] and life['origin'] == 'exec']
    assert went_on and all(life['args'] and 'exec' in life['args'][-1] for life in went_on), went_on
    assert sorted(life['args'] for life in lives if life['name'] == 'true') == [['/bin/true', str(i)] for i in range(1, 7)]


def test_programs_of_short_lives_have_their_paths(tmp_path):
    """The kernel tells the executed file: an ended program is named like a running one, not as its parent called it."""
    shutil.copy(os.path.realpath('/bin/true'), tmp_path / 'short')
    os.symlink('short', tmp_path / 'link')
    trace = tmp_path / 'short.seep'
    script = 'for i in 1 2 3 4 5 6 7 8; do ./short; (cd / && .%s/link); done' % tmp_path
    done = run([SEEP, 'attach', '--output', trace, '--', 'sh', '-c', script], timeout=120, cwd=tmp_path)
    assert done.code == 0, done
    paths = [process['process']['exe'] for process in report(trace) if process['process']['name'] in ('short', 'link')]
    assert paths == [str(tmp_path / 'short')] * 16


def test_children_of_a_program_are_seen_from_their_first_instruction(tmp_path):
    """However short they live; and no other program that uses the same C library has probes in it."""
    need('unshare', 'sh')
    if run(['unshare', '--mount', 'true']).code:
        pytest.skip('no mount namespace of our own')
    trace, go = tmp_path / 'family.seep', tmp_path / 'go'
    os.mkfifo(go)
    script = 'echo ready; read x < %s; for i in 1 2 3 4 5; do printf "\\n\\n" | %s 7; (printf "\\n\\n" | %s 2); done' % (go, STEPS, STEPS)
    attached = subprocess.Popen([str(SEEP), 'attach', '--output', str(trace), '--', 'sh', '-c', script],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=tmp_path)
    assert attached.stdout.readline() == b'ready\n'
    no_probes_in(os.getpid())
    go.write_text('go\n')
    out, err = attached.communicate(timeout=TIMEOUT)
    assert attached.returncode == 0, err
    processes = report(trace)
    assert processes[0]['health']['lost'] == {}, processes[0]['health']
    assert not any('first milliseconds' in note for process in processes for note in process['health']['notes'])
    found = []
    for process in processes:
        if process['process']['exe'].endswith(STEPS.name):
            made = {k: v for k, v in process['totals']['by_function'].items() if v}
            rounds = process['totals']['live_blocks'] // 5
            assert made == {'malloc': rounds * 54, 'calloc': rounds * 51, 'realloc': rounds * 51,
                            'posix_memalign': rounds * 50}
            found.append(rounds)
    assert sorted(found) == [2] * 5 + [7] * 5


@pytest.fixture
def nobody():
    """nobody(rights): words to run a program as nobody, and a folder with programs that nobody may run."""
    need('setpriv')
    if os.getuid():
        pytest.skip('only root can be somebody else')
    folder = Path(tempfile.mkdtemp(prefix='seep', dir='/tmp'))
    folder.chmod(0o755)
    for program in (SEEP, STEPS):
        shutil.copy(program, folder)

    def words(*rights):
        given = ','.join('+' + right for right in rights)
        options = ['--inh-caps', given, '--ambient-caps', given] if rights else []
        return ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', *options]

    if run([*words('bpf', 'perfmon'), 'true']).code:
        pytest.skip('the rights cannot be given away')
    yield words, folder
    shutil.rmtree(folder)


@pytest.mark.parametrize('owner', ['nobody', 'root'])
def test_two_rights_are_enough(nobody, owner, tmp_path):
    words, folder = nobody
    program = subprocess.Popen([*(words() if owner == 'nobody' else []), folder / STEPS.name, '3'],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
    try:
        hold_until_mapped(program.pid)
        done = run([*words('bpf'), folder / 'seep', 'attach', program.pid, '1s', '1'], cwd=folder)
        assert done.code == 1 and b'CAP_BPF and CAP_PERFMON' in done.err, done
        attached = subprocess.Popen([*words('bpf', 'perfmon'), folder / 'seep', 'attach', str(program.pid), '-o', '0'],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=folder)
        assert attached.stdout.readline().startswith(b'Attaching'), attached.communicate()
        say(program)
        hear(program)
        attached.send_signal(signal.SIGINT)
        out, err = attached.communicate(timeout=TIMEOUT)
        assert attached.returncode == 0, err
        assert b'900 bytes in 3 allocations' in out and b'health: complete' in out, out
    finally:
        program.kill()
        program.communicate()


def test_what_is_deeper_than_the_unwinder_goes_is_cut_and_counted(tmp_path):
    need('gcc')
    program = built_program('attach_deep.c', tmp_path, '-O1', '-fno-optimize-sibling-calls')
    done = run([SEEP, 'attach', '--output', tmp_path / 'deep.seep', '--', program], cwd=tmp_path)
    assert done.code == 0, done
    process, = report(tmp_path / 'deep.seep')
    assert process['health']['stacks_cut'] == 1
    assert process['totals']['live_bytes'] == 2 * 99
    assert sorted(site['stack'][-1]['function'] for site in process['sites']) == ['_start', 'down']


def probed_bytes(pid, name):
    """How many bytes of the code of that file are not as in the file."""
    count = 0
    for line in open('/proc/%d/maps' % pid):
        area = line.split()
        if area[1] == 'r-xp' and area[-1].endswith('/' + name):
            start, end = (int(x, 16) for x in area[0].split('-'))
            with open('/proc/%d/mem' % pid, 'rb') as memory, open(area[5], 'rb') as file:
                memory.seek(start)
                file.seek(int(area[2], 16))
                count += sum(a != b for a, b in zip(memory.read(end - start), file.read(end - start)))
    return count


def wait_for_return_probes(pid, least):
    """Of live-attach-new: so many, and no more have come for a while."""
    deadline = time.monotonic() + TIMEOUT
    probed, since = 0, time.monotonic()
    while probed < least or time.monotonic() < since + 0.5:
        assert time.monotonic() < deadline, probed
        time.sleep(0.05)
        now = probed_bytes(pid, 'live-attach-new')
        probed, since = now, since if now == probed else time.monotonic()


@pytest.mark.parametrize('name, may_fail', [('libjemalloc.so.2', True), ('libtcmalloc.so.4', True),
                                            ('libmimalloc.so', False)])  # it would abort
def test_operators_of_an_allocator_that_throw(name, may_fail, tmp_path):
    """No return probe on what throws, or bad_alloc would end the program: a probe where it returns to."""
    program = shutil.copy(BUILD / 'tests/live/live-attach-new', tmp_path)
    env = environment(LD_PRELOAD=str(shutil.copy(library(name), tmp_path)))
    with subprocess.Popen([program] + ['x'] * may_fail, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env=env) as running:
        try:
            hear(running, b'ready\n')
            attached = Attached(running.pid, '-O', name[3:].split('.')[0], '--output', tmp_path / 'a.seep')
            say(running)
            hear(running)
            wait_for_return_probes(running.pid, 3)
            say(running)
            hear(running)
            out = attached.stop()
            running.stdin.close()
            assert running.wait(timeout=TIMEOUT) == 0  # all failures were caught
        finally:
            running.kill()
    process, = report(tmp_path / 'a.seep')
    unseen, = [int(note.split()[0]) for note in process['health']['notes'] if 'of operator new' in note]
    assert 'health: INCOMPLETE' in out
    found = {}
    for site in process['sites']:
        names = [(frame['function'] or '').split('(')[0] for frame in site['stack']]
        if 'main' in names and 'failing' not in names:  # that makes an exception
            assert names[-1] == '_start'
            found[names[0]] = (site['allocations'], site['allocated_bytes'], site['frees'])
            assert site['via'].startswith('operator new'), site['via']
    made = {'plain': 24, 'array': 60, 'balanced': 32, 'aligned': 128, 'large': 3000000}
    assert set(found) == set(made)
    for where, size in made.items():
        count = found[where][0]
        assert count in (100, 101), found
        assert found[where] == (count, count * size, count if where == 'balanced' else 0)
    # Where an operator calls another function of the allocator, all are seen.
    assert unseen >= sum(101 - found[where][0] for where in made)  # a failed one may be unseen, too
    assert process['mappings']['sites'] == []


@pytest.mark.parametrize('options, named', [((), True), (('--children', 'ignore'), False)])
def test_children_from_before_are_named(options, named, tmp_path):
    """The workers of a server do the work; of the process alone, nothing may be seen."""
    script = '(read x) <&3 & echo $!; wait'
    with subprocess.Popen(['sh', '-c', f'exec 3<&0; {script}'], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        try:
            child = running.stdout.readline().decode().strip()
            attached = Attached(running.pid, *options, '--output', tmp_path / 'a.seep')
            attached.stop()
        finally:
            running.kill()
            running.stdin.close()
    process, = report(tmp_path / 'a.seep')
    assert report_json.codes(process) == ['attached_late'], process['health']
    assert (f'pid {child}' in process['health']['notes'][0]) == named, process['health']


@pytest.mark.parametrize('name, vias', [('libjemalloc.so.2', {'malloc', 'realloc'}), ('libmimalloc.so', {'calloc', 'realloc'})])
def test_functions_of_an_allocator_beside_malloc(name, vias, tmp_path):
    """Their blocks count, and a block of malloc that they free is freed."""
    flag = f'-DOF_{name[3:].split(".")[0].upper()}'
    program = built_program('attach_beside.c', tmp_path, '-O1', '-fno-builtin', flag, '-Wl,--no-as-needed', library(name))
    done = run([SEEP, 'attach', '--output', tmp_path / 'a.seep', '--', program])
    assert done.code == 0, done
    process, = report(tmp_path / 'a.seep')
    sites = [site for site in process['sites'] if site['stack'][0]['function'] == 'work']
    assert (sum(site['allocations'] for site in sites), sum(site['frees'] for site in sites)) == (6, 4), sites
    kept = {site['via']: site['live_bytes'] for site in sites if site['live_blocks']}
    assert set(kept) == vias and set(kept.values()) == {1000, 5200}, kept
    assert process['health']['complete'] and process['mismatches'] == [], process['health']


def test_an_operator_that_maps_memory_still_returns_a_block(tmp_path):
    """The mapping is no allocation in the place of that of the operator."""
    env = environment(LD_PRELOAD=str(library('libjemalloc.so.2')))
    command = [SEEP, 'attach', '--output', tmp_path / 'a.seep', '--', BUILD / 'tests/live/live-attach-new']
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as running:
        try:
            for word in (b'ready', b'done', b'done'):
                while running.stdout.readline().strip() != word:
                    assert running.poll() is None
                if word == b'done':
                    program, = [pid for pid in children_of(running.pid) if Path('/proc/%d/exe' % pid).resolve().name == 'live-attach-new']
                    wait_for_return_probes(program, 1)
                say(running)
            running.stdin.close()
            running.stdout.read()
            assert running.wait(timeout=TIMEOUT) == 0
        finally:
            running.kill()
    process, = report(tmp_path / 'a.seep')
    unseen, = [int(note.split()[0]) for note in process['health']['notes'] if 'of operator new' in note]
    assert process['totals']['allocations'] + unseen >= 5 * 201, (process['totals'], unseen)


@pytest.mark.parametrize('probes', ['best', 'multi'])
def test_a_function_that_jumps_to_another_is_one_call(probes, tmp_path):
    """Both have the stack pointer and the return address of the one call: operator delete and free, operator new and malloc."""
    done = run([SEEP, 'attach', '--probes', probes, '--output', tmp_path / 'a.seep', '--', BUILD / 'tests/live/live-attach-jumps'])
    assert done.code == 0, done
    process, = report(tmp_path / 'a.seep')
    totals = process['totals']
    assert (totals['allocations'], totals['frees'], totals['unknown_frees']) == (501, 500, 0), totals  # libstdc++ has one
    assert process['health']['notes'] == []  # malloc counts, so no operator was missed
    assert sorted((site['allocated_bytes'], site['via']) for site in process['sites'])[:5] == [
        (2400, 'operator new'), (4800, 'operator new[]'), (7200, 'operator new'), (9600, 'malloc'), (12000, 'realloc')]


def of_pids(trace):
    return {process['process']['pid']: process for process in report(trace)}


def test_every_process(private, tmp_path, whole_machine):
    """Those that were there, and one that comes later: its first instructions as well."""
    first, second = private(STEPS, 3), private(STEPS, 4)
    hold_until_mapped(first.pid)
    hold_until_mapped(second.pid)
    trace = tmp_path / 'all.seep'
    # Only the private copy is probed, or every test on the machine would be traced.
    attached = Attached(None, '--all', '-O', tmp_path / 'libc.so.6', '-o', '0', '--output', trace)
    third = private(STEPS, 5)
    for program in (first, second, third):
        say(program)
        hear(program)
    out = attached.stop()
    processes = of_pids(trace)
    for program, rounds in ((first, 3), (second, 4), (third, 5)):
        process = processes[program.pid]
        sites = [x for x in process['sites'] if 'main' in [frame['function'] for frame in x['stack']]]
        assert sum(x['live_blocks'] for x in sites) == rounds * 5
        assert sum(x['allocations'] for x in sites) == rounds * (54 + 51 + 51 + 50)
        assert process['health']['stacks_cut'] == 0
    assert re.search(r'^ {8}3600 bytes in 12 allocations from stack$', out, re.M), out
    assert re.search(r'^ {16}in pid %d \S+ \(900 bytes\), pid %d \S+ \(1200 bytes\), pid %d \S+ \(1500 bytes\)$' %
                     (first.pid, second.pid, third.pid), out, re.M), out


@pytest.fixture
def group():
    """An empty control group of version 2."""
    mounts = [line.split() for line in open('/proc/self/mounts')]
    folders = [Path(mount[1]) for mount in mounts if mount[2] == 'cgroup2']
    if not folders:
        pytest.skip('cgroup2 is not mounted')
    folder = folders[0] / ('seep-test-%d' % os.getpid())
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip('no control group can be made: %s' % error)
    yield folder
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            folder.rmdir()
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_an_empty_control_group(group):
    done = run([SEEP, 'attach', '--cgroup', group, '1s', '1'])
    assert done.code == 1 and done.err.count(b'\n') == 1, done
    assert b'no process in ' in done.err and b'(start one first, or name the group above it' in done.err, done


def test_a_control_group_that_another_user_owns(group, private, whole_machine):
    """Groups in groups by the hundred, with names that are none: they cost time, and nothing else."""
    below = group / ('deep/' * 40)
    make = 'for i in $(seq 200); do mkdir "w$(printf "\\033")[31m $i"; done; mkdir -p %s' % below
    os.chown(group, 65534, 65534)
    made = run(['setpriv', '--reuid', 65534, '--regid', 65534, '--clear-groups', 'sh', '-c', make], cwd=group)
    assert made.code == 0, made
    program = private(STEPS, 3)
    hold_until_mapped(program.pid)
    try:
        (below / 'cgroup.procs').write_text(str(program.pid))
        done = run([SEEP, 'attach', '--cgroup', group, '1s', '1'])
        assert done.code == 0 and b'\033' not in done.out + done.err, done
        (group.parent / 'cgroup.procs').write_text(str(program.pid))
    finally:
        for folder, _, _ in os.walk(group, topdown=False):
            if folder != str(group):
                os.rmdir(folder)


@pytest.mark.parametrize('probes', PROBES)
def test_a_control_group(group, private, tmp_path, whole_machine, probes):
    inside, outside = private(STEPS, 3), private(STEPS, 4)
    for program in (inside, outside):
        hold_until_mapped(program.pid)
    (group / 'cgroup.procs').write_text(str(inside.pid))
    trace = tmp_path / 'group.seep'
    attached = Attached(None, '--probes', probes, '--cgroup', group, '-O', tmp_path / 'libc.so.6', '-o', '0', '--output', trace)
    later, joins = private(BUILD / 'tests/live/live-attach-children'), private(STEPS, 5)
    hold_until_mapped(joins.pid)
    (group / 'cgroup.procs').write_text(str(joins.pid))
    for program in (inside, outside, joins):
        say(program)
        hear(program)
    attached.stop()
    processes = of_pids(trace)
    assert inside.pid in processes and joins.pid in processes
    assert outside.pid not in processes and later.pid not in processes
    for program, rounds in ((inside, 3), (joins, 5)):
        assert processes[program.pid]['totals']['live_blocks'] == rounds * 5
    for program in (inside, joins):
        program.kill()
        program.wait()


def test_a_control_group_with_a_process_that_has_the_library(group, private, tmp_path, whole_machine):
    """The library's malloc gets no probe, so its stacks stay whole; the process is the library's alone."""
    own = tmp_path / 'own.seep'
    preloaded = private(STEPS, 3, env=environment(LD_PRELOAD=str(BUILD / 'libseep.so'), SEEP_OUT=str(own)))
    other = private(STEPS, 4)
    for program in (preloaded, other):
        hold_until_mapped(program.pid)
        (group / 'cgroup.procs').write_text(str(program.pid))
    trace = tmp_path / 'group.seep'
    attached = Attached(None, '--cgroup', group, '-o', '0', '--output', trace)
    no_probes_in(preloaded.pid, 'libseep.so')
    for program in (preloaded, other):
        say(program)
        hear(program)
    no_probes_in(preloaded.pid, 'libseep.so')
    attached.stop()
    processes = of_pids(trace)
    assert other.pid in processes and preloaded.pid not in processes
    for program in (preloaded, other):
        program.stdin.close()
        program.wait(timeout=TIMEOUT)
    process, = report(own)
    assert process['health']['complete'] and process['health']['stacks_cut'] == 0, process['health']


@pytest.fixture(params=['a folder', 'an overlay'])
def folder_of_programs(request, tmp_path):
    """Where programs lie; in an overlay, as in a container, the kernel maps other files than it tells of."""
    below = tmp_path / 'below'
    below.mkdir()
    if request.param == 'a folder':
        yield below, below
        return
    need('mount', 'umount')
    above, empty = tmp_path / 'above', tmp_path / 'empty'
    above.mkdir()
    empty.mkdir()
    done = run(['mount', '-t', 'overlay', 'seep', '-o', 'lowerdir=%s:%s' % (below, empty), above])
    if done.code:
        pytest.skip('no overlay can be mounted: %s' % done.err[-200:])
    yield below, above
    run(['umount', '-l', above])


def test_code_that_nobody_had_mapped(group, private, tmp_path, whole_machine, folder_of_programs):
    """A large program runs before its call-frame information is read, and the ring has no room for the memory of all its stacks:
    its own words, and complete the next time."""
    need('gcc')
    compiler = Path(run(['gcc', '-print-prog-name=cc1']).out.decode().strip())
    if not compiler.is_file():
        pytest.skip('no compiler proper, which is a large program')
    inside = private(STEPS, 1)
    hold_until_mapped(inside.pid)
    (group / 'cgroup.procs').write_text(str(inside.pid))
    below, programs = folder_of_programs
    shutil.copy(compiler, below / 'cc1')
    trace = tmp_path / 'unread.seep'
    attached = Attached(None, '--cgroup', group, '-O', tmp_path / 'libc.so.6', '--output', trace, '--buffer', '2M')
    words = [next(tmp_path.glob('ld-linux*')), '--library-path', tmp_path, programs / 'cc1', '-quiet', '-o', '/dev/null']
    started = []
    try:
        for _ in range(3):  # each has done what it does at its start, and waits for its source
            started.append(subprocess.Popen(['sh', '-c', 'echo $$ >%s/cgroup.procs; exec "$@"' % group, 'sh', *words],
                                            stdin=subprocess.PIPE, env=environment()))
            of = Path('/proc/%d' % started[-1].pid)
            wait_until(lambda: ('/cc1\n' in (of / 'maps').read_text()
                                and (of / 'stat').read_text().rsplit(')', 1)[1].split()[0] == 'S'), 'it waits')
            wait_until_idle(attached.process.pid)  # it has read the program
        out = attached.stop()
    finally:
        for process in started:
            process.kill()
            process.communicate()
    first, *later = (of_pids(trace)[process.pid] for process in started)
    assert min(process['totals']['allocations'] for process in (first, *later)) > 1000
    assert set(first['health']['cut']) == {'unread'}, first['health']
    assert 'unread' in {site['cut'] for site in first['sites']}
    assert [process['health']['cut'] for process in later] == [{}, {}]
    assert re.search(r'^  cut \d+ \(unread\): seep was still reading', out, re.M), out
    assert 'asynchronous-unwind-tables' not in out


def test_ignored_signals_stay_ignored():
    """As after nohup or in the background of a script; the tool itself still ends by them."""
    show = [sys.executable, '-S', '-c', 'import signal as s; print([s.getsignal(n) == s.SIG_IGN for n in (1, 2, 3, 15)])']
    for signals in ('INT', 'INT TERM HUP', 'QUIT'):
        words = ['sh', '-c', f'trap "" {signals}; exec "$@"', 'sh']
        plain, under = run([*words, *show]), run([*words, SEEP, 'attach', '--', *show])
        assert plain.code == under.code == 0 and plain.out.strip() in under.out.splitlines(), (plain, under)


def test_breakpoints_of_another_tracer_are_told(private, tmp_path):
    program = private(STEPS, 1)
    hold_until_mapped(program.pid)
    # On a function that the program does not call: it would not be caught.
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


def test_a_program_of_ours_alone_has_the_breakpoints(tmp_path, undisturbed):
    """Valgrind takes a breakpoint in a file for the program's own: none may be in files that others use."""
    need('gcc', 'valgrind')
    source, program = tmp_path / 'waits.c', tmp_path / 'waits'
    source.write_text(program_source('attach_one_of_many.c'))
    built = run(['gcc', '-O1', source, '-o', program])
    assert built.code == 0, built
    tool = subprocess.Popen([str(SEEP), 'attach', '--', str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=environment(), cwd=tmp_path)
    try:
        assert tool.stdout.readline() == b'ready\n'
        done = run(['valgrind', '-q', '--tool=none', '/bin/true'])
        assert (done.code, done.err) == (0, b''), done
        _, told = tool.communicate(b'\n', timeout=TIMEOUT)
        assert tool.returncode == 0 and b'10 bytes in 1 allocations' in told and b'health: complete' in told, told
    finally:
        tool.kill()
        tool.communicate()


EMULATORS = {'Valgrind': ['valgrind', '-q', '--tool=none'], f'qemu-{platform.machine()}': [f'qemu-{platform.machine()}']}


@pytest.mark.parametrize('emulator', EMULATORS)
def test_an_emulator_under_probes_is_said(emulator, tmp_path, undisturbed):
    """It ends the program at the first breakpoint."""
    need(EMULATORS[emulator][0])
    done = run([SEEP, 'attach', '--', *EMULATORS[emulator], '/bin/true'], env=environment(), cwd=tmp_path)
    assert done.code != 0, done
    if b'--symbols-prefix' in done.err:  # one that is static and stripped cannot be probed at all
        assert b'health:' not in done.err, done
    else:
        assert b'health: INCOMPLETE' in done.err and f'trace the program without {emulator}'.encode() in done.err, done


@pytest.mark.parametrize('emulator', EMULATORS)
def test_the_program_of_an_emulator_is_left_alone(emulator, tmp_path, undisturbed):
    need('gcc', EMULATORS[emulator][0])
    source, program = tmp_path / 'emulated.c', tmp_path / 'emulated'
    source.write_text(program_source('attach_emulated.c'))
    built = run(['gcc', '-O1', source, '-o', program])
    assert built.code == 0, built
    emulated = subprocess.Popen([*EMULATORS[emulator], str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert emulated.stdout.readline() == b'ready\n'
        done = run([SEEP, 'attach', emulated.pid], env=environment(), cwd=tmp_path)
        assert done.code == 1 and done.out == b'' and emulator.encode() in done.err, done
        emulated.communicate(b'\n', timeout=TIMEOUT)
        assert emulated.returncode == 7
    finally:
        emulated.kill()
        emulated.communicate()


def test_a_program_that_ends_by_itself_is_not_scanned_and_says_so(from_start, tmp_path):
    program, env = from_start(STEPS)
    done = run([SEEP, 'attach', '--scan', '--output', tmp_path / 'ended.seep', '--', program, '0'], env=env, cwd=tmp_path, input=b'\n\n')
    assert done.code == 0, done
    process, = report(tmp_path / 'ended.seep')
    assert process['leaks'] is None and any('not scanned' in note for note in process['health']['notes']), process['health']
