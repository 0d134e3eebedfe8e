# SPDX-License-Identifier: BSD-2-Clause
"""Processes whose root is a stranger's: every name that they have mapped is a pipe there, a device, a link to what only root may
read, a file of a petabyte, or another file at each look. And core files that lie."""
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
from harness import BUILD, LIBSEEP, ROOT, SEEP, TIMEOUT, environment, need, run  # noqa: E402

TARGET = BUILD / 'tests/hostile/hostile-target'
SECRET = b'what only root may read'
LIES = 40


def pipe(path, secret):
    os.mkfifo(path)


def device(path, secret):
    os.mknod(path, 0o20666, os.makedev(1, 5))  # zeros without end


def link(path, secret):
    os.symlink(secret, path)


def link_out(path, secret):
    os.symlink('../' * 40 + str(secret), path)


def petabyte(path, secret):
    with open(path, 'wb') as file:
        file.write(b'\x7fELF\x02\x01\x01')
        try:
            file.truncate(1 << 50)
        except OSError:  # more than this file system has
            file.truncate(1 << 42)


def garbage(path, secret):
    path.write_bytes(b'\x7fELF\x02\x01\x01' + random.Random(1).randbytes(1 << 16))


def changing(path, secret):
    shutil.copy(BUILD / 'libseep.so', path)


def enter(root):
    os.chroot(root)
    os.chdir('/')  # or the library would write its trace into our own folder


@pytest.fixture
def rooted(tmp_path):
    """A process in a root of its own, whose files are as `spoil` makes them once they are mapped."""
    if os.geteuid() != 0:
        pytest.skip('needs root: to change the root of a process')
    root = tmp_path / 'root'
    program = root / 'program'
    (root / 'proc').mkdir(parents=True)
    shutil.copy(TARGET, program)
    shutil.copy(LIBSEEP, root / 'libseep.so')
    needed = [line.split()[-2] if '=>' in line else line.split()[0]
              for line in run(['ldd', TARGET]).out.decode().splitlines() if '/' in line]
    for library in needed:
        (root / library.lstrip('/')).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, root / library.lstrip('/'))
    process = subprocess.Popen(['/program'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=lambda: enter(root),
                               env=environment(LD_PRELOAD='/libseep.so', SEEP_OUT='/dev/null'))
    assert process.stdout.readline() == b'ready\n'
    secret = tmp_path / 'secret'
    secret.write_bytes(SECRET)
    secret.chmod(0o600)

    def spoil(how):
        for name in ['/program', '/libseep.so', *needed]:
            path = root / name.lstrip('/')
            path.unlink()
            how(path, secret)
        return process, root

    yield spoil
    process.stdin.close()
    assert process.wait(TIMEOUT) == 0
    process.stdout.close()


@pytest.fixture
def group():
    """A control group; None where there can be none."""
    mounts = [line.split() for line in Path('/proc/self/mounts').read_text().splitlines()]
    folders = [Path(mount[1]) for mount in mounts if mount[2] == 'cgroup2']
    if not folders:
        yield None
        return
    made = Path(tempfile.mkdtemp(prefix='seep-test-', dir=folders[0]))
    yield made
    for pid in (made / 'cgroup.procs').read_text().split():
        (folders[0] / 'cgroup.procs').write_text(pid)
    made.rmdir()


@pytest.mark.parametrize('how', [pipe, device, link, link_out, petabyte, garbage, changing], ids=lambda how: how.__name__)
def test_a_root_that_lies_costs_names_only(rooted, how, group):
    process, root = rooted(how)
    stop = threading.Event()

    def change():
        random_bytes = random.Random(2)
        while not stop.wait(0.001):
            with open(root / 'program', 'r+b') as file:
                file.truncate(random_bytes.choice([0, 64, 4096, 100000]))
                file.seek(random_bytes.randrange(4096))
                file.write(random_bytes.randbytes(512))

    thread = threading.Thread(target=change)
    if how is changing:
        thread.start()
    try:
        commands = [['report', process.pid], ['scan', process.pid], ['attach', process.pid, '100ms', '2', '-o', '0']]
        if group:
            (group / 'cgroup.procs').write_text(str(process.pid))
            commands.append(['attach', '--cgroup', group, '100ms', '2', '-o', '0'])
        for command in commands:
            done = run([SEEP, *command])
            if command[0] == 'attach' and b'BPF' in done.err:
                continue
            # attach may find nothing to put probes on
            assert done.code == 0 or (command[0] == 'attach' and done.code == 1 and done.err), done
            assert SECRET not in done.out + done.err, done
            if command[0] == 'report':
                assert b'still live' in done.out, done
    finally:
        stop.set()
        if thread.ident:
            thread.join()
    assert process.poll() is None


# ---- core files ----

def test_core_files_that_lie(tmp_path):
    """Numbers of the head, of segments and of notes that are others: a result, or one line that says what is wrong."""
    need('gcore')
    process = subprocess.Popen([TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'trace'))
    assert process.stdout.readline() == b'ready\n'
    done = run([SEEP, 'snap', '-o', tmp_path / 'x.seep', process.pid])
    assert done.code == 0, done
    made = run(['gcore', '-o', tmp_path / 'core', process.pid])
    process.stdin.close()
    assert process.wait(TIMEOUT) == 0
    process.stdout.close()
    core = tmp_path / ('core.%d' % process.pid)
    if not core.exists():
        pytest.skip('gcore made no core file: %r' % made.err[-200:])
    honest = core.read_bytes()
    assert run([SEEP, 'scan', '--trace', tmp_path / 'x.seep', core]).code == 0
    headers, = struct.unpack_from('<Q', honest, 32)
    nr, = struct.unpack_from('<H', honest, 56)
    segments = [struct.unpack_from('<IIQQQQQQ', honest, headers + 56 * i) for i in range(nr)]
    notes = next(segment for segment in segments if segment[0] == 4)
    chance = random.Random(3)
    numbers = [0, 1, 0x7fffffff, 0xffffffff, 1 << 40, 1 << 47, 1 << 63, (1 << 64) - 1]
    for _ in range(LIES):
        lies = bytearray(honest)
        for _ in range(chance.choice([1, 2, 4, 8])):
            place = chance.choice([chance.randrange(8, 64), headers + 56 * chance.randrange(nr) + 8 * chance.randrange(7),
                                   notes[2] + chance.randrange(notes[5]) // 4 * 4])
            number = chance.choice(numbers + [chance.getrandbits(64)] + [chance.choice(segments)[i] for i in (2, 3, 6)])
            lies[place:place + 8] = number.to_bytes(8, 'little')
        core.write_bytes(lies)
        done = run([SEEP, 'scan', '--json', '--trace', tmp_path / 'x.seep', core])
        assert done.code in (0, 1), done
        if done.code:
            assert done.err.count(b'\n') == 1 and done.err.startswith(b'seep: '), done
        else:
            json.loads(done.out)


# ---- the memory file ----

def test_the_image_cannot_be_sealed_and_may_be_cut(tmp_path):
    """Its own process may cut it: it is told so, and dies of it at most itself. No one can seal it under the tool."""
    script = ('import fcntl,os,sys\n'
              'area = next(l.split()[0] for l in open("/proc/self/maps") if "memfd:seep-image" in l and " 00000000 " in l)\n'
              'fd = os.open("/proc/self/map_files/" + area, os.O_RDWR)\n'
              'print(fcntl.fcntl(fd, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SEAL, flush=True)\n'
              'try: fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)\n'
              'except PermissionError: print("refused", flush=True)\n'
              'os.ftruncate(fd, os.fstat(fd).st_size // 4096 // 2 * 4096)\n'
              'print("cut", flush=True)\n'
              'os._exit(0)\n')
    if os.geteuid() != 0:
        pytest.skip('needs root: map_files')
    done = run([SEEP, 'run', '-o', tmp_path / 'x.seep', '--', '/usr/bin/python3', '-c', script])
    assert done.out == b'1\nrefused\ncut\n', done
    assert b'something cut it' in done.err, done


# ---- a trace without end ----

def test_a_trace_without_end_costs_no_memory(tmp_path):
    """A raw image that is said to go on for terabytes, all of it a hole. It is read where its header says that something is: what
    is reported is what the image without the hole has, in the memory for that."""
    seed = min((ROOT / 'tests/fuzz/corpus/image').iterdir())
    trace = tmp_path / 'x'
    trace.write_bytes(seed.read_bytes())
    bounded = ['sh', '-c', 'ulimit -v 4000000; exec "$@"', 'sh', SEEP, 'report', '--json', trace]
    honest = run(bounded)
    assert honest.code == 0 and json.loads(honest.out)['totals']['allocations'] > 0, honest
    os.truncate(trace, 1 << 42)
    done = run(bounded)
    assert (done.code, done.out, done.err) == (0, honest.out, honest.err)
