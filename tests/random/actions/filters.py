# SPDX-License-Identifier: BSD-2-Clause
"""Filters of system calls: from then on the library makes none, and the process leaves without a scan."""
from . import action


@action(weight=1, once=True)
def allow_all(p):
    if p.life.origin != 'fork':
        return
    p.line('install_filter();')
    p.life.confine()
    p.life.looked_at = False
    p.life.health.add('filter')
