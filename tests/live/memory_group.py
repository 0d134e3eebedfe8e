# SPDX-License-Identifier: BSD-2-Clause
"""A control group with little memory."""
import os
from pathlib import Path

import pytest


def small_memory_group(limit_bytes):
    """Files of a memory cgroup of this size; skips where none can be made."""
    for top, name in (('/sys/fs/cgroup/memory', 'memory.limit_in_bytes'), ('/sys/fs/cgroup', 'memory.max')):
        group = Path(top) / f'seep-test-{os.getpid()}'
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / name).write_text(str(limit_bytes))
            return group
        except OSError:
            group.rmdir()
    pytest.skip('no memory cgroup can be made here')
