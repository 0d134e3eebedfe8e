# SPDX-License-Identifier: BSD-2-Clause
"""Shared libraries of this machine that tests trace or compare with."""
from pathlib import Path

import pytest

ALLOCATORS = {
    'jemalloc': ('libjemalloc.so.2',),
    'mimalloc': ('libmimalloc.so.3', 'libmimalloc.so.2', 'libmimalloc.so.2.0'),
    'tcmalloc': ('libtcmalloc_minimal.so.4', 'libtcmalloc.so.4'),
}


def library(*names):
    """The path of the first of these shared libraries that is installed; skips the test when there is none."""
    for name in names:
        for folder in ('/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64', '/usr/lib'):
            path = Path(folder) / name
            if path.exists():
                return path
    pytest.skip(f'{names[0]} is not installed')
