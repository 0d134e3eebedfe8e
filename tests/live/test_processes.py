# SPDX-License-Identifier: BSD-2-Clause
"""Processes that become more, in every way there is: each child has an image of its own that begins with exactly
the blocks that it inherited, and the parent's is not touched. processes.c has one part for each test."""
import contextlib
import os
import signal
import subprocess
from pathlib import Path

import pytest
from harness import (BUILD, LIBSEEP, SEEP, TIMEOUT, check_sums, children_of, environment, has_ended, in_mount_namespace, need, no_losses, plain_name,
                     report, run, traced, wait_until)
import report_json
from small_programs import built_program

COVERS = [
    ('fork', 'covered', 'test_many_forks_without_waiting',
     "each child an image of its own that begins with its parent's live blocks"),
    ('fork while other threads allocate', 'covered', 'test_fork_while_threads_allocate',
     'what the forking thread holds is exact'),
    ('fork while other threads allocate', 'declared', 'test_fork_while_threads_allocate',
     'what other threads were in the middle of is waited for, or counted'),
    ('raw clone and clone3', 'covered', 'test_raw_clone_with_every_flag', ''),
    ('the exec family', 'covered', 'test_exec_from_a_thread', 'from a thread'),
    ('daemonize', 'covered', 'test_daemon_is_followed_to_its_end', 'followed to its end by default'),
    ('daemonize', 'covered', 'test_daemon_that_serves', 'double fork; its parents are gone'),
    ('--children ignore', 'covered', 'test_ignored_children_make_no_image', ''),
    ('tool killed', 'covered', 'test_what_a_killed_tool_left_is_removed_by_the_next', ''),
    ('daemonize', 'covered', 'test_daemon_by_process', '--by process'),
    ('--children ignore', 'covered', 'test_daemon_of_ignored_children', 'a daemon'),
]

PROGRAM = BUILD / 'tests/live/live-processes'


def live_in(process, function):
    """Live blocks of sites whose innermost frame in the program is this function."""
    total = 0
    for site in process['sites']:
        names = [plain_name(f['function']) for f in site['stack'] if f['module'].endswith(PROGRAM.name)]
        if names and names[0] == function:
            total += site['live_blocks']
    return total


def own_size(process):
    """The size that says which child it is, or None."""
    sizes = [
        site['size_max'] for site in process['sites'] if any(f['function'] == 'own' for f in site['stack'])
    ]
    return sizes[0] if sizes else None


def run_both(*words, tmp_path, options=()):
    """The processes of a traced run that does what the untraced one does."""
    plain = run([PROGRAM, *words])
    under = traced([PROGRAM, *words], tmp_path, options=options)
    assert (under.code, under.out, under.err) == (plain.code, plain.out, plain.err), under
    return under.report()


def test_many_forks_without_waiting(tmp_path):
    """Three hundred children at a time that have no image yet: each has its parent's blocks of its own moment,
    though the parent has freed all of them when it first allocates."""
    main, *children = run_both('pending', 300, tmp_path=tmp_path)
    assert (live_in(main, 'hold'), live_in(main, 'grow')) == (25, 0)
    assert sorted(own_size(c) for c in children) == list(range(1, 301))
    for child in children:
        no_losses(child)
        assert (live_in(child, 'hold'), live_in(child, 'grow')) == (50, own_size(child))


def test_fork_while_threads_allocate(tmp_path):
    """What the forking thread holds is exact in each child; what the others do meanwhile may be noted a little
    late, and then it is said."""
    under = traced([PROGRAM, 'busy', 30], tmp_path)
    assert (under.code, under.out, under.err) == (0, b'', b''), under
    # Not by harness.report: sums need not hold to the last event in a child that says so.
    done = run([SEEP, 'report', '--json', under.trace])
    main, *children = report_json.loads(done.out)['processes']
    for process in (main, *children):
        if not process['health']['lost']:
            check_sums(process)
    assert live_in(main, 'grow') == 30 and live_in(main, 'work') == 0
    assert [own_size(c) for c in children] == list(range(1, 31))
    for child in children:
        assert live_in(child, 'grow') == own_size(child) - 1
        assert set(child['health']['lost']) <= {'fork_inexact'}


@pytest.mark.parametrize('way', ['clone', 'clone3'])
def test_raw_clone_with_every_flag(way, tmp_path):
    """No handler of libc runs in these children. What the parent does before the child's first heap operation
    cannot be told apart: that is counted."""
    plain = run([PROGRAM, way])
    under = traced([PROGRAM, way], tmp_path)
    assert (under.code, under.out, under.err) == (plain.code, plain.out, plain.err), under
    made = [int(n) for n in plain.out.split() if n != b'0']
    assert made[:8] == list(range(1, 9))
    main, *children = under.report()
    assert live_in(main, 'hold') == 20 and live_in(main, 'own') == 0
    assert [own_size(c) for c in children] == made
    for child in children:
        assert (live_in(child, 'hold'), live_in(child, 'own')) == (20, 1)
        assert child['health']['lost'] == {'fork_inexact': 1}


def test_descriptor_that_another_process_takes(tmp_path):
    """A child that has its parent's table of descriptors makes its image, and the parent puts a file of its own in place
    of the image's descriptor: nothing is written to that file, it is not moved, and its descriptor stays open."""
    program = built_program('fork_descriptors.c', tmp_path)
    under = traced([program, 'file'], tmp_path, cwd=tmp_path)
    assert (under.code, under.out, under.err) == (0, b'put\n', b''), under


def test_descriptor_that_another_process_takes_at_any_moment(tmp_path):
    """The same at every system call of the child once its image's file is there: the library sizes and maps no file but its
    own, and a child of that child is as ever."""
    program = built_program('fork_descriptors_stepped.c', tmp_path)
    under = traced([program, 'file'], tmp_path, cwd=tmp_path)
    assert (under.code, under.out, under.err) == (0, b'put\n', b''), under


@pytest.mark.parametrize('mask', [[], ['own'], ['fork'], ['exec'], ['spawn'], ['syscall'], ['clone']], ids=lambda mask: mask[0] if mask else 'kept')
def test_fault_handler_that_leaves_the_making_of_an_image(tmp_path, mask):
    """The handler of a SIGSEGV that comes from outside leaves the making of a child's image by longjmp: the signals that were
    blocked for it are not blocked any more, neither in what it forks or executes, and the report says that a child has no
    image. If the longjmp brings a mask, the program's mask from then on is its own."""
    under = traced([built_program('fork_fault_jump.c', tmp_path), *mask], tmp_path)
    assert (under.code, under.out, under.err) == (0, b'jumped\n', b''), under
    assert under.report()[0]['health']['lost']['fork'] == 1


@pytest.mark.parametrize('mode', ['live', 'record'])
def test_children_beside_a_parent_that_adds_stacks(mode, tmp_path):
    """A child's copy of the image may have more nodes than the parent's table had places at the fork: the child's own table has
    room for all nodes. The copy may also have counters of sites that it lacks: these counters are left out."""
    under = traced([built_program('fork_beside_new_stacks.c', tmp_path)], tmp_path, options=['--mode', mode])
    assert (under.code, under.out, under.err) == (0, b'', b''), under
    processes = under.report()
    assert len(processes) == 9
    for process in processes:
        assert not process['health']['lost'].keys() - {'fork_inexact'}, process['health']
        assert 'image_damaged' not in report_json.codes(process), process['health']


def test_children_of_busy_threads_are_exact(tmp_path):
    """The threads give up turns before the undo log is full. On a busy machine a child may get too few turns."""
    under = traced([built_program('fork_busy.c', tmp_path, '-O1', '-fno-builtin')], tmp_path)
    assert (under.code, under.out, under.err) == (0, b'', b''), under
    processes = under.report()
    inexact = [p for p in processes if p['health']['lost'].get('fork_inexact')]
    assert len(processes) == 21 and len(inexact) <= 8, [p['health'] for p in processes]


def test_fault_handler_that_forks_in_the_making_of_an_image(tmp_path):
    """On a signal stack that the kernel does not tell of, above the stack that was interrupted: it is taken for one that has
    left by longjmp, and comes back. The child has its image, which is not said to be complete."""
    under = traced([built_program('fork_fault_fork.c', tmp_path)], tmp_path)
    assert (under.code, under.out, under.err) == (0, b'interrupted\n', b''), under
    processes = under.report()
    assert processes[0]['health']['lost'] == {'fork': 1}
    (child,) = [one for one in processes[1:] if one['health']['lost']]
    assert child['health']['lost'] == {'passive': 1} and not child['health']['complete']


def test_child_killed_while_it_leaves(tmp_path):
    """The kernel tells it from Linux 6.15 on; an older one leaves what the child said itself."""
    program = built_program('killed_in_exit.c', tmp_path)
    under = traced([program], tmp_path)
    assert (under.code, under.err) == (0, b'killed\nleft\n'), under
    told = tuple(int(part) for part in os.uname().release.split('-')[0].split('.')[:2]) >= (6, 15)
    exits = [process['process']['exit'] for process in under.report()]
    assert exits == [{'code': 0}, {'signal': signal.SIGPIPE} if told else {'code': 1}, {'code': 1}], exits


@pytest.mark.parametrize('how', [[], ['raw']], ids=['fork', 'clone'])
def test_a_new_thread_of_a_child_allocates_first(how, tmp_path):
    """The thread that forked is another one, with a slot of its own: each has what it allocated."""
    trace = tmp_path / 'first.seep'
    run([SEEP, 'run', '-q', '-o', trace, '--', built_program('fork_other_first.c', tmp_path), *how], env=environment())
    child = report(trace, '--by', 'thread')[1]
    assert (child['process']['origin'], child['process']['exit']) == ('fork', {'code': 3})
    pid = child['process']['pid']
    own = [group for group in child['groups'] if f'tid {pid} ' in group['key'] or f'tid {pid})' in group['key']]
    assert [group['size_max'] for group in own] == [2002], child['groups']


def test_fork_that_holds_the_locks_of_the_allocator(tmp_path):
    """As jemalloc's forks do: a thread in realloc waits for such a lock, so the fork does not wait for the thread for long.
    The child is not known exactly then, which its report says. Counted are the fork's naps, of which it made 500."""
    need('gcc', 'strace')
    allocator = tmp_path / 'fork_locked_allocator.so'
    built_program('fork_locked_allocator.c', tmp_path, '-shared', '-fPIC', '-fno-builtin').rename(allocator)
    program = built_program('fork_locked.c', tmp_path, '-Wl,--no-as-needed', allocator)
    under = traced([program], tmp_path)
    assert (under.code, under.out, under.err) == (0, b'', b''), under
    assert [process['health']['lost'] for process in under.report()] == [{}] + 3 * [{'fork_inexact': 1}]
    log = tmp_path / 'naps'
    done = run(['strace', '-f', '-o', log, '-e', 'trace=nanosleep', '-E', f'LD_PRELOAD={LIBSEEP}', program],
               env=environment(SEEP_OUT=tmp_path / 'alone'))
    assert done.code == 0, done
    assert log.read_text().count('nanosleep(') < 3 * 50


def test_exec_from_a_thread(tmp_path):
    processes = run_both('thread', tmp_path=tmp_path)
    assert [own_size(p) for p in processes] == [9, 5]
    assert len({p['process']['pid'] for p in processes}) == 1
    for process in processes:
        no_losses(process)


@contextlib.contextmanager
def daemon(*words, tmp_path, options=()):
    """A traced daemon whose starter and the tool have ended; (its pid, a function that makes it allocate)."""
    read_end, write_end = os.pipe()
    pid = None
    try:
        done = subprocess.run(
            [str(a) for a in (SEEP, 'run', '-q', '--no-wait', '-o', tmp_path / 'd.seep', *options, '--', PROGRAM, 'daemon', *words)],
            stdin=read_end,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (3, b''), done
        pid = int(done.stdout)
        yield pid, lambda: os.write(write_end, b'a')
    finally:
        os.close(read_end)
        os.close(write_end)
        if pid:
            wait_until(lambda: is_gone(pid), 'the end of the daemon')


def is_gone(pid):
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
    return has_ended(pid)


def test_daemon_that_serves(tmp_path):
    """Double fork, parent gone: the daemon is in the report as it was at the end of the program that was run, and
    can be looked at later."""
    with daemon(tmp_path=tmp_path) as (pid, allocate):
        main, child = report(tmp_path / 'd.seep')
        assert (live_in(main, 'hold'), live_in(main, 'own')) == (10, 0)
        assert child['process']['pid'] == pid and child['process']['exit'] is None
        assert (live_in(child, 'hold'), live_in(child, 'own')) == (10, 1)
        allocate()
        wait_until(lambda: live_in(report(pid)[0], 'own') == 2, 'what the daemon did later')
        assert live_in(report(pid)[0], 'hold') == 10


def test_daemon_by_process(tmp_path):
    """A row for each, with its own figures."""
    with daemon(tmp_path=tmp_path) as (pid, _):
        main, child = report(tmp_path / 'd.seep')
        done = run([SEEP, 'report', '--by', 'process', '--csv', tmp_path / 'd.seep'])
        rows = done.out.decode().splitlines()
        for process in (main, child):
            (row,) = [r for r in rows if f'{process["process"]["pid"]} {PROGRAM}' in r]
            assert str(process['totals']['live_bytes']) in row.split(',')
        assert child['process']['pid'] == pid


def test_daemon_of_ignored_children(tmp_path):
    """It serves untraced; nothing of it is in the report, and it has no image."""
    with daemon(tmp_path=tmp_path, options=['--children', 'ignore']) as (pid, allocate):
        (main,) = report(tmp_path / 'd.seep')
        assert live_in(main, 'hold') == 10
        allocate()
        look = run([SEEP, 'report', pid])
        assert look.code != 0 and b'memfd:seep' not in look.out, look


def test_daemon_without_an_image_yet(tmp_path):
    """It made no heap operation while the tool was there: no image, and one from its first operation on."""
    with daemon('idle', tmp_path=tmp_path) as (pid, allocate):
        (main,) = report(tmp_path / 'd.seep')
        assert live_in(main, 'hold') == 10
        look = run([SEEP, 'report', pid])
        assert look.code == 1 and look.err.startswith(b'seep: process %d ' % pid) and look.err.count(b'\n') == 1, look
        allocate()
        wait_until(lambda: run([SEEP, 'report', pid]).code == 0, 'its first heap operation')
        process = report(pid)[0]
        assert (live_in(process, 'hold'), live_in(process, 'own')) == (10, 1)


@contextlib.contextmanager
def followed(*words, tmp_path):
    """A traced daemon whose starter has ended, and that the tool waits for; (the tool, its pid, a function that makes it
    allocate, and one that ends it)."""
    read_end, write_end = os.pipe()
    words = [str(a) for a in (SEEP, 'run', '-o', tmp_path / 'f.seep', '--', PROGRAM, 'daemon', *words)]
    with subprocess.Popen(words, stdin=read_end, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as tool:
        os.close(read_end)
        ends = [write_end]
        pid = int(tool.stdout.readline())
        try:
            yield tool, pid, lambda: os.write(write_end, b'a'), lambda: os.close(ends.pop())
        finally:
            for end in ends:
                os.close(end)
            is_gone(pid)


@pytest.mark.parametrize('words', [(), ('idle',), ('titled',), ('slow',)])
def test_daemon_is_followed_to_its_end(words, tmp_path):
    """Also one that has made no heap operation of its own yet, and whose environment is overwritten. And one whose fork takes
    long: the kernel has a later start of it than its image."""
    with followed(*words, tmp_path=tmp_path) as (tool, pid, allocate, end):
        said = tool.stderr.readline().decode()
        assert f' has ended, and 1 process that it started runs on: live-processes ({pid}); Ctrl-C reports now' in said, said
        allocate()
        end()
        assert tool.wait() == 3
        main, child = report(tmp_path / 'f.seep')
        assert live_in(main, 'hold') == 10 and child['process']['pid'] == pid
        assert child['process']['exit'] == {'code': 0} and live_in(child, 'own') == (1 if words in (('idle',), ('titled',)) else 2)
        assert b'health: complete' in tool.stderr.read()


READER = "import mmap, signal; view = mmap.mmap(0, 4096, mmap.MAP_SHARED, mmap.PROT_READ); print('sees', flush=True); signal.pause()"


def test_a_reader_of_the_image_is_not_waited_for(tmp_path):
    """A tool that looks at the program has its image mapped, as a child of fork has its parent's."""
    with subprocess.Popen([SEEP, 'run', '-q', '-o', tmp_path / 'r.seep', '--', 'cat'], stdin=subprocess.PIPE, env=environment()) as tool:
        def images():
            found = []
            for one in Path(f'/proc/{tool.pid}/fd').iterdir():
                with contextlib.suppress(FileNotFoundError):  # it has been closed meanwhile
                    found += [one] if os.readlink(one).startswith('/memfd:seep-image') else []
            return found
        wait_until(images, 'the program is traced')
        # Its pid is above that of the program, as that of a child is.
        with open(images()[0], 'rb') as file, subprocess.Popen(['/usr/bin/python3', '-c', READER], stdin=file, stdout=subprocess.PIPE) as reader:
            assert reader.stdout.readline() == b'sees\n'
            tool.stdin.close()
            try:
                assert tool.wait(TIMEOUT) == 0 and reader.poll() is None
            finally:
                reader.kill()
                tool.kill()


@pytest.mark.parametrize('order', [signal.SIGINT, signal.SIGTERM])
def test_daemon_that_is_not_waited_for_any_longer(order, tmp_path):
    """SIGTERM comes again and again until the tool has ended, as from a program that signals its group."""
    with followed(tmp_path=tmp_path) as (tool, pid, _, _end):
        tool.stderr.readline()
        tool.send_signal(order)
        while order == signal.SIGTERM and tool.poll() is None:
            tool.send_signal(order)
        assert tool.wait() == 3
        main, child = report(tmp_path / 'f.seep')
        assert (live_in(main, 'hold'), live_in(child, 'own')) == (10, 1)
        assert child['process']['exit'] is None
        assert 'still_running' in report_json.codes(child), child['health']
        assert not has_ended(pid)


def test_who_runs_on_after_an_order_to_end(tmp_path):
    """The order ended the program, and comes once, as from timeout(1): the tool does not wait for what is left."""
    words = [str(a) for a in (SEEP, 'run', '-o', tmp_path / 't.seep', '--', '/bin/sh', '-c', 'setsid sleep 1000 & echo $!; wait')]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as tool:
        pid = int(tool.stdout.readline())
        try:
            tool.send_signal(signal.SIGTERM)
            assert tool.wait(TIMEOUT) == 128 + signal.SIGTERM
            left = [p for p in report(tmp_path / 't.seep') if p['process']['pid'] == pid]
            assert left and 'still_running' in report_json.codes(left[-1]), left
        finally:
            os.kill(pid, signal.SIGKILL)


def test_a_killed_process_that_nobody_waits_for_has_ended(tmp_path):
    """Its parent has ended, and who got it then never asks for its end: the reaper of a container, for a while."""
    command = [str(SEEP), 'run', '-q', '-o', str(tmp_path / 'z.seep'), '--', 'sh', '-c', "sh -c 'kill -KILL $$' & exit 3"]
    reaper = f'import ctypes, subprocess, sys; ctypes.CDLL(None).prctl(36, 1); sys.exit(subprocess.call({command!r}))'
    done = run(['/usr/bin/python3', '-c', reaper])
    assert done.code == 3, done
    last = report(tmp_path / 'z.seep')[-1]
    assert (last['process']['exit'], last['health']['complete']) == (None, True), last['health']


@pytest.mark.parametrize('children, nr', [('follow', 1), ('ignore', 0)])
def test_ignored_children_make_no_image(children, nr, tmp_path):
    """grep counts the images in its own memory; the shell in front of it is traced either way."""
    script = 'grep -c memfd:seep /proc/self/maps > count; exec grep -c memfd:seep /proc/self/maps > own'
    done = traced(['sh', '-c', script], tmp_path, options=['--children', children], cwd=tmp_path)
    assert done.code == 0, done
    assert [int((tmp_path / name).read_text()) > 0 for name in ('count', 'own')] == [nr == 1, True]
    assert len({p['process']['pid'] for p in done.report()}) == 1 + nr


def test_ignored_children_without_the_tool(tmp_path):
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / '%e.%p.seep')
    done = run(['sh', '-c', 'export SEEP_CHILDREN=ignore:$$; exec sh -c "cat /dev/null; (:); :"'], env=env)
    assert (done.code, done.out, done.err) == (0, b'', b''), done
    assert [p.name.split('.')[0] for p in tmp_path.glob('*.seep')] == ['dash']
    done = run(['true'], env={**env, 'SEEP_CHILDREN': 'ignore:x'})
    assert b'SEEP_CHILDREN: follow, ignore or ignore:PID is wanted' in done.err


def test_what_a_killed_tool_left_is_removed_by_the_next(tmp_path):
    env = environment(TMPDIR=tmp_path)
    tool, other = (
        subprocess.Popen(
            [SEEP, 'run', '-q', '-o', tmp_path / name, '--', 'cat'], env=env, stdin=subprocess.PIPE
        )
        for name in ('x.seep', 'y.seep')
    )
    try:
        wait_until(lambda: len(list(tmp_path.glob('seep-*/*'))) == 2, 'two sockets')
        for one in (tool, other):  # a child that has not executed it yet looks like a helper, and stays
            wait_until(lambda one=one: any(not os.path.samefile(f'/proc/{child}/exe', SEEP) for child in children_of(one.pid)),
                       'the program')
        helpers = [child for child in children_of(other.pid) if os.path.samefile(f'/proc/{child}/exe', SEEP)]
        other.kill()
        other.wait()
        for helper in helpers:  # has the socket open, and ends when it hears of the tool's end
            wait_until(lambda helper=helper: has_ended(helper), 'the end of its helper')
        assert len(list(tmp_path.glob('seep-*'))) == 2
        (tmp_path / 'seep-foreig').mkdir()
        assert run([SEEP, 'run', '-q', '-o', tmp_path / 'z.seep', '--', 'true'], env=env).code == 0
        left = [p.name for p in tmp_path.glob('seep-*')]
        assert len(left) == 2 and 'seep-foreig' in left, left
    finally:
        tool.stdin.close()
        other.stdin.close()
        tool.wait(timeout=60)
    assert [p.name for p in tmp_path.glob('seep-*')] == ['seep-foreig']


@pytest.mark.parametrize('options', [(), ('--sample', '1')])
def test_totals_of_a_child_are_its_own(tmp_path, options):
    """What its parent freed before the fork is not counted again; what it began with is told apart."""
    under = traced([PROGRAM, 'heirs'], tmp_path, options=options)
    assert under.code == 0, under
    parent, *children = under.report()
    assert 'inherited_blocks' not in parent['totals'] and parent['totals']['allocations'] == 1000
    assert len(children) == 4
    seen = []
    for child in children:
        totals = child['totals']
        seen.append((totals['inherited_blocks'], totals['inherited_bytes'], totals['allocations'], totals['frees'],
                     totals['live_blocks'], totals['temporary'], totals['by_release'].get('free', 0)))
        assert child['health']['events'] == 21
        if not options:
            assert totals['peak_bytes'] == totals['inherited_bytes'] + 70, 'not that of its parent before the fork'
        (before,) = (s for s in child['sites'] if plain_name(s['stack'][0]['function']) == 'before')
        assert (before['allocations'], before['frees'], before['live_bytes']) == (250, 0, 750_000)
    first, second = (250, 750_000, 261, 10, 251, 10, 10), (251, 750_070, 262, 10, 252, 10, 10)
    assert sorted(seen) == [first, first, second, second]
    text = run([SEEP, 'report', under.trace]).out.decode()
    assert f'    inherited {1002:>16,} {3_000_140:>19,}   ' in text, text
    sizes = run([SEEP, 'report', '--by', 'size', '--sort', 'allocations', under.trace]).out.decode()
    assert [line.split()[3] for line in sizes.splitlines() if line.endswith('2048..4095')] == ['2,000'], sizes
    one = run([SEEP, 'report', '--pid', str(children[0]['process']['pid']), under.trace]).out.decode()
    assert "of these: live at the fork, its parent's" in one, one


@pytest.mark.parametrize('between', [(), ('1',)])
def test_what_the_parent_does_after_the_fork_is_not_its_childs(tmp_path, between):
    """A child that first allocates long after the fork, as an idle worker does: its peak, its mappings, its marks and all
    else are its own, though its image is made only then."""
    processes = run_both('late', *between, tmp_path=tmp_path)
    parent, child = processes
    no_losses(child)
    assert (parent['totals']['peak_bytes'], child['totals']['peak_bytes']) == (50_000_000, 400 + 77)
    assert {k: child['totals'][k] for k in ('allocations', 'inherited_blocks', 'frees', 'temporary', 'failed')} == \
        {'allocations': 3, 'inherited_blocks': 2, 'frees': 1, 'temporary': 1, 'failed': 0}
    assert [m['name'] for m in child['marks']] == ['before']
    mapped = child['mappings']['totals']
    assert (mapped['maps'], mapped['mapped_bytes'], mapped['unmapped_bytes']) == (1, 1 << 16, 0), 'the one from before the fork'
    assert 0.1 <= child['process']['duration_s'], 'it began at its fork'


def test_first_operations_of_a_child_by_two_threads(tmp_path):
    """One of them makes the image; the others wait for it, and nothing of theirs is missing."""
    need('gcc')
    program = tmp_path / 'fork_together'
    subprocess.run(['gcc', '-g', '-O1', '-D_GNU_SOURCE', '-pthread',
                    str(Path(__file__).with_name('fork_together.c')), '-o', str(program)], check=True)
    done = traced([program], tmp_path, options=['--scan', 'no'])
    if done.code == 77:
        pytest.skip('no right to a priority of real time')
    assert done.code == 5, done
    child = next(process for process in done.report() if process['process']['origin'] == 'fork')
    sites = [site for site in child['sites'] if site['size_min'] == site['size_max'] == 40]
    assert sum(site['allocations'] for site in sites) == 200, (sites, child['health'])
    assert sum(site['frees'] for site in sites) == 200
    no_losses(child)


def test_a_loss_of_the_parent_is_told_once(tmp_path):
    """Two children without an image are losses of the parent. The four children after them have no losses."""
    need('gcc')
    parent, *children = traced([built_program('processes_no_image.c', tmp_path, '-O1')], tmp_path).report()
    assert parent['health']['lost'] == {'fork': 2}
    assert [child['health']['lost'] for child in children] == [{}] * 4


@pytest.mark.parametrize('mode', ['live', 'record'])
def test_a_proc_of_another_pid_namespace(mode, tmp_path):
    """There /proc/PID is another process. Before, the run waited for ever for a process with the number of a child."""
    need('unshare')
    if os.getuid():
        pytest.skip('only root makes a PID namespace')
    done = run(['unshare', '--pid', '--fork', SEEP, 'run', '--mode', mode, '-o', tmp_path / 'f.seep', '--', 'sh', '-c',
                f'{PROGRAM} daemon </dev/null; ls -d /'])
    assert done.code == 0 and done.out.endswith(b'/\n'), done
    assert b'/proc is of another PID namespace' in done.err and b"(mount one: 'unshare --mount-proc'" in done.err, done
    assert len(report(tmp_path / 'f.seep')) >= 3


def test_where_tmp_is_read_only(tmp_path):
    """The socket is in another place, and what the program of `seep top` writes is in a memory file."""
    script = 'mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp && ! touch /tmp/x 2>/dev/null'
    env = environment(TMPDIR='', XDG_RUNTIME_DIR='')
    done = in_mount_namespace(script, SEEP, 'run', '-q', '-o', '/dev/null', '--', 'sh', '-c', 'echo $SEEP_SOCKET', env=env)
    assert (done.code, done.err) == (0, b'') and done.out.startswith(b'/') and not done.out.startswith(b'/tmp/'), done
    aside = 'mount -t tmpfs none /mnt && cd /mnt'  # the trace stays there
    done = in_mount_namespace(f'{script} && {aside}', SEEP, 'top', '--once', '--', 'sleep', '1', env=env)
    assert done.code == 0 and b' sleep ' in done.out, done


def test_the_name_of_a_trace_is_printable(tmp_path):
    program = tmp_path / 'a\x1b[31m\n\x7fb'
    program.write_bytes(Path('/bin/true').read_bytes())
    program.chmod(0o755)
    assert run([program], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / '%e.seep')).code == 0
    assert [p.name for p in tmp_path.glob('*.seep')] == ['a_[31m__b.seep']
