# SPDX-License-Identifier: BSD-2-Clause
"""32-bit x86 programs, which the kernel of an x86-64 machine runs by itself: every stack is what libgcc's unwinder sees,
every program of tests/programs has the figures of its EXPECT block, and `seep run` takes the library that fits.
"""
import errno
import functools
import json
import mmap
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'oracle'))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'corpus'))
import corpus  # noqa: E402
import test_corpus  # noqa: E402
from harness import (  # noqa: E402
    BUILD,
    ROOT,
    SEEP,
    TIMEOUT,
    by_start,
    check_expectation,
    ended,
    environment,
    exit_status,
    expectation,
    no_losses,
    report,
    run,
    traced,
    wait_until,
)
from test_oracle import check  # noqa: E402
from test_programs import check_children  # noqa: E402
from small_programs import program_source  # noqa: E402

TRIPLET = 'i686-linux-gnu'
SOURCES = ROOT / 'tests/programs'
FLAGS = ('-g', '-O2', '-D_GNU_SOURCE', '-fno-optimize-sibling-calls', '-fno-unroll-loops', '-pthread', '-w')
C = (f'{TRIPLET}-gcc', '-std=gnu11', *FLAGS)
CPP = (f'{TRIPLET}-g++', '-std=gnu++17', '-fsized-deallocation', *FLAGS)
LOADER = Path('/lib/ld-linux.so.2')
LIBRARIES = [Path(f'/usr/{TRIPLET}/lib') / name for name in ('libgcc_s.so.1', 'libstdc++.so.6')]
# Long; or (operators) more than a 64-bit process may get, of which 32 bits have no number; or (execs) starts programs
# of 64 bits, of which the loader says that it cannot preload into them.
LEFT_OUT = {'storm', 'slots', 'containers', 'operators', 'execs'}
NARROW = BUILD / 'i386/libseep.so'
# Programs that are about words of 64 bits; and (thread_parked) one whose blocks may lie at 0xf5500610, into which a number leads
# that glibc's random() begins with.
CORPUS_WIDE = {'mapped_out_of_reach.c', 'tagged_high.c', 'thread_parked.c'}
# What depends on the width of a word, or on structs of libc; SEEP_CORPUS=all has all.
CORPUS = {'cpp_array_cookie.cpp', 'cpp_string_counted.cpp', 'cpp_virtual_base.cpp', 'free_memory.c', 'pointers_unaligned.c',
          'pool_header.c', 'realloc_moves.c', 'register_vector.c', 'signal_stack_used.c', 'thread_ended.c', 'thread_specific.c',
          'tls_dynamic.c'}


@functools.cache
def runs_narrow():
    try:
        return run([LOADER, '--version']).code == 0
    except OSError as error:
        assert error.errno == errno.ENOEXEC, error
        return False


def need_tools():
    for name in (f'{TRIPLET}-gcc', f'{TRIPLET}-g++'):
        if not shutil.which(name):
            pytest.skip(f'{name} is not installed (tools/install-deps.sh traced)')
    if not LOADER.exists():
        pytest.skip(f'{LOADER} is not there (libc6-i386)')
    if not runs_narrow():
        pytest.skip('this kernel runs no 32-bit programs (CONFIG_IA32_EMULATION, or ia32_emulation=off)')


def need_library():
    need_tools()
    if not NARROW.exists():
        pytest.skip('this build has no libseep.so for 32-bit programs (-Di386=disabled)')


@pytest.fixture(scope='session')
def oracle():
    need_library()
    return BUILD / 'tests/oracle/libseep-oracle-i386.so'


@pytest.fixture(scope='session')
def runtime(tmp_path_factory):
    """The compiler's libraries and no more: the C library is that of the machine's loader."""
    need_tools()
    folder = tmp_path_factory.mktemp('runtime')
    for library in LIBRARIES:
        (folder / library.name).symlink_to(library)
    return folder


def compile_program(source, folder, *more, name=None):
    need_tools()
    program = Path(folder) / (name or Path(source).stem)
    done = run([*(CPP if Path(source).suffix == '.cpp' else C), source, *more, '-o', program])
    assert done.code == 0, done
    return program


def cases():
    for source in sorted(p for p in SOURCES.glob('*.c*') if '// EXPECT:' in p.read_text()):
        expected, _ = expectation(source)
        if source.stem in LEFT_OUT or expected.get('needs'):
            continue
        for one in expected.get('runs', [{}]):
            yield pytest.param(source, {**expected, **one}, id=' '.join([source.stem, *one.get('args', [])]))


@pytest.mark.parametrize('way', ['image-covered-by-calls', 'no-such-memory'])
def test_what_a_program_does_to_the_image(way, runtime, tmp_path):
    """Addresses above 2 GiB are negative numbers of syscall(): the image lies there."""
    need_library()
    program = compile_program(ROOT / 'tests/hostile/hostile_self.c', tmp_path, '-ldl')
    plain = run([program, way], env=environment(LD_LIBRARY_PATH=runtime))
    assert plain.code == 0, plain
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 't.seep', '--', program, way], env=environment(LD_LIBRARY_PATH=runtime))
    assert (done.code, done.out, done.err) == (0, plain.out, plain.err), done
    (process, *_) = report(tmp_path / 't.seep')
    assert process['health']['lost'] == ({'passive': 1} if way == 'image-covered-by-calls' else {}), process['health']


@pytest.mark.parametrize('source, expected', cases())
def test_program(source, expected, oracle, runtime, tmp_path):
    program = compile_program(source, tmp_path)
    args = [program, *expected.get('args', [])]
    plain = run(args, cwd=tmp_path, env=environment(LD_LIBRARY_PATH=runtime))
    env = environment(LD_PRELOAD=oracle, LD_LIBRARY_PATH=runtime, SEEP_OUT=f'{tmp_path}/out.%p.seep',
                      SEEP_ORACLE_OUT=f'{tmp_path}/oracle')
    under = run(args, cwd=tmp_path, env=env)
    assert (under.code, under.out, under.err) == (plain.code, plain.out, plain.err)
    end = expected.get('exit', {'code': 0})
    assert exit_status(plain.code) == ended(end), plain
    check(tmp_path, at_least=1)
    processes = by_start([one for path in tmp_path.glob('out.*.seep') for one in report(path)])
    if not processes:
        assert 'signal' in end or expected.get('args') == ['syscall'], 'no trace'
        return
    main, children = processes[0], processes[1:]
    _, marks = expectation(source)
    check_expectation(main, expected, [program.name], marks)
    check_children(children, expected, [program.name], marks)
    for process in processes:
        no_losses(process)
        assert process['health']['stacks_cut'] == 0, process['health']


@pytest.mark.parametrize('name', ['plain', 'threads', 'resize', 'forks'])
def test_run(name, tmp_path):
    """`seep run` as it is: it finds the library by itself, and looks for what is lost at the end."""
    need_library()
    source = SOURCES / f'{name}.c'
    expected, marks = expectation(source)
    program = compile_program(source, tmp_path)
    plain = run([program], cwd=tmp_path)
    done = traced([program], tmp_path)
    assert (done.code, done.out, done.err) == (plain.code, plain.out, plain.err)
    main, *children = done.report()
    check_expectation(main, expected, [program.name], marks)
    check_children(children, expected, [program.name], marks)
    no_losses(main)
    assert main['leaks']['read_bytes'] > 0
    text = run([SEEP, 'report', done.trace]).out.decode()
    assert ('a 32-bit program' in text or children) and 'another machine' not in text
    frames = {f['function'] for site in main['sites'] for f in site['stack']}
    assert {'main', '_start'} <= frames


def stacks(process):
    return {tuple(f['function'] for f in site['stack']) for site in process['sites']}


def test_record(tmp_path):
    need_library()
    expected, _ = expectation(SOURCES / 'plain.c')
    program = compile_program(SOURCES / 'plain.c', tmp_path)
    live = traced([program], tmp_path, options=['--scan=no'])
    done = run([SEEP, 'run', '-q', '--mode', 'record', '-o', tmp_path / 'r.seep', '--', program])
    assert done.code == 0, done
    (recorded,), (counted,) = report(tmp_path / 'r.seep'), live.report()
    assert recorded['totals']['allocations'] == counted['totals']['allocations'] > 0
    assert recorded['totals']['live_bytes'] == counted['totals']['live_bytes']
    assert stacks(recorded) == stacks(counted)


def test_sampled(tmp_path):
    """A hook of 32 bits cannot end with a jump: the first frame is the program's all the same."""
    need_library()
    program = compile_program(SOURCES / 'plain.c', tmp_path)
    each, sampled = (traced([program], tmp_path, options=['--scan=no', *options]).report()[0] for options in ([], ['--sample', '1']))
    assert stacks(sampled) == stacks(each)


def test_a_limit_of_nothing(tmp_path):
    """glibc takes NULL, though its header says that it does not."""
    need_library()
    program = compile_program(ROOT / 'tests/cross/no_limit.c', tmp_path, '-w')
    assert run([program]).code == 0
    assert run([SEEP, 'run', '-q', '-o', tmp_path / 'x.seep', '--', program]).code == 0


def test_attach_refuses_it(tmp_path):
    need_tools()
    program = compile_program(SOURCES / 'plain.c', tmp_path)
    done = run([SEEP, 'attach', '--', program])
    bpf = run([SEEP, 'info']).out.decode()
    if b'BPF' in done.err or 'BPF programs' not in bpf:
        pytest.skip('no BPF here: ' + done.err.decode())
    assert done.code != 0 and b'is a 32-bit program (' in done.err and b'Success' not in done.err, done


def test_without_its_library(tmp_path):
    """A build without the library: the program runs, and one line says why it is not traced."""
    need_tools()
    program = compile_program(SOURCES / 'plain.c', tmp_path)
    (tmp_path / 'alone').mkdir()
    library = Path(shutil.copy(BUILD / 'libseep.so', tmp_path / 'alone'))
    done = traced([program], tmp_path, env=environment(SEEP_LIBRARY=library))
    assert done.code == run([program]).code, done
    (process,) = done.report()
    assert any('is a 32-bit program, for which this build has no libseep.so' in note for note in process['health']['notes'])
    said = run([SEEP, 'info'], env=environment(SEEP_LIBRARY=library)).out.decode()
    assert re.search(r'32-bit programs +left out of this build', said), said


def traced_alone(program, *args, runtime, folder):
    """With the library alone, until it says that it is ready."""
    env = environment(LD_PRELOAD=NARROW, LD_LIBRARY_PATH=runtime, SEEP_OUT=folder / 'left.seep')
    running = subprocess.Popen([program, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    assert running.stdout.readline() == b'ready\n'
    return running


def scanned(pid, *options):
    done = run([SEEP, 'scan', '--json', *options, pid])
    assert done.code == 0, done
    assert Path(f'/proc/{pid}/task/{pid}/children').read_text() == '', 'the copy is there'
    return json.loads(done.out)


def test_a_copy(runtime, tmp_path):
    """`--cow` finds what a scan finds."""
    need_library()
    (tmp_path / 'held.c').write_text(program_source('agent_held.c'))
    program = compile_program(tmp_path / 'held.c', tmp_path, '-fno-builtin', '-fno-inline')
    with traced_alone(program, '7', runtime=runtime, folder=tmp_path) as running:
        for options in ([], ['--cow'], ['--cow'], []):
            process = scanned(running.pid, *options)
            kinds = {kind: process['leaks'][kind]['blocks'] for kind in ('lost', 'indirect', 'possible', 'reachable')}
            assert kinds == {'lost': 7, 'indirect': 0, 'possible': 0, 'reachable': 13}, kinds
        running.stdin.close()
        assert running.wait(60) == 5


@pytest.mark.parametrize('way', range(6))
def test_the_call_that_a_copied_thread_was_in_goes_on(way, runtime, tmp_path):
    """poll, read, nanosleep, sigwaitinfo, epoll_wait, and none."""
    need_library()
    (tmp_path / 'waits.c').write_text(program_source('scan_cow_in_a_call.c'))
    program = compile_program(tmp_path / 'waits.c', tmp_path)
    with traced_alone(program, str(way), runtime=runtime, folder=tmp_path) as running:
        stat = Path(f'/proc/{running.pid}/stat')
        for _ in range(4):
            if way < 5:
                wait_until(lambda: stat.read_text().rsplit(')', 1)[1].split()[0] == 'S', 'it waits')
            scanned(running.pid, '--cow')
        if way < 5:
            wait_until(lambda: stat.read_text().rsplit(')', 1)[1].split()[0] == 'S', 'it waits again')
        if way == 1:
            assert running.communicate(b'x')[0] == b'0\nend\n'
        else:
            running.send_signal(signal.SIGUSR1)
            if way in (0, 2, 4):
                assert running.communicate(b'')[0] == b'signal\n1\nend\n'
            else:
                assert running.stdout.readline() == b'signal\n'
                running.kill()


def test_lost_at_the_end(tmp_path):
    """Found by `seep run` while the program leaves, and by the exit status of `seep check`."""
    need_library()
    (tmp_path / 'held.c').write_text(program_source('agent_held.c'))
    program = compile_program(tmp_path / 'held.c', tmp_path, '-fno-builtin', '-fno-inline')
    done = traced([program, '7'], tmp_path)
    (process,) = done.report()
    kinds = {kind: process['leaks'][kind]['blocks'] for kind in ('lost', 'indirect', 'possible', 'reachable')}
    assert kinds == {'lost': 7, 'indirect': 0, 'possible': 0, 'reachable': 13}, kinds
    assert 'global void *held[0]' in str(process['sites'])
    checked = run([SEEP, 'check', program, '7'], input=b'')
    assert checked.code == 1 and b'7 blocks' in checked.out + checked.err, checked


def corpus_programs():
    programs = [source for source in corpus.PROGRAMS if source.name not in CORPUS_WIDE]
    return [source for source in programs if os.environ.get('SEEP_CORPUS') == 'all' or source.name in CORPUS]


@pytest.mark.parametrize('source', corpus_programs(), ids=lambda source: source.name)
def test_classes(source, runtime, tmp_path):
    """Each block of a parked program has the class that its source says."""
    need_library()
    expected = corpus.Expectation(source)
    program, arguments = corpus.build(source, tmp_path, f'{TRIPLET}-gcc', '-O2')
    test_corpus.check(corpus.scan(SEEP, NARROW, source, program, arguments, tmp_path, LD_LIBRARY_PATH=str(runtime)), expected)


def program_source_file(tmp_path):
    source = tmp_path / 'narrow_bytes.c'
    source.write_text(program_source('narrow_bytes.c'))
    return source


def child_of(pid, name):
    """The process that `seep run` has started, once it runs the program and has been traced."""
    def found():
        return [child for child in Path(f'/proc/{pid}/task/{pid}/children').read_text().split()
                if Path(f'/proc/{child}/comm').read_text().strip() == name[:15] and image_of(pid)]

    wait_until(found, 'the program')
    return found()[0]


def image_of(pid):
    """The memory file that seep holds of its program."""
    for entry in Path(f'/proc/{pid}/fd').iterdir():
        if os.readlink(entry).startswith('/memfd:seep-image'):
            return entry
    return None


def test_no_half_of_a_number(tmp_path):
    """Bytes of a site cross 4 GiB with each fourth block: after no instruction has the number gone back."""
    need_library()
    program = compile_program(program_source_file(tmp_path), tmp_path)
    (tmp_path / 'reader.c').write_text(program_source('narrow_reader.c'))
    reader = tmp_path / 'reader'
    assert run(['cc', '-O2', tmp_path / 'reader.c', '-o', reader]).code == 0
    with subprocess.Popen([SEEP, 'run', '-q', '--scan=no', '-o', tmp_path / 'x.seep', '--', program], stdin=subprocess.PIPE) as running:
        pid = child_of(running.pid, program.name)
        with open(image_of(running.pid), 'rb') as file:
            view = mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ)
        areas_off, nr_areas, area_bytes = struct.unpack_from('<IHH', view, 32)
        areas = {kind: off for off, _, _, kind, _ in (struct.unpack_from('<3Q2I', view, areas_off + i * area_bytes) for i in range(nr_areas))}
        threads, pool = areas[4], areas[7]
        number = struct.Struct('<Q').unpack_from

        def place():
            """The bytes that a site has allocated; None before the program has begun."""
            chunks = number(view, threads + 32)[0]
            counters = chunks and struct.unpack_from('<I', view, pool + 4096 * chunks)[0]
            of_sites = range(pool + 4096 * counters + 2 * 64 + 8, pool + 4096 * counters + 8 * 64, 64)
            return next((off for off in of_sites if counters and number(view, off)[0] > 8 << 30), None)

        wait_until(place, 'the program is at work')
        at = place()
        steps = int(os.environ.get('SEEP_STEPS', '20000'))
        done = run([reader, image_of(running.pid), at, pid, steps], timeout=TIMEOUT + steps / 2000)
        assert done.code == 0, done
        back, grown = map(int, done.out.split())
        assert back == 0, done
        assert grown >= 8 << 30, 'it has hardly run'
        running.stdin.close()
        assert running.wait(60) == 0


def test_library_needs_libc_alone():
    need_library()
    done = subprocess.run(['readelf', '-dW', NARROW], stdout=subprocess.PIPE, check=True)
    assert set(re.findall(rb'\(NEEDED\).*\[(.*)\]', done.stdout)) <= {b'libc.so.6', b'ld-linux.so.2'}
    sections = subprocess.run(['size', NARROW], stdout=subprocess.PIPE, check=True).stdout.split(b'\n')[1].split()
    assert int(sections[0]) + int(sections[1]) < 210 << 10
