# SPDX-License-Identifier: BSD-2-Clause
"""Every system call of the library fails once, in turn: the program does what it does, and the report is right or says
what it lacks. The library is one built for this (src/tracee/preload/faults.c)."""
import copy
import errno
import os
import random
import signal
import subprocess
import sys


import pytest
from harness import BUILD, PROGRAMS, ROOT, SEEP, TIMEOUT, children_of, environment, exit_status, report, run, state_of, wait_until

sys.path.insert(0, str(ROOT / 'tests/golden'))
import seep_reader  # noqa: E402
import fault_sweep  # noqa: E402

COVERS = [
    ('every system call fails in turn', 'covered', 'test_each_call_fails_once',
     'in seven kinds of programs; right, or said'),
    ('every system call fails in turn', 'covered', 'test_all_calls_fail_from_one_on', ''),
    ('every system call fails in turn', 'covered', 'test_faults_by_chance', 'comes late, or a signal comes before it, in each mode'),
    ('a handler leaves a hook by longjmp', 'covered', 'test_a_handler_that_jumps_out_of_a_call',
     'it costs the calls until the thread calls the next hook'),
    ('map refused', 'declared', 'test_each_call_fails_once', 'counted by reason'),
    ('socket refused', 'declared', 'test_each_call_fails_once', 'the library goes on alone'),
    ('tables full', 'declared', 'test_full_tables', 'counted by reason; what did fit is right'),
    ('tool slow or stopped', 'covered', 'test_the_tool_is_stopped',
     'a process that leaves waits 10 ms for it; one that does not reach it is counted'),
    ('clock jumps', 'covered', 'test_the_clock_jumps', ''),
]

FAULTY = BUILD / 'tests/live/libseep-faults.so'
MOST_CALLS = 3000
# All processes make these when they start. They fail one by one in one program only, in the others every sixth, behind them
# every eighth: others each time. All with SEEP_ALL_FAULTS=1 (make hostile).
FIRST_CALLS = 110
ALL_FAULTS = bool(os.environ.get('SEEP_ALL_FAULTS'))
COMMANDS = {
    'threads': ([PROGRAMS / 'gcc-O2@threads'], {}),
    'fork': ([PROGRAMS / 'gcc-O2@forks'], {}),
    'exec': ([PROGRAMS / 'gcc-O2@execs'], {}),
    'dlopen': ([PROGRAMS / 'gcc-O2@plugin'], {}),
    'deep stacks': ([PROGRAMS / 'gcc-O2@recursion'], {}),
    'mappings': ([BUILD / 'tests/live/live-confined', 'as'], {}),
    'shell': (['sh', '-c', 'x=$(echo a | tr a b); echo $x; exit 4'], {}),
}


def calls(each_first):
    """The numbers of the calls that fail, one after the other."""
    if ALL_FAULTS:
        return range(1, MOST_CALLS)
    first = range(1, FIRST_CALLS) if each_first else range(1 + random.randrange(6), FIRST_CALLS, 6)
    return [*first, *range(FIRST_CALLS + random.randrange(8), MOST_CALLS, 8)]


def all_figures(processes):
    keys = ('allocations', 'allocated_bytes', 'frees', 'freed_bytes', 'live_blocks')
    return sorted([p['totals'][k] for k in keys] for p in processes)


def healths(processes):
    """What the reports say about themselves: losses, stacks cut, notes; without the number of events."""
    return sorted(str({k: v for k, v in p['health'].items() if k != 'events'}) for p in processes)


def right_or_said(processes, expected):
    return all_figures(processes) == all_figures(expected) or healths(processes) != healths(expected)


def faulty_run(args, env, folder, fault):
    """(finished command, the processes of its trace, whether the call was reached)"""
    seen, trace = folder / 'seen', folder / 't.seep'
    for path in (seen, trace):
        path.unlink(missing_ok=True)
    env = environment(**env, SEEP_LIBRARY=FAULTY, SEEP_FAULT=fault, SEEP_FAULT_SEEN=seen)
    done = run([SEEP, 'run', '-q', '-o', trace, '--', *args], env=env, cwd=folder)
    # Hundreds of traces: the reader that names no functions is the quick one.
    return done, seep_reader.read(trace.read_bytes())['processes'], seen.exists()


@pytest.mark.parametrize('name', COMMANDS)
def test_each_call_fails_once(name, tmp_path):
    args, env = COMMANDS[name]
    plain = run(args, env=environment(**env), cwd=tmp_path)
    whole, expected, reached = faulty_run(args, env, tmp_path, '0')
    assert not reached and not any(any(p['health']['lost']) for p in expected)
    for n in calls(name == 'threads'):
        done, processes, reached = faulty_run(args, env, tmp_path, str(n))
        assert exit_status(done.code) == exit_status(plain.code), (n, done)
        assert (done.out, done.err) == (plain.out, plain.err), (n, done)
        assert right_or_said(processes, expected), (n, processes)
        if not reached:
            break
    assert n > 20, 'the library makes more calls than that'
    assert not reached


# The whole machine is short of something, from one moment on.
@pytest.mark.parametrize('error', [errno.ENOMEM, errno.EPERM, errno.EINTR, errno.EAGAIN], ids=errno.errorcode.get)
@pytest.mark.parametrize('name', ['threads', 'fork', 'dlopen'])
def test_all_calls_fail_from_one_on(name, error, tmp_path):
    args, env = COMMANDS[name]
    plain = run(args, env=environment(**env), cwd=tmp_path)
    _, expected, _ = faulty_run(args, env, tmp_path, '0')
    n = 1
    while True:
        done, processes, reached = faulty_run(args, env, tmp_path, f'{n}+:{error}')
        assert exit_status(done.code) == exit_status(plain.code), (n, done)
        assert (done.out, done.err) == (plain.out, plain.err), (n, done)
        assert right_or_said(processes, expected), (n, processes)
        if not reached:
            break
        n += 1 + (n // 6 if ALL_FAULTS else random.randrange(1 + 2 * (n // 3)))  # each early one, then every so often


# Three threads make some 25 calls before each has its first block recorded; where the log is no file, each line makes some.
@pytest.mark.parametrize('mode, first, step', [('live', 't', 1), ('record', 't', 3), ('log', 't', 3), ('nowhere', '', 9)])
def test_a_handler_that_jumps_out_of_a_call(mode, first, step, tmp_path):
    """What the library held is free again when the thread allocates again; other threads wait for it no more than once."""
    whole = fault_sweep.without_faults(mode, 'jump', tmp_path, 'short')
    nr_reached = 0
    for n in range(1, MOST_CALLS if ALL_FAULTS else 26 if first else 150, step):
        fault = f'{first}{n}:{fault_sweep.SIGNAL}'
        run = fault_sweep.Run(mode, 'jump', fault, tmp_path, 'short')
        nr_reached += run.is_reached
        assert not fault_sweep.wrong(run, whole, 'jump', fault), (fault, fault_sweep.wrong(run, whole, 'jump', fault))
        if not run.is_reached:
            break
    assert nr_reached > 5


@pytest.mark.parametrize('mode', fault_sweep.MODES)
def test_faults_by_chance(mode, tmp_path):
    """A few of `make soak ONLY=faults`: each error at any call, calls that come late, signals before them."""
    seed = random.randrange(1 << 32)
    print(f'{mode}: seed {seed}')
    assert list(fault_sweep.sample(mode, 600 if ALL_FAULTS else 8, tmp_path, seed)) == []


def test_the_sweep_finds_what_is_missing(tmp_path):
    """A process without a word of it, or no trace: a sweep that takes any other health for a loss that is told passes both."""
    whole = fault_sweep.without_faults('live', 'allocate', tmp_path)
    for nr in 0, len(whole.processes) - 1:
        less = copy.copy(whole)
        less.processes = whole.processes[:nr]
        assert fault_sweep.wrong(less, whole, 'allocate', '1:5'), nr
        less.is_alone = True
        assert bool(fault_sweep.wrong(less, whole, 'allocate', '1:5')) == bool(nr)  # alone: none, or a whole one
    told = copy.deepcopy(whole)
    told.processes[1]['health']['lost'][7] = 1
    told.processes[1]['totals']['allocations'] -= 1
    assert not fault_sweep.wrong(told, whole, 'allocate', '1:5')


def test_the_sweep_names_the_call_with_which_a_run_does_not_end(tmp_path, monkeypatch):
    whole = fault_sweep.without_faults('live', 'allocate', tmp_path)
    monkeypatch.setattr(fault_sweep.harness.run, '__kwdefaults__', {**fault_sweep.harness.run.__kwdefaults__, 'timeout': 0})
    assert fault_sweep.wrong(fault_sweep.Run('live', 'allocate', '1:5', tmp_path), whole, 'allocate', '1:5')


def test_alone_each_call_fails_once(tmp_path):
    """Without the tool the library also writes the file: none, or a whole one; never a broken one, never a rest."""
    program = PROGRAMS / 'gcc-O2@plain'
    plain = run([program])
    whole = 0
    for n in calls(False):
        folder = tmp_path / str(n)
        folder.mkdir()
        seen = tmp_path / 'seen'
        seen.unlink(missing_ok=True)
        env = environment(
            LD_PRELOAD=FAULTY, SEEP_OUT=folder / 'trace', SEEP_FAULT=str(n), SEEP_FAULT_SEEN=seen
        )
        done = run([program], env=env)
        assert (done.code, done.out, done.err) == (plain.code, plain.out, plain.err), (n, done)
        left = os.listdir(folder)
        assert left in ([], ['trace']), (n, left)
        if left:
            report(folder / 'trace')
            whole += 1
        if not seen.exists():
            break
    assert whole > 3 and left == ['trace']


# ---- full tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize('sites, threads, reasons', [(20000, 1, {'no_site'}), (10, 200, {'no_thread'})])
def test_full_tables(sites, threads, reasons, tmp_path):
    """More stacks than ids, more threads than slots: losses by reason, and what did fit is right."""
    program = BUILD / 'tests/live/live-many'
    small = environment(SEEP_LIBRARY=FAULTY, SEEP_FAULT_SMALL=1)
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 't.seep', '--', program, sites, threads], env=small)
    assert (done.code, done.out) == (0, f'{sites + threads} kept\n'.encode()), done
    (process,) = report(tmp_path / 't.seep')
    lost = {reason: n for reason, n in process['health']['lost'].items() if n}
    assert reasons <= set(lost) <= reasons | {'free_unseen', 'no_counters', 'no_leaf'}, lost
    blocks = sum(s['live_blocks'] for s in process['sites'] if s['size_min'] == s['size_max'] == 24)
    if 'no_site' in reasons:
        # Those without a stack of their own are blocks all the same.
        unknown = sum(s['live_blocks'] for s in process['sites'] if not s['stack'])
        assert 0 < blocks < sites and unknown > 0
        assert process['totals']['live_blocks'] >= sites
    else:
        assert blocks == sites
        seen = sum(s['allocations'] for s in process['sites'] if any(f['function'] == 'in_thread' for f in s['stack']))
        assert seen % 11 == 0 and 80 <= seen // 11 < threads
        assert lost['no_thread'] >= (threads - seen // 11) * 11


# ---- the tool ----------------------------------------------------------------------------------------


def test_the_tool_is_stopped(tmp_path):
    """Processes start, work and end while the tool does not move; a process that does not reach it is traced no less safely,
    and counted."""
    script = 'i=0; while [ $i -lt 300 ]; do (exit 3); i=$((i+1)); done; /bin/echo $i; exit 5'
    gate = tmp_path / 'gate'
    os.mkfifo(gate)
    tool = subprocess.Popen(
        [SEEP, 'run', '-q', '-o', tmp_path / 't.seep', '--', 'sh', '-c', f'read x < {gate}; ' + script],
        stdout=subprocess.PIPE,
        env=environment(),
    )
    with open(gate, 'w') as start:
        wait_until(lambda: children_of(tool.pid), 'the program')
        child = children_of(tool.pid)[0]
        os.kill(tool.pid, signal.SIGSTOP)
        try:
            start.write('go\n')
            start.flush()
            wait_until(lambda: state_of(child) == 'Z', 'its end')
        finally:
            os.kill(tool.pid, signal.SIGCONT)
    out, _ = tool.communicate(timeout=TIMEOUT)
    assert (tool.returncode, out) == (5, b'300\n')
    assert report(tmp_path / 't.seep')[0]['totals']['allocations'] > 0


def test_the_clock_jumps(tmp_path):
    """The wall clock is only read to say when a process started; what is measured is not measured by it."""
    faked = PROGRAMS / 'gcc-O2@steady'
    if os.geteuid() != 0 or subprocess.run(['unshare', '-T', 'true'], stderr=subprocess.DEVNULL).returncode:
        pytest.skip('no time namespaces for this user')
    # Ten years of monotonic time between the tool and the program.
    trace = tmp_path / 't.seep'
    command = ['unshare', '-T', '--monotonic', '315360000', '--boottime', '315360000', faked]
    done = run([SEEP, 'run', '-q', '-o', trace, '--', *command], input=b'leak 7\nexit 3\n')
    assert done.code == 3, done
    process = [p for p in report(trace) if p['process']['exe'].endswith('steady')][0]
    assert process['totals']['live_blocks'] >= 7
    assert 0 <= process['process']['duration_s'] < 600, process['process']
