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

SHARED_KIB = 32 << 10


def shared_kib(pid):
    """Memory that is in the page table of another process, too."""
    text = Path(f'/proc/{pid}/smaps_rollup').read_text()
    return sum(int(kib) for kib in re.findall(r'^Shared_(?:Clean|Dirty): +(\d+) kB', text, re.M))


@pytest.mark.parametrize('which', ['child', 'parent'])
def test_shared_pages_stay_shared(tmp_path, which):
    program = built_program('scan_shared_pages.c', tmp_path)
    with subprocess.Popen([program], stdout=subprocess.PIPE, cwd=tmp_path,
                          env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'left.seep')) as process:
        child = int(process.stdout.readline())
        try:
            assert children_of(process.pid) == [child]
            pid = child if which == 'child' else process.pid
            assert shared_kib(pid) >= SHARED_KIB
            done = harness.run([SEEP, 'scan', '--json', pid])
            assert done.code == 0, done
            leaks = json.loads(done.out)['leaks']
            assert leaks['lost']['bytes'] == (1001 if which == 'child' else 0)
            assert shared_kib(pid) >= SHARED_KIB
        finally:
            subprocess.run(['kill', '-9', str(child)], check=True)
            process.kill()
