# SPDX-License-Identifier: BSD-2-Clause
"""Programs that end in every way, or do not end: the exact live blocks are in the report, a look at a running
program neither stops nor signals it, and trouble on seep's side is not the program's."""
import contextlib
import os
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from harness import (
    LIBSEEP,
    PROGRAMS,
    SEEP,
    children_of,
    environment,
    has_ended,
    kill,
    need,
    no_losses,
    report,
    run,
    traced,
    wait_until,
)
import report_json
from small_programs import program_source

COVERS = [
    ('tool killed', 'covered', 'test_the_tool_is_killed', 'the program goes on'),
    ('tool killed', 'covered', 'test_tool_and_program_are_killed', 'and the program: the trace is up to half a minute old'),
    ('disk full while saving', 'declared', 'test_full_disk',
     "the error names the file; the exit status stays the program's"),
]

STEADY = PROGRAMS / 'gcc-O2@steady'
START = (500, 50_000)


class Steady:
    """tests/programs/steady.c, spoken to through pipes."""

    def __init__(self, command, env=None, **more):
        self.process = subprocess.Popen(
            [str(c) for c in command],
            env=env or environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **more,
        )
        line = self.process.stdout.readline()
        assert line == b'ready\n', (line, self.process.communicate())

    def say(self, line):
        self.process.stdin.write(line.encode() + b'\n')
        self.process.stdin.flush()

    def do(self, line):
        self.say(line)
        assert self.process.stdout.readline() == b'ok\n'

    def pid(self):
        """Of the program itself, under seep run or not."""
        return pid_of(self.process.pid)

    def finish(self):
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        kill(self.process)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


def pid_of(top):
    """The descendant of `top`, or itself, that is STEADY."""
    todo = [top]
    while todo:
        pid = todo.pop()
        if os.path.realpath(f'/proc/{pid}/exe') == str(STEADY):
            return pid
        for task in Path(f'/proc/{pid}/task').iterdir():
            todo += [int(p) for p in (task / 'children').read_text().split()]
    raise AssertionError(f'no {STEADY} under {top}')


def live(process, function):
    """(blocks, bytes) of the sites whose innermost frame is this function."""
    sites = [s for s in process['sites'] if s['stack'] and s['stack'][0]['function'] == function]
    return sum(s['live_blocks'] for s in sites), sum(s['live_bytes'] for s in sites)


def check(process, leaked):
    no_losses(process)
    assert live(process, 'at_start') == START
    assert live(process, 'leak') == (leaked, 64 * leaked)


ENDS = {
    'SIGKILL': (signal.SIGKILL, {'signal': 9}),
    'SIGTERM': (signal.SIGTERM, {'signal': 15}),
    'SIGSEGV from outside': (signal.SIGSEGV, {'signal': 11}),
    'segv': ('segv', {'signal': 11}),
    'abort': ('abort', {'signal': 6}),
    '_exit': ('_exit 41', {'code': 41}),
    'exit': ('exit 42', {'code': 42}),
    'end of input': (None, {'code': 0}),
}


@pytest.mark.parametrize('how', ENDS)
def test_report_is_whole_however_it_ends(how, tmp_path):
    cause, ending = ENDS[how]
    trace = tmp_path / 'x.seep'
    with Steady([SEEP, 'run', '-q', '-o', trace, '--', STEADY]) as steady:
        steady.do('leak 1234')
        steady.do('free 234')
        steady.do('leak 7')
        if isinstance(cause, str):
            steady.say(cause)
        elif cause is not None:
            os.kill(steady.pid(), cause)
        code, _, err = steady.finish()
    assert err == b''
    assert code == ending.get('code', 128 + ending.get('signal', 0))
    (process,) = report(trace)
    assert process['process']['exit'] == ending
    check(process, 1007)


@pytest.mark.parametrize('way', ['tool', 'alone'])
def test_a_look_at_a_running_program(way, tmp_path):
    """steady leaves with 97 when it is stopped or signalled."""
    command = [SEEP, 'run', '-q', '-o', tmp_path / 'end.seep', '--', STEADY] if way == 'tool' else [STEADY]
    env = environment() if way == 'tool' else environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'end.seep')
    with Steady(command, env) as steady:
        pid = steady.pid()
        for nr, leaked in enumerate((10, 30, 60)):
            steady.do(f'leak {leaked - (0, 10, 30)[nr]}')
            (now,) = report(str(pid))
            check(now, leaked)
            assert now['process']['pid'] == pid and now['process']['exit'] is None
            done = run([SEEP, 'snap', pid, '-o', tmp_path / f'{nr}.seep'])
            assert done.code == 0, done
        steady.do('free 60')
        check(report(str(pid))[0], 0)
        steady.say('exit 5')
        assert steady.finish() == (5, b'', b'')
    for nr, leaked in enumerate((10, 30, 60)):
        (saved,) = report(tmp_path / f'{nr}.seep')
        check(saved, leaked)
        assert saved['process']['exit'] is None
    check(report(tmp_path / 'end.seep')[0], 0)


def test_looks_while_threads_allocate(tmp_path):
    """A look in the middle of the work of many threads is not torn: sums hold (harness.report checks them)."""
    need('/usr/bin/python3')
    script = (
        'import threading, sys\nstop = False\ndef work():\n    while not stop:\n        [bytearray(i) for i in range(300)]\n'
        't = [threading.Thread(target=work) for _ in range(4)]\n[x.start() for x in t]\nprint("ready", flush=True)\n'
        'sys.stdin.readline()\nstop = True\n[x.join() for x in t]\n'
    )
    program = subprocess.Popen(
        [SEEP, 'run', '-q', '-o', tmp_path / 'x.seep', '--', '/usr/bin/python3', '-S', '-c', script],
        env=environment(PYTHONMALLOC='malloc'),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert program.stdout.readline() == b'ready\n'
        pid = children_of(program.pid)[0]
        last = 0
        for _ in range(3):
            done = run([SEEP, 'report', '--json', '--top', '5', pid])
            assert done.code == 0, done
            done = run([SEEP, 'snap', pid, '-o', tmp_path / 'snap.seep'])
            assert done.code == 0, done
            now = run([SEEP, 'report', '--json', '--top', '1', tmp_path / 'snap.seep'])
            assert now.code == 0, now
            events = report_json.loads(now.out)['health']['events']
            assert events >= last
            last = events
        program.communicate(b'\n', timeout=60)
        assert program.returncode == 0
    finally:
        kill(program)
    done = run([SEEP, 'report', '--json', '--top', '1', tmp_path / 'x.seep'])
    no_losses(report_json.loads(done.out))


def test_no_traced_process_there(tmp_path):
    sleeper = subprocess.Popen(['sleep', '100'])
    try:
        for command in ('report', 'snap'):
            done = run([SEEP, command, sleeper.pid], cwd=tmp_path)
            assert done.code not in (0, 139, 134) and str(sleeper.pid) in done.err.decode(), done
        assert sleeper.poll() is None
    finally:
        kill(sleeper)


# ---- the library alone -------------------------------------------------------------------------------


def alone(tmp_path, **more):
    return environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'alone.%p.seep', **more)


def only_trace(tmp_path):
    traces = sorted(tmp_path.glob('alone.*'))
    assert len(traces) == 1, traces
    return traces[0]


@pytest.mark.parametrize('how', ['exit', '_exit', 'abort', 'end of input'])
def test_the_library_alone_leaves_a_trace(how, tmp_path):
    cause, ending = ENDS[how]
    with Steady([STEADY], alone(tmp_path)) as steady:
        pid = steady.pid()
        steady.do('leak 99')
        if cause:
            steady.say(cause)
        code, _, err = steady.finish()
    assert (code, err) == (ending.get('code', -ending.get('signal', 0)), b'')
    trace = only_trace(tmp_path)
    assert trace.name == f'alone.{pid}.seep'
    (process,) = report(trace)
    check(process, 99)
    if 'code' in ending:
        assert process['process']['exit'] == ending


@pytest.mark.parametrize('name, number', [('12', 12), ('USR2', signal.SIGUSR2), ('SIGPROF', signal.SIGPROF), ('PROF', signal.SIGPROF)])
def test_the_library_alone_writes_on_a_signal(name, number, tmp_path):
    need('perl')
    script = '$| = 1; my @held = map { "x" x 5000 } 1..300; print "ready\\n"; my $l = <STDIN>; print "got $l"; exit 3'
    program = subprocess.Popen(
        ['perl', '-e', script],
        env=alone(tmp_path, SEEP_SIGNAL=name),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert program.stdout.readline() == b'ready\n'
        os.kill(program.pid, number)
        wait_until(lambda: list(tmp_path.glob('alone.*.seep')), 'the trace')
        first = only_trace(tmp_path)
        (process,) = report(first)
        big = [s for s in process['sites'] if s['size_max'] >= 5000 and s['live_blocks'] >= 300]
        assert big and process['process']['exit'] is None
        first.unlink()
        os.kill(program.pid, number)
        wait_until(lambda: list(tmp_path.glob('alone.*.seep')), 'the second trace')
        out, _ = program.communicate(b'line\n', timeout=60)
        assert (program.returncode, out) == (3, b'got line\n')
    finally:
        kill(program)
    (process,) = report(only_trace(tmp_path))
    assert process['process']['exit'] == {'code': 3}


# ---- trouble on seep's side ----------------------------------------------------------------------------


def test_the_tool_is_killed(tmp_path):
    """The program goes on to its end, with the same output."""
    with Steady([SEEP, 'run', '-q', '-o', tmp_path / 'x.seep', '--', STEADY]) as steady:
        pid = steady.pid()
        steady.do('leak 10')
        steady.process.kill()
        steady.process.wait()
        for _ in range(20):
            steady.do('leak 100')
            steady.do('free 50')
        check(report(str(pid))[0], 1010)  # what it leaves behind can still be seen
        steady.say('exit 0')
        assert steady.process.stdout.read() == b''
        wait_until(lambda: has_ended(pid), 'the end of the program')


def test_tool_and_program_are_killed(tmp_path):
    """What was kept meanwhile is left, in the file that the whole trace would be in; and says so."""
    trace = tmp_path / 'x.seep'
    with Steady([SEEP, 'run', '--interval', '50ms', '-q', '-o', trace, '--', STEADY]) as steady:
        steady.do('leak 7')
        wait_until(trace.exists, 'a trace')
        steady.do('leak 3')
        wait_until(lambda: live(report(trace)[0], 'leak')[0] == 10, 'ten blocks in it')
        program = steady.pid()
        os.kill(steady.process.pid, signal.SIGKILL)
        os.kill(program, signal.SIGKILL)
        steady.process.wait()
    process = report(trace)[0]
    check(process, 10)
    assert any('seep was killed before the program had ended' in note for note in process['health']['notes']), process['health']
    assert os.listdir(tmp_path) == ['x.seep']


def test_what_was_kept_meanwhile_is_replaced(tmp_path):
    """By the whole trace, which has all; no second file is made."""
    with Steady([SEEP, 'run', '--interval', '50ms', '-q', '--', STEADY], cwd=tmp_path) as steady:
        steady.do('leak 7')
        wait_until(lambda: list(tmp_path.iterdir()), 'a trace')
        assert steady.finish()[0] == 0
    process = report(*tmp_path.iterdir())[0]
    check(process, 7)
    # On a busy machine it waits through so many looks that the report says so.
    notes = [note for note in process['health']['notes'] if 'did not run between looks' not in note]  # seldom
    assert process['process']['exit'] == {'code': 0} and notes == [], process


def test_the_tool_is_interrupted(tmp_path):
    """Ctrl-C goes to both: the program ends by it, and seep still reports."""
    trace = tmp_path / 'x.seep'
    with Steady([SEEP, 'run', '-q', '-o', trace, '--', STEADY], start_new_session=True) as steady:
        steady.do('leak 10')
        os.killpg(steady.process.pid, signal.SIGINT)
        code, _, _ = steady.finish()
    assert code == 128 + signal.SIGINT
    (process,) = report(trace)
    assert process['process']['exit'] == {'signal': int(signal.SIGINT)}
    check(process, 10)


def same_output_whatever_the_trace(trace, env=None):
    """The program is as it should be, or was not started at all; seep says in one line what is wrong."""
    done = run([SEEP, 'run', '-q', '-o', trace, '--', STEADY], env=env, input=b'leak 5\nexit 3\n')
    lines = done.err.decode().splitlines()
    named = (str(trace), str(trace.parent))  # the file, or the folder that it cannot be put into
    assert len(lines) == 1 and lines[0].startswith('seep:') and any(name in lines[0] for name in named), done
    if done.out:
        assert done.out == b'ready\nok\n', done
    else:
        assert done.code != 3 and done.code != 0, done
    return done


def test_no_such_directory(tmp_path):
    same_output_whatever_the_trace(tmp_path / 'none/x.seep')
    plain = run(
        [STEADY],
        input=b'leak 5\nexit 3\n',
        env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'none/x.seep'),
        cwd=tmp_path,
    )
    assert (plain.code, plain.out) == (3, b'ready\nok\n'), plain
    assert len(list(tmp_path.glob('seep.*.seep'))) == 1, 'as if none had been named'


def test_alone_a_special_file_is_never_replaced(tmp_path):
    """SEEP_OUT=/dev/null by root must leave a device there."""
    pipe = tmp_path / 'pipe'
    os.mkfifo(pipe)
    done = run([STEADY], input=b'leak 5\nexit 3\n', env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=pipe))
    assert (done.code, done.out) == (3, b'ready\nok\n'), done
    assert pipe.is_fifo() and [p.name for p in tmp_path.iterdir()] == ['pipe']


def test_directory_that_cannot_be_written(tmp_path):
    done = same_output_whatever_the_trace(Path('/proc/x.seep'))
    assert '/proc' in done.err.decode()


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / 'small'
    folder.mkdir()
    done = run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'small', folder])
    if done.code != 0:
        pytest.skip(f'no right to mount a small file system: {done.err.decode().strip()}')
    with open(folder / 'filler', 'wb', buffering=0) as filler, contextlib.suppress(OSError):
        while filler.write(b'x' * 512):
            pass
    yield folder
    run(['umount', folder])


def test_full_disk(small_disk):
    done = same_output_whatever_the_trace(small_disk / 'x.seep')
    assert done.code == 3, done
    assert [p.name for p in small_disk.iterdir()] == ['filler'], 'half a trace was left behind'
    full = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=small_disk / 'y.seep')
    plain = run([STEADY], input=b'leak 5\nexit 3\n', env=full)
    assert (plain.code, plain.out) == (3, b'ready\nok\n'), plain
    assert [p.name for p in small_disk.iterdir()] == ['filler'], 'half a trace was left behind'


def test_static_program(tmp_path):
    """It cannot be traced by preloading: it runs, and the report says why it is empty."""
    need('gcc')
    (tmp_path / 'p.c').write_text(
        program_source('kill_static_program.c')
    )
    done = run(['gcc', '-static', 'p.c', '-o', 'p'], cwd=tmp_path)
    if done.code != 0:
        pytest.skip('no static libc here')
    done = run([SEEP, 'run', '-o', tmp_path / 'x.seep', '--', tmp_path / 'p'])
    assert (done.code, done.out) == (6, b'static 1\n'), done
    assert b'static' in done.err.lower(), done


def test_program_in_count_order(tmp_path):
    """Two traces of one deterministic program tell the same."""
    figures = []
    for name in ('a', 'b'):
        done = traced([PROGRAMS / 'gcc-O2@plain'], tmp_path, name=name)
        (process,) = done.report()
        figures.append(
            (process['totals']['allocations'], process['totals']['live_bytes'], len(process['sites']))
        )
    assert figures[0] == figures[1]


def bound_socket(folder, name):
    """Of a tool that has bound its socket, and does not listen: it starts now, or was killed."""
    folder.mkdir()
    folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
        one.bind(str(folder / name))
    return folder


def test_only_what_was_left_over_is_removed():
    with tempfile.TemporaryDirectory() as place:  # a short name: that of the socket must fit
        starting = bound_socket(Path(place) / 'seep-aaaaaa', 'socket')
        killed = bound_socket(Path(place) / 'seep-bbbbbb', '0123456789abcdef')
        long_ago = bound_socket(Path(place) / 'seep-cccccc', 'socket')
        os.utime(long_ago / 'socket', (0, 0))
        done = run([SEEP, 'run', '-q', '-o', Path(place) / 'x.seep', '--', 'true'], env=environment(TMPDIR=place))
        assert done.code == 0, done
        assert starting.exists() and not killed.exists() and not long_ago.exists(), os.listdir(place)
