# SPDX-License-Identifier: BSD-2-Clause
"""A look at a process that shares pages with its parent or child gives it no copies of them: process_vm_readv does."""
import json
import re
import subprocess
from pathlib import Path

import pytest

import harness
from harness import LIBSEEP, SEEP, children_of, environment
from small_programs import built_program

SHARED_KIB = {'large': 32 << 10, 'small': 24 << 10}


def shared_kib(pid):
    """Memory that is in the page table of another process, too."""
    text = Path(f'/proc/{pid}/smaps_rollup').read_text()
    return sum(int(kib) for kib in re.findall(r'^Shared_(?:Clean|Dirty): +(\d+) kB', text, re.M))


@pytest.mark.parametrize('which, areas', [('child', 'large'), ('parent', 'large'), ('child', 'small')])
def test_shared_pages_stay_shared(tmp_path, which, areas):
    """Of one large area, and of 2,000 small ones, which are read many at once; every fourth of these is not shared."""
    program = built_program('scan_shared_pages.c', tmp_path)
    with subprocess.Popen([program, *([areas] if areas == 'small' else [])], stdout=subprocess.PIPE, cwd=tmp_path,
                          env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'left.seep')) as process:
        child = int(process.stdout.readline())
        try:
            assert children_of(process.pid) == [child]
            pid = child if which == 'child' else process.pid
            assert shared_kib(pid) >= SHARED_KIB[areas]
            done = harness.run([SEEP, 'scan', '--json', pid])
            assert done.code == 0, done
            leaks = json.loads(done.out)['leaks']
            assert leaks['lost']['bytes'] == (1001 if which == 'child' else 0)
            assert shared_kib(pid) >= SHARED_KIB[areas]
        finally:
            subprocess.run(['kill', '-9', str(child)], check=True)
            process.kill()
