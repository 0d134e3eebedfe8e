# SPDX-License-Identifier: BSD-2-Clause
"""Programs that confine themselves, or are confined: limits, locked memory, closed descriptors, chroot, dropped rights,
namespaces, filters of system calls, full file systems, little memory. They run as before; what seep sees is exact, and
what it cannot see is counted and said."""
import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
import messages
import report_json
from harness import BUILD, LIBSEEP, SEEP, environment, exit_status, in_mount_namespace, need, report, root_only, run, wait_until
from memory_group import small_memory_group
from small_programs import FOLDER as SMALL_PROGRAMS, built_program, program_source

COVERS = [
    ('all descriptors closed', 'covered', 'test_the_program_confines_itself', ''),
    ('chroot', 'covered', 'test_the_program_confines_itself', ''),
    ('chroot', 'declared', 'test_the_program_confines_itself',
     'children of fork from then on cannot reach the tool: counted (fork)'),
    ('dropped privileges', 'covered', 'test_the_program_confines_itself', ''),
    ('dropped privileges', 'covered', 'test_daemon_that_drops_its_rights', 'started by root: it and its children are looked at'),
    ('chroot', 'declared', 'test_what_is_executed_out_of_reach', 'a program that comes by exec from then on: counted (exec)'),
    ('RLIMIT_NOFILE', 'declared', 'test_what_is_executed_out_of_reach',
     'no free descriptor: a program that comes by exec is counted (exec)'),
    ('dropped privileges', 'declared', 'test_what_is_executed_out_of_reach',
     'a program that comes by exec from then on: told, where it is static or cannot read libseep.so'),
    ('namespaces', 'covered', 'test_namespaces', ''),
    ('seccomp filters', 'declared', 'test_a_filter_that_kills_is_inherited',
     'a program that comes by exec under a filter that kills is not traced: counted (exec)'),
    ('RLIMIT_AS', 'covered', 'test_address_space_limited_before_the_start', ''),
    ('RLIMIT_AS', 'declared', 'test_little_address_space',
     'where image and program do not both fit, the image stops growing: counted'),
    ('RLIMIT_AS', 'declared', 'test_address_space_of_the_program_only',
     'so little that the program has less than 8 MiB beside the image, set by a program of one thread: the image goes'),
    ('RLIMIT_FSIZE', 'covered', 'test_the_program_confines_itself', ''),
    ('RLIMIT_FSIZE', 'declared', 'test_the_program_confines_itself',
     'children of fork can have no image: counted (fork)'),
    ('RLIMIT_NOFILE', 'covered', 'test_the_program_confines_itself', ''),
    ('RLIMIT_NOFILE', 'declared', 'test_the_program_confines_itself',
     'children of fork can have no image: counted (fork)'),
    ('RLIMIT_MEMLOCK', 'covered', 'test_the_program_confines_itself', ''),
    ('vm.overcommit_memory=2', 'covered', 'test_strict_memory_accounting', ''),
    ('a small cgroup', 'covered', 'test_small_memory_group', ''),
    ('a full /dev/shm', 'covered', 'test_full_shared_memory_file_system', 'the image is no file of it'),
    ('memory file full or cannot grow', 'declared', 'test_little_address_space', 'counted by reason'),
    ('seccomp filters', 'covered', 'test_the_tool_is_in_the_same_sandbox', 'one that the tool is under, too, or a whole container'),
]

PROGRAM = BUILD / 'tests/live/live-confined'

# What is lost on the way, if anything: (losses of the process itself, whether the child of fork has a report).
WHOLE = ({}, True)
CHILD_UNSEEN = ({'fork': 1}, False)
CASES = {
    'none': WHOLE,
    'memlock': WHOLE,  # of another user than the tool
    'memlock-small': WHOLE,
    'mlock-on-fault': WHOLE,
    'as': WHOLE,
    'as-by-syscall': WHOLE,
    'as-by-another': WHOLE,
    'as-own-size': WHOLE,
    'fsize': CHILD_UNSEEN,
    'nofile': CHILD_UNSEEN,
    'data': WHOLE,
    'close': WHOLE,
    'chroot': CHILD_UNSEEN,
    'drop': WHOLE,
    'user-namespace': WHOLE,
    'filter': CHILD_UNSEEN,
    'filter-by-syscall': CHILD_UNSEEN,
}


def both(folder, args, *, prefix=()):
    """The program untraced and under seep, each in a folder of its own; status and output are the same."""
    done = []
    trace = folder / 'trace.seep'
    for name, tool in (('plain', []), ('under', [SEEP, 'run', '-q', '-o', trace, '--'])):
        (folder / name).mkdir()
        done.append(run([*prefix, *tool, PROGRAM, *args], cwd=folder / name))
    plain, under = done
    assert exit_status(plain.code) == exit_status(under.code), (plain, under)
    assert (plain.out, plain.err) == (under.out, under.err), (plain, under)
    return plain, trace


def figures(process, function):
    sites = [s for s in process['sites'] if s['stack'] and s['stack'][0]['function'] == function]
    return tuple(sum(s[k] for s in sites) for k in ('allocations', 'live_blocks', 'live_bytes'))


def check_counts(process, *, thread=True):
    assert figures(process, 'before') == (100, 40, 2000)
    assert figures(process, 'after') == (1000, 300, 210_000)
    if thread:
        assert figures(process, 'in_thread') == (200, 0, 0)


@pytest.mark.parametrize('case', CASES)
def test_the_program_confines_itself(case, tmp_path):
    if case not in ('none', 'as', 'as-by-syscall', 'as-by-another', 'as-own-size', 'fsize', 'nofile', 'data', 'close', 'filter', 'filter-by-syscall'):
        root_only()
    lost, child_seen = CASES[case]
    plain, trace = both(tmp_path, [case])
    assert plain.code == 6 and b'child: ended with 3' in plain.out, plain
    processes = report(trace)
    process = processes[0]
    assert {k: v for k, v in process['health']['lost'].items() if v} == lost
    # Who limits address space is told what seep takes of it.
    notes = [n for n in process['health']['notes'] if n.code == 'address_limit' and ' seep takes ' in n]
    assert len(notes) == (case in ('as', 'as-by-syscall', 'as-own-size')), process['health']['notes']
    check_counts(process, thread=b'thread: yes' in plain.out)
    assert len(processes) == (2 if child_seen else 1)
    if child_seen:
        # What was live at the fork, without the two that the child freed, and what it made itself.
        child = processes[1]
        lost = {k: v for k, v in child['health']['lost'].items() if v}
        # Where all memory is locked there is no room for what the parent does meanwhile: said, and counted.
        assert lost == ({'fork_inexact': 1} if case == 'memlock' else {}), child['health']
        assert figures(child, 'before') == (40, 39, 1950)
        assert figures(child, 'after') == (1300, 599, 419_300)


def test_a_child_limits_itself_before_it_allocates(tmp_path):
    """It has inherited nothing of its parent's that a limit counts, and the image of its own has room."""
    plain, trace = both(tmp_path, ['child-limits-itself'])
    assert plain.code == 6, plain
    alone = run([PROGRAM, 'child-limits-itself'], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT='/dev/null'))
    assert (alone.code, alone.err) == (6, b''), alone
    parent, child = report(trace)
    assert (parent['health']['lost'], child['health']['lost']) == ({}, {})
    assert figures(child, 'before') == (40, 40, 2000) and figures(child, 'after') == (1000, 300, 210_000)
    assert 'address_limit' in report_json.codes(child), child['health']


def test_a_child_limits_itself_before_its_threads_allocate(tmp_path):
    """Its image is made for the limit. The thread that made it keeps its own memory of before the fork: the next thread took it,
    and of what both did calls were lost and blocks freed twice."""
    plain, trace = both(tmp_path, ['child-limits-itself-with-threads'])
    assert plain.code == 6, plain
    parent, child = report(trace)
    assert (parent['health']['lost'], child['health']['lost'], child['mismatches']) == ({}, {}, [])
    assert figures(child, 'beside') == (600_000, 0, 0)


@pytest.mark.parametrize('kib, says', [(200_000, b'200000 KiB of address space (ulimit -v)'), (262_144, b'health: complete')])
def test_too_little_address_space_is_named_as_the_reason(kib, says, tmp_path):
    done = run(['sh', '-c', f'ulimit -v {kib}; exec "$@"', 'sh', SEEP, 'run', '-o', tmp_path / 't.seep', '--', 'sh', '-c', 'exit 5'])
    assert done.code == 5 and says in done.err, done


def test_little_address_space(tmp_path):
    """So little that the image and the program do not both fit in for ever: what is lost is losses, not the program."""
    plain, trace = both(tmp_path, ['as-small', 'no-fork'])
    assert plain.code == 6 and b'20 MiB more: yes' in plain.out, plain
    check_counts(report(trace)[0], thread=False)


@pytest.mark.parametrize('mode', ['live', 'count', 'log', 'record'])
def test_address_space_of_the_program_only(mode, tmp_path):
    """A limit that leaves the program no room beside the image: the image goes, and the program has all of it."""
    program = built_program('confined_least_space.c', tmp_path, '-O1', '-fno-builtin')
    trace = tmp_path / 't.seep'
    log = ['--log', tmp_path / 'log'] if mode == 'log' else []
    for command in ([program], [SEEP, 'run', '-q', '--mode', mode, *log, '-o', trace, '--', program]):
        done = run(command)
        assert (done.code, done.out, done.err) == (0, b'16 MiB\n', b''), (command, done)
    process = report_json.spread(json.loads(run([SEEP, 'report', '--json', trace]).out))
    assert (process['totals']['allocations'], process['health']['complete']) == (100, False), process['totals']
    codes = report_json.codes(process)
    assert 'gave_up' in codes and 'address_limit' not in codes and 'scan_no_exit' not in codes  # it calls exit()


@pytest.mark.parametrize('kib', [10_000, 30_000, 50_000])
@pytest.mark.parametrize('shell', ['sh', 'bash'])
@pytest.mark.parametrize('script', ['ulimit -v KIB; x=$(seq 1 30000); echo ${#x}', '(ulimit -v KIB; x=$(seq 1 30000); echo ${#x}); echo'])
def test_a_shell_that_limits_its_address_space(script, shell, kib, tmp_path):
    """The shell limits itself, or a forked child limits itself before its first allocation."""
    need(shell, 'seq')
    command = [shell, '-c', script.replace('KIB', str(kib))]
    plain, under = (run([*tool, *command]) for tool in ([], [SEEP, 'run', '-q', '-o', tmp_path / 't.seep', '--']))
    assert (plain.code, plain.err) == (0, b'') and (under.code, under.out, under.err) == (0, plain.out, b''), (plain, under)


@pytest.mark.parametrize('mode', ['live', 'count'])
def test_address_space_limited_by_a_signal_handler(mode, tmp_path):
    """The limit is less than the image takes. The handler may run amid a hook, which goes on in the image afterwards."""
    program = built_program('confined_least_handler.c', tmp_path, '-O1', '-fno-builtin')
    for command in ([program], [SEEP, 'run', '-q', '--mode', mode, '-o', tmp_path / 't.seep', '--', program]):
        done = run(command)
        assert (done.code, done.out, done.err) == (0, b'0 crashed\n', b''), (command, done)


@pytest.mark.parametrize('mode, depth', [('live', 0), ('live', 20_000), ('record', 0)])
def test_address_space_limited_between_two_instructions(mode, depth, tmp_path):
    """A hook may have found that it may begin, and not yet have said that it has begun. Then its frame on the stack shows that it
    is at work, unless the stack is cut."""
    program = built_program('confined_least_stepped.c', tmp_path, '-O1', '-fno-builtin', f'-DDEPTH={depth}')
    # Untraced, a few show that the program by itself does not crash: child n is stepped n times, and a step is dear.
    for command in ([program, 30], [SEEP, 'run', '-q', '--mode', mode, '-o', tmp_path / 't.seep', '--', program, 300]):
        done = run(command)
        assert (done.code, done.out, done.err) == (0, b'0 crashed\n', b''), (command, done)


@pytest.mark.parametrize('mode', ['live', 'count', 'record'])
def test_address_space_limited_by_the_allocator(mode, tmp_path):
    """The allocator sets the limit amid a hook, which goes on in the image afterwards."""
    library = tmp_path / 'liblimits.so'
    library.write_bytes(built_program('confined_least_allocator.c', tmp_path, '-O1', '-fno-builtin', '-shared', '-fPIC').read_bytes())
    program = built_program('confined_least_amid.c', tmp_path, '-O1', '-fno-builtin', '-Wl,--no-as-needed', library)
    for command in ([program], [SEEP, 'run', '-q', '--mode', mode, '-o', tmp_path / 't.seep', '--', program]):
        done = run(command)
        assert (done.code, done.err) == (0, b''), (command, done)


@pytest.mark.parametrize('what', ['unmap', 'protect', 'over', 'lock'])
def test_memory_that_processes_of_a_fork_share(what, tmp_path):
    """That memory is neither unmapped, protected nor locked, as the image is not. Before it is mapped over, recording ends."""
    program = built_program('confined_shared.c', tmp_path, '-O1', '-fno-builtin')
    trace = tmp_path / 't.seep'
    plain, under = (run(command) for command in ([program, what], [SEEP, 'run', '-q', '-o', trace, '--', program, what]))
    children, locked_kib = map(int, plain.out.split())
    children_under, locked_kib_under = map(int, under.out.split() or (0, 0))
    assert (plain.code, under.code, children, children_under) == (0, 0, 2, 2), (plain, under)
    assert locked_kib <= locked_kib_under < locked_kib + 5000  # the library itself is locked, too
    processes = report(trace)
    assert [p['health']['complete'] for p in processes] == ([False, True] if what == 'over' else [True] * 3)
    if what != 'over':
        assert [p['totals']['allocations'] for p in processes[1:]] == [300, 300]


@pytest.mark.parametrize('what', ['unmap', 'protect', 'over'])
def test_a_child_without_an_image_and_memory_of_its_fork(what, tmp_path):
    """That memory is the undo log. The child reads the log when it makes its image and when it ends."""
    program = built_program('confined_shared.c', tmp_path, '-O1', '-fno-builtin')
    trace = tmp_path / 't.seep'
    for command in ([program, what, 'child'], [SEEP, 'run', '-q', '-o', trace, '--', program, what, 'child']):
        done = run(command)
        assert (done.code, done.out.split()[:1], done.err) == (0, [b'2'], b''), (command, done)
    processes = report(trace)
    if what == 'over':
        assert [p['health']['lost'] for p in processes] == [{'fork': 1}, {}], processes
    else:
        assert [p['totals']['allocations'] for p in processes[1:]] == [300, 300], processes


def test_a_child_that_leaves_itself_less_than_the_library_shares_with_it(tmp_path):
    """The undo log takes 7 MiB: it goes before the child's first allocation, and when the child has no image."""
    program = built_program('confined_least_child.c', tmp_path, '-O1', '-fno-builtin')
    trace = tmp_path / 't.seep'
    for command in ([program], [SEEP, 'run', '-q', '-o', trace, '--', program]):
        done = run(command)
        assert (done.code, done.out, done.err) == (6, b'', b''), (command, done)
    (process,) = report(trace)
    assert process['health']['lost'] == {'fork': 1}, process['health']


@pytest.mark.parametrize('kib', [100_000, 300_000, 600_000])
def test_address_space_limited_before_the_start(kib, tmp_path):
    need('sh')
    prefix = ['sh', '-c', f'ulimit -v {kib} && exec "$@"', 'sh'] if kib > 200_000 else []
    if prefix:
        plain, trace = both(tmp_path, ['none'], prefix=prefix)
        assert plain.code == 6, plain
        processes = report(trace)
        check_counts(processes[0])
        assert len(processes) == 2
        assert figures(processes[1], 'before') == (40, 39, 1950)
        return
    # Too little for both: passive from the start, and said.
    plain = run(['sh', '-c', f'ulimit -v {kib} && exec "$@"', 'sh', PROGRAM, 'none'], cwd=tmp_path)
    under = run(
        [SEEP, 'run', '-o', tmp_path / 't.seep', '--', 'sh', '-c', f'ulimit -v {kib} && exec "$@"', 'sh', PROGRAM, 'none'],
        cwd=tmp_path,
    )
    assert (plain.code, plain.out) == (under.code, under.out), (plain, under)


def test_namespaces(tmp_path):
    root_only()
    plain, trace = both(tmp_path, ['namespaces'])
    assert plain.code == 6, plain
    processes = report(trace)
    check_counts(processes[0], thread=False)
    # The child is process 1 of its own namespace.
    assert [figures(p, 'before') for p in processes[1:]] == [(40, 39, 1950)]


def test_strict_system_call_filter(tmp_path):
    plain, trace = both(tmp_path, ['strict'])
    assert plain.code == 5, plain
    process = report(trace)[0]
    assert figures(process, 'before') == (100, 40, 2000)


@pytest.mark.parametrize('case', ['exec-kill-memfd', 'exec-kill-socket', 'exec-kill-acct'])
def test_a_filter_that_kills_is_inherited(case, tmp_path):
    """What it allows cannot be known without trying: the program that comes by exec is not traced, and lives; the report
    says that there was one."""
    plain, trace = both(tmp_path, [case])
    assert plain.code == 6 and b'child: ended with 3' in plain.out, plain
    (process,) = report(trace)
    assert figures(process, 'before') == (100, 40, 2000)
    assert process['health']['lost'] == {'exec': 1} and not process['health']['complete']


def test_the_tool_is_in_the_same_sandbox(tmp_path):
    """What lets the tool live, as in a container, was not made for the program: nothing is missing."""
    plain, trace = both(tmp_path, ['none'], prefix=[PROGRAM, 'launch'])
    assert plain.code == 6, plain
    processes = report(trace)
    assert [p['process']['origin'] for p in processes] == ['start', 'fork']
    assert [p['health']['lost'] for p in processes] == [{}] * 2
    check_counts(processes[0])


def test_the_first_process_is_in_the_same_sandbox(tmp_path):
    """A container without the tool: the library alone goes by the first process, which has the same filter."""
    root_only()
    need('unshare')
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'alone.%e.seep')
    done = run(['unshare', '-p', '-f', '--mount-proc', PROGRAM, 'launch', '/bin/sh', '-c', f'{PROGRAM} none; exit $?'], env=env)
    if b'unshare' in done.err:
        pytest.skip('no process namespaces here')
    assert done.code == 6, done
    check_counts(report(tmp_path / 'alone.live-confined.seep')[0])


def test_small_memory_group(tmp_path):
    """32 MiB for the program and its image: enough, as untraced."""
    root_only()
    group = small_memory_group(32 << 20)
    try:
        prefix = ['sh', '-c', f'echo $$ > {group}/cgroup.procs && exec "$@"', 'sh']
        plain = run([*prefix, PROGRAM, 'none'])
        under = run([SEEP, 'run', '-q', '-o', tmp_path / 't.seep', '--', *prefix, PROGRAM, 'none'])
        assert (plain.code, plain.out) == (under.code, under.out) == (6, plain.out), (plain, under)
        process = [p for p in report(tmp_path / 't.seep') if p['process']['exe'].endswith('live-confined')][0]
        check_counts(process)
    finally:
        group.rmdir()


def test_a_limit_from_the_own_size_after_a_filter(tmp_path):
    """What is reserved before the filter is in the size that the kernel tells, and stays in it: ten MiB are ten MiB."""
    need('gcc')
    (tmp_path / 'size.c').write_text(program_source('confined_own_size.c'))
    assert run(['gcc', '-O1', '-w', tmp_path / 'size.c', '-o', tmp_path / 'size']).code == 0
    plain = run([tmp_path / 'size'])
    under = run([SEEP, 'run', '-q', '-o', tmp_path / 't.seep', '--', tmp_path / 'size'])
    assert plain.code == under.code == 0, (plain, under)
    assert abs(int(plain.out) - int(under.out)) <= 5 and int(plain.out) < 200, (plain, under)


@pytest.mark.parametrize('other_mib', ['0', '400'])
def test_address_space_that_is_full(other_mib, tmp_path):
    """Allocation after allocation for which the image cannot grow, since its share is used up or the limit is reached: it is
    not tried, with system calls, for each of them."""
    need('gcc')
    (tmp_path / 'full.c').write_text(program_source('confined_full.c'))
    assert run(['gcc', '-O1', '-w', '-I', SMALL_PROGRAMS, tmp_path / 'full.c', '-o', tmp_path / 'full']).code == 0
    trace = tmp_path / 't.seep'
    under = run([SEEP, 'run', '-q', '-o', trace, '--', tmp_path / 'full', other_mib])
    assert under.code == 0, under
    blocks, reads = map(int, under.out.split())
    assert blocks > 10_000 and reads < 10_000, under
    (process,) = report(trace)
    assert (process['health']['lost'], process['totals']['live_blocks']) == ({}, 0)
    assert process['totals']['allocations'] >= 3 * blocks


def test_blocks_without_room_cost_no_call_each(tmp_path):
    """Their allocations are counted, their frees are unknown: whether such an address is memory was asked for each."""
    need('gcc', 'strace')
    (tmp_path / 'lost.c').write_text(program_source('confined_lost.c'))
    assert run(['gcc', '-O1', '-w', '-I', SMALL_PROGRAMS, tmp_path / 'lost.c', '-o', tmp_path / 'lost']).code == 0
    trace, calls = tmp_path / 't.seep', tmp_path / 'calls'
    under = run(['strace', '-f', '-o', calls, '-e', 'trace=prlimit64', SEEP, 'run', '-q', '--scan', 'no', '-o', trace, '--',
                 tmp_path / 'lost'])
    assert under.code == 0, under
    (process,) = report(trace)
    assert process['health']['lost']['no_leaf'] > 10_000 and process['totals']['unknown_frees'] > 10_000
    assert calls.read_text().count('prlimit64') < 1000


def test_full_shared_memory_file_system(tmp_path):
    """/dev/shm without a free byte: the image is no file of it."""
    full = 'mount -t tmpfs -o size=64k tmpfs /dev/shm && (cat /dev/zero > /dev/shm/full 2>/dev/null; true)'
    trace = tmp_path / 't.seep'
    done = in_mount_namespace(full, SEEP, 'run', '-q', '-o', trace, '--', PROGRAM, 'none')
    assert done.code == 6, done
    check_counts(report(trace)[0])


def test_strict_memory_accounting(tmp_path):
    """vm.overcommit_memory=2 as the library reads it (the machine's setting is not ours to change): pages are had
    before they are touched, so none can be refused later by a SIGBUS."""
    strict = f'echo 2 > {tmp_path}/two && mount --bind {tmp_path}/two /proc/sys/vm/overcommit_memory'
    trace = tmp_path / 't.seep'
    script = (
        'import ctypes,re\nx = [bytearray(5000) for _ in range(2000)]\n'
        'rss = {}\nname = None\n'
        'for line in open("/proc/self/smaps"):\n'
        '    if re.match("[0-9a-f]+-", line): name = line if "seep-image" in line and " rw-s " in line else None\n'
        '    elif name and line.startswith("Size:"): size = int(line.split()[1])\n'
        '    elif name and line.startswith("Rss:"): rss[name] = (size, int(line.split()[1]))\n'
        'print(len(rss) > 3, all(size == there for size, there in rss.values()), sorted(rss.values()))'
    )
    done = in_mount_namespace(
        strict, 'env', 'PYTHONMALLOC=malloc', SEEP, 'run', '-q', '-o', trace, '--', '/usr/bin/python3', '-S', '-c', script
    )
    assert done.code == 0 and done.out.startswith(b'True True'), done
    assert report(trace)[0]['totals']['allocations'] > 2000


def test_alone_in_a_filter(tmp_path):
    """The library alone may not write a file there: no trace, and no harm."""
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'alone.seep')
    done = run([PROGRAM, 'filter'], env=env)
    assert done.code == 6, done
    assert not list(tmp_path.glob('alone*'))


OUT_OF_REACH = program_source('confined_out_of_reach.c')


@pytest.fixture
def out_of_reach():
    """A static program in a folder that every user can read."""
    root_only()
    need('gcc')
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / 'p.c').write_text(OUT_OF_REACH)
        assert run(['gcc', 'p.c', '-o', 'first'], cwd=folder).code == 0
        assert run(['gcc', '-static', 'p.c', '-o', 'second'], cwd=folder).code == 0
        yield folder


@pytest.mark.parametrize('how', ['chroot', 'user', 'descriptors'])
def test_what_is_executed_out_of_reach(how, out_of_reach):
    """The program goes on where nobody can tell the tool: the report must not say that it has seen all."""
    second = '/second' if how == 'chroot' else out_of_reach / 'second'
    for program, code, lost in ((second, 6, {} if how == 'user' else {'exec': 1}), ('/none', 7, {})):
        trace = out_of_reach / f'{code}.seep'
        done = run([SEEP, 'run', '-q', '-o', trace, '--', out_of_reach / 'first', how, program], cwd=out_of_reach)
        assert exit_status(done.code) == code, done
        process, *others = report(trace)
        if how == 'user' and code == 6:  # it has told
            process, (before,) = others[0] if others[0]['health']['notes'] else process, others
            notes = [note for p in (process, before) for note in p['health']['notes']]
            assert any(note.startswith('not traced: ') for note in notes), notes
            continue
        health = process['health']
        assert not others and health['lost'] == lost and health['complete'] == (not lost), health
        codes = report_json.codes(process)
        assert 'scan_no_exit' not in codes and ('scan_unreachable' not in codes or code == 7), health


@pytest.mark.parametrize('mode', [0o4755, 0o2755], ids=['user', 'group'])
def test_rights_that_a_file_raises_for_another_user(mode, out_of_reach):
    """Root has these rights already: what the file changes is asked for the user who executes it."""
    need('setpriv')
    os.chmod(out_of_reach / 'first', mode)
    trace = out_of_reach / 't.seep'
    done = run([SEEP, 'run', '-q', '-o', trace, '--', 'setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups',
                out_of_reach / 'first', 'end'], cwd=out_of_reach)
    assert exit_status(done.code) == 6, done
    noted = [found for process in report(trace) for found in report_json.codes(process)]
    assert 'cannot_preload' in noted and 'other_user' not in noted, noted


def test_another_user_who_can_still_tell(out_of_reach):
    """setpriv keeps rights until its exec: the tool is told of the program by name."""
    need('setpriv')
    trace = out_of_reach / 't.seep'
    done = run([SEEP, 'run', '-q', '-o', trace, '--', 'setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups',
                out_of_reach / 'second', 'end'], cwd=out_of_reach)
    assert exit_status(done.code) == 6, done
    notes = [note for process in report(trace) for note in process['health']['notes']]
    assert any(note.startswith('not traced: ') and str(out_of_reach / 'second') in note for note in notes), notes
    assert not any('refused' in note for note in notes), notes


DROPS = BUILD / 'tests/live/live-drops-rights'


@pytest.fixture
def for_every_user():
    """A folder that every user can reach, for the tool's socket."""
    root_only()
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_daemon_that_drops_its_rights(for_every_user):
    """It, a child that it forks as the other user, and a child that speaks first when its parents are gone, are looked at
    when they leave."""
    trace = for_every_user / 'd.seep'
    env = environment(TMPDIR=for_every_user)
    assert run([DROPS]).code == 0
    done = run([SEEP, 'run', '-q', '-o', trace, '--', DROPS], env=env)
    assert done.code == 0, done
    processes = report(trace)
    assert sorted(p['leaks']['lost']['bytes'] for p in processes) == [77, 77 + 88, 77 + 99], [p['leaks'] for p in processes]
    for process in processes:
        assert process['health']['complete'] and 'not looked at' not in str(process['health']['notes']), process['health']


STRANGER = """
import os, socket, sys
os.setgid(65534), os.setuid(65534)
path = sys.argv[1]
peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
peer.connect(path)
print(len(peer.recv(1)))
"""


def test_strangers_at_the_socket_are_refused(for_every_user):
    """Who is no process of the run and of another user is let go at once; that the socket was tried is said."""
    with subprocess.Popen([SEEP, 'run', '-o', for_every_user / 's.seep', '--', 'cat'], env=environment(TMPDIR=for_every_user),
                          stdin=subprocess.PIPE, stderr=subprocess.PIPE) as tool:
        wait_until(lambda: [p for p in for_every_user.glob('seep-*/*') if p.name != 'socket'], 'the socket')
        folder, = for_every_user.glob('seep-*')
        socket, = folder.iterdir()
        assert socket.name not in Path('/proc/net/unix').read_text() and not folder.stat().st_mode & 0o044
        done = run(['/usr/bin/python3', '-c', STRANGER, str(socket)])
        assert (done.code, done.out) == (0, b'0\n'), done
        tool.stdin.close()
        assert tool.wait() == 0
        assert (messages.REFUSED % 1).encode() in tool.stderr.read()


NARROW = program_source('confined_narrow.c')


@pytest.fixture(scope='module')
def narrow(tmp_path_factory):
    need('gcc')
    folder = tmp_path_factory.mktemp('narrow')
    (folder / 'narrow.c').write_text(NARROW)
    assert run(['gcc', '-O1', '-w', '-pthread', folder / 'narrow.c', '-o', folder / 'narrow']).code == 0
    return folder / 'narrow'


@pytest.mark.parametrize('sample', [None, '65536'])
@pytest.mark.parametrize('words, out', [(['return'], b''), (['exit'], b''), (['_exit'], b''), (['beside', '60'], b'0 ended otherwise\n')])
def test_a_filter_that_kills_for_getpid(words, out, sample, narrow, tmp_path):
    """Also where another thread's attempts to install one fail meanwhile."""
    settings = {'SEEP_SAMPLE': sample} if sample else {}
    done = run([narrow, *words], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT='/dev/null', **settings))
    assert (done.code, done.out, done.err) == (0, out, b''), done
    options = ['--sample', sample] if sample else []
    done = run([SEEP, 'run', '-q', *options, '-o', tmp_path / 'x.seep', narrow, *words])
    assert (done.code, done.out) == (0, out), done


def test_without_seep_that_filter_kills_no_one(narrow):
    assert run([narrow, 'return']).code == run([narrow, 'beside', '3']).code == 0


def test_a_child_that_limits_itself_before_it_allocates(tmp_path):
    """The child's image needs a descriptor, and the kernel applies the limit of file sizes to it. So the image is made
    before the limit is set, but not before a limit that leaves descriptors."""
    need('gcc')
    (tmp_path / 'l.c').write_text(program_source('limit_first.c'))
    assert run(['gcc', '-g', 'l.c', '-o', 'l'], cwd=tmp_path).code == 0
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 'l.seep', tmp_path / 'l'])
    assert done.code == 0, done
    processes = report(tmp_path / 'l.seep')
    assert [process['health']['lost'] for process in processes] == [{}, {}, {}], processes
    assert [process['totals']['allocations'] for process in processes] == [1, 51, 51]
    notes = [[note for note in process['health']['notes'] if 'could not ask' in note] for process in processes]
    assert [len(texts) for texts in notes] == [0, 1, 0] and 'no free descriptor' in notes[1][0], notes


def test_a_limited_child_takes_over_what_its_parent_has_opened_since(tmp_path):
    """The share of the limit that seep takes is no bound for that. Which of the parent's blocks were there is not known."""
    program = built_program('limit_grown.c', tmp_path, '-O1', '-g')
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 'l.seep', program])
    assert done.code == 0, done
    parent, child = report(tmp_path / 'l.seep')
    assert (parent['health']['lost'], set(child['health']['lost'])) == ({}, {'fork_inexact'}), (parent, child)
    assert child['process']['exit']['code'] == 4


def test_children_of_a_limited_child_have_images(tmp_path):
    """A forked child makes one mapping for its own children. A limit on its address space would be too small for it. So
    the child has a mapping for each part of its image before it limits itself."""
    need('bash')
    script = '''seeds() { local n=0; while read -r line; do [[ $line == *r--s*seep-image* ]] && n=$((n + 1)); done; echo $n; }
    (a=$(printf %99s x); seeds < /proc/$BASHPID/maps; ulimit -v 3000000; seeds < /proc/$BASHPID/maps
     (b=$(printf %2000s y); exit 3); exit 2)'''
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 'l.seep', 'bash', '-c', script])
    one, all_parts = map(int, done.out.split())
    assert one == 1 < all_parts, done
    processes = report(tmp_path / 'l.seep')
    assert [process['health']['lost'] for process in processes] == [{}] * len(processes), processes
    assert {2, 3} <= {process['process']['exit']['code'] for process in processes}, processes


@pytest.mark.parametrize('how', ['locked', 'locked by a syscall', 'limited by a syscall'])
def test_the_one_seed_of_a_child_is_spread(how, tmp_path):
    """The mapping that a child has for its own children could map all of its image: hundreds of GiB, which mlockall
    does not lock. Before an address-space limit the parts are mapped one by one."""
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 'l.seep', built_program('confined_locked.c', tmp_path), how])
    assert (done.code, done.err) == (3, b''), done
    if how == 'locked':
        assert int(done.out) < 16_384, done  # KiB of the program alone
    processes = report(tmp_path / 'l.seep')
    assert [process['health']['lost'] for process in processes] == [{}] * 3, processes
    assert [process['process']['exit']['code'] for process in processes] == [3, 3, 3], processes


def test_what_a_child_of_vfork_limits(tmp_path):
    """A child of vfork has its parent's memory, and limits of its own."""
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 'l.seep', built_program('limits_in_vfork.c', tmp_path)])
    assert (done.code, done.err) == (6, b''), done
    [process] = report(tmp_path / 'l.seep')
    assert not [note for note in process['health']['notes'] if 'address space' in note], process['health']  # seldom: others
    assert (process['health']['lost'], process['totals']['live_bytes']) == ({}, 300)


@pytest.mark.parametrize('mode', ['live', 'record'])
def test_filters_of_children_of_vfork(tmp_path, mode):
    """The filters are not the parent's. The parent goes on making calls: its fork has an image, and it is scanned at its exit."""
    done = run([SEEP, 'run', '-q', '--mode', mode, '-o', tmp_path / 'l.seep', built_program('filters_in_vfork.c', tmp_path)])
    assert (done.code, done.err) == (6, b''), done
    processes = report(tmp_path / 'l.seep')
    assert sorted(process['process']['exit']['code'] for process in processes) == [6, 7], processes
    [parent] = [process for process in processes if process['process']['exit']['code'] == 6]
    # Under their filter the programs that the children execute cannot report themselves.
    assert parent['health']['lost'] == {'exec': 2}, parent['health']
    assert not [note for note in parent['health']['notes'] if 'could not ask' in note], parent['health']  # seldom: others
