# SPDX-License-Identifier: BSD-2-Clause
"""Mode record: every event, in an order that can be; and whatever moment is asked for, made of them."""
import collections
import fcntl
import json
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import termios
import time
import zlib
from pathlib import Path

import pytest
import messages
from harness import BUILD, PROGRAMS, ROOT, SEEP, environment, in_mount_namespace, most_memory_of, need, run, wait_until
from recording import ALLOCATION, EVENTS, FREE, KEPT, all_sections, chunks, damage
from small_programs import built_program, program_source

FIGURES = ('allocations', 'allocated_bytes', 'frees', 'freed_bytes', 'temporary', 'live_blocks', 'live_bytes')
HANDING_ON = program_source('recording_handing_on.c')
BUSY = program_source('recording_busy.c')


def compiled(tmp_path, source, *flags):
    need('gcc')
    program = tmp_path / 'program'
    program.with_suffix('.c').write_text(source)
    done = run(['gcc', '-g', '-O1', '-fno-builtin', '-pthread', *flags, program.with_suffix('.c'), '-o', program])
    assert done.code == 0, done
    return program


def record(tmp_path, *args, options=(), code=0, env=None):
    trace = tmp_path / 'recording.seep'
    done = run([SEEP, 'run', '-q', '--scan', 'no', '--mode', 'record', '-o', trace, *options, '--', *args], cwd=tmp_path,
               env=environment(**(env or {})))
    assert done.code == code, done
    return trace


def begin_recording(trace, *command):
    """The tool, with a pipe as standard input, once the program's image has come."""
    tool = subprocess.Popen([SEEP, 'run', '-q', '--scan', 'no', '--mode', 'record', '-o', trace, *command],
                            stdin=subprocess.PIPE, env=environment())
    wait_until(lambda: trace.exists() or tool.poll() is not None, 'the recording')
    assert tool.poll() is None
    return tool


def report(trace, *options):
    done = run([SEEP, 'report', '--json', '--blocks', '--top', '0', *options, trace])
    assert done.code == 0, done
    whole = json.loads(done.out)
    return whole.get('processes') or [whole]


def codes(process):
    return [note['code'] for note in process['health']['notes']]


def site_key(site):
    return json.dumps([site['via'], site['stack']])


def in_order(events):
    """Stamps rise for each thread and each address; no block is handed out twice or freed twice. What is live."""
    live, of_thread, of_address = {}, collections.defaultdict(int), collections.defaultdict(int)
    for event in events:
        assert event.stamp > of_thread[event.slot], event
        assert event.stamp > of_address[event.address], event
        of_thread[event.slot] = of_address[event.address] = event.stamp
        if event.kind in (ALLOCATION, KEPT):
            assert event.address not in live, event
            live[event.address] = (event.size, event.site)
        else:
            assert FREE <= event.kind < FREE + 5
            assert live.pop(event.address, None) == (event.size, event.site), event
    return live


@pytest.mark.parametrize('name', ['plain', 'threads', 'resize', 'failures', 'zero', 'operators', 'storm', 'family', 'forks'])
def test_the_end_of_the_recording_is_the_end_of_the_program(name, tmp_path):
    """Site by site and block by block, what the events make is what the library counted in its other way."""
    trace = record(tmp_path, PROGRAMS / f'gcc-O2@{name}')
    each_made, each_counted = report(trace, '--at', '1000h'), report(trace)
    assert len(each_made) == len(each_counted) > 0
    for made, counted in zip(each_made, each_counted):
        assert not counted['health']['lost']
        assert 'events_strange' not in codes(made), made['health']
        for key in (*FIGURES, 'by_function', 'by_release'):
            assert made['totals'][key] == counted['totals'][key], key
        if counted['totals']['peak_exact']:
            assert made['totals']['peak_bytes'] == counted['totals']['peak_bytes']
        sites = {site_key(site): site for site in made['sites']}
        for site in counted['sites']:
            for key in (*FIGURES, 'size_min', 'size_max'):
                assert sites[site_key(site)][key] == site[key], (key, site)
            blocks = [sorted((b['address'], b['size']) for b in s.get('blocks', [])) for s in (site, sites[site_key(site)])]
            assert blocks[0] == blocks[1]


# By a millisecond or so: two processors seldom hand a block on within microseconds.
SKEWED = {'SEEP_LIBRARY': BUILD / 'tests/live/libseep-skewed.so', 'SEEP_FAULT_CLOCK': 200000}


@pytest.mark.parametrize('clock', [{}, SKEWED], ids=['clock of the processor', 'skewed clocks'])
def test_threads_that_hand_blocks_on(clock, tmp_path):
    """64 threads on fewer processors: every event, by another reader, and not one before one that it follows. Clocks may differ
    from thread to thread, and step back."""
    trace = record(tmp_path, compiled(tmp_path, HANDING_ON), env=clock)
    (process,) = report(trace)
    events = [event for chunk in chunks(trace) for event in chunk.events]
    assert not process['health']['lost']
    assert sum(event.kind == ALLOCATION for event in events) == process['totals']['allocations'] > 64 * 800
    assert sum(FREE <= event.kind < FREE + 5 for event in events) == process['totals']['frees']
    live = in_order(events)
    assert len(live) == process['totals']['live_blocks']
    (made,) = report(trace, '--at', '1000h')
    assert 'events_strange' not in codes(made), made['health']


@pytest.mark.parametrize('planted', [False, True], ids=['none', 'planted'])
def test_a_leak_is_told_and_nothing_else(planted, tmp_path):
    """Of process after process whose threads hand blocks on: by the scan, by the counts, and by the events until the end."""
    rounds = int(os.environ.get('SEEP_LEAK_ROUNDS') or 10)
    program = compiled(tmp_path, program_source('recording_no_leaks.c'))
    trace = tmp_path / 'leaks.seep'
    plant = ['plant'] if planted else []
    done = run([SEEP, 'run', '-q', '--mode', 'record', '-o', trace, '--', program, str(rounds), *plant], env=environment())
    assert done.code == 0, done
    for options in ((), ('--at', '1000h')):
        processes = [process for process in report(trace, *options) if process['totals']['allocations'] > 8 * 300]
        assert len(processes) == rounds
        for process in processes:
            # What glibc keeps for threads to come is from calloc.
            live = [(site['live_blocks'], site['live_bytes']) for site in process['sites'] if site['live_blocks'] and site['via'] != 'calloc']
            assert live == [(1, 77)] * planted, live
            assert not process['health']['lost']
            if not options:
                assert process['leaks']['lost'] == {'blocks': int(planted), 'bytes': 77 * planted}
                assert not process['leaks']['possible']['blocks'] and not process['leaks']['indirect']['blocks']


def test_sums_and_events_say_the_same(tmp_path):
    """Of a long recording the counts at any moment come from the nearest sums: site by site what all events make."""
    program = compiled(tmp_path, program_source('recording_long.c'))
    trace = record(tmp_path, program)
    (whole,) = report(trace)
    length = whole['process']['duration_s']
    used = 0
    for moment in ('peak', '1000h', *(f'{length * part}s' for part in (0.2, 0.5, 0.9))):
        made = json.loads(run([SEEP, 'report', '--json', '--top', '0', '--at', moment, trace]).out)
        (every,) = report(trace, '--at', moment)
        used += 'of_sums' in [note['code'] for note in made['health']['notes']]
        for key in (*FIGURES, 'by_function', 'by_release', 'peak_bytes'):
            assert made['totals'][key] == every['totals'][key], (moment, key)
        sites = {site_key(site): site for site in every['sites']}
        assert len(made['sites']) == len(sites)
        for site in made['sites']:
            for key in (*FIGURES, 'size_min', 'size_max', 'peak_bytes'):
                assert site[key] == sites[site_key(site)][key], (moment, key, site)
    assert used >= 3
    damaged = bytearray(trace.read_bytes())  # sums that are damaged are passed over
    at = struct.unpack_from('<I', damaged, 12)[0]
    while struct.unpack_from('<I', damaged, at)[0] != 35:
        at += 32 + struct.unpack_from('<Q', damaged, at + 8)[0]
    damaged[at + 40] ^= 0x55
    trace.write_bytes(damaged)
    made = json.loads(run([SEEP, 'report', '--json', '--top', '0', '--at', '1000h', trace]).out)
    assert made['totals']['live_bytes'] == whole['totals']['live_bytes']


def test_what_each_thread_did_until_a_moment(tmp_path):
    """At the end it is what the library counted; and what is live is of the thread that allocated it."""
    trace = record(tmp_path, PROGRAMS / 'gcc-O2@threads')
    made, counted = ({group['key']: group for group in json.loads(run([SEEP, 'report', '--json', '--by', 'thread', '--top', '0', *at, trace]).out)['groups']}
                     for at in (['--at', '1000h'], []))
    assert made.keys() == counted.keys() and len(made) > 5
    for key, group in made.items():
        for figure in ('allocations', 'allocated_bytes', 'frees', 'freed_bytes', 'temporary', 'size_min', 'size_max'):
            assert group[figure] == counted[key][figure], (key, figure)
    live = collections.Counter()
    for chunk in chunks(trace):
        for event in chunk.events:
            live[event.address] = 0 if FREE <= event.kind < FREE + 5 else event.slot + 1
    assert sorted(group['live_blocks'] for group in made.values() if group['live_blocks']) == \
        sorted(collections.Counter(slot for slot in live.values() if slot).values())


def test_a_block_is_temporary_after_a_realloc_that_failed(tmp_path):
    """The realloc has changed nothing: the figures are those of a run without a recording, and those made from the events."""
    program = compiled(tmp_path, program_source('recording_refused.c'))
    trace = record(tmp_path, program)
    for options in ([], ['--at', '1000h']):
        (process,) = report(trace, *options)
        assert [process['totals'][key] for key in ('allocations', 'frees', 'temporary')] == [10, 10, 10], options


def test_what_is_live_at_the_peak(tmp_path):
    """Three stages of which the second holds most; asked for by peak, by time, and by a mark."""
    program = compiled(tmp_path, program_source('recording_peak.c'), '-I', ROOT / 'include')
    trace = record(tmp_path, program)
    (peak,) = report(trace, '--at', 'peak')
    assert peak['totals']['peak_bytes'] == peak['totals']['live_bytes'] == 6000 and peak['totals']['peak_exact']
    assert sorted(s['live_bytes'] for s in peak['sites'] if s['live_bytes']) == [1000, 5000]
    assert b', running then\n' in run([SEEP, 'report', '--at', 'peak', trace]).out
    (mark,) = report(trace, '--at', 'one')
    assert mark['totals']['live_bytes'] == 1000 and 0 <= mark['sites'][0]['blocks'][0]['age_s'] < peak['process']['duration_s']
    (start,) = report(trace, '--at', '0s')
    assert start['totals']['allocations'] == 0
    (end,) = report(trace)
    assert end['totals']['live_bytes'] == 3000
    diff = run([SEEP, 'diff', '--json', f'{trace}@one', f'{trace}@peak'])
    assert diff.code in (0, 1) and b'5000' in diff.out, diff


@pytest.mark.parametrize('how', ['whole', 'flight recorder', 'shrunk'])
def test_blocks_of_the_end_have_ages_threads_and_classes(how, tmp_path):
    """Ages and threads are those that the events give at the last moment. Beside them are the classes of the scan, which no moment has."""
    program = compiled(tmp_path, program_source('recording_births.c'), '-I', ROOT / 'include')
    trace = record(tmp_path, program, options=['--scan', 'yes', *(['--keep-last', '300K'] if how == 'flight recorder' else [])])
    if how == 'shrunk':
        assert run([SEEP, 'shrink', trace, '-o', tmp_path / 'shrunk.seep']).code == 0
        trace = tmp_path / 'shrunk.seep'
    end, moment = report(trace, '--older', '0s'), report(trace, '--at', '1000h')
    assert [ages_of(process) for process in end] == [ages_of(process) for process in moment]
    assert [process['totals']['live_blocks'] for process in end] == [len(ages_of(process)) for process in end]
    assert ['recorded_late' in codes(process) for process in end] == [how == 'flight recorder', False]
    assert all(process['leaks']['lost']['blocks'] for process in end)
    if how != 'flight recorder':
        sizes = {size for _, size, _, _ in ages_of(report(trace, '--until', 'half')[0])}
        assert set(range(100, 110)) <= sizes and not {333, 4999, 5000} & sizes
        (thread,) = {thread for _, size, _, thread in ages_of(end[0]) if size == 333}
        (main,) = report(trace, '--kind', 'lost', '--thread', str(thread), '--pid', str(end[0]['process']['pid']))
        assert [size for _, size, _, _ in ages_of(main)] == [333]
    done = run([SEEP, 'sql', '--json', trace, 'select count(age_ns) as aged, count(*) as live from block'])
    (row,) = json.loads(done.out)
    assert row['aged'] == row['live'] == sum(len(ages_of(process)) for process in end)
    assert run([SEEP, 'plot', trace, '--what', 'ages']).code == 0


def test_ages_of_a_child_whose_events_are_damaged_are_told_of(tmp_path):
    """All its blocks count as born at the fork, as at a moment. Damage behind its events takes nothing."""
    trace = record(tmp_path, compiled(tmp_path, program_source('recording_births.c'), '-I', ROOT / 'include'))
    whole, good = trace.read_bytes(), report(trace, '--older', '0s')[1]
    places = [section.at for section in all_sections(whole) if section.kind == EVENTS]
    of_child = [place for place, chunk in zip(places, chunks(trace), strict=True) if chunk.pid == good['process']['pid']]
    for place, damaged in ((of_child[0], True), (places[-1], False)):
        trace.write_bytes(damage(whole, place))
        for options in (('--older', '0s'), ('--at', '1000h')):
            child = report(trace, *options)[1]
            assert ('events_damaged' in codes(child), ages_of(child) != ages_of(good)) == (damaged, damaged), options


def test_ages_in_the_report_of_the_run_itself(tmp_path):
    program = compiled(tmp_path, program_source('recording_births.c'), '-I', ROOT / 'include')
    trace, text = tmp_path / 'recording.seep', tmp_path / 'report.json'
    done = run([SEEP, 'run', '--mode', 'record', '--older', '0s', '--blocks', '--json', '--report', text, '-o', trace, '--', program],
               env=environment())
    assert done.code == 0, done
    whole = json.loads(text.read_text())
    assert [ages_of(process) for process in whole['processes']] == [ages_of(process) for process in report(trace, '--older', '0s')]


def ages_of(process):
    return sorted((block['address'], block['size'], block['age_s'], block['thread']) for site in process['sites'] for block in site['blocks'])


def test_a_killed_program_loses_nothing(tmp_path):
    program = compiled(tmp_path, program_source('recording_killed.c'))
    trace = record(tmp_path, program, code=137)
    (process,) = report(trace)
    events = [event for chunk in chunks(trace) for event in chunk.events]
    assert not process['health']['lost']
    assert len(events) == process['totals']['allocations'] + process['totals']['frees'] >= 40001
    assert (77,) in [(event.size,) for event in events]
    assert list(in_order(events).values())[0][0] == 77


def stamps(trace):
    done = run([SEEP, 'sql', '--csv', trace, 'select thread, stamp from event'])
    assert done.code == 0, done
    return [tuple(map(int, line.split(','))) for line in done.out.decode().splitlines()[1:]]


@pytest.mark.parametrize('number', [signal.SIGSTOP, signal.SIGKILL])
def test_a_tool_that_takes_nothing_is_taken_over_from(number, tmp_path):
    """Stopped or killed when the program has just begun: the library writes what its rings have no room for, and nothing is lost."""
    program = compiled(tmp_path, BUSY, '-DWAITS')
    trace, done = tmp_path / 'stopped.seep', tmp_path / 'done'
    tool = begin_recording(trace, program, done)
    tool.send_signal(number)
    tool.stdin.write(b'g')
    tool.stdin.close()
    wait_until(lambda: done.exists() and list(tmp_path.glob('stopped.seep.*')), 'the program, which waits for ever')
    if number == signal.SIGKILL:
        tool.wait(timeout=60)
        wait_until(lambda: not list(tmp_path.glob('stopped.seep.*.*')), 'its last name, which it has at the end of the program')
        (rest,) = tmp_path.glob('stopped.seep.*')
        events = {(event.slot, event.stamp) for chunk in chunks(trace) for event in chunk.events} | set(stamps(rest))
        # The two halves are read as one.
        assert sorted(events) == sorted(stamps(trace))
        (process,) = report(trace)
        assert process['process']['exit'] == {'code': 0}
        (made,) = report(trace, '--at', '1000h')
        assert 'events_strange' not in codes(made), made['health']
        for key in FIGURES:
            assert made['totals'][key] == process['totals'][key], key
        need('strace')  # the file was there and is not when it is read, as if its process ended just then
        gone = run(['strace', '-f', '-o', '/dev/null', '-P', rest, '-e', 'trace=openat', '-e', 'inject=openat:error=ENOENT:when=3',
                    SEEP, 'report', trace])
        assert gone.code == 0 and b'health: complete' in gone.out, gone
        small = [tmp_path / 'one', tmp_path / 'both', tmp_path / 'other']
        for output, files in zip(small, ([trace], [trace, rest], [rest, trace])):  # `seep shrink NAME*` names the rest too
            assert run([SEEP, 'shrink', *files, '-o', output]).code == 0
        assert len({one.read_bytes() for one in small}) == 1
    else:
        tool.send_signal(signal.SIGCONT)
        assert tool.wait(timeout=60) == 0
        assert not list(tmp_path.glob('stopped.seep.*'))  # it is in the trace now
        (process,) = report(trace)
        in_order(event for chunk in chunks(trace) for event in chunk.events)
        events = [event for chunk in chunks(trace) for event in chunk.events]
    assert process['totals']['allocations'] >= 100000
    assert not process['health']['lost'] and process['health']['complete']
    assert len(events) == process['totals']['allocations'] + process['totals']['frees']


def test_a_tool_that_is_late_gets_what_the_library_has_written(tmp_path):
    """Threads that hand blocks on, while the tool is stopped: one recording, whole, in an order that can be."""
    program = compiled(tmp_path, HANDING_ON)
    trace = tmp_path / 'late.seep'
    tool = begin_recording(trace, program)
    tool.send_signal(signal.SIGSTOP)
    wait_until(lambda: list(tmp_path.glob('late.seep.*')), 'the library writes what the tool is late to take')
    tool.send_signal(signal.SIGCONT)
    assert tool.wait(timeout=60) == 0
    (process,) = report(trace)
    events = [event for chunk in chunks(trace) for event in chunk.events]
    assert not process['health']['lost'] and process['health']['complete']
    assert len(events) == process['totals']['allocations'] + process['totals']['frees']
    assert len(in_order(events)) == process['totals']['live_blocks']
    assert not list(tmp_path.glob('late.seep.*'))


def test_threads_and_children_end_while_the_tool_is_stopped(tmp_path):
    """Their rings are full then: no thread waits for ever, and once the tool goes on the trace has all events."""
    program = compiled(tmp_path, program_source('recording_threads_end.c'))
    trace, done = tmp_path / 'ends.seep', tmp_path / 'done'
    tool = begin_recording(trace, program, done)
    tool.send_signal(signal.SIGSTOP)
    try:
        tool.stdin.write(b'g')
        tool.stdin.close()
        wait_until(done.exists, 'the program, which waits for ever')
    finally:
        tool.send_signal(signal.SIGCONT)
    assert tool.wait(timeout=60) == 0
    parent, child = sorted(report(trace), key=lambda process: process['process']['origin'] == 'fork')
    assert child['process']['origin'] == 'fork' and child['totals']['allocations'] >= 40000
    assert parent['totals']['allocations'] >= 240000
    for process in (parent, child):
        assert not process['health']['lost'] and process['health']['complete'], process['health']
    operations = sum(process['totals'][key] for process in (parent, child) for key in ('allocations', 'frees'))
    inherited = child['totals']['inherited_blocks']  # without an event in the child
    assert sum(len(chunk.events) for chunk in chunks(trace)) == operations - inherited
    assert not list(tmp_path.glob('ends.seep.*'))


def test_ten_thousand_threads(tmp_path):
    """200 threads at a time share the slots. The recording has every event, in a possible order."""
    trace = record(tmp_path, compiled(tmp_path, program_source('recording_many_threads.c')))
    (process,) = report(trace)
    assert process['health']['complete'] and not process['health']['lost'], process['health']
    events = [event for chunk in chunks(trace) for event in chunk.events]
    assert len(events) == process['totals']['allocations'] + process['totals']['frees']
    own = [event for event in events if event.size in (24, 40, 4000)]
    assert sum(event.kind == ALLOCATION for event in own) >= 3 * 10000
    assert len(in_order(events)) == process['totals']['live_blocks'] >= 200


@pytest.mark.parametrize('by', ['the tool', 'the library'])
def test_a_folder_that_is_read_only(by, tmp_path):
    """The tool says so in one line, and starts nothing. With the library alone the program does its work."""
    program = compiled(tmp_path, BUSY)
    read_only = 'mkdir -p "$WHERE" && mount -t tmpfs -o ro tmpfs "$WHERE"'
    env = environment(WHERE=tmp_path / 'read-only', SEEP_SOCKET='')
    if by == 'the tool':
        done = in_mount_namespace(read_only, SEEP, 'run', '-q', '--mode', 'record', '-o', tmp_path / 'read-only/a.seep', '--', program,
                                  tmp_path / 'done', env=env)
        assert done.code == 1 and done.err.count(b'\n') == 1 and b'the program was not started; name another place with -o' in done.err, done
        assert not (tmp_path / 'done').exists()
    else:
        library = f'SEEP_MODE=record SEEP_OUT={tmp_path}/read-only/%p.seep LD_PRELOAD={BUILD / "libseep-record.so"}'
        done = in_mount_namespace(read_only, 'env', *library.split(), program, tmp_path / 'done', env=env)
        assert done.code == 0 and (tmp_path / 'done').exists() and done.out == done.err == b'', done


def test_a_program_without_the_folder_of_the_recording_prints_nothing(tmp_path):
    """The folder has another name while the second program starts, as in another root. The tool makes the trace there before."""
    folder = tmp_path / 'here'
    folder.mkdir()
    script = f'until [ -e {folder}/t.seep ]; do sleep 0.01; done; mv {folder} {tmp_path}/there; sh -c :; mv {tmp_path}/there {folder}'
    done = run([SEEP, 'run', '-q', '--mode', 'record', '-o', folder / 't.seep', '--', 'sh', '-c', script], cwd=tmp_path)
    assert (done.code, done.err) == (0, b''), done


def test_what_is_cut_is_told(tmp_path):
    trace = record(tmp_path, PROGRAMS / 'gcc-O2@resize')
    whole = trace.read_bytes()
    for length in (33, 60, len(whole) // 3, len(whole) - 5):
        (tmp_path / 'cut.seep').write_bytes(whole[:length])
        done = run([SEEP, 'report', '--at', 'peak', tmp_path / 'cut.seep'])
        assert b'cut' in done.err + done.out, (length, done)


def test_moments_need_a_recording_or_snapshots(tmp_path):
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 'live.seep', PROGRAMS / 'gcc-O2@plain'])
    assert done.code == 0, done
    done = run([SEEP, 'report', '--at', '1s', tmp_path / 'live.seep'])
    assert done.code != 0 and b'it has no snapshots' in done.err and b'--mode record' in done.err, done
    done = run([SEEP, 'report', '--at', 'never', tmp_path / 'live.seep'])
    assert done.code != 0 and done.err.count(b'\n') == 1, done


def test_rings_of_some_threads_fit_a_limited_address_space(tmp_path):
    program = built_program('recording_limited.c', tmp_path, '-fno-builtin', '-pthread')
    trace = record(tmp_path, 'sh', '-c', 'ulimit -v 262144; exec "$@"', 'sh', program, env={'MALLOC_ARENA_MAX': '1'})
    ran = [one for one in report(trace) if one['totals']['allocations'] >= 200_000]
    assert [one['health']['lost'] for one in ran] == [{}], ran


def test_rings_of_some_threads_fit_an_address_space_that_is_limited_later(tmp_path):
    program = built_program('recording_limited.c', tmp_path, '-fno-builtin', '-pthread')
    (process,) = report(record(tmp_path, program, '200', env={'MALLOC_ARENA_MAX': '1'}))
    assert process['totals']['allocations'] >= 200_000 and process['health']['lost'] == {}, process['health']


def test_dropped_events_are_counted(tmp_path):
    """With --drop nobody waits: what is written and what was dropped make all."""
    trace = record(tmp_path, compiled(tmp_path, HANDING_ON), options=['--drop'])
    (process,) = report(trace)
    operations = process['totals']['allocations'] + process['totals']['frees']
    events = sum(len(chunk.events) for chunk in chunks(trace))
    assert events + process['health']['lost'].get('event', 0) == operations


def processor_seconds(pid):
    """Of all threads of a process: what it ran, which no other load makes longer."""
    return sum(int((task / 'schedstat').read_text().split()[0]) for task in Path(f'/proc/{pid}/task').iterdir()) / 1e9


def test_a_tool_with_nothing_to_record_sleeps(tmp_path):
    """Whatever the rings have: nothing, less or more than half of their room, or what a stopped program left in them."""
    if not Path('/proc/self/schedstat').exists():
        pytest.skip('this kernel does not say for how long a thread ran')
    program = compiled(tmp_path, program_source('recording_then_idle.c'))
    tools = [begin_recording(tmp_path / f'{pairs}.seep', program, str(pairs)) for pairs in (0, 20000, 45000, 10 ** 9)]
    stopped = None
    try:
        children = Path(f'/proc/{tools[-1].pid}/task/{tools[-1].pid}/children')
        wait_until(lambda: (tmp_path / f'{10 ** 9}.seep').stat().st_size > 20000, 'events')
        stopped = int(children.read_text().split()[0])
        os.kill(stopped, signal.SIGSTOP)
        wait_until(lambda: time.time() - max(trace.stat().st_mtime for trace in tmp_path.glob('*.seep')) > 0.3, 'the last chunks')
        before = [processor_seconds(tool.pid) for tool in tools]
        until = time.monotonic() + 2
        wait_until(lambda: time.monotonic() > until, 'two seconds')
        spent = [processor_seconds(tool.pid) - start for tool, start in zip(tools, before)]
        assert max(spent) < 0.08, spent
    finally:
        if stopped:
            os.kill(stopped, signal.SIGKILL)
        for tool in tools:
            tool.stdin.close()
        for tool in tools:
            tool.wait(timeout=60)


ENDLESS = program_source('recording_endless.c')


def test_a_recording_is_read_while_it_is_written_and_when_seep_was_killed(tmp_path):
    """Up to the last chunk, with functions; the program is not harmed."""
    trace = tmp_path / 'running.seep'
    tool = subprocess.Popen([SEEP, 'run', '-q', '--scan', 'no', '--mode', 'record', '-o', trace, compiled(tmp_path, ENDLESS)],
                            env=environment())
    try:
        wait_until(lambda: tool.poll() is not None or trace.exists() and trace.stat().st_size >= 6000, 'some chunks')
        assert tool.poll() is None
        for kill in (False, True):
            if kill:
                tool.kill()
                tool.wait(timeout=60)
            before = sum(len(chunk.events) for chunk in chunks(trace))
            (process,) = report(trace)
            assert process['totals']['allocations'] + process['totals']['frees'] >= before > 0
            if not list(tmp_path.glob('running.seep.*')):  # else the library went on when it found no one
                assert 'has no end' in str(process['health']['notes']) and not process['health']['complete']
            kept = max(process['sites'], key=lambda site: site['live_bytes'])
            assert kept['live_bytes'] == 100 * kept['live_blocks'] > 0 and len(kept['blocks']) == kept['live_blocks']
            done = run([SEEP, 'report', trace, '--at', '0.05s'])
            assert done.code == 0 and b'keep (program.c' in done.out, done
    finally:
        tool.kill()
        tool.wait(timeout=60)


def test_a_forked_child_of_a_recording_without_an_end_is_incomplete(tmp_path):
    """Blocks that the child had from its parent are in no event. Frees of these blocks are not strange."""
    trace = tmp_path / 'running.seep'
    tool = subprocess.Popen([SEEP, 'run', '-q', '--scan', 'no', '--mode', 'record', '-o', trace,
                             compiled(tmp_path, program_source('recording_endless_child.c'))], env=environment())
    try:
        wait_until(lambda: tool.poll() is not None or trace.exists() and len({chunk.pid for chunk in chunks(trace)}) == 2, 'chunks of both')
        child = report(trace)[1]
    finally:
        tool.kill()
        tool.wait(timeout=60)
    assert child['process']['origin'] == 'fork' and child['totals']['frees'] >= 3, child['totals']
    assert 'trace_cut' in codes(child) and 'events_strange' not in codes(child) and not child['health']['complete'], child['health']


def test_a_chunk_is_written_before_a_twentieth_of_a_second_has_passed(tmp_path):
    """What is in no chunk yet is lost where tool and program are killed in one moment. A tool that gets no processor is late, so of
    many chunks the shortest counts; the clock is the one in the file."""
    trace = tmp_path / 'running.seep'
    tool = subprocess.Popen([SEEP, 'run', '-q', '--scan', 'no', '--mode', 'record', '-o', trace, compiled(tmp_path, ENDLESS)],
                            env=environment())
    try:
        wait_until(lambda: tool.poll() is not None or trace.exists() and len(chunks(trace)) >= 12, 'a dozen chunks')
    finally:
        tool.kill()
        tool.wait(timeout=60)
    open_ns = [chunk.end[1] - chunk.begin[1] for chunk in chunks(trace)]
    assert len(open_ns) >= 12 and 0 < min(open_ns) < 40_000_000, open_ns


def test_a_damaged_recording_is_read_up_to_the_damage(tmp_path):
    """A byte that changed, wherever it is: what precedes its chunk is shown, and the place is named; or one line says why not."""
    whole = record(tmp_path, PROGRAMS / 'gcc-O2@storm').read_bytes()
    shown = named = 0
    for place in range(40, len(whole), len(whole) // 20):
        damaged = tmp_path / 'damaged.seep'
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        done = run([SEEP, 'report', '--at', 'peak', damaged])
        assert done.code in (0, 1) and (done.code == 0 or done.err.count(b'\n') == 1), (place, done)
        if done.code == 0:
            health = next(line for line in done.out.splitlines() if line.startswith(b'health: '))
            told = b'offset' in done.out or b'has no end' in health  # of the index at the end the place is not named
            assert told != health.startswith(b'health: complete'), (place, done)
            shown += 1
            named += b'offset' in done.out
    assert shown > 6 and named > 3, (shown, named)


def test_every_report_tells_of_damaged_events(tmp_path):
    """Read as a file, and as a pipe: there no event is kept in memory."""
    trace = record(tmp_path, PROGRAMS / 'gcc-O2@storm')
    good = trace.read_bytes()
    place = next(section.at for section in all_sections(good) if section.kind == EVENTS)
    whole = damage(good, place)
    for spec, kwargs in ((trace, {}), ('-', {'input': whole})):
        assert b'damaged' not in run([SEEP, 'report', spec], **({'input': good} if kwargs else {})).out
    trace.write_bytes(whole)
    for spec, kwargs in ((trace, {}), ('-', {'input': whole})):
        done = run([SEEP, 'report', spec], **kwargs)
        assert done.code == 0 and b'section EVENTS at offset %d is damaged' % place in done.out, done
    cut = run([SEEP, 'report', '-'], input=whole[: place + 50])
    assert cut.code == 1 and b'cut at offset' in cut.err, cut


def gone_on(tmp_path):
    """A recording of a program that another one became, and where the last large chunk of its events begins."""
    trace = record(tmp_path, 'sh', '-c', '(:) & wait; exec "$@"', 'sh', compiled(tmp_path, BUSY), tmp_path / 'x')
    whole = trace.read_bytes()
    places = [section.at for section in all_sections(whole) if section.kind == EVENTS]
    return trace, whole, [place for place, chunk in zip(places, chunks(trace), strict=True) if len(chunk.events) > 1000][-1]


def test_what_follows_damage_is_not_from_before_the_recording(tmp_path):
    trace, whole, place = gone_on(tmp_path)
    damaged = tmp_path / 'damaged.seep'
    damaged.write_bytes(damage(whole, place))
    for moment in ('0s', 'peak'):
        good, bad = report(trace, '--at', moment)[0], report(damaged, '--at', moment)[0]
        assert good['process']['name'] == bad['process']['name'] == 'program'
        assert f'section EVENTS at offset {place}' in str(bad['health']['notes'])
        assert 'the recording lacks the first events' not in str(bad['health']['notes']), (moment, bad['health'])
        assert bad['totals']['allocations'] <= good['totals']['allocations'], moment


def test_the_end_of_a_cut_recording_is_that_of_its_last_process(tmp_path):
    trace, whole, place = gone_on(tmp_path)
    trace.write_bytes(whole[: place + 40])
    lives = [process['process'] for process in report(trace)]
    words = str(report(trace)[0]['health']['notes'])
    number, unit = re.search(r'up to ([\d.]+) (us|ms|s)\b', words).groups()
    until_s = float(number) * {'us': 1e-6, 'ms': 1e-3, 's': 1}[unit]
    assert until_s >= 0.9 * sum(life['duration_s'] for life in lives if life['pid'] == lives[0]['pid']), (words, lives)


def test_a_moment_of_a_shrunk_recording_says_what_it_lacks(tmp_path):
    trace, shrunk = record(tmp_path, compiled(tmp_path, BUSY), tmp_path / 'x'), tmp_path / 'shrunk.seep'
    assert run([SEEP, 'shrink', '-o', shrunk, trace]).code == 0
    for moment in ('0s', 'peak', '1000h'):
        (of_all,), (of_rest,) = report(trace, '--at', moment), report(shrunk, '--at', moment)
        assert of_all['health']['complete'] and of_rest['health']['complete'] == (moment == '1000h'), (moment, of_rest['health'])
        assert ("'seep shrink'" in str(of_rest['health']['notes'])) == (moment != '1000h')
    compared = run([SEEP, 'diff', f'{shrunk}@0s', f'{shrunk}@1000h']).out
    assert b"incomplete: the old one: the recording lacks events ('seep shrink'" in compared and b'new one' not in compared, compared


@pytest.mark.parametrize('how', ['shrink', '--keep-last'])
def test_who_reads_events_says_that_a_recording_lacks_some(how, tmp_path):
    program = compiled(tmp_path, program_source('recording_flight.c'))
    trace = record(tmp_path, program, options=['--keep-last', '300K'] if how == '--keep-last' else [])
    shown = tmp_path / 'shrunk.seep' if how == 'shrink' else trace
    if how == 'shrink':
        assert b'--keep-last' not in run([SEEP, 'history', trace]).err
        assert run([SEEP, 'shrink', '-o', shown, trace]).code == 0
        assert run([SEEP, 'sql', trace, 'select count(*) from event']).err == run([SEEP, 'export', '--events', 'csv', trace]).err == b''
    for command in (['history'], ['advise'], ['sql'], ['export', '--events', 'log']):
        said = run([SEEP, *command, shown, *(['select count(*) from event'] if command == ['sql'] else [])])
        assert said.code == 0 and said.err.count(b'is incomplete: the recording has ') == 1, (command, said)


def test_a_flight_recorder_that_was_killed_says_what_it_lacks(tmp_path):
    """Its end, which has what was live before the first kept event, is not there. What was freed had been allocated."""
    trace = record(tmp_path, compiled(tmp_path, program_source('recording_flight.c')), options=['--keep-last', '300K'])
    cut = tmp_path / 'cut.seep'
    whole = bytearray(trace.read_bytes())
    chunks_of_events = [section for section in all_sections(whole) if section.kind == EVENTS]
    at = chunks_of_events[0].at
    struct.pack_into('<I', whole, at, GAP)  # as while it is written
    struct.pack_into('<I', whole, at + 24, zlib.crc32(whole[at:at + 24]))
    cut.write_bytes(whole[:chunks_of_events[-1].end])
    process, = report(cut)
    dropped = [note['text'] for note in process['health']['notes'] if note['code'] == 'events_dropped']
    assert len(dropped) == 1 and re.match(r'events before [\d.]+ m?s were dropped \(--keep-last\)', dropped[0]), process['health']
    totals = process['totals']
    assert totals['live_blocks'] == totals['allocations'] - totals['frees'] == sum(len(site['blocks']) for site in process['sites'])
    assert 'events_strange' not in [note['code'] for note in process['health']['notes']]


RESIDENCE, GAP, EVENT_INDEX, END = 34, 32, 31, 1


def far_damage(whole, far, kind=RESIDENCE, hole=(64 << 20) + 1):
    """Writes a copy of the recording without its index of chunks. A section longer than the part that is read at opening comes before
    the first chunk of events. One byte of the last chunk is changed; its place is returned."""
    def header(kind, version, flags, stored, raw, crc):
        fields = struct.pack('<IHHQQ', kind, version, flags, stored, raw)
        return fields + struct.pack('<II', zlib.crc32(fields), crc)
    sections = [section for section in all_sections(whole) if section.kind not in (EVENT_INDEX, END)]
    chunks_at = [i for i, section in enumerate(sections) if section.kind == EVENTS]
    assert len(chunks_at) > 1
    with open(far, 'wb') as file:
        file.write(whole[: sections[0].at])
        for i, section in enumerate(sections):
            part = whole[section.at : section.end]
            if i == chunks_at[0]:
                file.write(header(kind, 1, 0, hole, hole, 0))
                file.seek(hole, 1)
            if i == chunks_at[-1]:
                place, part = file.tell(), damage(part, 0)
            file.write(part)
        end = struct.pack('<QQ', len(sections) + 2, file.tell() + 32 + 16)
        file.write(header(END, 1, 0, 16, 16, zlib.crc32(end)) + end)
    return place


def test_damage_that_no_one_has_looked_for_is_told_by_who_meets_it(tmp_path):
    """Opening reads only the first part of a long file. Commands that read the events report damage behind it."""
    trace, far = record(tmp_path, compiled(tmp_path, BUSY), '0.3'), tmp_path / 'far.seep'
    told = b'section EVENTS at offset %d' % far_damage(trace.read_bytes(), far)
    assert told not in run([SEEP, 'report', far]).out
    for command in ('sql FILE', 'export --events csv FILE', 'history FILE', 'advise FILE', 'plot FILE', 'shrink -o OUT FILE',
                    'replay --touch none --generate OUT.c FILE', 'report --at peak FILE', 'growth FILE'):
        words = [{'FILE': far, 'OUT': tmp_path / 'out', 'OUT.c': tmp_path / 'out.c'}.get(word, word) for word in command.split()]
        done = run([SEEP, *words, *(['select count(*) from event'] if words[0] == 'sql' else [])])
        said = run([SEEP, 'report', tmp_path / 'out']).out if words[0] == 'shrink' else done.err + done.out
        assert done.code == 0 and told in said, (words, done)


def test_a_gap_of_a_flight_recorder_is_not_read(tmp_path):
    """The gap is larger than a trace may be. What follows the gap is read as if there were no gap."""
    trace, far = record(tmp_path, compiled(tmp_path, BUSY), '0.3'), tmp_path / 'far.seep'
    told = b'section EVENTS at offset %d' % far_damage(trace.read_bytes(), far, GAP, 1 << 33)
    done = run([SEEP, 'report', far])
    assert done.code == 0 and told in done.out, done
    assert report(far)[0]['totals'] == report(trace)[0]['totals']


def test_a_reader_goes_on_behind_gaps_that_were_joined_meanwhile(tmp_path):
    """A flight recorder writes on while its events wait in a pipe."""
    trace, moving = record(tmp_path, compiled(tmp_path, BUSY), '0.3'), tmp_path / 'moving.seep'
    whole = trace.read_bytes()
    sections = [section for section in all_sections(whole) if section.kind not in (EVENT_INDEX, END)]
    first = sections[0].at
    *_, last = [section.at for section in sections if section.kind == EVENTS]
    moving.write_bytes(whole[:first] + b''.join(whole[section.at : section.end] for section in sections))
    expected = run([SEEP, 'export', '--events', 'csv', moving]).out
    tool = subprocess.Popen([SEEP, 'export', '--events', 'csv', moving], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    waiting = bytearray(4)
    wait_until(lambda: not fcntl.ioctl(tool.stdout, termios.FIONREAD, waiting) and int.from_bytes(waiting, sys.byteorder) > 60000, 'a full pipe')
    stored = last - first - 32
    fields = struct.pack('<IHHQQ', GAP, 1, 0, stored, stored)
    with open(moving, 'r+b') as file:
        file.seek(first)
        file.write(fields + struct.pack('<II', zlib.crc32(fields), 0) + bytes(stored))
    out, err = tool.communicate(timeout=60)
    assert tool.returncode == 0 and b'damaged' not in err and out.splitlines()[-1] == expected.splitlines()[-1], err
    assert len(out) < len(expected)


def alone(tmp_path, *args, code=0):
    """The library without the tool: a file for each process."""
    folder = tmp_path / 'alone'
    folder.mkdir(exist_ok=True)
    env = environment(SEEP_MODE='record', SEEP_OUT=f'{folder}/%p.seep', LD_PRELOAD=BUILD / 'libseep-record.so')
    done = run(args, env=env, cwd=tmp_path)
    assert done.code == code, done
    return sorted(folder.iterdir())


@pytest.mark.parametrize('name', ['threads', 'resize', 'storm', 'forks'])
def test_alone_a_recording_needs_nothing_but_the_library(name, tmp_path):
    """More events than the rings hold: what they make is what the library counted in its other way."""
    files = alone(tmp_path, PROGRAMS / f'gcc-O2@{name}')
    assert files
    for file in files:
        (made,), (counted,) = report(file, '--at', '1000h'), report(file)
        assert not counted['health']['lost']
        for key in FIGURES:
            assert made['totals'][key] == counted['totals'][key], (file, key)
        sites = {site_key(site): site for site in made['sites']}
        for site in counted['sites']:
            blocks = [sorted((b['address'], b['size']) for b in s.get('blocks', [])) for s in (site, sites[site_key(site)])]
            assert blocks[0] == blocks[1]


def test_alone_threads_hand_blocks_on(tmp_path):
    (file,) = alone(tmp_path, compiled(tmp_path, HANDING_ON))
    (made,), (counted,) = report(file, '--at', '1000h'), report(file)
    assert counted['totals']['allocations'] > 64 * 800 and not counted['health']['lost']
    assert 'events_strange' not in codes(made), made['health']
    for key in FIGURES:
        assert made['totals'][key] == counted['totals'][key], key


def test_alone_and_killed_leaves_what_was_written(tmp_path):
    (file,) = alone(tmp_path, compiled(tmp_path, BUSY, '-DKILLED'), 'x', code=-9)
    assert file.name.count('.seep.') == 1  # it has not got its last name
    (process,) = report(file)
    assert process['totals']['allocations'] > 90000 and not process['health']['complete']
    done = run([SEEP, 'report', '--at', 'peak', file])
    assert done.code == 0 and b'program.c' in done.out, done


def test_alone_a_long_file_takes_no_memory(tmp_path):
    """Its events are read when their turn comes: six times as many need no more memory, of a program that was killed neither."""
    program, few, many = tmp_path / 'billion', 200000, 1200000
    done = run(['gcc', '-g', '-O1', '-fno-builtin', '-o', program, Path(__file__).parents[2] / 'bench/workloads/billion.c'])
    assert done.code == 0, done
    most, sizes = {}, {}
    for nr in (few, many):
        (file,) = alone(tmp_path, program, str(nr))
        cut = tmp_path / 'a.cut'
        sizes[nr] = file.stat().st_size
        most[nr] = [most_memory_of(SEEP, 'report', file)]
        cut.write_bytes(file.read_bytes()[:sizes[nr] // 2])
        most[nr].append(most_memory_of(SEEP, 'report', '--at', 'peak', cut))
        file.unlink()
    assert sizes[many] - sizes[few] < 10 * (many - few)  # bytes an event; mmleak has 31
    longer = (sizes[many] - sizes[few]) * 3 // 4  # events that are held take their bytes in the file, and as many as are decoded
    assert longer > 5 << 20
    assert most[many][0] < most[few][0] + longer and most[many][1] < most[few][1] + longer, (most, sizes)


@pytest.mark.parametrize('how', ['closes', 'borrows'])
def test_alone_nothing_of_the_programs_is_written_to(how, tmp_path):
    """The program closes all descriptors, or had them opened in a child of vfork, and opens a file of its own in their place."""
    own = tmp_path / 'own'
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1024:
        pytest.skip(f'no more than {hard} descriptors')
    files = alone(tmp_path, compiled(tmp_path, program_source('recording_descriptors.c')), how, own)
    assert own.read_bytes() == b'mine'
    finished = [report(file)[0]['totals']['allocations'] for file in files if file.name.endswith('.seep')]
    assert max(finished, default=0) >= 40000, (finished, files)  # a child of fork begins anew


def test_alone_a_lower_limit_of_files_ends_no_program(tmp_path):
    """Over it the kernel would send SIGXFSZ. A file that cannot be written whole is not left behind."""
    assert alone(tmp_path, compiled(tmp_path, program_source('recording_descriptors.c')), 'lowers', 'x') == []


def test_alone_without_room_the_counts_are_kept(tmp_path):
    """A disk too small for the events: they are counted as lost, and the rest is there; no folder at all: nothing happens."""
    small = tmp_path / 'small'
    small.mkdir()
    program = compiled(tmp_path, BUSY)
    inside = f'mount -t tmpfs -o size=600k none {small} && SEEP_MODE=record SEEP_OUT={small}/a.seep LD_PRELOAD={BUILD}/libseep-record.so ' \
             f'{program} {tmp_path}/x && cp {small}/a.seep {tmp_path}/a.seep && ls {small}'
    done = run(['unshare', '-rm', 'sh', '-c', inside])
    if b'mount' in done.err or b'unshare' in done.err:
        pytest.skip(f'no mount of our own: {done.err.decode().strip()}')
    assert done.code == 0 and done.out == b'a.seep\n', done
    (process,) = report(tmp_path / 'a.seep')
    assert process['totals']['allocations'] >= 100000
    assert process['health']['lost']['event'] > 0 and not process['health']['complete']
    env = environment(SEEP_MODE='record', SEEP_OUT='/proc/none/%p.seep', LD_PRELOAD=BUILD / 'libseep-record.so')
    done = run([program, tmp_path / 'y'], env=env, cwd=tmp_path)
    assert done.code == 0, done


def test_without_room_for_the_trace_what_is_missing_is_counted(tmp_path):
    """A disk too small for what seep writes: the program goes on, and each event is either in the trace or counted as lost."""
    small = tmp_path / 'small'
    small.mkdir()
    program = compiled(tmp_path, (Path(__file__).parents[2] / 'bench/workloads/billion.c').read_text())
    inside = f'mount -t tmpfs -o size=200k none {small} && ' \
             f'{SEEP} run --json --scan no --mode record -o {small}/a.seep {program} 600000; code=$?; ' \
             f'cp {small}/a.seep {tmp_path}/a.seep && exit $code'
    done = run(['unshare', '-rm', 'sh', '-c', inside], env=environment())
    if b'mount' in done.err or b'unshare' in done.err:
        pytest.skip(f'no mount of our own: {done.err.decode().strip()}')
    assert done.code == 1 and (messages.CANNOT_WRITE_TRACE % f'{small}/a.seep').encode() in done.err, done
    process = json.loads(done.err[done.err.index(b'{'):])  # behind the error
    operations = process['totals']['allocations'] + process['totals']['frees']
    lost = process['health']['lost']['event']
    assert operations > 500000 and not process['health']['complete'], process['health']
    written = sum(len(chunk.events) for chunk in chunks(tmp_path / 'a.seep'))
    assert written > 0 and written + lost == operations, (written, lost, operations)


def test_an_event_without_room_costs_no_wait(tmp_path, undisturbed):
    """No one takes the events, and the ring is full: a thread gives up once, not at each event. Waiting is by instructions here."""
    need('valgrind')
    program = compiled(tmp_path, BUSY)
    done = run(['valgrind', '--tool=callgrind', f'--callgrind-out-file={tmp_path}/counts', program, tmp_path / 'x'],
               env=environment(SEEP_MODE='record', SEEP_SOCKET=tmp_path / 'none', LD_PRELOAD=BUILD / 'libseep-record.so'))
    assert done.code == 0, done
    instructions = int(done.err.split(b'refs:')[1].split()[0].replace(b',', b''))
    assert instructions < 500 * 200000, instructions


def test_a_flight_recorder_keeps_the_last(tmp_path):
    """The file is not larger than asked for, and what was live before its events is there."""
    program = compiled(tmp_path, program_source('recording_flight.c'))
    kept = record(tmp_path, program, options=['--keep-last', '300K'])
    assert kept.stat().st_size < 600000 and kept.stat().st_blocks * 512 < 600000
    events = [event for chunk in chunks(kept) for event in chunk.events]
    (made,), (counted,) = report(kept, '--at', '1000h'), report(kept)
    assert 0 < len(events) < counted['totals']['allocations'] + counted['totals']['frees']
    for key in FIGURES:
        assert made['totals'][key] == counted['totals'][key] or key == 'temporary', key
    assert sorted(b['size'] for s in made['sites'] for b in s.get('blocks', [])) == [77, 12345]
    (start,) = report(kept, '--at', '0s')
    assert sorted(b['size'] for s in start['sites'] for b in s.get('blocks', [])) [-2:] == [12345, 12345]
    assert start['totals']['live_blocks'] <= 3 and '--keep-last' in str(start['health']['notes'])
    assert made['health']['complete'] and not start['health']['complete']


@pytest.mark.parametrize('name', ['storm', 'threads', 'forks'])
def test_any_moment_is_what_the_events_until_then_make(name, tmp_path):
    """Live blocks by address at five moments, from the second reader's events. Of children only what they did themselves."""
    trace = record(tmp_path, PROGRAMS / f'gcc-O2@{name}')
    of_main = [chunk for chunk in chunks(trace) if chunk.pid == report(trace)[0]['process']['pid']]
    times = []
    for chunk in of_main:
        (begin, begin_ns), (end, end_ns) = chunk.begin, chunk.end
        times += [(begin_ns + (event.stamp - begin) * (end_ns - begin_ns) / (end - begin), event) for event in chunk.events]
    for part in (0, 0.1, 0.5, 0.9, 1):
        at_ns = int(times[int(part * (len(times) - 1))][0]) + 1
        live = {}
        for when, event in times:
            if int(max(when, 0)) > at_ns:
                continue
            if event.kind in (ALLOCATION, KEPT):
                live[event.address] = event.size
            else:
                live.pop(event.address, None)
        shown = report(trace, '--at', f'{at_ns}ns')[0]
        blocks = {int(b['address'], 16): b['size'] for site in shown['sites'] for b in site.get('blocks', [])}
        assert blocks == live, (part, len(blocks), len(live))


def what_a_child_did(times, until_ns):
    """Its own blocks (None: freed), and what it freed first: blocks of its parent."""
    own, taken = {}, {}
    for when, event in times:
        if int(max(when, 0)) > until_ns:
            continue
        is_made = event.kind in (ALLOCATION, KEPT)
        if not is_made and event.address not in own:
            taken[event.address] = event.size
        own[event.address] = event.size if is_made else None
    return own, taken


def blocks_after_each(began_with, times):
    """(address that changed, what is live) of a process before its first event and after each; the same dictionary each time."""
    live = dict(began_with)
    yield None, live
    for _, event in times:
        if event.kind in (ALLOCATION, KEPT):
            live[event.address] = event.size
        else:
            live.pop(event.address, None)
        yield event.address, live


def fork_points(began_with, times, wanted):
    """After how many of its events the parent had just these blocks."""
    different, points = set(), set()
    for number, (changed, live) in enumerate(blocks_after_each(began_with, times)):
        for address in {*live, *wanted} if changed is None else {changed}:
            if live.get(address) == wanted.get(address):
                different.discard(address)
            else:
                different.add(address)
        if not different:
            points.add(number)
    return points


def test_any_moment_of_forked_children_is_what_the_events_make(tmp_path):
    """Of each child one point of its parent's events, the fork, explains all moments: its blocks are the parent's then, less what
    the child freed, with what it made. The second reader gives the events, the first one only the blocks."""
    trace = record(tmp_path, built_program('recording_tree.c', tmp_path, '-O1', '-fno-builtin'))
    parents = {process['process']['pid']: process['process']['parent'] for process in report(trace)}
    times, starts = collections.defaultdict(list), {}
    for chunk in chunks(trace):
        (begin, begin_ns), (end, end_ns) = chunk.begin, chunk.end
        starts[chunk.pid] = chunk.start
        times[chunk.pid] += [(begin_ns + (event.stamp - begin) * (end_ns - begin_ns) / max(end - begin, 1), event) for event in chunk.events]
    assert times.keys() == parents.keys() and len(times) == 7
    (main,) = (pid for pid, parent in parents.items() if parent not in parents)
    last_ns = max(of[-1][0] + starts[pid] - starts[main] for pid, of in times.items())
    moments = [int(last_ns * part) for part in (0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1)]
    shown = {at_ns: {process['process']['pid']: process for process in report(trace, '--at', f'{at_ns}ns')} for at_ns in moments}
    began_with, compared, waiting = {main: {}}, 0, [pid for pid in parents if pid != main]
    while waiting:
        pid = next(pid for pid in waiting if parents[pid] in began_with)
        waiting.remove(pid)
        points = None
        for at_ns in moments:
            if pid not in shown[at_ns]:
                continue
            own, taken = what_a_child_did(times[pid], at_ns - (starts[pid] - starts[main]))
            blocks = {int(b['address'], 16): b['size'] for site in shown[at_ns][pid]['sites'] for b in site.get('blocks', [])}
            assert {address: blocks.get(address) for address in own} == own, (pid, at_ns)
            wanted = {address: size for address, size in blocks.items() if address not in own} | taken
            found = fork_points(began_with[parents[pid]], times[parents[pid]], wanted)
            points = found if points is None else points & found
            assert points, (pid, at_ns, len(blocks), len(own))
            compared += len(blocks) > 0
        began_with[pid] = next(dict(live) for number, (_, live) in enumerate(blocks_after_each(began_with[parents[pid]], times[parents[pid]]))
                               if number in points)
    assert compared > 6


def test_damage_makes_the_processes_behind_it_incomplete(tmp_path):
    """Of each process: the figures of the undamaged recording, or not complete."""
    script = 'for i in 1 2 3; do perl -e \'@a = map { $_ x 9 } 1..900; fork; @b = map { $_ x 9 } 1..900; wait\'; done'
    need('perl')
    trace = record(tmp_path, 'sh', '-c', script)
    whole = trace.read_bytes()
    places = [section.at for section in all_sections(whole) if section.kind == EVENTS]
    damaged, found = tmp_path / 'damaged.seep', 0
    for place in (places[len(places) // 2], places[-1]):  # what a forked process began with is made from its last events too
        damaged.write_bytes(damage(whole, place))
        for moment in ('1us', '0.02s', 'peak', '1000h'):
            for good, bad in zip(report(trace, '--at', moment), report(damaged, '--at', moment), strict=True):
                same = all(good['totals'][key] == bad['totals'][key] for key in ('allocations', 'frees', 'live_blocks', 'live_bytes'))
                assert same or not bad['health']['complete'], (moment, bad['process'], bad['totals'], good['totals'])
                found += not same
    assert found


@pytest.fixture(scope='module')
def older_faults(tmp_path_factory):
    """The program is at a fixed address; older tools had no names for such programs."""
    need('gcc')
    return built_program('older_faults.c', tmp_path_factory.mktemp('older'), '-g', '-O1', '-fno-builtin', '-no-pie')


FIRST_CALLS = ('strdup', 'strndup', 'posix_memalign', 'aligned_alloc', 'memalign', 'valloc', 'reallocarray', 'calloc', 'realloc')


@pytest.mark.parametrize('call', FIRST_CALLS)
def test_any_call_may_be_the_first(call, older_faults, tmp_path):
    trace = record(tmp_path, older_faults, call)
    for (process,) in (report(trace), report(trace, '--at', '1000h')):
        assert [block['size'] for site in process['sites'] for block in site['blocks']] == [28], process
    words = run([SEEP, 'report', trace]).out.decode()
    assert 'main (' in words and (call.startswith('str') or 'first_call (' in words), words


def test_calls_that_fail_leave_what_there_is(older_faults, tmp_path):
    """Sizes that overflow are no small blocks, and a realloc that fails frees nothing."""
    trace = record(tmp_path, older_faults, 'fail')
    for (process,) in (report(trace), report(trace, '--at', '1000h')):
        assert [block['size'] for site in process['sites'] for block in site['blocks']] == [321]
        assert process['totals']['failed'] == 4 and process['totals']['frees'] == 0
    assert [event.kind for chunk in chunks(trace) for event in chunk.events].count(ALLOCATION) == 1


def test_more_mappings_than_a_page_of_proc_maps_has_lines(older_faults, tmp_path):
    trace = tmp_path / 'maps.seep'
    assert run([SEEP, 'run', '-q', '--mode', 'record', '-o', trace, '--', older_faults, 'map'], env=environment()).code == 0
    assert '1,048,576 bytes leaked in 1 block' in run([SEEP, 'report', trace]).out.decode()


def test_alone_the_files_lie_where_the_program_began(older_faults, tmp_path):
    """Each process writes one file, although it changes its folder and forks."""
    done = run([older_faults, 'move'], cwd=tmp_path, env=environment(
        SEEP_MODE='record', SEEP_OUT='out-%p.seep', LD_PRELOAD=str(BUILD / 'libseep-record.so')))
    assert done.code == 0, done
    made = [report(file)[0]['totals']['live_bytes'] for file in tmp_path.glob('out-*.seep')]
    assert sorted(made) == [999, 1000, 1001, 1002], made
