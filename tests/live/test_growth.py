# SPDX-License-Identifier: BSD-2-Clause
"""Growth of real programs: looked at while they run, by several snapshots, in children; a snapshot at a bound of memory."""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import messages
from harness import BUILD, LIBSEEP, ROOT, SEEP, children_of, environment, kill, need, report, run, wait_for_turns, wait_until

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import report_json  # noqa: E402
import schema  # noqa: E402
from small_programs import built_program, program_source

PROGRAM = BUILD / 'tests/live/live-growth'
# What each place does; few looks at uneven times may not be enough to say more than that it does not grow.
SHAPES = {'grow': ('growing',), 'fill': ('plateau', 'steady', 'no trend'), 'rise': ('sawtooth', 'steady', 'no trend')}


def check_schema(value):
    rules = json.loads((ROOT / 'docs/report.schema.json').read_text(encoding='utf-8'))
    assert schema.check(value, rules, rules) == []


def verdicts(process):
    """Function that allocates -> verdict, of the sites that the program itself has."""
    found = {}
    for site in process['sites']:
        for frame in site['stack']:
            if frame['function'] in SHAPES:
                growth = site.get('growth')
                found[frame['function']] = growth and growth['verdict']
    return found


def stands_still(process):
    return 'stood_still' in report_json.codes(process)


def has_shapes(process):
    found = verdicts(process)
    return set(found) == set(SHAPES) and all(found[name] in SHAPES[name] for name in found)


def looks_in(value):
    return max(len(p['growth']['snapshots']) for p in value.get('processes') or [value])


# A busy machine leaves looks out: then for longer.
FACTORS = (1, 3, 9)


def run_looked_at(trace, milliseconds, *args, options=()):
    """Runs the shapes with looks every 40th of their time."""
    for factor in FACTORS:
        duration = milliseconds * factor
        done = run([SEEP, 'run', '--interval', f'{duration // 40}ms', *options, '-o', trace, PROGRAM, duration, *args])
        assert done.code == 0, done
        value = whole(trace)
        if looks_in(value) >= 20:
            break
    return done, value, duration / 1000


def whole(path):
    done = run([SEEP, 'report', '--json', path])
    assert done.code == 0, done
    value = json.loads(done.out)
    check_schema(value)
    report_json.spread(value)
    return value


def check_rates_and_peaks(text):
    """All rates have one unit. No site's peak is less than its live bytes (before: "peak at least 272,384" for 976,896)."""
    assert set(re.findall(r'[KMG]?i?B/(\w+)', text)) == {'min'}, text
    for row in re.split(r'^#', text, flags=re.M)[1:]:
        live = re.search(r'([\d,]+) bytes live', row)
        peak = re.search(r'peak (?:at least )?([\d,]+) bytes?|([\d,]+) bytes? ' + messages.AT_THE_PEAK, row)
        if live and peak:
            assert int((peak[1] or peak[2]).replace(',', '')) >= int(live[1].replace(',', '')), row


def test_run_interval(tmp_path):
    trace = tmp_path / 'x.seep'
    done, process, seconds = run_looked_at(trace, 2400, options=['--limit', '1G'])
    text = done.err.decode()
    assert text.count('stacks with outstanding allocations:') >= 7, text
    assert re.search(r'sites: 1 growing, ', text), text
    assert re.search(r'^ +\+[\d.]+ [KM]iB/min +grow \(', text, re.M), text
    assert re.search(r'limit +1\.00 GiB +reached in .* \(--limit\)', text), text
    assert has_shapes(process), verdicts(process)
    growth = process['growth']
    assert growth['live']['verdict'] == 'growing' and growth['limit_bytes'] > 0
    times = [snapshot['at_s'] for snapshot in growth['snapshots']]
    assert len(times) >= 7 and times == sorted(set(times))
    assert all(snapshot['rss_bytes'] > 1 << 20 for snapshot in growth['snapshots'])
    site = next(site for site in process['sites'] if site.get('growth', {}).get('verdict') == 'growing')
    rate = site['growth']
    assert rate['bytes_per_s_low'] <= rate['bytes_per_s'] <= rate['bytes_per_s_high']
    # 1,000 blocks of 2,000 bytes in all, as evenly as the machine lets it.
    assert abs(rate['bytes_per_s'] * seconds / 2000000 - 1) < 0.2
    assert abs(rate['blocks_per_s'] * 2000 / rate['bytes_per_s'] - 1) < 0.1
    assert rate['confidence'] > 0.99 and rate['until_limit_s'] > 0
    # Who holds it, and what shows more.
    text = run([SEEP, 'report', trace]).out.decode()
    assert re.search(r'^grows    1 site without bound, fastest grow \(growth.c:\d+\): .* a minute; held by global struct node \*grown ', text, re.M), text
    assert f'\nnext: seep growth {trace}  ' in text, text
    # The same from the file, by the command for it; its exit status.
    done = run([SEEP, 'growth', '--error-exitcode', '7', trace])
    assert done.code == 7 and b'1 site that grows without bound' in done.out, done
    assert f'\n2 more do {messages.DO_NOT_GROW}'.encode() in done.out and b'fill' not in done.out.split(b'#1')[1], done
    check_rates_and_peaks(done.out.decode())
    check_rates_and_peaks(run([SEEP, 'report', '--sort', 'live', '--top', '0', trace]).out.decode())
    # Of the trace of a trace nothing is lost.
    done = run([SEEP, 'growth', '--json', trace])
    assert [s.get('growth') for s in json.loads(done.out)['sites']][0]['verdict'] == 'growing'


def test_count_ends_the_looks_and_few_say_nothing(tmp_path):
    trace = tmp_path / 'x.seep'
    for factor in FACTORS:
        done = run([SEEP, 'run', '--interval', '20ms', '--count', '3', '-o', trace, PROGRAM, 1000 * factor])
        assert done.code == 0, done
        if looks_in(whole(trace)) >= 3:
            break
    assert done.err.count(b'stacks with outstanding allocations:') == 3
    assert messages.TOO_FEW_SNAPSHOTS.encode() in done.err
    process = whole(trace)
    assert len(process['growth']['snapshots']) == 3 and process['growth']['live'] is None
    assert process['growth']['unknown'] == 'too_few_snapshots'
    assert set(verdicts(process).values()) == {None}


def test_of_a_recording(tmp_path):
    trace = tmp_path / 'x.seep'
    done = run([SEEP, 'run', '--mode', 'record', '--report', tmp_path / 'report.txt', '-o', trace, PROGRAM, 1600])
    assert done.code == 0, done
    done = run([SEEP, 'growth', '--error-exitcode', '7', '--json', trace])
    assert done.code == 7, done
    value = json.loads(done.out)
    check_schema(value)
    report_json.spread(value)
    assert value['growth']['live']['verdict'] == 'growing' and len(value['growth']['snapshots']) == 60
    assert value['growth']['unknown'] is None
    assert has_shapes(value), verdicts(value)
    # Of a trace with nothing but its end nothing can be said.
    done = run([SEEP, 'run', '--report', tmp_path / 'report.txt', '-o', trace, PROGRAM, 10])
    done = run([SEEP, 'growth', trace])
    assert done.code == 1 and messages.NO_SNAPSHOTS.encode() in done.err, done


def test_a_recording_of_a_short_time_says_nothing(tmp_path):
    """What a program does within a moment is its start: it does not grow without bound, however straight the line is."""
    trace = tmp_path / 'x.seep'
    for _ in range(5):
        done = run([SEEP, 'run', '--mode', 'record', '-q', '-o', trace, PROGRAM, 30])
        assert done.code == 0, done
        value = json.loads(run([SEEP, 'growth', '--json', trace]).out)
        report_json.spread(value)
        times = [snapshot['at_s'] for snapshot in value['growth']['snapshots']]
        if times[-1] - times[0] < 1:  # not on a machine that was busy meanwhile
            break
    assert value['growth']['live'] is None and not set(verdicts(value).values()) - {None}, value
    assert value['growth']['unknown'] == 'too_short_a_time', value
    assert messages.TOO_SHORT_A_TIME in run([SEEP, 'growth', trace]).out.decode()
    done = run([SEEP, 'growth', '--error-exitcode', '7', trace])
    assert done.code == 1, done


def test_quiet_and_json_have_no_reports_between(tmp_path):
    for factor in FACTORS:
        done = run([SEEP, 'run', '--interval', '20ms', '-q', '-o', tmp_path / 'q.seep', PROGRAM, 300 * factor])
        assert done.code == 0 and done.err == b'', done
        if looks_in(whole(tmp_path / 'q.seep')) >= 3:
            break
    assert looks_in(whole(tmp_path / 'q.seep')) >= 3
    done = run([SEEP, 'run', '--interval', '20ms', '--json', '-o', tmp_path / 'j.seep', PROGRAM, '300'])
    assert done.code == 0 and json.loads(done.err)['growth'], done


def test_many_looks_are_thinned(tmp_path):
    trace = tmp_path / 'x.seep'
    for factor in FACTORS:
        done = run([SEEP, 'run', '-q', '--interval', '10ms', '-o', trace, PROGRAM, 2000 * factor])
        assert done.code == 0, done
        process = whole(trace)
        times = [snapshot['at_s'] for snapshot in process['growth']['snapshots']]
        # They still cover all of the run.
        if len(times) >= 20 and times[0] < 0.5 * factor and times[-1] > 1.5 * factor:
            break
    assert 20 <= len(times) <= 64
    assert times[0] < 0.5 * factor and times[-1] > 1.5 * factor
    assert has_shapes(process), verdicts(process)


def test_children(tmp_path):
    done, value, _ = run_looked_at(tmp_path / 'x.seep', 1600, 'fork')
    text = done.err.decode()
    parent, child = value['processes']
    assert has_shapes(child) and verdicts(parent) == {}, verdicts(child)
    # The parent sleeps until the child has ended.
    assert parent['growth']['live'] is None and stands_still(parent) and not stands_still(child)
    assert f"in pid {child['process']['pid']}" in text and f"of pid {parent['process']['pid']}" in text


@contextlib.contextmanager
def traced(folder, *args):
    process = subprocess.Popen([SEEP, 'run', '-q', '-o', folder / 'run.seep', PROGRAM, *args], env=environment(),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder)
    try:
        yield process
    finally:
        kill(process)


def child_of(process):
    return children_of(process.pid)[0]


def test_looks_at_what_does_not_run_say_nothing(tmp_path):
    """A process that is stopped, or sleeps in a read, was called steady. Looks before which it did not run do not count."""
    trace = tmp_path / 'x.seep'
    tool = subprocess.Popen([SEEP, 'run', '-q', '--interval', '20ms', '-o', trace, PROGRAM, 'steps'], env=environment(),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        for _ in range(2):
            tool.stdin.write(b'\n')
            tool.stdin.flush()
            assert tool.stdout.readline() == b'ok\n'
        pid = child_of(tool)
        os.kill(pid, signal.SIGSTOP)
        wait_for_turns(tool.pid, 20)
        os.kill(pid, signal.SIGCONT)
        tool.communicate()
        assert tool.returncode == 0
    finally:
        kill(tool)
    process = whole(trace)
    assert process['growth']['live'] is None and len(process['growth']['snapshots']) < 7, process['growth']
    assert stands_still(process), process['health']['notes']
    notes = json.loads(run([SEEP, 'report', '--json', trace]).out)['health']['notes']
    assert 'stood_still' in [note['code'] for note in notes], notes
    text = run([SEEP, 'growth', trace]).out.decode()
    assert messages.TOO_FEW_LOOKS in text, text
    done = run([SEEP, 'growth', '--error-exitcode', '7', trace])
    assert done.code == 1 and b'too few' in done.err, done


def test_snapshots_of_what_does_not_run_say_nothing(tmp_path):
    """Files lack the processor time of the process. A file does not count if the process
    allocated and freed nothing since the previous file."""
    program = subprocess.Popen([PROGRAM, 'steps'], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'alone.seep'),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    names = [tmp_path / f'{i}.seep' for i in range(9)]
    try:
        program.stdin.write(b'\n')
        program.stdin.flush()
        assert program.stdout.readline() == b'ok\n'
        os.kill(program.pid, signal.SIGSTOP)
        for name in names:
            assert run([SEEP, 'snap', program.pid, '-o', name]).code == 0
    finally:
        kill(program)
    text = run([SEEP, 'growth', *names]).out.decode()
    assert 'the process neither allocated nor freed anything between looks: 8 of 9 say nothing of growth' in text, text
    assert messages.TOO_FEW_LOOKS in text and 'steady' not in text, text


def let_time_pass():
    """Of less than 100 ms growth has no verdict."""
    end = time.monotonic() + 0.025
    wait_until(lambda: time.monotonic() >= end, '25 ms pass')


def test_what_came_and_went_is_not_steady(tmp_path):
    """Of a rise to sixteen times as much and back the first and last look say nothing."""
    need('gcc')
    (tmp_path / 'hump.c').write_text(program_source('growth_hump.c'))
    assert run(['gcc', '-w', 'hump.c', '-o', 'hump'], cwd=tmp_path).code == 0
    names = []
    process = subprocess.Popen([SEEP, 'run', '-q', '-o', tmp_path / 'x.seep', '--', tmp_path / 'hump'], env=environment(),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for step, nr in enumerate((1, 4, 8, 12, 16, 12, 8, 4, 1)):
        process.stdin.write(b'%d\n' % nr)
        process.stdin.flush()
        assert process.stdout.readline() == b'ok\n'
        names.append(tmp_path / f'{step}.seep')
        let_time_pass()
        assert run([SEEP, 'snap', child_of(process), '-o', names[-1]]).code == 0
    process.communicate()
    done = run([SEEP, 'growth', *names])
    assert done.code == 0 and b'no trend, between 1.00 MiB and 16.0 MiB' in done.out, done
    assert re.search(rf'^\d+ do(es)? {messages.DO_NOT_GROW}', done.out.decode(), re.M), done  # no "more": none is shown
    growth = json.loads(run([SEEP, 'growth', '--json', *names]).out)['growth']
    assert growth['live']['verdict'] == 'no trend' and growth['sites']['no trend'] >= 1, growth


def test_snapshots_of_one_process(tmp_path):
    names = []
    with traced(tmp_path, 'steps') as process:
        for step in range(20):
            process.stdin.write(b'\n')
            process.stdin.flush()
            assert process.stdout.readline() == b'ok\n'
            names.append(tmp_path / f'{step}.seep')
            let_time_pass()
            done = run([SEEP, 'snap', child_of(process), '-o', names[-1]])
            assert done.code == 0, done
    done = run([SEEP, 'growth', '--json', *reversed(names)])
    assert done.code == 0, done
    value = json.loads(done.out)
    check_schema(value)
    report_json.spread(value)
    assert len(value['growth']['snapshots']) == 20
    found = {}
    for site in value['sites']:
        for frame in site['stack']:
            if frame['function'] in SHAPES:
                found[frame['function']] = site['growth']
    # Exactly what the program did at each step; how fast is a matter of the clock. Where the machine was so busy
    # that the last steps took far longer than the first, growth did slow down.
    times = [snapshot['at_s'] for snapshot in value['growth']['snapshots']]
    slower = (times[19] - times[13]) / (times[6] - times[0])
    assert found['grow']['verdict'] == 'growing' or (found['grow']['verdict'] == 'plateau' and slower > 1.5), slower  # seldom: a busy machine
    assert (found['grow']['first_bytes'], found['grow']['last_bytes']) == (50 * 2000, 1000 * 2000)
    assert found['fill']['verdict'] != 'growing' and found['fill']['last_bytes'] == 64 * 3000
    assert found['rise']['verdict'] != 'growing'
    # Of another run.
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 'other.seep', PROGRAM, '10'])
    done = run([SEEP, 'growth', names[0], tmp_path / 'other.seep'])
    assert done.code == 1 and b'are not of one run of one process' in done.err, done
    # Without any snapshot.
    done = run([SEEP, 'growth', tmp_path / 'other.seep'])
    assert done.code == 1 and messages.NO_SNAPSHOTS.encode() in done.err, done
    done = run([SEEP, 'report', '--sort', 'growth', tmp_path / 'other.seep'])
    assert done.code == 1 and messages.GROWTH_NEEDS_SNAPSHOTS.encode() in done.err, done


def test_growth_of_a_process(tmp_path):
    trace = tmp_path / 'saved.seep'
    with traced(tmp_path, '60000') as process:
        assert process.poll() is None
        pid = None
        while not pid:
            with contextlib.suppress(IndexError):
                pid = child_of(process)
        done = None
        while not done or b'not traced' in done.err or b'still empty' in done.err:
            done = run([SEEP, 'growth', pid, '--interval', '20ms', '--count', '12', '--json', '--output', trace])
        assert done.code == 0, done
        assert process.poll() is None
    value = json.loads(done.out)
    check_schema(value)
    report_json.spread(value)
    assert 2 <= len(value['growth']['snapshots']) <= 12  # a busy machine leaves looks out
    assert whole(trace)['growth']['snapshots'] == value['growth']['snapshots']


def test_python_list_that_grows(tmp_path):
    code = ('import sys, time\n'
            'factor = int(sys.argv[1])\n'
            'keep, start = [], time.monotonic()\n'
            'while time.monotonic() - start < 2 * factor:\n'
            '    while len(keep) < (time.monotonic() - start) * 1000: keep.append(bytearray(4000))\n'
            '    time.sleep(0.005)\n')
    trace = tmp_path / 'x.seep'
    for factor in FACTORS:
        done = run([SEEP, 'run', '-q', '--scan', 'no', '--interval', f'{80 * factor}ms', '-o', trace, sys.executable, '-c',
                    code, factor])
        assert done.code == 0, done
        process = report(trace)[0]
        if looks_in(process) >= 15:
            break
    growing = [site for site in process['sites'] if (site.get('growth') or {}).get('verdict') == 'growing']
    # The blocks, and it may be the list itself; none of the thousands of places of the interpreter's start.
    assert 1 <= len(growing) <= 2 < 300 < len(process['sites'])
    fastest = max(growing, key=lambda site: site['growth']['bytes_per_s'])
    assert abs(fastest['growth']['bytes_per_s'] / 4001000 - 1) < 0.2


# ---- a snapshot at a bound of memory -------------------------------------------------------------------


def check_snap(folder, done, trace, least, most):
    name = trace.with_name(trace.name.replace('.seep', '.snap.seep'))
    line = re.search(r'^seep: memory is at (.*): a snapshot is in (.*)$', done.err.decode(), re.M)
    assert line and line[2] == str(name), done
    process = report(name)[0]
    assert least <= process['totals']['live_bytes'] <= most, process['totals']
    assert process['process']['exit'] is None
    return line[1]


def test_snap_at_size(tmp_path):
    trace = tmp_path / 'x.seep'
    done = run([SEEP, 'run', '--snap-at', '60M', '-o', trace, PROGRAM, 'eat', 160 << 20], cwd=tmp_path)
    assert done.code == 0, done
    what = check_snap(tmp_path, done, trace, 16 << 20, 159 << 20)
    assert 'resident memory of 1 process' in what
    assert len(list(tmp_path.iterdir())) == 2
    resident = json.loads(run([SEEP, 'report', '--rss', '--json', tmp_path / 'x.snap.seep']).out)['resident']
    assert resident['rss'] >= 60 << 20


def test_snap_at_is_not_reached(tmp_path):
    done = run([SEEP, 'run', '--snap-at', '4G', '-o', tmp_path / 'x.seep', PROGRAM, 'eat', 4 << 20], cwd=tmp_path)
    assert done.code == 0 and b'snapshot' not in done.err, done
    assert [path.name for path in tmp_path.iterdir()] == ['x.seep']


def memory_group():
    """The folder of our group of the memory controller, and the names of limit and usage there."""
    with open('/proc/self/cgroup', encoding='ascii') as file:
        groups = [line.strip().split(':', 2) for line in file]
    for number, controllers, path in groups:
        if 'memory' in controllers.split(','):
            return '/sys/fs/cgroup/memory' + path, 'memory.limit_in_bytes'
        if number == '0' and os.path.exists('/sys/fs/cgroup' + path + '/memory.max'):
            return '/sys/fs/cgroup' + path, 'memory.max'
    return None, None


@pytest.fixture
def small_group():
    parent, limit = memory_group()
    folder = f'{parent}/seep-test-{os.getpid()}'
    try:
        os.mkdir(folder)
        try:
            with open(f'{folder}/{limit}', 'w', encoding='ascii') as file:
                file.write(str(192 << 20))
        except OSError:
            os.rmdir(folder)
            raise
    except (OSError, TypeError) as why:
        pytest.skip(f'no group with a limit of memory can be made here: {why}')
    yield folder, limit
    os.rmdir(folder)


def test_snap_before_the_oom_killer(tmp_path, small_group):
    folder, limit = small_group
    trace = tmp_path / 'x.seep'
    enter = f'echo $$ > {folder}/cgroup.procs && exec "$@"'
    done = run(['sh', '-c', enter, 'sh', SEEP, 'run', '--snap-at', '50%', '-o', trace, PROGRAM, 'eat', 1 << 30],
               cwd=tmp_path)
    # The kernel killed the program, which has most memory; the snapshot is from before that.
    assert done.code == 128 + 9, done
    what = check_snap(tmp_path, done, trace, 24 << 20, 191 << 20)
    assert f'of 192 MiB ({limit} of ' in what and re.search(r'\b[5-9]\d\.\d%', what), what
    (process,) = report(trace)
    note, = [note for note in process['health']['notes'] if 'OOM killer' in note]
    assert note.startswith(f'killed by the OOM killer of its control group: {limit} of ') and '192 MiB' in note


def test_the_limit_of_a_group_outlives_the_program(tmp_path, small_group):
    """After the kernel killed it nothing tells of its group any more: the limit is still that one, not the machine's."""
    folder, limit = small_group
    trace = tmp_path / 'x.seep'
    enter = f'echo $$ > {folder}/cgroup.procs && exec "$@"'
    done = run(['sh', '-c', enter, 'sh', SEEP, 'run', '-q', '--interval', '20ms', '-o', trace, PROGRAM, 'eat', 1 << 30],
               cwd=tmp_path)
    assert done.code == 128 + 9, done
    (process,) = report(trace)
    assert process['growth']['limit_bytes'] == 192 << 20, process['growth']
    assert any('OOM killer' in note for note in process['health']['notes'])


def test_a_burst_is_caught_or_told(tmp_path, small_group):
    """Memory that comes within a blink after a while of nothing."""
    folder, _ = small_group
    enter = f'echo $$ > {folder}/cgroup.procs && exec "$@"'
    burst = tmp_path / 'burst'
    (tmp_path / 'burst.c').write_text(program_source('growth_burst.c'))
    assert run(['gcc', '-O1', tmp_path / 'burst.c', '-o', burst]).code == 0
    for nr in range(3):
        trace = tmp_path / f'b{nr}.seep'
        done = run(['sh', '-c', enter, 'sh', SEEP, 'run', '--snap-at', '80%', '-o', trace, burst], cwd=tmp_path)
        assert done.code == 128 + 9, done
        missed = any('--snap-at: memory came there' in note for note in report(trace)[0]['health']['notes'])
        assert missed != (b'a snapshot is in' in done.err), done


@contextlib.contextmanager
def master_with_a_worker(tmp_path):
    """The master sleeps; its worker grows."""
    (tmp_path / 'master.c').write_text(program_source('growth_master.c'))
    assert run(['gcc', tmp_path / 'master.c', '-o', tmp_path / 'master']).code == 0
    env = environment(LD_PRELOAD=BUILD / 'libseep.so', SEEP_OUT=tmp_path / '%p.seep')
    master = subprocess.Popen([tmp_path / 'master'], env=env, stdout=subprocess.PIPE)
    try:
        yield master.pid, int(master.stdout.readline())
    finally:
        master.kill()
        master.stdout.close()
        master.wait()


def growing_sites(done):
    value = json.loads(done.out)
    check_schema(value)
    return {each['process']['pid']: (each['growth']['live'] or {}).get('verdict') for each in value.get('processes') or [value]}


def looked_at(options, wanted):
    """On a busy machine the worker does nothing for some looks: then looked at for longer."""
    for factor in FACTORS:
        done = run([SEEP, 'growth', '--interval', f'{20 * factor}ms', '--count', '12', '--json', '--error-exitcode', '7', *options])
        if done.code == 7 and growing_sites(done) == wanted:
            return
    raise AssertionError(done)


def test_the_workers_of_a_master_are_looked_at(tmp_path):
    with master_with_a_worker(tmp_path) as (master, worker):
        looked_at([master], {master: None, worker: 'growing'})
        looked_at([worker], {worker: 'growing'})


def test_more_processes_than_are_looked_at_are_told(tmp_path):
    """257 processes: 256 are looked at."""
    env, started = environment(LD_PRELOAD=BUILD / 'libseep.so', SEEP_OUT=tmp_path / '%p.seep'), tmp_path / 'started'
    started.touch()
    with subprocess.Popen([built_program('many_children.c', tmp_path), '256', started], env=env, stdin=subprocess.PIPE) as program:
        wait_until(lambda: started.stat().st_size == 256, 'all children have a block')
        done = run([SEEP, 'growth', '--interval', '20ms', '--count', '7', program.pid])
        program.stdin.close()
    assert done.code == 0 and re.search(rb'^seep: growth: left out: 1 process .*\(seep growth PID ', done.err, re.M), done


def test_the_processes_of_a_group(tmp_path, small_group):
    folder, _ = small_group
    done = run([SEEP, 'growth', '--cgroup', folder])
    assert done.code != 0 and b'no process in' in done.err, done
    with master_with_a_worker(tmp_path) as (master, worker):
        for pid in (master, worker):
            with open(f'{folder}/cgroup.procs', 'w', encoding='ascii') as file:
                file.write(str(pid))
        looked_at(['--cgroup', folder], {master: None, worker: 'growing'})
        done = run([SEEP, 'growth', '--cgroup', folder, master])
        assert done.code != 0 and b'name one of these' in done.err, done
    wait_until(lambda: not Path(folder, 'cgroup.procs').read_text(), 'the group is empty, as its removal needs')


FREED_AT_THE_END = program_source('growth_freed_at_the_end.c')


def test_what_grows_beside_the_heap_is_no_all_clear(tmp_path):
    """Mappings are no places of the heap; resident memory grows all the same, and the gate says so."""
    trace = tmp_path / 'maps.seep'
    run_looked_at(trace, 1600, 'maps')
    done = run([SEEP, 'growth', '--error-exitcode', '7', trace])
    text = done.out.decode()
    assert done.code == 7, done
    assert 'No place of the heap grows without bound, but resident memory does' in text and 'written to for the first time. ' in text, text
    assert re.search(r'^grows    resident memory by [\d.]+ [KM]iB a minute, and no place of the heap$', text, re.M), text


def freed_at_the_end(tmp_path):
    (tmp_path / 'free_stacks.c').write_text(FREED_AT_THE_END)
    done = run(['gcc', '-g', '-O0', '-o', 'freed', 'free_stacks.c'], cwd=tmp_path)
    assert done.code == 0, done
    return tmp_path / 'freed'


def test_growth_that_is_freed_at_the_end(tmp_path):
    """No leak, and all the same what kills a program that never comes to its end."""
    trace, program = tmp_path / 'f.seep', freed_at_the_end(tmp_path)
    for factor in FACTORS:
        done = run([SEEP, 'run', '-q', '--interval', f'{50 * factor}ms', '-o', trace, program, factor])
        assert done.code == 0, done
        if looks_in(whole(trace)) >= 15:
            break
    done = run([SEEP, 'growth', '--error-exitcode', '7', trace])
    text = done.out.decode()
    assert done.code == 7 and '1 site that grows without bound' in text and 'main (free_stacks.c:7)' in text, text
    assert 'Nothing grows' not in text and '\nleaks' not in text
    assert f'\nnext: seep history {trace}  ' in text, text
    # Of a recording all moments are there. Its end is none, for which the row said "growing: 4,000 to 0 bytes".
    done = run([SEEP, 'run', '-q', '--mode', 'record', '-o', trace, program, '3'])
    assert done.code == 0, done
    value = json.loads(run([SEEP, 'growth', '--json', trace]).out)
    assert value['growth']['live']['last_bytes'] > value['growth']['live']['first_bytes'], value['growth']


def test_who_stops_reading_reports_does_not_end_the_trace(tmp_path):
    trace, program = tmp_path / 'p.seep', freed_at_the_end(tmp_path)
    for factor in FACTORS:
        command = [str(word) for word in (SEEP, 'run', '--interval', '50ms', '-o', trace, program, factor)]
        tool = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment())
        assert b'outstanding' in tool.stderr.readline()
        tool.stderr.close()
        tool.wait(timeout=120)
        (process,) = report(trace)
        if len(process['growth']['snapshots']) > 7:
            break
    assert process['totals']['allocations'] == 60 and len(process['growth']['snapshots']) > 7
