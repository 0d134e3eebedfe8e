# SPDX-License-Identifier: BSD-2-Clause
"""Addresses in memory that the kernel and the program share."""
import ctypes
import functools
import os

import model

from . import action


@functools.lru_cache(maxsize=None)
def uring_works():
    file = ctypes.CDLL(None).syscall(425, 4, ctypes.create_string_buffer(120))  # io_uring_setup
    if file >= 0:
        os.close(file)
    return file >= 0


@action(weight=2, once=True)
def completion(p):
    """A block whose address is only in a completion of io_uring that the program has not taken yet."""
    if not uring_works():
        return
    name, size = p.name('submits'), p.size()
    make = p.maker(size)
    site = p.site(make.via, name)
    ring = f'u{name}'
    p.declare(f'static struct uring {ring};')
    p.leaf(name, [f'open_uring(&{ring});', f'submit_nothing(&{ring}, clear({make.text}, {size})); {p.mark(site)}'])
    group = p.allocate(site, size, 1, model.held())

    p.free_later('takes', [f'{make.release}(take_completion(&{ring}));'], group, in_child=False)
