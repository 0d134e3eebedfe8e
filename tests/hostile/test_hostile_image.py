# SPDX-License-Identifier: BSD-2-Clause
"""What only looks like the image of a process: a file that is mounted where its path is that of a memory file."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
from harness import BUILD, SEEP, TIMEOUT, children_of, environment, run  # noqa: E402

TARGET = BUILD / 'tests/hostile/hostile-target'
NAME = 'memfd:seep-image (deleted)'

# In a mount namespace of its own, and mounted no more: a file system whose only file has the name, and the content of an image that says it
# is of this process. It may only be read there. Says its pid, and leaves when its input ends.
IMPOSTOR = '''
import mmap, os, struct, subprocess, sys
where, image, old = sys.argv[1], sys.argv[2], int(sys.argv[3])
path = os.path.join(where, %r)
subprocess.run(['cp', '--sparse=always', image, path], check=True)
with open(path, 'r+b') as file:
    head = file.read(4096)
    at = head.index(struct.pack('<I', old))
    file.seek(at)
    file.write(struct.pack('<I', os.getpid()))
file = os.open(path, os.O_RDONLY)
memory = mmap.mmap(file, 0, mmap.MAP_SHARED, mmap.PROT_READ)
before = os.fstat(file).st_mtime_ns
subprocess.run(['umount', '-l', where], check=True)  # then its path begins where it was mounted
print(os.getpid(), flush=True)
sys.stdin.read()
print(os.fstat(file).st_mtime_ns == before, flush=True)
''' % NAME


def image_of(pid, path):
    """A copy of the image of a traced process, as far as it has data."""
    for line in open('/proc/%d/maps' % pid):
        if 'memfd:seep-image' in line and line.split()[2] == '00000000':
            area = line.split()[0]
            with open('/proc/%d/map_files/%s' % (pid, area), 'rb') as image, open(path, 'wb') as copy:
                size = os.fstat(image.fileno()).st_size
                at = 0
                while at < size:
                    try:
                        at = os.lseek(image.fileno(), at, os.SEEK_DATA)
                    except OSError:
                        break
                    end = os.lseek(image.fileno(), at, os.SEEK_HOLE)
                    os.pwrite(copy.fileno(), os.pread(image.fileno(), end - at, at), at)
                    at = end
            return size
    raise AssertionError('no image in %d' % pid)


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root: to mount, and to be able to do harm')
def test_a_mark_goes_into_memory_files_only(tmp_path):
    traced = subprocess.Popen([SEEP, 'run', '-q', '-o', tmp_path / 'x.seep', '--', TARGET], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, env=environment())
    assert traced.stdout.readline() == b'ready\n'
    (program,) = children_of(traced.pid)
    image_of(program, tmp_path / 'image')
    marked = run([SEEP, 'mark', program, 'honest'])
    assert marked.code == 0, marked
    traced.stdin.close()
    assert traced.wait(TIMEOUT) == 0
    traced.stdout.close()

    where = tmp_path / 'mount'
    where.mkdir()
    script = 'mount -t tmpfs none "$1" && exec "$0" -c "$2" "$1" "$3" "$4"'
    impostor = subprocess.Popen(['unshare', '-m', 'sh', '-c', script, sys.executable, where, IMPOSTOR, tmp_path / 'image',
                                 str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
    # "$0" is what follows the script: the interpreter.
    pid = int(impostor.stdout.readline())
    maps = Path('/proc/%d/maps' % pid).read_text()
    assert ' /memfd:seep-image (deleted)' in maps, maps
    done = run([SEEP, 'mark', pid, 'mischief'])
    changed = impostor.communicate(timeout=TIMEOUT)[0]
    assert changed == b'True\n', (changed, done)
    assert done.code == 1 and done.err, done
    shutil.rmtree(where, ignore_errors=True)
