# SPDX-License-Identifier: BSD-2-Clause
"""A file system that is full, or becomes so in the middle of a save: every command that writes says so in one line, leaves the
file that was there as it was, and nothing else beside it."""
import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
from harness import BUILD, LIBSEEP, SEEP, TIMEOUT, environment, run  # noqa: E402

TARGET = BUILD / 'tests/hostile/hostile-target'
PROGRAM = ['/bin/sh', '-c', 'for i in 1 2 3 4 5 6 7 8; do :; done']
PAGE = 4096
OLD = b'# seep baseline 1\n' + b'# what was there before\n' * 10  # check --baseline takes no other file
EXPORTS = ['heaptrack', 'pprof', 'folded', 'speedscope', 'massif', 'dhat', 'sqlite', 'otlp', 'callgrind', 'dot', 'csv', 'json']

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason='needs root: to mount')


@pytest.fixture(scope='module')
def small(tmp_path_factory):
    """A mount namespace with a file system of 64 KiB; where it is."""
    libc = ctypes.CDLL(None, use_errno=True)
    folder = tmp_path_factory.mktemp('full') / 'small'
    folder.mkdir()
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', folder], stderr=subprocess.DEVNULL).returncode:
        pytest.skip('no tmpfs can be mounted here')
    yield folder
    libc.umount2(os.fsencode(folder), 2)


@pytest.fixture(scope='module')
def traces(tmp_path_factory):
    folder = tmp_path_factory.mktemp('traces')
    for name, options in (('live', []), ('record', ['--mode', 'record'])):
        done = run([SEEP, 'run', '-q', *options, '-o', folder / name, '--', *PROGRAM])
        assert done.code == 0, done
    done = run([SEEP, 'export', folder / 'record', '--events', 'log', '-o', folder / 'log'])
    assert done.code == 0, done
    return folder


@pytest.fixture(scope='module')
def pid(tmp_path_factory):
    """A traced process."""
    process = subprocess.Popen([TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path_factory.mktemp('out') / 'x'))
    assert process.stdout.readline() == b'ready\n'
    yield process.pid
    process.stdin.close()
    assert process.wait(TIMEOUT) == 0
    process.stdout.close()


def commands(traces, pid, out):
    yield from ([SEEP, *words, '-o', out, *rest] for words, rest in (
        (['run', '-q'], ['--', *PROGRAM]), (['run', '-q', '--mode', 'record'], ['--', *PROGRAM]),
        (['run', '-q', '--mode', 'record', '--keep-last', '1M'], ['--', *PROGRAM]), (['check'], ['--', *PROGRAM]),
        (['snap'], [pid]), (['scan'], [pid]), (['html', traces / 'live'], []), (['shrink', traces / 'record'], []),
        (['import', '--format', 'log', traces / 'log'], []), (['export', traces / 'record', '--events', 'log'], []),
        (['export', traces / 'record', '--events', 'csv'], [])))
    yield [SEEP, 'check', '--baseline', out, '--update-baseline', '--', *PROGRAM]
    for kind in EXPORTS:
        yield [SEEP, 'export', traces / 'live', '--format', kind, '-o', out]


@pytest.mark.parametrize('room', [0, PAGE])
def test_what_was_there_stays(small, traces, pid, room):
    out = small / 'out'
    failed = 0
    for command in commands(traces, pid, out):
        for name in os.listdir(small):
            (small / name).unlink()
        out.write_bytes(OLD)
        with pytest.raises(OSError), open(small / 'fill', 'wb', buffering=0) as fill:
            while fill.write(bytes(PAGE)):
                pass
        os.truncate(small / 'fill', os.path.getsize(small / 'fill') - room)
        done = run(command)
        assert sorted(os.listdir(small)) == ['fill', 'out'], done
        assert done.code in (0, 1), done
        if done.code == 1:
            assert b'No space left on device' in done.err and out.read_bytes() == OLD, done
            failed += 1
        else:
            assert room and out.read_bytes() != OLD, done  # there was enough for it
    assert failed > 2


def test_reports_that_were_cut_are_removed(small):
    """Half a report would be taken for one: what cannot be written whole is not there afterwards."""
    for option in ('--report', '--junit', '--sarif'):
        for name in os.listdir(small):
            (small / name).unlink()
        with pytest.raises(OSError), open(small / 'fill', 'wb', buffering=0) as fill:
            while fill.write(bytes(PAGE)):
                pass
        done = run([SEEP, 'check', option, small / 'out', '--', *PROGRAM])
        assert done.code == 1 and b'No space left on device' in done.err, done
        assert os.listdir(small) == ['fill'], done


def test_the_library_alone_does_no_harm(small):
    """It says nothing into the program's output: nothing is written, and the program does its work."""
    for name in os.listdir(small):
        (small / name).unlink()
    with pytest.raises(OSError), open(small / 'fill', 'wb', buffering=0) as fill:
        while fill.write(bytes(PAGE)):
            pass
    for more in ({'LD_PRELOAD': LIBSEEP}, {'LD_PRELOAD': BUILD / 'libseep-record.so', 'SEEP_MODE': 'record'}):
        done = run(['/bin/sh', '-c', 'echo done; exit 3'], env=environment(SEEP_OUT=small / 'out.%p', **more))
        assert done.code == 3 and done.out == b'done\n' and done.err == b'', done
        print(sorted(os.listdir(small)))
