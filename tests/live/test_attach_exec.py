# SPDX-License-Identifier: BSD-2-Clause
"""seep attach -- PROG: a program that is executed waits until its file and its libraries have been read, and not for ever."""
import contextlib
import json
import os
import select
import signal
import subprocess
from pathlib import Path

import pytest

from harness import SEEP, TIMEOUT, children_of, environment, has_ended, need, report, root_only, run, wait_until, waits_of
from small_programs import built_program, program_source
from test_attach import can  # noqa: F401 (fixture)


def test_a_large_program_is_complete_from_its_first_call(can, tmp_path):  # noqa: F811
    """The compiler proper has ended before its call-frame information is read, if it does not wait."""
    need('gcc')
    root_only()
    (tmp_path / 'empty.c').write_text(program_source('empty_main.c'))
    trace = tmp_path / 'gcc.seep'
    done = run([SEEP, 'attach', '--output', trace, '--', 'gcc', '-O2', '-c', tmp_path / 'empty.c', '-o', tmp_path / 'empty.o'])
    assert done.code == 0, done
    processes = {Path(process['process']['exe']).name: process for process in report(trace)}
    assert processes['cc1']['totals']['allocations'] > 1000, processes['cc1']['totals']
    assert {name: process['health']['cut'] for name, process in processes.items()} == dict.fromkeys(processes, {})
    notes = [note for process in processes.values() for note in process['health']['notes']]
    assert not [note for note in notes if note.code == 'files_unreadable'], notes  # seldom: other notes


def echoed(attached, word):
    """The shell's answer to a word, behind what the tool says."""
    return any(line == word for line in iter(attached.stdout.readline, b''))


def say(attached, word):
    attached.stdin.write(word)
    attached.stdin.flush()


@pytest.mark.parametrize('by', ['STOP', 'KILL'])
def test_nobody_waits_for_a_tool_that_is_stopped_or_killed(can, tmp_path, by):  # noqa: F811
    root_only()
    script = 'while read word; do /bin/echo $word; done'
    with subprocess.Popen([SEEP, 'attach', '--output', tmp_path / 't.seep', '--', 'sh', '-c', script], env=environment(),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as attached:
        say(attached, b'one\n')
        assert echoed(attached, b'one\n')
        attached.send_signal(signal.Signals[f'SIG{by}'])
        say(attached, b'two\n')
        assert echoed(attached, b'two\n')
        attached.kill()
        attached.stdin.close()


def test_who_waits_goes_on_at_the_end_of_the_tool(can, tmp_path):  # noqa: F811
    """Nobody is left behind at the gate either."""
    root_only()
    with subprocess.Popen([SEEP, 'attach', '--output', tmp_path / 't.seep', '--', 'sh', '-c', 'echo begun; while :; do /bin/true; done'],
                          env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True) as attached:
        assert echoed(attached, b'begun\n')
        shell, = [pid for pid in children_of(attached.pid) if Path(f'/proc/{pid}/comm').read_text() == 'sh\n']
        keeper, = [pid for pid in children_of(attached.pid) if Path(f'/proc/{pid}/comm').read_text() == 'seep-exec-gate\n']
        attached.kill()
        wait_until(lambda: has_ended(keeper), 'the gatekeeper has ended')
        seen = children_of(shell)
        wait_until(lambda: children_of(shell) not in (seen, []), 'another program runs')
        os.killpg(attached.pid, signal.SIGKILL)


@contextlib.contextmanager
def gated(tmp_path, script, **options):
    """The tool over a shell that has begun, the shell and the gatekeeper."""
    with subprocess.Popen([SEEP, 'attach', '--output', tmp_path / 't.seep', '--', 'sh', '-c', 'echo begun; ' + script], env=environment(),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options) as attached:
        assert echoed(attached, b'begun\n')
        names = {Path(f'/proc/{pid}/comm').read_text(): pid for pid in children_of(attached.pid)}
        try:
            yield attached, names['sh\n'], names['seep-exec-gate\n']
        finally:
            attached.kill()
            attached.stdin.close()


def test_the_gate_is_for_files_that_the_kernel_serves_itself(can, tmp_path):  # noqa: F811
    """A FUSE daemon that starts a program would wait for the gatekeeper, which would wait for the daemon."""
    root_only()
    with gated(tmp_path, '/bin/true; echo known; read word') as (attached, shell, keeper):
        assert echoed(attached, b'known\n')
        marks = Path(f'/proc/{keeper}/fdinfo/3').read_text()
        marked = {int(line.split()[1].partition(':')[2], 16) for line in marks.splitlines() if line.startswith('fanotify mnt_id:')}
        mounts = [line.split() for line in Path(f'/proc/{shell}/mountinfo').read_text().splitlines()]
        types = {int(words[0]): words[words.index('-') + 1] for words in mounts}
        assert marked and marked <= set(types), (marks, types)
        assert not {'proc', 'sysfs', 'devpts', 'fuse', 'nfs'} & {types[mount] for mount in marked}, types
        known = {int(line.split()[1].partition(':')[2], 16) for line in marks.splitlines() if line.startswith('fanotify ino:')}
        assert os.stat('/bin/true').st_ino in known, marks  # of what the tool has read, the kernel does not ask again
        assert os.getsid(keeper) == keeper != os.getsid(attached.pid)


def test_no_exec_is_refused_where_few_files_may_be_open(can, tmp_path):  # noqa: F811
    """The kernel refuses an exec for which the gatekeeper has no descriptor left."""
    root_only()
    script = 'i=0; while [ $i -lt 200 ]; do /bin/true & i=$((i+1)); done; wait'
    done = run(['sh', '-c', 'ulimit -n 48; exec "$@"', 'sh', SEEP, 'attach', '--output', tmp_path / 't.seep', '--', 'sh', '-c', script])
    assert done.code == 0 and b'not permitted' not in done.err, done


def test_only_one_program_waits_for_a_tool_that_is_stopped(can, tmp_path):  # noqa: F811
    root_only()
    script = 'read word; i=0; while [ $i -lt 60 ]; do /bin/true; i=$((i+1)); done; echo $word'
    with gated(tmp_path, script) as (attached, shell, keeper):
        attached.send_signal(signal.SIGSTOP)
        say(attached, b'on\n')
        assert select.select([attached.stdout], [], [], 20)[0], 'each of them has waited'
        assert has_ended(keeper) is False and shell


def test_a_tool_whose_gatekeeper_was_killed_sleeps(can, tmp_path):  # noqa: F811
    root_only()
    with gated(tmp_path, 'while read word; do /bin/echo $word; done') as (attached, shell, keeper):
        os.kill(keeper, signal.SIGKILL)
        wait_until(lambda: has_ended(keeper), 'the gatekeeper has ended')
        waits = waits_of(attached.pid)
        wait_until(lambda: waits_of(attached.pid) > waits + 60, 'the tool sleeps', timeout=10)
        say(attached, b'on\n')
        assert echoed(attached, b'on\n') and shell


def test_the_tool_ends_while_events_come_faster_than_it_takes_them(can, tmp_path):  # noqa: F811
    """Each program that is executed costs the tool more than it costs its shell, and eight shells execute programs."""
    root_only()
    end = tmp_path / 'end'
    script = 'echo begun; for i in 1 2 3 4 5 6 7 8; do (while [ ! -e "$0" ]; do /bin/true; done) & done; wait'
    with subprocess.Popen([SEEP, 'attach', '--buffer', '2M', '--output', tmp_path / 't.seep', '--', 'sh', '-c', script, end], env=environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as attached:
        try:
            assert echoed(attached, b'begun\n')
            busy = Path(f'/proc/{attached.pid}/schedstat')
            wait_until(lambda: int(busy.read_text().split()[0]) > 10**9, 'the tool has worked for a second')
            attached.send_signal(signal.SIGINT)
            assert attached.wait(timeout=TIMEOUT) == 0
        finally:
            end.touch()
            attached.kill()
    assert report(tmp_path / 't.seep')


def test_all_that_a_program_did_before_its_end_is_in_one_report(can, tmp_path):  # noqa: F811
    """The tool is stopped until the program has ended, and has then more to take than it takes at once. Most events have no
    time. When that missing time was compared, all events but one were left in 35 of 71 minutes of the machine's clock."""
    root_only()
    nr, chain = 150, tmp_path / 'chain.sh'
    chain.write_text('[ "$1" = 0 ] || exec sh "$0" $(($1 - 1))\n')
    script = f'echo begun; read word; exec sh "$0" {nr}'
    with subprocess.Popen([SEEP, 'attach', '--json', '--', 'sh', '-c', script, chain], env=environment(),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as attached:
        try:
            assert echoed(attached, b'begun\n')
            shell, = [pid for pid in children_of(attached.pid) if Path(f'/proc/{pid}/comm').read_text() == 'sh\n']
            attached.send_signal(signal.SIGSTOP)
            say(attached, b'on\n')
            wait_until(lambda: has_ended(shell), 'the shell has ended')
            attached.send_signal(signal.SIGCONT)
            _, errors = attached.communicate(timeout=TIMEOUT)
        finally:
            attached.kill()
    one = json.loads(errors)
    assert len(one['processes']) == nr + 2 and all(process['totals']['allocations'] for process in one['processes']), errors


def test_a_program_that_another_tracer_has(can, tmp_path):  # noqa: F811
    need('strace')
    done = run(['strace', '-f', '-o', '/dev/null', SEEP, 'attach', '--', 'true'])
    assert done.code == 126 and b'another tracer has it' in done.err and b'without -f' in done.err, done


def chain(folder, nr, last, by=''):
    """The first of so many scripts, each of which executes the next."""
    following = last
    for i in range(nr):
        script = folder / f'script{i}'
        script.write_text(f'#!/bin/sh\n{by}{following}\n')
        script.chmod(0o755)
        following = script
    return following


def notes_of(trace):
    return [note for process in report(trace) for note in process['health']['notes']]


def test_a_program_that_is_a_script_is_complete_with_what_it_starts(can, tmp_path):  # noqa: F811
    """The loader that the kernel opens for the interpreter is the copy that has probes, as its libraries are."""
    root_only()
    trace = tmp_path / 't.seep'
    script = tmp_path / 'script'
    script.write_text(f'#!/bin/sh\nwhile read -r line; do echo "$line"; done </proc/self/maps\n{chain(tmp_path, 2, "/bin/true")}\n')
    script.chmod(0o755)
    done = run([SEEP, 'attach', '--output', trace, '--', script])
    assert done.code == 0, done
    assert not notes_of(trace), notes_of(trace)
    lines = [line.split() for line in done.out.decode().splitlines()]
    mapped = {Path(words[5]).name: words[3] for words in lines if len(words) == 6 and words[1] == 'r-xp'}
    loader, = (device for name, device in mapped.items() if name.startswith('ld-'))
    assert loader not in [device for name, device in mapped.items() if name in ('dash', 'bash', 'sh')], mapped


def test_a_script_is_no_mapped_file(can, tmp_path):  # noqa: F811
    """Processes that are gone to another program before they are looked at: their scripts have no stacks."""
    root_only()
    trace = tmp_path / 't.seep'
    done = run([SEEP, 'attach', '--output', trace, '--', 'sh', '-c', f'{chain(tmp_path, 20, "/bin/true", "exec ")}; true'])
    assert done.code == 0, done
    assert not [note for note in notes_of(trace) if note.code == 'files_unreadable'], notes_of(trace)


def test_libraries_of_ld_library_path(can, tmp_path):  # noqa: F811
    """Read before the program runs, also where a shell sets the variable just for it: the constructor allocates at once."""
    need('gcc')
    root_only()
    source = tmp_path / 'library_path.c'
    source.write_text(program_source('library_path.c'))
    (tmp_path / 'folder').mkdir()
    library = tmp_path / 'folder/liballocates.so'
    for words in (['-DLIBRARY', '-fPIC', '-shared', source, '-o', library], [source, f'-L{library.parent}', '-lallocates', '-o', tmp_path / 'program']):
        assert run(['gcc', '-O1', '-g', '-fomit-frame-pointer', *words]).code == 0
    trace = tmp_path / 't.seep'
    done = run([SEEP, 'attach', '--output', trace, '--', 'sh', '-c', 'LD_LIBRARY_PATH=/nonexistent:"$0" "$1"', library.parent,
                tmp_path / 'program'])
    assert done.code == 0, done
    process, = [process for process in report(trace) if process['process']['exe'].endswith('/program')]
    assert process['health']['cut'] == {}, process['health']
    assert sum(site['allocations'] for site in process['sites'] if site['stack'][0]['function'] == 'allocate') == 16


@pytest.mark.parametrize('then', [[], ['/bin/true']], ids=['ends', 'executes'])
def test_a_child_that_shares_the_memory(can, tmp_path, then):  # noqa: F811
    """By CLONE_VM: what it allocates is the parent's to free, and counts for it. A program that it executes is of its own."""
    root_only()
    trace = tmp_path / 's.seep'
    program = built_program('shares_memory.c', tmp_path, '-O1', '-fno-builtin')
    done = run([SEEP, 'attach', '--output', trace, '--', program, *then])
    assert done.code == 0, done
    first, *others = report(trace)
    totals = first['totals']
    assert (totals['allocations'], totals['frees'], totals['live_blocks'], totals['unknown_frees']) == (1000, 984, 16, 0), totals
    assert [Path(other['process']['exe']).name for other in others] == ['true'] * len(then), others
    assert [other['process']['parent'] for other in others] == [first['process']['pid']] * len(then), others
