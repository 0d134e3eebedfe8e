# SPDX-License-Identifier: BSD-2-Clause
"""Builds of the library for other CPUs."""
import fcntl
import os

from harness import BUILD, ROOT, run


def cross_build(name, machine, *options, targets=()):
    """The build directory cross-`name` beside the others, by tools/cross/`machine`.ini, made once by whichever worker comes
    first; `targets`: no more than them."""
    directory = BUILD / f'cross-{name}'
    with open(f'{directory}.lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (directory / 'build.ninja').exists():
            done = run(['meson', 'setup', directory, '--cross-file', ROOT / f'tools/cross/{machine}.ini', '-Dtool=false',
                        '-Dwerror=true', '-Ddebug=false', *options], cwd=ROOT, timeout=600, env=dict(os.environ))
            assert done.code == 0, done
        done = run(['ninja', '-C', directory, *targets], timeout=900, env=dict(os.environ))
        assert done.code == 0, done
    return directory
