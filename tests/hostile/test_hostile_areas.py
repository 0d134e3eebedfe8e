# SPDX-License-Identifier: BSD-2-Clause
"""Allocator lists that form a loop: a scan ends, in little memory."""
import platform
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
from harness import BUILD, LIBSEEP, SEEP, TIMEOUT, environment, most_memory_of  # noqa: E402


@pytest.mark.skipif(platform.architecture()[0] != '64bit', reason='the program makes the lists of 64-bit allocators')
@pytest.mark.parametrize('what', ['heaps', 'groups'])
def test_a_scan_of_lists_without_end(what, tmp_path):
    """Arenas and heaps that follow themselves took 4 GB; 300,000 groups in one place took 46 thousand million steps."""
    program = subprocess.Popen([BUILD / 'tests/hostile/hostile-areas', what, tmp_path / 'libc.so'], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT='/dev/null'))
    try:
        assert program.stdout.readline() == b'ready\n'
        # Without limits the tool would take all memory of the machine, or half a minute.
        assert most_memory_of('prlimit', f'--as={3 << 30}', '--cpu=10', SEEP, 'scan', '--json', program.pid) >> 20 < 500
    finally:
        program.stdin.close()
        assert program.wait(TIMEOUT) == 0
        program.stdout.close()
