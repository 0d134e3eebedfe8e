# SPDX-License-Identifier: BSD-2-Clause
"""A program with a long queue of signals is not stopped for long by a scan: to tell a signal, the kernel walks the queue
from its start."""
import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
from harness import LIBSEEP, SEEP, environment, run, wait_until_idle  # noqa: E402
from small_programs import built_program  # noqa: E402

LOOKED_AT = 8192


@pytest.mark.parametrize('nr', [100, 9000])
def test_a_queue(nr, tmp_path):
    program = subprocess.Popen([built_program('queued_signals.c', tmp_path), str(nr)], cwd=tmp_path, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE,
                               env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'left.seep'))
    try:
        queued = int(program.stdout.readline())  # fewer under a low RLIMIT_SIGPENDING
        wait_until_idle(program.pid)  # within fflush the stack has old words of one block more
        done = run([SEEP, 'scan', '--json', program.pid])
        assert done.code == 0, done
        leaks = json.loads(done.out)['leaks']
        held = sum(holder['retained_blocks'] for holder in leaks['holders'] if 'queued signal' in holder['what'])
        assert min(queued, LOOKED_AT) - held in (0, 1), leaks  # the stack may hold the last
        assert (leaks['unread_bytes'] > 0) == (queued > LOOKED_AT), leaks
    finally:
        program.kill()
        program.communicate()
