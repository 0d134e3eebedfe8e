# SPDX-License-Identifier: BSD-2-Clause
"""Numbers of processes: the same one after the other, and those of more than 16 bits. In a pid namespace of its own, where the
test may say which number is next."""
import json
import os
import subprocess
from pathlib import Path

import pytest
from harness import BUILD, SEEP, TIMEOUT, environment, need, no_losses, report, run
from small_programs import built_program, program_source

COVERS = [('PID reuse', 'covered', 'test_five_children_of_one_number', 'in a pid namespace where numbers can be chosen')]

PROGRAM = BUILD / 'tests/live/live-processes'
SCRIPT = r'''
import os, sys
for i in range(5):
    with open('/proc/sys/kernel/ns_last_pid', 'w') as file:
        file.write('499')
    if (pid := os.fork()) == 0:
        os.execv(sys.argv[1], [sys.argv[1], 'own', str(20 + i)])
    print(pid, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
'''

KILLED = r'''
import os
pid = os.posix_spawn('/bin/sh', ['sh', '-c', 'kill -9 $$'], os.environ)
os.waitpid(pid, 0)
with open('/proc/sys/kernel/ns_last_pid', 'w') as file:
    file.write(str(pid - 1))
'''


@pytest.fixture
def namespace():
    """A command whose program may say which number the next process has."""
    need('unshare')
    command = ['unshare', '--pid', '--fork', '--mount-proc']
    if os.geteuid() != 0 or run([*command, 'test', '-w', '/proc/sys/kernel/ns_last_pid']).code:
        pytest.skip('the number of the next process cannot be chosen here (root, CONFIG_CHECKPOINT_RESTORE)')
    return command


def test_five_children_of_one_number(namespace, tmp_path):
    trace = tmp_path / 't.seep'
    program = ['/usr/bin/python3', '-S', '-c', SCRIPT, PROGRAM]
    plain = run([*namespace, *program])
    done = run([*namespace, SEEP, 'run', '-q', '-o', trace, '--', *program])
    assert (done.code, done.out, done.err) == (plain.code, plain.out, plain.err) == (0, b'500 0\n' * 5, b''), done
    main, *children = report(trace)
    origins = [(c['process']['pid'], c['process']['origin'], c['process']['started_by']) for c in children]
    assert origins == [(500, 'fork', main['process']['pid']), (500, 'exec', 500)] * 5
    sizes = []
    for child in children:
        no_losses(child)
        sizes += [s['size_max'] for s in child['sites'] if any(f['function'] == 'own' for f in s['stack'])]
    assert sizes == [20, 21, 22, 23, 24]


# Arguments: seep, a program that waits for a line, the trace. Prints the program's number and what is said of it over the wire.
HIGH = r'''
import subprocess, sys
seep, program, trace = sys.argv[1:]
with open('/proc/sys/kernel/ns_last_pid', 'w') as file:
    file.write('70003')
run = subprocess.Popen([seep, 'run', '-q', '-o', trace, '--', program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
with open('/proc/%d/task/%d/children' % (run.pid, run.pid)) as file:
    while not (children := file.read().split()):
        file.seek(0)
pid = children[0]
run.stdin.write(b'\n')
run.stdin.flush()
assert run.stdout.readline() == b'done\n'
def answer(place):
    return subprocess.run([seep, 'connect', '--json', '-e', 'status', place], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
print(pid)
print(answer(pid))
print(answer('exec:%s serve --listen stdio %s' % (seep, pid)))
print(subprocess.run([seep, 'scan', '--json', pid], stdout=subprocess.PIPE, check=True).stdout.decode().strip(), flush=True)
run.communicate(b'\n')
sys.exit(run.returncode)
'''


def has_limit_of_namespace():
    return tuple(map(int, os.uname().release.split('.')[:2])) >= (6, 14)


def test_numbers_of_more_than_16_bits(tmp_path):
    """On the wire, in a scan and in the trace."""
    need('unshare')
    namespace = ['unshare', '--pid', '--fork', '--mount-proc', 'sh', '-c', 'set -e; m=/proc/sys/kernel/pid_max\n'
                 '[ $(cat $m) -gt 80000 ] || echo 100000 >$m; exec "$@"', 'sh']
    # A kernel before 6.14 has one limit for all namespaces: that of the machine is not changed for a test.
    enough = int(Path('/proc/sys/kernel/pid_max').read_text()) > 80000
    if os.geteuid() != 0 or not (enough or has_limit_of_namespace()):
        pytest.skip('numbers of processes end at 32,768 here, or cannot be chosen (root)')
    trace = tmp_path / 't.seep'
    done = run([*namespace, '/usr/bin/python3', '-S', '-c', HIGH, SEEP, BUILD / 'tests/live/live-attach-steps', trace])
    assert done.code == 0 and not done.err, done
    pid, here, far, *scanned = done.out.decode().splitlines()
    here, far, scanned = json.loads(here), json.loads(far), json.loads('\n'.join(scanned))
    assert int(pid) > 65535 and here['pid'] == far['pid'] == pid
    assert here['live_blocks'] == far['live_blocks'] > 0
    (process,) = report(trace)
    assert process['process']['pid'] == scanned['process']['pid'] == int(pid)


def test_a_helper_of_the_tool_with_the_number_of_a_child(namespace, tmp_path):
    """A run waited for the process that opens files for the tool, if that began in the same hundredth of a second as the child."""
    for _ in range(8):
        done = run([*namespace, SEEP, 'run', '-q', '-o', tmp_path / 't.seep', '--', '/usr/bin/python3', '-S', '-c', KILLED])
        assert (done.code, done.err) == (0, b''), done


# The child has a smaller number than the program, and runs on without a heap operation.
BEFORE = r'''
import os, sys
with open('/proc/sys/kernel/ns_last_pid', 'w') as file:
    file.write(str(os.getpid() // 2))
os.posix_spawn(sys.argv[1], [sys.argv[1], 'idle', '5'], os.environ)
'''

# Arguments: seep and how it runs. 40 processes are there before.
AMONG_OTHERS = r'''
import subprocess, sys
others = [subprocess.Popen(['sleep', '1000']) for _ in range(40)]
done = subprocess.run(sys.argv[1:])
for other in others:
    other.kill()
    other.wait()
print(*(other.pid for other in others))
sys.exit(done.returncode)
'''


def test_a_child_with_a_smaller_number_runs_on(namespace, tmp_path):
    """Numbers begin anew, so descendants are sought among small ones, too."""
    trace = tmp_path / 't.seep'
    begin = ['sh', '-c', 'echo 600 >/proc/sys/kernel/ns_last_pid; "$@"', 'sh']
    done = run([*namespace, *begin, SEEP, 'run', '-q', '--no-wait', '-o', trace, '--', '/usr/bin/python3', '-S', '-c', BEFORE, PROGRAM])
    assert done.code == 0, done
    (note,) = [note for process in report(trace) for note in process['health']['notes'] if note.code == 'left_running']
    assert '(live-processes)' in note, note


def few_numbers():
    """A command whose program runs where numbers of processes begin anew soon. It is for a namespace."""
    limit = Path('/proc/sys/kernel/pid_max')
    if int(limit.read_text()) > 65536 and not has_limit_of_namespace():
        pytest.skip('there are more than 65,536 numbers of processes here, which only Linux 6.14 changes for a namespace alone')
    return ['sh', '-c', f'[ $(cat {limit}) -le 65536 ] || echo 32768 >{limit}; exec "$@"', 'sh']


def left_running(tmp_path, source, *before):
    """What seep says of a program of which a process runs on until its standard input ends. None: nothing."""
    trace, program = tmp_path / 't.seep', tmp_path / 'program'
    program.with_suffix('.c').write_text(program_source(source))
    assert run(['gcc', '-O1', '-o', program, program.with_suffix('.c')]).code == 0
    with subprocess.Popen([*before, SEEP, 'run', '-q', '--no-wait', '--scan', 'no', '-o', trace, '--', program], stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=environment()) as run_of_it:
        assert run_of_it.stderr.read() == b''
        if (code := run_of_it.wait(timeout=TIMEOUT)) == 1:
            pytest.skip('a fork that fails uses up no number of a process here')
        assert code == 0
    return [note for process in report(trace) for note in process['health']['notes'] if note.code == 'left_running']


def test_a_child_from_before_many_forks_that_failed(namespace, tmp_path):
    """A fork that fails uses up a number that the kernel does not count. So the child may have a number beyond the last one."""
    assert len(left_running(tmp_path, 'pid_reuse_failed_forks.c', *namespace, *few_numbers())) == 1


def test_processes_that_each_start_the_next_one_and_end(tmp_path):
    """A process may end and leave another one before it is looked at. That happens by chance, so there are 20 runs."""
    assert [len(left_running(tmp_path, 'pid_reuse_chain.c')) for _ in range(20)] == [1] * 20


def test_a_run_waits_for_a_long_chain_of_processes(tmp_path):
    """Each process may end before seep looks at it. A descendant may run on although seep finds none."""
    trace, program, told = (tmp_path / name for name in ('t.seep', 'program', 'told'))
    program.with_suffix('.c').write_text(program_source('pid_reuse_long_chain.c'))
    assert run(['gcc', '-O1', '-o', program, program.with_suffix('.c')]).code == 0
    with told.open('wb') as output:
        done = subprocess.run([SEEP, 'run', '-q', '-o', trace, '--', program], stdout=output, env=environment(), timeout=TIMEOUT)
    assert done.returncode == 0
    waited = told.read_text() == 'last\n'
    assert waited or 'left_running' in [note.code for process in report(trace) for note in process['health']['notes']]


def test_processes_of_others_that_end_before_the_look_are_not_missed(tmp_path):
    """On a busy machine others always start processes, and the tool may wait for seconds for a processor."""
    trace = tmp_path / 't.seep'
    busy = built_program('pid_reuse_busy.c', tmp_path, '-shared', '-fPIC')
    done = run([SEEP, 'run', '-q', '--scan', 'no', '-o', trace, '--', 'sh', '-c', '/bin/true; /bin/true'],
               env=environment(LD_PRELOAD=busy))
    assert done.code == 0, done
    assert all(process['health']['complete'] for process in report(trace)), report(trace)


def test_older_processes_are_not_read_at_the_end(namespace, tmp_path):
    """The end of a run reads /proc only of processes whose numbers were given after the program's."""
    need('strace')
    calls = tmp_path / 'calls'
    done = run([*namespace, *few_numbers(), '/usr/bin/python3', '-S', '-c', AMONG_OTHERS, 'strace', '-o', calls, '-e', 'trace=openat',
                SEEP, 'run', '-q', '--scan', 'no', '-o', tmp_path / 't.seep', '--', 'sleep', '0.1'])
    if not calls.exists() or not calls.stat().st_size:
        pytest.skip(f'strace cannot trace here: {done}')
    assert done.code == 0, done
    text = calls.read_text()
    others = done.out.decode().split()
    assert '/proc/loadavg' in text and len(others) == 40
    assert not [pid for pid in others if f'"/proc/{pid}/' in text]
