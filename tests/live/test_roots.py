# SPDX-License-Identifier: BSD-2-Clause
"""One libseep.so for all: it traces programs in the roots of other releases of Debian, older and newer, and of musl.

The roots are those of `make roots` (tools/fresh.sh), as they are; what a test writes goes over them."""
import os
import shutil
from pathlib import Path

import pytest
from harness import LIBSEEP, SEEP, environment, need, no_losses, report, run

COVERS = [
    ('other releases of the C library', 'covered', 'test_exact_counts', 'glibc 2.31 to 2.43: with roots of Debian 11 to the next'),
    ('other releases of the C library', 'declared', 'test_a_library_that_is_too_old', 'older than 2.16: runs untraced, and the report says why'),
]

CACHE = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'seep/roots'
ARGUMENTS = ['-g', '-O1', '-fno-builtin', '-w', '-fasynchronous-unwind-tables', Path(__file__).with_name('any_root.c'), '-o']
# Over the root; then the folder of the test at its own place, so that files have the same names inside and outside.
ENTER = '''set -e
mount --make-rprivate /
root=$2/merged
mount -t overlay -o "lowerdir=$1,upperdir=$2/up,workdir=$2/work" overlay "$root"
mkdir -p "$root$2/in" "$root/proc"
mount --bind "$2/in" "$root$2/in"
mount -t proc proc "$root/proc"
shift 2
exec chroot "$root" "$@"
'''


def musl_root(tmp_path):
    need('musl-gcc')
    loader = next(iter(Path('/lib').glob('ld-musl-*.so.1')))
    (tmp_path / 'musl/lib').mkdir(parents=True)
    shutil.copy(os.path.realpath(loader), tmp_path / 'musl/lib' / loader.name)
    return tmp_path / 'musl'


@pytest.fixture(params=['bullseye', 'bookworm', 'trixie', 'forky', 'musl'])
def inside(request, tmp_path):
    """inside(*command): runs it in the root; the program is tmp_path/in/any_root."""
    if os.getuid():
        pytest.skip('only root enters another root')
    for name in ('in', 'up', 'work', 'merged'):
        (tmp_path / name).mkdir()
    shutil.copy(LIBSEEP, tmp_path / 'in')
    if request.param == 'musl':
        root = musl_root(tmp_path)
        done = run(['musl-gcc', '-Wl,--eh-frame-hdr', *ARGUMENTS, tmp_path / 'in/any_root'])
    else:
        root = CACHE / request.param
        if not root.is_dir():
            pytest.skip(f'no root of {request.param} here: make roots makes it')
        done = run(['gcc', '-nostartfiles', '-fPIE', '-pie', *ARGUMENTS, tmp_path / 'in/any_root'])
    assert done.code == 0, done

    def inside(*command, **variables):
        settings = [f'{name}={value}' for name, value in variables.items()]
        return run(['unshare', '--mount', 'sh', '-c', ENTER, 'enter', root, tmp_path, *command], env=environment(**variables))

    done = inside(tmp_path / 'in/any_root')
    if done.code == 32:
        pytest.skip(f'no overlay here: {done.err}')
    assert done.code == 7 and not done.err, done
    inside.release = request.param
    return inside


def check(process, release):
    no_losses(process)

    def figures(function, **wanted):
        sites = [site for site in process['sites'] if any(frame['function'] == function for frame in site['stack'])
                 and all(site[key] == value for key, value in wanted.items())]
        return tuple(sum(site[key] for site in sites) for key in ('allocations', 'frees', 'live_bytes'))

    assert figures('leak') == (17, 0, 1490)
    assert figures('deep') == (7, 0, 490)
    assert figures('churn', via='calloc') == figures('churn', via='realloc') == (2000, 2000, 0)
    assert figures('compare')[0] == figures('compare')[1] > 63
    assert not any(frame['module'] is None or 'jit' in str(frame['module']) for site in process['sites'] for frame in site['stack'])
    for site in process['sites']:
        names = [frame['function'] for frame in site['stack']]
        # What musl calls back through its own code, which has no call-frame information, is cut, and says so.
        whole = release != 'musl' or 'compare' not in names
        assert names.count('deep') in (0, 21) and whole == ('main' in names) == (not site['cut']), site


def test_exact_counts(inside, tmp_path):
    trace = tmp_path / 'in/alone.seep'
    done = inside(tmp_path / 'in/any_root', LD_PRELOAD=tmp_path / 'in/libseep.so', SEEP_OUT=trace)
    assert done.code == 7 and not done.err and not done.out, done
    [process] = report(trace)
    check(process, inside.release)


def test_a_library_that_is_too_old(tmp_path):
    """The loader would end the program over the library's need: it runs without it, and the report says why."""
    need('gcc')
    image = LIBSEEP.read_bytes()
    assert image.count(b'\0GLIBC_2.16\0') == 1
    # A library that needs a version which no C library has: as if all were too old.
    (tmp_path / 'libseep.so').write_bytes(image.replace(b'\0GLIBC_2.16\0', b'\0GLIBC_9.16\0'))
    done = run(['gcc', '-nostartfiles', '-fPIE', '-pie', *ARGUMENTS, tmp_path / 'program'])
    assert done.code == 0, done
    trace = tmp_path / 'trace.seep'
    done = run([SEEP, 'run', '-o', trace, tmp_path / 'program'], env=environment(SEEP_LIBRARY=tmp_path / 'libseep.so'))
    assert done.code == 7, done
    assert b'without GLIBC_9.16, which libseep.so needs' in done.out + done.err, done
    assert b'libc.so.6' in done.out + done.err and b'not found' not in done.err, done
