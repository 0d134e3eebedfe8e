# SPDX-License-Identifier: BSD-2-Clause
"""Programs that are rough with their process (hostile.c, one part each): under the tool, and with the library alone, they
print what they print untraced and end alike; and whatever seep could not see is counted."""
import os
import shutil
import subprocess

import pytest
import report_json
from harness import BUILD, LIBSEEP, environment, exit_status, need, plain_name, report, run, traced
from small_programs import built_program

HOSTILE = BUILD / 'tests/live/live-hostile'

# What may be lost in each part; nothing else is.
PARTS = {
    # free_unseen: fork copies page by page, and glibc's fast bins need no lock that fork would hold.
    'mix': {'fork_inexact', 'fork', 'free_unseen'},
    'vfork': set(),
    'clones': {'fork_inexact'},  # a child of a raw clone runs no handler of fork
    'descriptors': {'fork_inexact'},  # its parent goes on meanwhile, and may get no processor for too long
    'standard': set(),
    'timer': {'reentered', 'no_thread'},  # also while the thread is being set up
    'cancel': set(),
    'sizes': set(),
    'crowd': set(),
    'libraries': set(),
    'rights': set(),
    'pointers': set(),
    'shared': set(),
    'limits': {'fork'},
    'bare': set(),
    'ends': set(),
    'generations': {'fork_inexact'},  # as in descriptors: each parent goes on while its child copies
}

COVERS = [
    ('fork while other threads allocate', 'covered', 'test_behaves', 'threads, fork, exec and bare exit_group at once'),
    ('vfork', 'covered', 'test_behaves', 'the child allocates; other threads too'),
    ('raw clone and clone3', 'covered', 'test_behaves', 'CLONE_VM without CLONE_THREAD, both at work; CLONE_INTO_CGROUP'),
    ('all descriptors closed', 'covered', 'test_behaves',
     'files of the program under the numbers of ours: seep neither writes to them nor moves them'),
    ('cancellation', 'covered', 'test_behaves', 'asynchronous'),
    ('thread storms', 'covered', 'test_a_crowd_is_exact', '1,500 threads at the same time'),
    ('dlclose during allocation', 'covered', 'test_behaves', 'libraries come and go 200 times'),
    ('what malloc promises (errno, alignment, zero, overflow)', 'covered', 'test_behaves',
     'PTRDIFF_MAX and more; alignments to 1 GiB'),
    ('RLIMIT_NOFILE', 'covered', 'test_behaves', 'with five other limits at once'),
    ('the exec family', 'covered', 'test_behaves', 'with pointers that are not good: what the kernel says of them'),
    ('the exec family', 'declared', 'test_started_bare', 'without arguments or without an environment'),
    ('_exit', 'covered', 'test_behaves', 'sixty children that are killed, abort, exit or leave by the bare system call'),
    ('signals on alternate stacks', 'covered', 'test_behaves', 'a timer of 10 kHz, six threads, a handler that maps'),
    ("LD_PRELOAD of the user's own", 'covered', 'test_lists_with_spaces_and_colons', 'separated by spaces, colons or both'),
]


@pytest.mark.parametrize('part', PARTS)
def test_behaves(tmp_path, part):
    plain = run([HOSTILE, part], cwd=tmp_path)
    under = traced([HOSTILE, part], tmp_path, cwd=tmp_path)
    assert (under.code, under.out, under.err) == (exit_status(plain.code), plain.out, plain.err), (plain, under)
    for process in under.report():
        lost = {reason for reason, nr in process['health']['lost'].items() if nr}
        assert lost <= PARTS[part], (process['process'], process['health'])
    alone = run([HOSTILE, part], cwd=tmp_path, env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / '%p.alone'))
    assert (alone.code, alone.out, alone.err) == (plain.code, plain.out, plain.err), (plain, alone)


def test_a_crowd_is_exact(tmp_path):
    (process,) = traced([HOSTILE, 'crowd'], tmp_path).report()
    held = [s for s in process['sites'] if s['stack'] and plain_name(s['stack'][0]['function']) == 'hold']
    assert sum(s['allocations'] for s in held) == sum(s['frees'] for s in held) == 1500
    assert sum(s['allocated_bytes'] for s in held) == 150000


def test_started_bare(tmp_path):
    """The environment that a program is given is its own; that such a child was not traced is said."""
    processes = traced([HOSTILE, 'bare'], tmp_path).report()
    untraced = [p for p in processes if any('not traced' in note for note in p['health']['notes'])]
    assert len(untraced) == 3, [p['health'] for p in processes]


@pytest.mark.parametrize('between', [':', ' ', '  ', ' : ', '::'])
def test_lists_with_spaces_and_colons(tmp_path, between):
    """The loader takes both; who began the list with another library still has it in front."""
    other = BUILD / 'tests/live/libcountshim.so'
    env = environment(LD_PRELOAD=between + str(other) + between + 'libm.so.6' + between,
                      COUNT_SHIM_OUT=tmp_path / 'witness')
    under = traced(['/bin/sh', '-c', 'env | grep ^LD_PRELOAD='], tmp_path, env=env)
    assert under.code == 0 and not under.err, under
    value = os.fsdecode(under.out).strip()
    names = value.split('=', 1)[1].replace(':', ' ').split()
    assert [n for n in names if n != os.fsdecode(bytes(LIBSEEP)) and not n.endswith('/libseep.so')] == [str(other), 'libm.so.6']
    assert len(list(tmp_path.glob('witness.*'))) >= 2
    assert all(p['totals']['allocations'] for p in under.report())


def holders(done):
    """Of the processes that ran ls: who holds, in words and figures, the same for each; and how many they are."""
    lists = [[(h['what'], h['retained_bytes']) for h in p['leaks']['holders']] for p in done.report()
             if p['process']['exe'].endswith('/ls')]
    assert all(each == lists[0] for each in lists), lists
    return lists[0], len(lists)


def test_processes_of_one_program_are_told_alike(tmp_path):
    """What is kept from one process for the next, where variables lie, changes nothing: ten processes, each like alone."""
    alone, nr = holders(traced(['/bin/ls', '/dev/null'], tmp_path, name='alone'))
    assert nr == 1 and any(what.startswith('global ') for what, _ in alone), alone
    many, nr = holders(traced(['/bin/sh', '-c', 'for i in 0 1 2 3 4 5 6 7 8 9; do /bin/ls /dev/null; done'], tmp_path, name='many'))
    assert nr == 10 and many == alone


@pytest.mark.parametrize('what', ['threads', 'modules'])
def test_a_parent_that_goes_on_while_it_is_copied(what, tmp_path):
    """strace stops the child between its first look at its parent's image and the copy. What the parent's tables lead to
    by then is more than the child has mapped. The child's copy refers to nothing that is not in it."""
    need('gcc', 'strace')
    program = built_program('fork_amid_the_copy.c', tmp_path)
    folder = tmp_path / ('modules' * 30)  # their paths are long, too
    folder.mkdir()
    library = built_program('fork_amid_the_copy_library.c', tmp_path, '-shared', '-fPIC')
    for i in range(800 if what == 'modules' else 0):
        shutil.copyfile(library, folder / f'{i}.so')
    parent = subprocess.Popen([program, what, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / '%p.alone'))
    assert parent.stdout.readline() == b'ready\n'
    strace = subprocess.Popen(['strace', '-f', '-o', tmp_path / 'calls', '-e', 'trace=memfd_create',
                               '-e', 'inject=memfd_create:signal=SIGSTOP', '-p', str(parent.pid)], stderr=subprocess.PIPE)
    try:
        if b' attached' not in strace.stderr.readline():
            pytest.skip('strace cannot trace here')
        parent.stdin.write(b'\n')
        parent.stdin.flush()
        assert parent.stdout.readline() == b'stopped\n'
        strace.terminate()
        strace.communicate()
        assert parent.communicate(b'\n', timeout=60) == (b'ends with 0\n', None)
        assert parent.returncode == 0
        for trace in tmp_path.glob('*.alone'):
            (process,) = report(trace)
            assert 'image_damaged' not in report_json.codes(process), process['health']
    finally:
        for process in (parent, strace):
            process.kill()
            process.wait()
