# SPDX-License-Identifier: BSD-2-Clause
"""Programs that take away what the library in them may rely on: descriptors, limits, rights, stacks, libraries, the image's
own memory. They end as without seep in each mode of the library, and the tool has a report."""
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
from harness import BUILD, SEEP, TIMEOUT, bpf_items, children_of, environment, need, run, wait_until  # noqa: E402
from small_programs import built_program  # noqa: E402

PROGRAM, PLUGIN = BUILD / 'tests/hostile/hostile-self', BUILD / 'tests/hostile/hostile-plugin.so'
WAYS = ['descriptors', 'limits', 'forks', 'stacks', 'no-new-code', 'landlock', 'asked-about', 'same-memory', 'plugins', 'image-unmapped',
        'image-unmapped-at-work', 'image-protected', 'image-read-only', 'image-advised', 'image-covered',
        'image-covered-by-calls', 'no-such-memory']
if platform.machine() == 'x86_64':  # its code is in assembly
    WAYS += ['stack-near-first', 'stack-near-first-by-call']


def how_it_ends(command, **env):
    done = run([*command, PROGRAM, *env.pop('args')], env=environment(**env))
    return done.code, done.out, done.err


@pytest.mark.parametrize('way', WAYS)
def test_it_ends_as_without_seep(way, tmp_path):
    args = [way, PLUGIN]
    plain = how_it_ends([], args=args)
    assert plain[0] == 0 and way.encode() in plain[1], plain
    trace = tmp_path / 't.seep'
    for options in ['--mode', 'live'], ['--mode', 'record'], ['--sample', '512']:
        command = [SEEP, 'run', '-q', '-o', trace, *options, '--']
        assert how_it_ends(command, args=args) == plain, options
        done = run([SEEP, 'report', '--json', '--top', '1', trace])
        assert done.code == 0, done
        whole = json.loads(done.out)
        health = (whole.get('processes') or [whole])[0]['health']
        gave_up = [note['code'] for note in health['notes']].count('gave_up')
        covered = way.startswith('image-covered')
        assert gave_up == covered and health['complete'] == (not covered and way != 'limits'), health
    alone = how_it_ends([], args=args, LD_PRELOAD=BUILD / 'libseep.so', SEEP_OUT=tmp_path / 'alone.%p.seep')
    assert alone == plain
    alone = how_it_ends([], args=args, LD_PRELOAD=BUILD / 'libseep-record.so', SEEP_MODE='record',
                        SEEP_OUT=tmp_path / 'alone.%p.seep')
    assert alone == plain


@pytest.mark.parametrize('first', [True, False], ids=['in front', 'behind'])
@pytest.mark.parametrize('way', ['limits', 'image-unmapped', 'image-protected', 'image-advised'])
def test_functions_of_another_library_that_make_the_call(way, first, tmp_path):
    """The functions make their calls by syscall(), which is the library's. The library's syscall() calls none of these functions."""
    need('gcc')
    shim = built_program('calls_by_number.c', tmp_path, '-O1', '-shared', '-fPIC')
    for mode, library in ('live', 'libseep.so'), ('record', 'libseep-record.so'):
        both = (shim, BUILD / library) if first else (BUILD / library, shim)
        done = how_it_ends([], args=[way, PLUGIN], LD_PRELOAD=':'.join(map(str, both)), SEEP_MODE=mode,
                           SEEP_OUT=tmp_path / '%p.seep')
        assert done == how_it_ends([], args=[way, PLUGIN]), (mode, done)


@pytest.mark.parametrize('mode, library', [('live', 'libseep.so'), ('record', 'libseep-record.so')])
def test_image_unmapped_while_it_grows(mode, library, tmp_path):
    """Between the call that makes an area of the image longer and its return, another thread unmaps what is new."""
    need('strace')
    log = tmp_path / 'log'
    strace = ['strace', '-f', '-qq', '-o', log, '-e', 'trace=mremap', '-e', 'inject=mremap:delay_exit=100000']
    if run(['strace', '-o', '/dev/null', 'true']).code != 0:
        pytest.skip('strace cannot trace here')
    for name, value in [('LD_PRELOAD', BUILD / library), ('SEEP_MODE', mode), ('SEEP_OUT', tmp_path / '%p.seep')]:
        strace += ['-E', f'{name}={value}']
    args = ['image-unmapped-at-work', PLUGIN]
    assert how_it_ends(strace, args=args) == how_it_ends([], args=args)
    assert log.read_text().count('DELAYED') > 3
    health, = [json.loads(run([SEEP, 'report', '--json', '--top', '1', path]).out)['health'] for path in tmp_path.glob('*.seep')]
    assert health['complete'], health


class Staying:
    """The program, at it until its input ends."""

    def __init__(self, way, *command, **env):
        self.process = subprocess.Popen([str(part) for part in (*command, PROGRAM, way, PLUGIN, 'stay')], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=environment(**env))
        said = iter(self.process.stdout.readline, b'')
        assert b'ready\n' in said  # a debugger may speak before it

    def pid_of(self):
        """Not that of a debugger in front of it."""
        return next(pid for pid in [self.process.pid, *children_of(self.process.pid)]
                    if os.path.realpath(f'/proc/{pid}/exe') == str(PROGRAM))

    def end(self):
        out, _ = self.process.communicate(timeout=TIMEOUT)
        return self.process.returncode, out


def is_free(pid):
    """Nothing of it is stopped or traced."""
    words = []
    for task in os.listdir(f'/proc/{pid}/task'):
        try:
            words.append(Path(f'/proc/{pid}/task/{task}/status').read_text())
        except (FileNotFoundError, ProcessLookupError):  # a thread that has ended
            pass
    return all('TracerPid:\t0' in text and '\nState:\tT' not in text and '\nState:\tt' not in text for text in words)


@pytest.mark.parametrize('way', ['plugins', 'forks', 'stacks', 'same-memory'])
def test_it_goes_on_while_the_tool_looks(way, tmp_path):
    """Libraries come and go, processes and stacks too, while probes are put in and taken out and threads are stopped."""
    target = Staying(way, LD_PRELOAD=BUILD / 'libseep.so', SEEP_OUT=tmp_path / 'x.%p.seep')
    pid = target.process.pid
    commands = [['scan', pid], ['scan', '--cow', pid], ['snap', '-o', tmp_path / 's.seep', pid]] * 2
    if bpf_items().get('BPF programs', {}).get('verdict') != 'bad':
        commands += [['attach', pid, '100ms', '2']] * 2
    for command in commands:
        done = run([SEEP, *command], cwd=tmp_path)
        assert done.code in (0, 1) and target.process.poll() is None, (done, target.process.poll())
        assert done.err.count(b'\n') <= 1, done
        wait_until(lambda: is_free(pid), 'it is free again')
    code, out = target.end()
    assert code == 0 and way.encode() in out, (code, out)


def test_headers_of_libraries_that_may_go_are_not_read(tmp_path):
    """Between the question whether a header can be read and its reading, another thread may unmap the library. The questions are
    system calls. Before, each dlclose made nine, of all libraries."""
    need('strace')
    if run(['strace', '-o', '/dev/null', 'true']).code != 0:
        pytest.skip('strace cannot trace here')
    log = tmp_path / 'log'
    strace = ['strace', '-f', '-qq', '-o', log, '-e', 'trace=prlimit64']
    for name, value in [('LD_PRELOAD', BUILD / 'libseep.so'), ('SEEP_OUT', tmp_path / '%p.seep')]:
        strace += ['-E', f'{name}={value}']
    args = ['plugins', PLUGIN]
    assert how_it_ends(strace, args=args) == how_it_ends([], args=args)
    assert 450 < log.read_text().count('0xffffffff') < 450 * 5


@pytest.mark.parametrize('debugger', ['gdb', 'strace'])
def test_under_another_debugger(debugger, tmp_path):
    """It has the process already: the tool is refused in one line where it must stop it, and the debugger keeps it."""
    need(debugger)
    front = {'gdb': ['gdb', '-q', '-nx', '-batch', '-iex', 'set auto-load off', '-ex', 'handle all nostop noprint pass', '-ex', 'run', '--args'],
             'strace': ['strace', '-f', '-o', tmp_path / 'calls']}[debugger]
    target = Staying('forks', *front, *(['env'] if debugger == 'gdb' else []), LD_PRELOAD=BUILD / 'libseep.so', SEEP_OUT=tmp_path / 'x.%p')
    pid = target.pid_of()
    for command in ['scan', pid], ['scan', '--cow', pid]:
        done = run([SEEP, *command], cwd=tmp_path)
        assert done.code == 1 and done.err.count(b'\n') == 1 and str(pid).encode() in done.err, done
    done = run([SEEP, 'report', '--json', '--top', '1', pid])
    assert done.code == 0, done
    if bpf_items().get('BPF programs', {}).get('verdict') != 'bad':
        done = run([SEEP, 'attach', pid, '100ms', '1'], cwd=tmp_path)
        assert done.code == 0, done
    assert 'TracerPid:\t%d\n' % target.process.pid in Path(f'/proc/{pid}/status').read_text()
    code, out = target.end()
    assert code == 0 and b'forks: ' in out, (code, out)
    # And the tool itself, with all that it starts.
    done = run([*front, SEEP, 'run', '-q', '-o', tmp_path / 't.seep', '--', PROGRAM, 'forks'])
    assert done.code == 0 and b'forks: ' in done.out and run([SEEP, 'report', tmp_path / 't.seep']).code == 0, done
