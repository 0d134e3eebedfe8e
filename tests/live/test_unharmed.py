# SPDX-License-Identifier: BSD-2-Clause
"""Programs at odd moments do what they do untraced, and their reports are whole: memory beyond what was asked for, an
abort() that is not the end, small stacks, exec with bad pointers, children that have not allocated yet, a counter that
may not be read, an error output that takes nothing, sizes that no memory has."""
import os
import platform
import subprocess

import pytest
from harness import BUILD, LIBSEEP, SEEP, environment, need, report, run
from small_programs import FOLDER, program_source
from stack_use import MOST_BYTES


@pytest.fixture(scope='module')
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp('unharmed')
    for name in ('usable', 'abort', 'stack', 'environ', 'child', 'counter', 'handler', 'huge', 'corners'):
        subprocess.run(['cc', '-g', '-O0', '-D_GNU_SOURCE', '-pthread', '-I', FOLDER, '-o', folder / name, '-xc', '-'], check=True,
                       text=True, input=program_source(f'unharmed_{name}.c'))
    return folder


@pytest.mark.parametrize('options', [(), ('--sample', '100'), ('--mode', 'record')], ids=lambda options: options[-1:])
def test_what_a_block_can_hold_stays_when_memory_is_wiped(options, programs, tmp_path):
    wiped = () if 'record' in options else ('--wipe-freed', 'yes')
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 'w.seep', *wiped, *options, '--', programs / 'usable'])
    assert done.code == 0, done


@pytest.mark.parametrize('how', ['free', 'filtered'])
def test_a_huge_block_is_not_touched_when_memory_is_wiped(how, programs, tmp_path):
    """Its pages come when the program uses them, also where the library may not ask which ones are there."""
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 'w.seep', '--wipe-freed', 'yes', '--', programs / 'huge', how])
    assert done.code == 0 and int(done.out) < 1000, done


@pytest.mark.skipif(platform.machine() != 'x86_64', reason='elsewhere the head of a block may be tagged, and is not read')
def test_of_a_block_with_a_mapping_of_its_own_no_page_is_asked_for(programs, tmp_path):
    """Pages that the kernel has zeroed need no wiping. Before, seep made 2,048 calls of mincore for them."""
    need('strace')
    calls = tmp_path / 'calls'
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_WIPE='1', SEEP_OUT='/dev/null')
    done = run(['strace', '-o', calls, '-e', 'trace=mincore,mmap', '-E', f'LD_PRELOAD={LIBSEEP}', programs / 'huge'], env=dict(env, LD_PRELOAD=''))
    assert done.code == 0, done
    lines = calls.read_text().splitlines()
    assert sum('mincore' in line for line in lines) < 5 and any('mmap(NULL, 42949' in line for line in lines), lines[-20:]


@pytest.mark.parametrize('mode', ['live', 'record'])
@pytest.mark.parametrize('how', ['jump', 'leave', 'die'])
def test_a_program_that_goes_on_after_abort(how, mode, programs, tmp_path):
    """What it allocates then is counted, and lost where it is; one that dies was looked at before."""
    trace = tmp_path / 'a.seep'
    done = run([SEEP, 'run', '-q', '-o', trace, '--mode', mode, '--', programs / 'abort', how])
    assert done.code == (134 if how == 'die' else 3), done
    (process,) = report(trace)
    assert process['totals']['live_blocks'] == 1000, process['totals']
    # The last one may still be in a register.
    assert process['leaks']['lost']['blocks'] >= 999, process['leaks']


def test_exec_needs_little_of_a_small_stack(programs, tmp_path):
    """A crash handler starts a debugger from a stack of 8 KiB, of which the kernel takes three."""
    plain = int(run([programs / 'stack']).out)
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 's.seep', '--', programs / 'stack'])
    assert int(done.out) - plain < 4096, (plain, done)


def test_exec_with_an_environment_that_cannot_be_read(programs, tmp_path):
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 'e.seep', '--', programs / 'environ'])
    assert done.code == 0, done


RECORDINGS = BUILD / 'libseep-record.so'
MODES = [(LIBSEEP, 'live'), (RECORDINGS, 'record'), (RECORDINGS, 'count'), (RECORDINGS, 'log')]


def alone(words, folder, library, mode, **settings):
    """By the library without the tool, in one of its modes."""
    env = environment(LD_PRELOAD=library, SEEP_MODE=mode, SEEP_OUT=folder / 'alone', **settings)
    return run(words, env=env, cwd=folder)


@pytest.mark.parametrize('children', ['follow', 'ignore'])
@pytest.mark.parametrize('how', ['abort', 'allocate'])
def test_a_child_that_has_no_image_yet(how, children, programs, tmp_path):
    """Its parent's image is not mapped there: whatever it calls first must not look into it."""
    for library, mode in MODES:
        done = alone([programs / 'child', how], tmp_path, library, mode, SEEP_CHILDREN=children,
                     SEEP_LOG_COLUMNS='time,thread,caller')
        assert (done.code, done.err) == (7, b''), (mode, done)


@pytest.mark.parametrize('library, mode', MODES, ids=[mode for _, mode in MODES])
def test_a_handler_that_allocates_first_needs_little_of_its_stack(library, mode, programs, tmp_path):
    """The hook makes the image of a child, or its log, or takes a slot for a thread, on the handler's stack."""
    for how in ('child', 'thread', 'again'):
        plain = int(run([programs / 'handler', how]).out)
        done = alone([programs / 'handler', how], tmp_path, library, mode)
        assert done.code == 0 and int(done.out) - plain <= MOST_BYTES, (how, plain, done)


@pytest.mark.parametrize('how', ['filters', 'descriptors', 'stacks'])
def test_tight_corners(how, programs, tmp_path):
    """The library writes to no other file than its own, and the program is neither killed nor waits."""
    for library, mode in MODES:
        done = alone([programs / 'corners', how], tmp_path, library, mode)
        assert (done.code, done.err) == (7, b''), (mode, done)
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 'c.seep', '--', programs / 'corners', how], cwd=tmp_path)
    assert (done.code, done.err) == (7, b''), done


@pytest.mark.parametrize('how', ['prctl', 'syscall'])
def test_a_counter_that_may_not_be_read(how, programs, tmp_path):
    """The kernel's own clock in the process reads it, too."""
    if platform.machine() not in ('x86_64', 'i686'):
        pytest.skip('no other processor has a counter that can be forbidden')
    for library, mode in MODES:
        blocks = [500] if mode == 'log' else []  # a system call a line
        done = alone([programs / 'counter', how, *blocks], tmp_path, library, mode)
        assert (done.code, done.err) == (7, b''), (mode, done)


def test_a_complaint_that_no_one_reads(tmp_path):
    """The program is not killed for it, and does not wait."""
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_DEPTH='none', SEEP_OUT=tmp_path / 'alone')
    closed, full = os.pipe(), os.pipe()
    os.close(closed[0])
    os.set_blocking(full[1], False)
    while True:
        try:
            os.write(full[1], bytes(4096))
        except BlockingIOError:
            break
    os.set_blocking(full[1], True)
    for pipe in (closed[1], full[1]):
        done = subprocess.run(['/bin/true'], env=env, stderr=pipe, timeout=60, restore_signals=True)
        assert done.returncode == 0, done
    for descriptor in (closed[1], *full):
        os.close(descriptor)
    assert b'SEEP_DEPTH' in run(['/bin/true'], env=env).err


def test_sizes_that_no_memory_has(tmp_path):
    """What operator new makes of them is its own affair."""
    program = tmp_path / 'sizes'
    subprocess.run(['c++', '-std=c++17', '-w', '-o', program, '-xc++', '-'], check=True, text=True,
                   input=program_source('unharmed_sizes.cpp'))
    traced = run([program], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'alone'))
    assert traced.code == 0 and traced.out == run([program]).out, traced
