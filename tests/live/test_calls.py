# SPDX-License-Identifier: BSD-2-Clause
"""Modes count and log: what the witness saw, whatever becomes of the program, its threads and the log's descriptor."""
import json
import os
import re
import signal
import subprocess

import pytest
import messages
from harness import BUILD, PROGRAMS, SEEP, environment, need, read_witness, root_only, run, with_witness
from small_programs import built_program, program_source

LIBRARY = BUILD / 'libseep-record.so'
TWO = ('sh', '-c', f"{PROGRAMS / 'gcc-O2@plain'} & {PROGRAMS / 'gcc-O2@storm'}; wait")  # at the same time
LINE = re.compile(
    rb'(malloc\t\d+|calloc\t\d+ \d+|realloc\t(?:0x[0-9a-f]+|\(nil\)) \d+|posix_memalign\t\d+ \d+|aligned_alloc\t\d+ \d+|'
    rb'memalign\t\d+ \d+|p?valloc\t\d+|operator new(?:\[\])?\t\d+|(?:free|operator delete(?:\[\])?)\t0x[0-9a-f]+)'
    rb'\t(0x[0-9a-f]+|\(nil\)|-)'
)


def mode(tmp_path, which, *args, options=(), env=None, code=0):
    trace = tmp_path / f'{which}.seep'
    done = run([SEEP, 'run', '-q', '--mode', which, '-o', trace, *options, '--', *args], env=env, cwd=tmp_path)
    assert done.code == code, done
    report = run([SEEP, 'report', '--json', trace])
    assert report.code == 0, report
    whole = json.loads(report.out)
    return done, whole.get('processes') or [whole]


def witnessed(folder):
    """What the witness saw of the traced processes: the tool has it preloaded, too."""
    return [w for w in read_witness(folder) if w['exe'] != str(SEEP)]


def lines_of(log):
    lines = log.read_bytes().splitlines()
    for line in lines:
        assert LINE.fullmatch(line), line
    return lines


@pytest.mark.parametrize('name', ['plain', 'threads', 'many_threads', 'resize', 'failures', 'operators', 'family'])
def test_counts_are_those_of_the_witness(name, tmp_path):
    done, processes = mode(tmp_path, 'count', PROGRAMS / f'gcc-O2@{name}', env=with_witness(tmp_path))
    assert not any(any(p['health']['lost'].values()) for p in processes), processes
    saw = witnessed(tmp_path)
    assert len(processes) == len(saw)
    allocations = sum(w['now']['allocations'] - w['inherited']['allocations'] for w in saw)
    assert sum(p['totals']['allocations'] for p in processes) == allocations
    assert sum(p['totals']['frees'] for p in processes) == sum(
        w['now']['frees'] - w['inherited']['frees'] for w in saw)
    if name != 'operators':  # operator new rounds sizes up before it calls the allocator
        assert sum(p['totals']['allocated_bytes'] for p in processes) == sum(
            w['now']['bytes'] - w['inherited']['bytes'] for w in saw)
    for process in processes:
        totals = process['totals']
        assert totals['freed_bytes'] is totals['live_bytes'] is totals['peak_bytes'] is totals['temporary'] is None
        assert process['leaks'] is None
        assert sum(entry['allocations'] for entry in totals['by_size']) == totals['allocations']
        assert sum(totals['by_function'].values()) == totals['allocations']


def test_three_hundred_threads_are_counted_one_by_one(tmp_path):
    need('gcc')
    (tmp_path / 'many.c').write_text(program_source('calls_threads.c'))
    done = run(['gcc', '-O1', '-fno-builtin', '-pthread', tmp_path / 'many.c', '-o', tmp_path / 'many'])
    assert done.code == 0, done
    _, (process,) = mode(tmp_path, 'count', tmp_path / 'many')
    report = run([SEEP, 'report', '--json', '--by', 'thread', tmp_path / 'count.seep'])
    rows = json.loads(report.out)['groups']
    assert sum(row['allocations'] == 100 for row in rows) >= 299, rows  # what a thread's start allocates is main's


def test_counts_of_a_running_and_of_a_killed_program(tmp_path):
    """The counts lie in shared memory: read while it runs, and whole when it is killed."""
    need('gcc')
    (tmp_path / 'waits.c').write_text(program_source('calls_killed.c'))
    done = run(['gcc', '-O1', '-fno-builtin', tmp_path / 'waits.c', '-o', tmp_path / 'waits'])
    assert done.code == 0, done
    trace = tmp_path / 'killed.seep'
    tool = subprocess.Popen([SEEP, 'run', '-q', '--mode', 'count', '-o', trace, tmp_path / 'waits'],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
    pid = int(tool.stdout.readline())
    live = json.loads(run([SEEP, 'report', '--json', str(pid)]).out)
    assert live['totals']['allocations'] >= 1000
    os.kill(pid, signal.SIGKILL)
    tool.communicate(timeout=60)
    assert tool.returncode == 128 + signal.SIGKILL
    after = json.loads(run([SEEP, 'report', '--json', trace]).out)
    assert after['totals'] == live['totals']
    assert after['process']['exit'] == {'signal': 9}


def test_counts_without_the_tool(tmp_path):
    done = run([PROGRAMS / 'gcc-O2@plain'],
               env=environment(LD_PRELOAD=LIBRARY, SEEP_MODE='count', SEEP_OUT=tmp_path / 'alone.seep'))
    assert done.code == 0 and not done.err, done
    whole = json.loads(run([SEEP, 'report', '--json', tmp_path / 'alone.seep']).out)
    assert whole['totals']['allocations'] > 0 and whole['totals']['live_bytes'] is None


@pytest.mark.parametrize('name', ['plain', 'storm', 'resize', 'failures', 'operators'])
def test_a_line_for_each_call(name, tmp_path):
    log = tmp_path / 'calls.log'
    done, (process,) = mode(tmp_path, 'log', PROGRAMS / f'gcc-O2@{name}', options=['--log', log],
                            env=with_witness(tmp_path))
    lines = lines_of(log)
    (saw,) = witnessed(tmp_path)
    gave = [line for line in lines if not line.endswith((b'\t(nil)', b'\t-'))]
    assert len(gave) == saw['now']['allocations'] == process['totals']['allocations']
    assert sum(line.startswith(b'realloc') for line in gave) == process['totals']['by_function'].get('realloc', 0)
    assert not any(process['health']['lost'].values()), process['health']
    if name == 'storm':
        return  # what a realloc frees may be handed out again before its line is written
    # Every block is handed out once before it is freed.
    live = set()
    for line in lines:
        function, arguments, result = line.split(b'\t')
        if function == b'realloc' and (result != b'(nil)' or arguments.endswith(b' 0')):
            live.discard(arguments.split()[0])
        if result == b'-':
            if name != 'failures':
                assert arguments in live, line
            live.discard(arguments)
        elif result != b'(nil)':
            assert result not in live, line
            live.add(result)


def test_lines_of_processes_stay_whole(tmp_path):
    log = tmp_path / 'calls.log'
    _, processes = mode(tmp_path, 'log', *TWO, options=['--log', log])
    assert len(processes) > 1
    gave = [line for line in lines_of(log) if not line.endswith((b'\t(nil)', b'\t-'))]
    assert len(gave) == sum(p['totals']['allocations'] for p in processes)


def test_one_file_for_each_process(tmp_path):
    _, processes = mode(tmp_path, 'log', *TWO, options=['--log', 'calls.%p.log'])
    pids = {p['process']['pid'] for p in processes}
    assert len(pids) == 3, processes  # three lives of it, and exec keeps the pid
    for pid in pids:
        gave = [line for line in lines_of(tmp_path / f'calls.{pid}.log') if not line.endswith((b'\t(nil)', b'\t-'))]
        assert len(gave) == sum(p['totals']['allocations'] for p in processes if p['process']['pid'] == pid)  # before and after exec


def test_more_columns(tmp_path):
    log = tmp_path / 'calls.log'
    _, (process,) = mode(tmp_path, 'log', PROGRAMS / 'gcc-O2@plain',
                         options=['--log', log, '--log-columns', 'caller,time,thread'])
    before = -1.0
    rows = [line.split('\t') for line in log.read_text().splitlines()]
    for _, _, _, seconds, thread, caller in rows:
        assert float(seconds) >= before
        before = float(seconds)
        assert int(thread) == process['process']['pid']
        assert re.fullmatch(r'[^/\t]+\+0x[0-9a-f]+', caller), caller
        assert not caller.startswith('libseep'), caller
    assert any(caller.startswith('gcc-O2@plain+') for *_, caller in rows)


def test_a_descriptor_of_the_user(tmp_path):
    with open(tmp_path / 'mine', 'wb') as mine:
        done = subprocess.run([PROGRAMS / 'gcc-O2@plain'], pass_fds=[mine.fileno()], stdout=subprocess.DEVNULL,
                              env=environment(LD_PRELOAD=LIBRARY, SEEP_MODE='log', SEEP_LOG_FD=mine.fileno()),
                              cwd=tmp_path, timeout=60)
    assert done.returncode == 0
    assert lines_of(tmp_path / 'mine')
    assert not list(tmp_path.glob('*.seep'))  # the log is what was asked for


def test_a_reader_that_leaves_does_not_end_the_program(tmp_path):
    """No SIGPIPE, and what was not written is counted."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    trace = tmp_path / 'pipe.seep'
    done = subprocess.run([SEEP, 'run', '-q', '--mode', 'log', '--log-fd', str(write_end), '-o', trace,
                           PROGRAMS / 'gcc-O2@plain'], pass_fds=[write_end], env=environment(), timeout=60,
                          stderr=subprocess.PIPE)
    os.close(write_end)
    assert done.returncode == 0 and done.stderr.startswith(b'seep: --log-fd: '), done
    process = json.loads(run([SEEP, 'report', '--json', trace]).out)
    assert process['health']['lost']['log'] == process['totals']['allocations'] + process['totals']['frees'] > 0


def test_a_disk_without_room(tmp_path):
    """seep says so, with -q, too. Meanwhile not each line is tried, and lines that find room again are whole."""
    log = tmp_path / 'calls.log'
    done, (process,) = mode(tmp_path, 'log', built_program('calls_no_room.c', tmp_path, '-O1', '-fno-builtin'),
                            options=['--log', log], code=1)
    lost, totals = process['health']['lost']['log'], process['totals']
    assert done.err.count(b'\n') == 1 and b'%s: %d calls' % (os.fsencode(log), lost) in done.err, done
    lines = log.read_bytes().splitlines()
    whole = [line for line in lines if LINE.fullmatch(line)]
    assert len(lines) - len(whole) == 1  # what found room for its first part only
    assert len(whole) == totals['allocations'] + totals['frees'] - lost
    assert 0 < sum(line.startswith(b'malloc\t77\t') for line in whole) < 1000


def test_a_child_without_rights_goes_on_in_the_file_of_its_parent(tmp_path):
    root_only()
    log = tmp_path / 'calls.log'
    _, processes = mode(tmp_path, 'log', built_program('calls_without_rights.c', tmp_path, '-O1', '-fno-builtin'),
                        options=['--log', log])
    assert len(processes) == 2 and not any(any(p['health']['lost'].values()) for p in processes), processes
    lines = lines_of(log)
    assert len(lines) == sum(p['totals']['allocations'] + p['totals']['frees'] for p in processes)
    assert sum(line.startswith(b'malloc\t22\t') for line in lines) == 1


def test_a_file_of_the_program_is_not_written_to(tmp_path):
    """A program that closes the log's descriptor and opens a file gets that number: no line goes there."""
    need('gcc')
    (tmp_path / 'takes.c').write_text(program_source('calls_own_file.c'))
    done = run(['gcc', '-O1', '-fno-builtin', tmp_path / 'takes.c', '-o', tmp_path / 'takes'])
    assert done.code == 0, done
    _, (process,) = mode(tmp_path, 'log', tmp_path / 'takes')
    assert (tmp_path / 'its-own').read_bytes() == b'mine'
    assert process['health']['lost']['log'] >= 20


@pytest.mark.parametrize('options, words', [
    (['--mode', 'count', '--sample', '1K'], b'--sample needs --mode live'),
    (['--mode', 'log', '--error-exitcode', '3'], b'--error-exitcode needs --mode live'),
    (['--log', 'x'], b'--log needs --mode log'),
    (['--mode', 'log', '--log-columns', 'time,where'], b"--log-columns: bad value 'time,where'"),
    (['--mode', 'log', '--log', 'x', '--log-fd', '5'], messages.EXCLUDE.encode()),
    (['--mode', 'log', '--log', 'no/such/folder'], b'no/such/folder: cannot write the log'),
    (['--mode', 'log', '--log', '%p' + 1022 * 'x'], b'--log: the path has '),
    (['--sample', '4G'], b"--sample: '4G' is too big"),
])
def test_wrong_use_is_said_before_the_program_starts(options, words, tmp_path):
    done = run([SEEP, 'run', *options, 'touch', tmp_path / 'ran'], cwd=tmp_path)
    assert words in done.err and done.err.count(b'\n') == 1, done
    assert done.code != 0 and not (tmp_path / 'ran').exists()


@pytest.mark.parametrize('make', [os.mkfifo, lambda path: path.symlink_to('/dev/null'), None], ids=['pipe', 'link', 'device'])
def test_a_log_that_is_no_regular_file_is_refused_before_the_program_starts(make, tmp_path):
    log = tmp_path / 'log' if make else '/dev/null'
    if make:
        make(log)
    done = run([SEEP, 'run', '--mode', 'log', '--log', log, 'touch', tmp_path / 'ran'], timeout=60)
    assert os.fsencode(log) in done.err and done.code == 1 and not (tmp_path / 'ran').exists(), done


def test_the_small_library_says_where_the_modes_are(tmp_path):
    done = run(['true'], env=environment(LD_PRELOAD=BUILD / 'libseep.so', SEEP_MODE='log', SEEP_OUT=tmp_path / 'x'))
    assert b'SEEP_MODE: other modes than live are in libseep-record.so' in done.err, done
