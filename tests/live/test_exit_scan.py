# SPDX-License-Identifier: BSD-2-Clause
"""seep run looks at processes that leave: classes for every way out, the latest moment, and that nobody waits in vain."""
import collections
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import harness
from harness import LIBSEEP, SEEP, environment

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
    whole = json.loads(report.read_text())
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
    loaded = json.loads(harness.run([SEEP, 'report', '--json', '--blocks', tmp_path / 'out.seep']).out)
    assert loaded['leaks'] == process['leaks'] and loaded['sites'] == process['sites']


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
    (tmp_path / 'lib.c').write_text('#include <stdlib.h>\nstatic void *kept;\n'
                                    'void touch(void) { kept = malloc(7000); }\n'
                                    '__attribute__((destructor)) static void end(void) { free(kept); kept = 0; malloc(7016); }\n')
    (tmp_path / 'main.c').write_text('void touch(void);\nint main(void) { touch(); return 0; }\n')
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
    children = Path(f'/proc/{tool.pid}/task/{tool.pid}/children').read_text().split()
    return tool, int(children[0])


def wait_gone(pid):
    until = time.monotonic() + PATIENCE_S
    while Path(f'/proc/{pid}').exists() and Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0] != 'Z':
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_dead_tool_is_not_waited_for(program, tmp_path):
    tool, pid = start(program, tmp_path)
    tool.kill()
    tool.wait(PATIENCE_S)
    began = time.monotonic()
    tool.stdin.write(b'x')
    tool.stdin.close()
    wait_gone(pid)
    assert time.monotonic() - began < 8  # the limit for a tool that lives is ten seconds
    tool.stdout.close()


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
    for delay in range(6):
        tool = subprocess.Popen([str(SEEP), 'run', '-q', '-o', str(tmp_path / 'out.seep'), '/usr/bin/python3', '-c', text],
                                env=environment(PYTHONMALLOC='malloc'), cwd=tmp_path, stdout=subprocess.PIPE)
        assert tool.stdout.read(5) == b'ready'
        time.sleep(0.01 * delay)
        children = Path(f'/proc/{tool.pid}/task/{tool.pid}/children').read_text().split()
        if children:
            os.kill(int(children[0]), signal.SIGKILL)
        assert tool.wait(PATIENCE_S) in (0, 137)
        tool.stdout.close()
