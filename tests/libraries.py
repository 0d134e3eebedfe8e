# SPDX-License-Identifier: BSD-2-Clause
"""Shared libraries of this machine that tests trace, compare with or read by."""
import ctypes
import ctypes.util
import functools
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


@functools.cache
def zstd():
    """To find the library starts ldconfig; a recording has hundreds of parts to unpack."""
    found = ctypes.CDLL(ctypes.util.find_library('zstd') or 'libzstd.so.1')
    found.ZSTD_decompress.restype = ctypes.c_size_t
    return found


def unzstd(stored, raw_bytes):
    raw = ctypes.create_string_buffer(max(raw_bytes, 1))
    done = zstd().ZSTD_decompress(raw, ctypes.c_size_t(raw_bytes), stored, ctypes.c_size_t(len(stored)))
    assert done == raw_bytes, (done, raw_bytes)
    return raw.raw[:raw_bytes]
