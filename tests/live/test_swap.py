# SPDX-License-Identifier: BSD-2-Clause
"""What the kernel has swapped out of an image is not a hole in it: a dump, a child of fork and a mark have all of it."""
import contextlib
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from harness import BUILD, LIBSEEP, SEEP, environment, no_losses, plain_name, report

COVERS = [('swapped memory', 'covered', 'test_an_image_that_was_swapped_out', 'a dump, a child of fork, marks')]

PROGRAM = BUILD / 'tests/live/live-swapped'


@pytest.fixture(scope='module')
def swap(tmp_path_factory):
    if os.geteuid() != 0:
        pytest.skip('only root can make swap space')
    if len(Path('/proc/swaps').read_text(encoding='ascii').splitlines()) > 1:
        yield
        return
    if not shutil.which('mkswap'):
        pytest.skip('mkswap is not installed')
    file = tmp_path_factory.mktemp('swap') / 'file'
    with file.open('wb') as out:
        os.fchmod(out.fileno(), 0o600)
        for _ in range(64):
            out.write(bytes(1 << 20))
    subprocess.run(['mkswap', file], check=True, stdout=subprocess.DEVNULL)
    on = subprocess.run(['swapon', file], check=False, stderr=subprocess.PIPE, text=True)
    if on.returncode:
        pytest.skip(f'no swap space can be made here: {on.stderr.strip()}')
    yield
    subprocess.run(['swapoff', file], check=True)


@pytest.fixture()
def group():
    """(folder of a memory cgroup, what pages out all that is in it)"""
    for top, name, text in (('/sys/fs/cgroup/memory', 'memory.force_empty', '0'), ('/sys/fs/cgroup', 'memory.reclaim', '1G')):
        folder = Path(top) / f'seep-swap-{os.getpid()}'
        with contextlib.suppress(OSError):
            folder.mkdir()
            if (folder / name).exists():
                yield folder, lambda: (folder / name).write_text(text)
                folder.rmdir()
                return
            folder.rmdir()
    pytest.skip('no memory cgroup can be made here')


def swapped_kib(pid):
    """(in swap, all) of the image of a process."""
    text = Path(f'/proc/{pid}/smaps').read_text(encoding='ascii', errors='replace')
    images = [part for part in re.split(r'\n(?=[0-9a-f]+-)', text) if 'memfd:seep-image' in part.split('\n')[0]]
    return sum(int(re.search(r'^Swap: +(\d+) kB', image, re.M)[1]) for image in images)


@pytest.mark.parametrize('way', ['alone', 'tool'])
def test_an_image_that_was_swapped_out(swap, group, tmp_path, way):
    folder, page_out = group
    command = [PROGRAM] if way == 'alone' else [SEEP, 'run', '-q', '-o', tmp_path / 'x.seep', '--', PROGRAM]
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / '%p.seep') if way == 'alone' else environment()
    with subprocess.Popen([str(c) for c in command], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          preexec_fn=lambda: (folder / 'cgroup.procs').write_text(str(os.getpid()))) as process:
        assert process.stdout.readline() == b'ready\n'
        pids = [int(pid) for pid in (folder / 'cgroup.procs').read_text(encoding='ascii').split()]
        program = next(pid for pid in pids if os.readlink(f'/proc/{pid}/exe') == os.path.realpath(PROGRAM))
        end = time.monotonic() + 10
        while swapped_kib(program) < 1000:
            if time.monotonic() > end:
                process.communicate(b'go\n', timeout=60)
                pytest.skip('the kernel did not page the image out')
            time.sleep(0.1)
            with contextlib.suppress(OSError):  # busy: not all of it could be paged out
                page_out()
        process.communicate(b'go\n', timeout=60)
    assert process.returncode == 0
    processes = [p for file in sorted(tmp_path.glob('*.seep')) for p in report(file)]
    assert len(processes) == 2
    for process in processes:
        no_losses(process)
        made = [s for s in process['sites'] if s['stack'] and plain_name(s['stack'][0]['function']) == 'make']
        inherited = process['totals'].get('inherited_blocks', 0)
        assert sum(s['live_blocks'] for s in made) == 50000 + (7 if inherited else 0), process['totals']
        assert not inherited or inherited >= 50000
        assert [m['name'] for m in process['marks']][:2] == ['made', 'done'] and all(m['counted'] for m in process['marks'])
    assert sum('inherited_blocks' in p['totals'] for p in processes) == 1
