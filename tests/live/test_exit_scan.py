# SPDX-License-Identifier: BSD-2-Clause
"""seep run looks at processes that leave: classes for every way out, the latest moment, and that nobody waits in vain."""
import collections
import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

import harness
from harness import LIBSEEP, SEEP, environment
import report_json
from small_programs import built_program, program_source

COVERS = [
    ('vfork', 'covered', 'test_fork_and_vfork', ''),
    ('tool killed', 'covered', 'test_a_dead_tool_is_not_waited_for', ''),
    ('_exit', 'covered', 'test_two_threads_leave_at_once', 'while another thread is in exit()'),
]

HERE = Path(__file__).resolve().parent
PATIENCE_S = 60


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    harness.need('gcc')
    output = tmp_path_factory.mktemp('exit') / 'scan_exit'
    subprocess.run(['gcc', '-std=gnu11', '-g', '-O1', '-w', '-D_GNU_SOURCE', '-pthread', str(HERE / 'scan_exit.c'), '-o',
                    str(output)], check=True, timeout=PATIENCE_S)
    return output


def run(program, tmp_path, *args, options=(), env=None):
    report = tmp_path / 'report.json'
    done = harness.run([SEEP, 'run', '--json', '--blocks', '--report', report, '-o', tmp_path / 'out.seep', *options,
                        program, *args], cwd=tmp_path, env=env)
    whole = report_json.loads(report.read_text())
    return done, whole.get('processes') or [whole]


def kinds(process):
    found = collections.defaultdict(set)
    for site in process['sites']:
        for block in site.get('blocks', ()):
            found[block['size']].add(block['kind'])
    return found


def check(process, held='lost', freed=True):
    found = kinds(process)
    assert found[1000] == {'lost'}
    assert found[1016] == {'indirect'}
    assert found[2000] == {'reachable'}
    assert found[2016] == ({held} if held else set())
    assert found[3000] == {'possible'}
    assert found[4000] == (set() if freed else {'reachable'})


# main's block is still held where main never returned. After return and exit all handlers have run.
@pytest.mark.parametrize('how, code, held, freed', [
    ('return', 2, 'lost', True), ('exit', 3, 'reachable', True), ('_exit', 4, 'reachable', False),
    ('quick_exit', 5, None, True), ('abort', 134, None, False), ('busy', 2, 'lost', True)])
def test_ways_out(program, tmp_path, how, code, held, freed):
    done, (process,) = run(program, tmp_path, how)
    assert done.code == code, done
    found = kinds(process)
    if held is None:  # whether main still needs it there is the compiler's choice
        held = next(iter(found[2016]))
    check(process, held, freed)
    if how in ('return', 'exit'):  # else a frame between main's and ours may have the old word
        assert found[1032] == {'lost'}
    # the saved trace says the same
    loaded = report_json.loads(harness.run([SEEP, 'report', '--json', '--blocks', tmp_path / 'out.seep']).out)
    assert loaded['leaks'] == process['leaks'] and loaded['sites'] == process['sites']


def test_what_our_own_frames_held_at__exit_is_lost(tmp_path):
    harness.need('gcc')
    source, output = tmp_path / 'left.c', tmp_path / 'left'
    source.write_text(program_source('exit_scan_own_frames.c'))
    subprocess.run(['gcc', '-g', '-O0', str(source), '-o', str(output)], check=True, timeout=PATIENCE_S)
    _, (process, ) = run(output, tmp_path)
    assert kinds(process)[3005] == {'lost'}


# Behind the last variable the allocator of musl has memory.
@pytest.mark.parametrize('place, kind', [('bare_areas', 'lost'), ('seep_boot_memory', 'reachable'), ('data', 'lost'), ('', 'reachable')])
def test_the_data_of_the_library_holds_nothing_but_what_it_gave(place, kind, tmp_path):
    """These data have addresses of stacks and mappings of the program."""
    harness.need('gcc', 'nm')
    program = built_program('exit_scan_data_of_library.c', tmp_path, '-O1')
    done, (process, ) = run(program, tmp_path, *harness.word_in_library(place))
    assert done.code == 0 and kinds(process)[3005] == {kind}


def test_memory_of_ours_in_a_gap_of_a_module_leaves_its_data_roots(tmp_path):
    harness.need('gcc')
    apart = [f'-Wl,-z,{word}' for word in ('max-page-size=0x200000', 'common-page-size=0x200000', 'noseparate-code', 'norelro')]
    program = built_program('exit_scan_gap.c', tmp_path, '-O1')
    subprocess.run(['gcc', '-w', '-O1', '-DLIBRARY', '-shared', '-fPIC', *apart, f'{program}.c', '-o', tmp_path / 'libgap.so'],
                   check=True, timeout=PATIENCE_S)
    done, (process, ) = run(program, tmp_path)
    assert done.code == 0 and kinds(process)[3005] == {'reachable'}


def test_exit_in_a_child_of_vfork_is_not_that_of_the_parent(tmp_path):
    """The child and the parent have one thread of libc. Blocks that the parent's frames held were lost."""
    harness.need('gcc')
    done, (process, ) = run(built_program('exit_scan_in_vfork.c', tmp_path, '-O0'), tmp_path)
    assert done.code == 3 and kinds(process)[3005] == {'reachable'}


@pytest.mark.parametrize('args', [(), ('clone', )], ids=['vfork', 'clone'])
def test_a_child_of_vfork_allocates_before_its_parent(args, tmp_path):
    """Its parent, a forked process, has no image then. The image was the child's, so the parent's end was missed; or there was none."""
    harness.need('gcc')
    done, (first, forked) = run(built_program('vfork_first.c', tmp_path, '-O1'), tmp_path, *args)
    assert done.code == 0 and forked['process']['exit'] == {'code': 0}
    assert forked['process']['parent'] == forked['process']['started_by'] == first['process']['pid']
    assert not (first['health']['lost'].keys() | forked['health']['lost'].keys()) & {'fork', 'passive'}
    if not args:  # else both are at work in one thread of libc
        assert kinds(forked)[3005] == {'reachable'} and forked['totals']['frees'] == 1


def test_exit_in_a_handler_of_exit(tmp_path):
    """The block that the handler held was lost."""
    harness.need('gcc')
    done, (process, ) = run(built_program('exit_scan_again.c', tmp_path, '-O0'), tmp_path)
    assert done.code == 5 and kinds(process)[4005] == kinds(process)[3005] == {'reachable'}


def test_main_returns_in_a_child_that_libc_does_not_know(tmp_path):
    """By libc's number the first thread of the child was another thread, and words that exit() had not written over held blocks."""
    harness.need('gcc')
    _, processes = run(built_program('exit_scan_raw_clone.c', tmp_path, '-O0'), tmp_path)
    assert [kinds(process)[3005] for process in processes] == [{'lost'}] * 2


def test_exit_in_a_thread(program, tmp_path):
    done, (process,) = run(program, tmp_path, 'thread')
    assert done.code == 0
    check(process, 'reachable')


def test_fork_and_vfork(program, tmp_path):
    done, processes = run(program, tmp_path, 'fork')
    assert done.code == 2 and len(processes) == 2
    assert processes[0]['leaks'] and processes[1]['leaks']
    assert kinds(processes[1])[6000] == {'lost'} and not kinds(processes[0])[6000]
    done, (process,) = run(program, tmp_path, 'vfork')
    assert done.code == 2 and process['process']['exit'] == {'code': 2}
    check(process)
    assert kinds(process)[6000] == {'lost'}


@pytest.mark.parametrize('how, code', [('segv', 139), ('sandbox', 2)])
def test_not_looked_at(program, tmp_path, how, code):
    done, (process,) = run(program, tmp_path, how)
    assert done.code == code
    assert process['leaks'] is None and process['totals']['live_blocks'] >= 6


def test_exec_is_not_an_exit(program, tmp_path):
    done, processes = run(program, tmp_path, 'exec')
    assert done.code == 0
    assert processes[1]['leaks'] is None  # what it was before; /bin/true leaves by exit
    assert processes[0]['process']['exe'].endswith('true') and processes[0]['leaks'] is not None


def test_scan_no(program, tmp_path):
    done, (process,) = run(program, tmp_path, 'return', options=['--scan', 'no'])
    assert done.code == 2 and process['leaks'] is None and process['totals']['live_blocks'] >= 6


def test_shared_library_has_ended_before(tmp_path):
    """Destructors of libraries run before the look, whatever the order of loading."""
    harness.need('gcc')
    (tmp_path / 'lib.c').write_text(program_source('exit_scan_unloaded.c'))
    (tmp_path / 'main.c').write_text(program_source('exit_scan_touches.c'))
    subprocess.run('gcc -w -shared -fPIC lib.c -o libend.so && gcc -w main.c -o main ./libend.so', shell=True, check=True,
                   cwd=tmp_path, timeout=PATIENCE_S)
    done, (process,) = run(tmp_path / 'main', tmp_path)
    found = kinds(process)
    assert done.code == 0 and not found[7000] and found[7016] == {'lost'}


# ---- nobody waits in vain ----


def start(program, tmp_path):
    """seep run with the program at work; its pid."""
    tool = subprocess.Popen([str(SEEP), 'run', '-q', '-o', str(tmp_path / 'out.seep'), str(program), 'wait'],
                            env=environment(), cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    line = b''
    while line != b'ready\n':
        line = tool.stdout.readline()
        assert line
    return tool, harness.children_of(tool.pid)[0]


def wait_gone(pid):
    harness.wait_until(lambda: harness.has_ended(pid), 'its end')


def test_a_dead_tool_is_not_waited_for(program, tmp_path):
    # Beside a program whose tool lives and is silent: that one is waited for, ten seconds.
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as silent:
        silent.bind(str(tmp_path / 'silent'))
        silent.listen(1)
        waiting = subprocess.Popen([str(program), 'wait'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(
            LD_PRELOAD=LIBSEEP, SEEP_SCAN='yes', SEEP_SOCKET=tmp_path / 'silent'))
        peer = silent.accept()[0]
        tool, pid = start(program, tmp_path)
        tool.kill()
        tool.wait(PATIENCE_S)
        for one in (waiting, tool):
            one.stdin.write(b'x')
            one.stdin.close()
        wait_gone(pid)
        assert waiting.poll() is None
        tool.stdout.close()
        waiting.kill()
        waiting.wait(PATIENCE_S)
        waiting.stdout.close()
        peer.close()


def test_a_stopped_tool_is_not_waited_for_without_end(program, tmp_path):
    tool, pid = start(program, tmp_path)
    os.kill(tool.pid, signal.SIGSTOP)
    tool.stdin.write(b'x')
    tool.stdin.close()
    wait_gone(pid)
    os.kill(tool.pid, signal.SIGCONT)
    assert tool.wait(PATIENCE_S) == 2
    tool.stdout.close()


def test_without_a_tool_the_setting_means_nothing(program, tmp_path):
    done = harness.run([program, 'return'], cwd=tmp_path, env=environment(
        LD_PRELOAD=LIBSEEP, SEEP_SCAN='yes', SEEP_SOCKET='/nonexistent/socket'))
    assert done.code == 2 and done.err == b''


def test_killed_while_it_is_looked_at(tmp_path):
    """The tool still has its exit status."""
    text = 'import os\nx = [[i] for i in range(200000)]\nos.write(1, b"ready")\nos._exit(0)\n'
    harness.need('/usr/bin/python3')
    codes = []
    for delay in range(6):
        tool = subprocess.Popen([str(SEEP), 'run', '-q', '-o', str(tmp_path / 'out.seep'), '/usr/bin/python3', '-c', text],
                                env=environment(PYTHONMALLOC='malloc'), cwd=tmp_path, stdout=subprocess.PIPE)
        assert tool.stdout.read(5) == b'ready'
        time.sleep(0.01 * delay)
        children = harness.children_of(tool.pid)
        if children:
            with contextlib.suppress(ProcessLookupError):  # it has left meanwhile
                os.kill(children[0], signal.SIGKILL)
        codes.append(tool.wait(PATIENCE_S))
        tool.stdout.close()
    assert set(codes) <= {0, 137} and 137 in codes, f'no kill came while it left: {codes}'


@pytest.mark.parametrize('how', ['two-exits', 'two-ways'])
def test_two_threads_leave_at_once(program, tmp_path, how):
    """The thread that ends the process waits until the look that the other one asked for is over."""
    script = f'i=0; while [ $i -lt 25 ]; do {program} {how} $i > /dev/null; s=$s,$?; i=$((i+1)); done; echo $s'
    done, processes = run('sh', tmp_path, '-c', script)
    assert done.code == 0 and done.out.decode().strip() == ',7' * 25, done
    own = [p for p in processes if p['process']['exe'].endswith('scan_exit')]
    assert len(own) == 25
    assert [p['health']['notes'] for p in own] == [[]] * 25
    for process in own:
        found = kinds(process)
        assert (found[1000], found[1016], found[2000]) == ({'lost'}, {'indirect'}, {'reachable'})


KILLED = program_source('exit_scan_killed.c')


def test_child_with_threads_that_is_killed_is_waited_for_by_its_parent(tmp_path):
    """A killed process is gone for its parent once its tracer has waited for each thread, the last of which ends later."""
    (tmp_path / 'killed.c').write_text(program_source('exit_scan_killed_threads.c'))
    program = tmp_path / 'killed'
    subprocess.run(['gcc', '-O1', '-w', '-pthread', str(tmp_path / 'killed.c'), '-o', str(program)], check=True, timeout=PATIENCE_S)
    done = harness.run([SEEP, 'run', '-q', '-o', tmp_path / 'killed.seep', program], timeout=PATIENCE_S)
    assert done.code == 0, done


def test_child_that_is_killed_at_any_moment(tmp_path):
    """Its parent gets its wait(), the run ends, and no block of a list that a global holds is called lost."""
    harness.need('gcc')
    (tmp_path / 'killed.c').write_text(KILLED)
    program = tmp_path / 'killed'
    subprocess.run(['gcc', '-O0', '-w', str(tmp_path / 'killed.c'), '-o', str(program)], check=True, timeout=PATIENCE_S)
    for microseconds in (5000, 15000, 25000, 35000, 50000, 80000):
        trace = tmp_path / 'killed.seep'
        done = harness.run([harness.SEEP, 'run', '-q', '-o', trace, program, str(microseconds)])
        assert done.code == 0, done
        for process in harness.report(trace):
            assert process['leaks'] is None or process['leaks']['lost']['blocks'] == 0, microseconds


@pytest.mark.parametrize('dies', [(), ('dies',)])
def test_a_thread_that_sleeps_on_a_futex_sleeps_on(dies, tmp_path):
    """Though the word that it waits for is another when the process leaves: stopped, its wait would begin anew and end."""
    for _ in range(5):
        done, (process,) = run(harness.BUILD / 'tests/live/live-asleep', tmp_path, *dies)
        assert (done.code, done.out) == (0, b''), done
        found = kinds(process)
        assert (found[3000], found[2000]) == ({'reachable'}, {'reachable'}), found
        assert not any(process['leaks'][kind]['blocks'] for kind in ('lost', 'indirect', 'possible')), process['leaks']


def test_where_the_library_remembered_for_a_child_of_fork(tmp_path):
    """The memory is unmapped, and a block lies at its address: no variable of the library's leads there."""
    harness.need('gcc')
    (tmp_path / 'place.c').write_text(program_source('fork_log_place.c'))
    subprocess.run(['gcc', '-g', '-O0', str(tmp_path / 'place.c'), '-o', str(tmp_path / 'place')], check=True, timeout=PATIENCE_S)
    done, processes = run(tmp_path / 'place', tmp_path)
    assert done.code == 0, done
    lost = [process['leaks']['lost']['blocks'] for process in processes if process['process']['origin'] == 'fork']
    assert lost == [200], processes


def test_what_the_library_remembers_for_a_child_of_fork_holds_nothing(tmp_path):
    harness.need('gcc')
    subprocess.run(['gcc', '-g', '-O1', '-w', '-pthread', str(HERE / 'fork_log.c'), '-o', str(tmp_path / 'fork_log')],
                   check=True, timeout=PATIENCE_S)
    done, processes = run(tmp_path / 'fork_log', tmp_path)
    assert done.code == 0, done
    lost = [site for site in processes[0]['sites'] if site['size_max'] == 1000]
    assert sum(site['kinds'].get('lost', {'blocks': 0})['blocks'] for site in lost) == 50, lost


def test_what_exit_itself_frees_is_counted(tmp_path):
    """The handler of seep is registered before that of any library, and runs when libc has freed its room for the others."""
    source = tmp_path / 'many.c'
    source.write_text(program_source('exit_scan_many_handlers.c'))
    for words in (['-fPIC', '-shared', '-o', tmp_path / 'libmany.so'], ['-DPROGRAM', '-o', tmp_path / 'many', '-L', tmp_path, '-lmany']):
        subprocess.run(['gcc', '-g', '-w', source, *words, f'-Wl,-rpath,{tmp_path}'], check=True, timeout=PATIENCE_S)
    done, (process,) = run(tmp_path / 'many', tmp_path)
    assert done.code == 0, done
    totals = process['totals']
    assert totals['allocations'] >= 3 and totals['frees'] == totals['allocations'], totals


def test_what_is_below_the_first_stack_of_a_thread_that_forked_is_old(tmp_path):
    """The child does not have the first thread: what its frames had is held, and words below its stack pointer hold nothing."""
    (tmp_path / 'first.c').write_text(program_source('fork_first_stack.c'))
    subprocess.run(['gcc', '-g', '-O0', '-w', '-pthread', str(tmp_path / 'first.c'), '-o', str(tmp_path / 'first')], check=True,
                   timeout=PATIENCE_S)
    done, processes = run(tmp_path / 'first', tmp_path)
    assert done.code == 0, done
    child, = [process for process in processes if process['process']['origin'] == 'fork']
    found = kinds(child)
    assert (found[1000], found[2000]) == ({'lost'}, {'reachable'}), found


@pytest.mark.parametrize('submits', [(), ('submits',)])
def test_a_thread_that_waits_for_io_uring_sleeps_on(submits, tmp_path):
    """The look at exit interrupts the wait, and the kernel restarts the call: the thread sees no EINTR. A call that submitted
    something cannot be restarted, so it is not interrupted."""
    program = built_program('exit_scan_uring.c', tmp_path)
    if harness.run([program]).code == 2:
        pytest.skip('no io_uring here')
    for _ in range(4):
        done = harness.traced([program, *submits], tmp_path)
        assert (done.code, done.out, done.err) == (0, b'', b''), done


def test_threads_whose_calls_have_done_a_part_sleep_on(tmp_path):
    """A stop would end a write to a full pipe, and each relative of it, with a short count."""
    done = harness.traced([built_program('exit_scan_parts.c', tmp_path)], tmp_path)
    assert (done.code, done.out, done.err) == (0, b'', b''), done


def test_a_thread_that_its_peer_wakes_while_memory_is_read_is_said(tmp_path):
    """Where it is awake at the beginning, as in one run of ten, it is stopped like any other."""
    program, said = built_program('exit_scan_woken.c', tmp_path), False
    for _ in range(10):
        done = harness.traced([program], tmp_path)
        assert (done.code, done.out, done.err) == (0, b'', b''), done
        said = 'scan_woken' in report_json.codes(done.report()[0])
        if said:
            break
    assert said


def test_threads_that_wait_on_sockets_with_a_time_limit_sleep_on(tmp_path):
    """The kernel ends these calls with EINTR after a stop, even without a handler (signal(7)). seep restarts them."""
    program = built_program('exit_scan_timed_sockets.c', tmp_path)
    for _ in range(3):
        done = harness.traced([program], tmp_path)
        assert (done.code, done.out, done.err) == (0, b'', b''), done
