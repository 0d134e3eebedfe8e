# SPDX-License-Identifier: BSD-2-Clause
"""The report of a session of many processes: who started whom, what was not traced and why, one process of many."""
import collections
import csv
import os
import signal
import subprocess

import pytest
import messages
from harness import BUILD, SEEP, TIMEOUT, environment, need, run, traced, wait_until
import report_json
from small_programs import built_program, program_source

COVERS = [
    ('who started whom', 'covered', 'test_who_started_whom', ''),
    ('exec of a static program', 'declared', 'test_what_was_not_traced',
     "a preloaded library cannot be in it; 'seep attach' traces it by probes"),
    ('exec of a static program', 'declared', 'test_the_program_goes_on_untraced',
     'in place of a program that was traced'),
    ('scripts', 'covered', 'test_scripts_and_failed_exec', 'through their interpreters'),
    ('posix_spawn', 'covered', 'test_by_posix_spawn', 'as make does'),
    ('a thousand short-lived children', 'covered', 'test_a_thousand_children',
     'one trace; alike children are one row'),
    ('--by process', 'covered', 'test_who_started_whom', ''),
    ('disk full while saving', 'covered', 'test_the_disk_is_full', 'said, with what to do; the report comes all the same'),
    ('disk full while saving', 'covered', 'test_the_disk_of_what_waits_is_full', 'where ended processes wait: they wait in memory'),
    ('clock jumps', 'covered', 'test_the_wall_clock_is_set_back', 'children stay behind their parents'),
    ('PID reuse', 'covered', 'test_numbers_that_are_used_again', 'each with its own name, parent and children'),
    ('a thousand short-lived children', 'covered', 'test_the_tool_does_not_grow_with_the_number_of_processes', 'the tool does not grow'),
]

PROGRAM = BUILD / 'tests/live/live-processes'


def text(trace, *options):
    done = run([SEEP, 'report', *options, trace])
    assert done.code == 0, done
    return done.out.decode()


def tree_rows(report):
    """(figures, program with its branches) of the table of processes."""
    lines = report.split('\n')
    start = next(i for i, line in enumerate(lines) if line.endswith(' program') and 'live bytes' in line)
    at = lines[start].index('program')
    rows = []
    for line in lines[start + 1 :]:
        if not line:
            break
        rows.append((line[:at].split(), line[at:]))
    return rows


@pytest.fixture
def static_program(tmp_path):
    need('gcc')
    (tmp_path / 's.c').write_text(program_source('process_tree_static.c'))
    done = run(['gcc', '-static', 's.c', '-o', 'static'], cwd=tmp_path)
    assert done.code == 0, done
    return tmp_path / 'static'


def notes(process):
    return process['health']['notes']


def test_who_started_whom(tmp_path):
    """Fork, exec in place, a new program, a grandchild; in the text as a tree, in JSON by pid."""
    script = f'{PROGRAM} own 3; (:; {PROGRAM} own 4; exec {PROGRAM} own 5); exec {PROGRAM} own 6'
    done = traced(['sh', '-c', script], tmp_path)
    assert done.code == 0, done
    processes = done.report()
    by_pid = collections.defaultdict(list)
    for process in processes:
        what = process['process']
        by_pid[what['pid']].append(what)
    shell = next(p['process'] for p in processes if p['process']['args'][:2] == ['sh', '-c'] and p['process']['origin'] == 'start')
    program = {p['process']['args'][2]: p['process'] for p in processes if p['process']['args'][1] == 'own'}
    assert sorted(program) == ['3', '4', '5', '6']
    assert (program['3']['origin'], program['3']['started_by']) == ('spawn', shell['pid'])
    subshell = next(p['process'] for p in processes if p['process']['origin'] == 'fork')
    assert subshell['started_by'] == shell['pid'] and subshell['went_on']
    assert (program['4']['origin'], program['4']['started_by']) == ('spawn', subshell['pid'])
    assert (program['5']['origin'], program['5']['pid']) == ('exec', subshell['pid'])
    assert (program['6']['origin'], program['6']['pid']) == ('exec', shell['pid'])
    assert shell['went_on'] and shell['exit'] is None and program['6']['exit'] == {'code': 0}
    rows = [program for _, program in tree_rows(text(done.trace))]
    name = str(PROGRAM)
    assert rows == [
        f'sh -c {script}',
        f'├─ {name} own 3',
        f'├─ sh -c {script} (fork)',
        f'│  ├─ {name} own 4',
        f'│  └─ exec {name} own 5',
        f'└─ exec {name} own 6',
    ]
    assert '\n    at an exec ' in text(done.trace)
    done = run([SEEP, 'report', '--csv', '--by', 'process', '--top', '0', done.trace])
    rows = list(csv.DictReader(done.out.decode().splitlines()))
    for key in ('allocations', 'live_bytes'):
        assert sum(int(row[key]) for row in rows) == sum(p['totals'][key] for p in processes)


def test_the_report_of_a_running_process_is_of_it_alone(tmp_path):
    started = subprocess.Popen([SEEP, 'run', '-q', '-o', tmp_path / 't.seep', '--', 'sh', '-c', 'sleep 100 & echo $$ $!; wait'],
                               stdout=subprocess.PIPE, env=environment())
    shell, sleeper = started.stdout.readline().decode().split()
    try:
        wait_until(lambda: os.path.basename(os.readlink(f'/proc/{sleeper}/exe')) == 'sleep' and run([SEEP, 'report', sleeper]).code == 0,
                   'the child is traced')
        for command in ('report', 'scan'):
            done = run([SEEP, command, shell])
            assert f'this is pid {shell} alone, without 1 traced descendant' in done.out.decode(), done
            assert b'alone' not in run([SEEP, command, sleeper]).out
    finally:
        os.kill(int(sleeper), signal.SIGKILL)
        started.communicate(timeout=TIMEOUT)


def test_what_was_not_traced(static_program, tmp_path):
    """Each is in the tree, and the health says why, once for all that are alike."""
    script = f'./static; ./static; (:; ./static; env -i {PROGRAM} own 9); ./none; {PROGRAM} own 8; ./static x'
    plain = run(['sh', '-c', script], cwd=tmp_path)
    done = traced(['sh', '-c', script], tmp_path, cwd=tmp_path)
    assert (done.code, done.out, done.err) == (plain.code, plain.out, plain.err), done
    assert done.code == 7
    processes = done.report()
    untraced = [p for p in processes if not p['health']['events']]
    assert [p['process']['exe'] for p in untraced].count('./static') == 4
    assert {len(notes(p)) for p in untraced} == {1}
    assert all(not p['health']['complete'] for p in untraced)
    assert all(p['health']['complete'] for p in processes if p['health']['events'])
    whole = text(done.trace, '--top', '3')
    assert 'health: INCOMPLETE — 5 processes not traced: see the notes' in whole
    assert '4 processes: not traced: ' + messages.STATIC_BINARY % './static' in whole
    assert 'not traced: ' + messages.OWN_ENVIRONMENT % PROGRAM in whole
    assert whole.count('not traced          ') == 5
    assert './none' not in whole.split('program\n')[-1].replace(script, '')


@pytest.mark.parametrize('script, exe', [
    ('cp static gone; ./gone; rm gone; :', './gone'),
    ('mkdir sub; cp static sub/there; cd sub; ./there; :', './there'),
    ('mkdir sub; cp static sub/there; PATH=$PWD/sub:$PATH; env there; :', 'there'),
])
def test_a_program_whose_file_is_not_found(static_program, tmp_path, script, exe):
    """The program is removed, as tests of configure are, or is named from another folder. seep cannot know that it was static."""
    done = traced(['sh', '-c', script], tmp_path, cwd=tmp_path)
    assert done.code == 0, done
    (static,) = [p for p in done.report() if p['process']['exe'] == exe]
    assert report_json.codes(static) == ['no_image'] and messages.FILE_UNFOUND in notes(static)[0], static['health']


def test_the_program_goes_on_untraced(static_program, tmp_path):
    done = traced(['sh', '-c', 'exec ./static x'], tmp_path, cwd=tmp_path)
    assert done.code == 7
    other, shell = done.report()
    assert shell['process']['went_on'] and shell['process']['exit'] is None
    assert other['process']['origin'] == 'exec' and other['process']['exit'] == {'code': 7}
    assert other['process']['pid'] == shell['process']['pid']
    assert 'not traced: ' + messages.STATIC_BINARY % './static' in notes(other)[0]


def test_scripts_and_failed_exec(static_program, tmp_path):
    """A script whose interpreter cannot be traced; one that can; and exec that fails leaves nothing behind."""
    for name, interpreter in (('bad', static_program), ('good', '/bin/sh')):
        (tmp_path / name).write_text(f'#!{interpreter}\n:\n')
        (tmp_path / name).chmod(0o755)
    done = traced(['sh', '-c', './bad; ./good; ./absent; perl -e \'exec "/nonexistent"; 1\'; :'], tmp_path, cwd=tmp_path)
    untraced = [p['process']['exe'] for p in done.report() if not p['health']['complete']]
    assert untraced == ['./bad']


def test_by_posix_spawn(static_program, tmp_path):
    """make starts what it can by posix_spawn."""
    need('make')
    (tmp_path / 'Makefile').write_text(f'all:\n\t@./static\n\t@{PROGRAM} own 11\n')
    done = traced(['make', '-s'], tmp_path, cwd=tmp_path)
    assert done.code == 0, done
    by_name = {p['process']['exe'].split('/')[-1]: p for p in done.report()}
    assert not by_name['static']['health']['complete'] and by_name[PROGRAM.name]['health']['complete']
    make = by_name['make']['process']['pid']
    assert by_name['static']['process']['started_by'] == by_name[PROGRAM.name]['process']['started_by'] == make


def test_a_thousand_children(tmp_path):
    """One trace; alike children are one row with the sums; those that did nothing are counted; each can be opened."""
    script = f'i=0; while [ $i -lt 1000 ]; do {PROGRAM} own 40; i=$((i+1)); done; {PROGRAM}; {PROGRAM}; :'
    done = traced(['sh', '-c', script], tmp_path)
    assert done.code == 0, done
    assert [p.name for p in tmp_path.iterdir()] == ['run.seep']
    whole = text(done.trace)
    assert '2 processes that made no heap operation are not listed: live-processes (2)' in whole
    rows = tree_rows(whole)
    assert len(rows) == 2
    assert rows[1][0][:6] == ['1,000', '×', '40,000', '1,000', '40', '1,000']
    assert rows[1][1] == '└─ live-processes'
    assert len(tree_rows(text(done.trace, '--top', '0'))) == 1001
    (pid,) = [r[0][0] for r in tree_rows(text(done.trace, '--top', '2000'))][500:501]
    one = report_json.loads(run([SEEP, 'report', '--json', '--pid', pid, done.trace]).out)
    assert one['process']['pid'] == int(pid) and one['totals']['live_bytes'] == 40
    some = report_json.loads(run([SEEP, 'report', '--json', '--top', '1', '--program', 'live-proc', done.trace]).out)
    assert len(some['processes']) == 1000
    # Each was looked at when it left, whatever the tool was at.
    assert [p['leaks'] is not None for p in some['processes']] == [True] * 1000
    assert {p['process']['started_by'] for p in some['processes']} == {None}
    by_process = text(done.trace, '--by', 'process', '--csv').split('\n')
    assert len([line for line in by_process if line.endswith(f'{PROGRAM}')]) == 1000


def test_the_name_is_that_by_which_it_was_run(tmp_path):
    """A link to another program, as redis-server is one; --program takes either name."""
    (tmp_path / 'server').symlink_to(PROGRAM)
    done = traced([tmp_path / 'server', 'own', '5'], tmp_path)
    (process,) = done.report()
    assert (process['process']['name'], process['process']['exe']) == ('server', str(PROGRAM))
    assert f'{process["process"]["pid"]} server ({PROGRAM})' in text(done.trace, '--by', 'process')
    for name in ('/server$', '/live-processes$'):
        assert 'server' in text(done.trace, '--program', name, '--by', 'process', '--csv')


CLOCK_C = program_source('process_tree_clock_c.c')


def test_the_wall_clock_is_set_back(tmp_path):
    """As the library sees it: a child that starts an hour before its parent stays its child, and in its place."""
    need('gcc')
    (tmp_path / 'clock.c').write_text(CLOCK_C)
    assert run(['gcc', '-w', '-shared', '-fPIC', 'clock.c', '-o', 'clock.so', '-ldl'], cwd=tmp_path).code == 0
    script = f'{PROGRAM} own 3; SET_BACK=1 {PROGRAM} own 4; {PROGRAM} own 5; :'
    done = traced(['sh', '-c', script], tmp_path, env=environment(LD_PRELOAD=tmp_path / 'clock.so'))
    assert done.code == 0, done
    main, *children = [p['process'] for p in done.report()]
    assert [p['args'][2] for p in children] == ['3', '4', '5']
    assert [(p['started_by'], p['origin']) for p in children] == [(main['pid'], 'spawn')] * 3
    assert main['start'] <= children[0]['start'] <= children[1]['start'] <= children[2]['start']


def test_numbers_that_are_used_again(tmp_path):
    """Three processes of one pid, and a child of each: all are there, each with its own name, blocks and parent."""
    need('unshare')
    for name in ('first', 'second', 'third'):
        (tmp_path / name).symlink_to(PROGRAM)
    again = 'echo 99 > /proc/sys/kernel/ns_last_pid'
    child = f'(:; {PROGRAM} own 4$1; exec {tmp_path}/$2 own $1)'
    script = f'run() {{ {again}; {child}; }}; run 1 first; run 2 second; run 3 third'
    trace = tmp_path / 't.seep'
    command = ['unshare', '-p', '-f', '--mount-proc', SEEP, 'run', '-q', '-o', trace, '--', 'sh', '-c', script]
    if run(['unshare', '-p', '-f', '--mount-proc', 'sh', '-c', again]).code:
        pytest.skip('no pid namespaces for this user')
    done = run(command)
    assert done.code == 0, done
    processes = report_json.loads(run([SEEP, 'report', '--json', trace]).out)['processes']
    of_100 = [p['process'] for p in processes if p['process']['pid'] == 100]
    assert [(p['name'], p['origin'], p['went_on']) for p in of_100] == [
        row for name in ('first', 'second', 'third') for row in (('sh', 'fork', True), (name, 'exec', False))
    ]
    shell = processes[0]['process']
    assert {p['started_by'] for p in of_100} == {shell['pid'], 100}
    rows = [program for _, program in tree_rows(text(trace))]
    assert rows[1:] == [
        row
        for i, name in ((1, 'first'), (2, 'second'), (3, 'third'))
        for row in (
            ('└─ ' if i == 3 else '├─ ') + f'sh -c {script} (fork)',
            ('   ' if i == 3 else '│  ') + f'├─ {PROGRAM} own 4{i}',
            ('   ' if i == 3 else '│  ') + f'└─ exec {tmp_path}/{name} own {i}',
        )
    ]
    # All of them by the number, one by its name.
    assert len(report_json.loads(run([SEEP, 'report', '--json', '--pid', '100', trace]).out)['processes']) == 6
    assert report_json.loads(run([SEEP, 'report', '--json', '--program', 'second$', trace]).out)['totals']['live_bytes'] == 2


def on_a_small_disk(folder, script):
    """The script in a mount namespace where `folder` is a file system of 256 KiB; its words are $1, $2, ..."""
    need('unshare', 'mount')
    folder.mkdir()
    prefix = ['unshare', '-m', 'sh', '-c', f'mount -t tmpfs -o size=256k tmpfs {folder} && {script}', 'sh']
    if run(['unshare', '-m', 'true']).code:
        pytest.skip('no mount namespaces for this user')
    return prefix


def test_the_disk_is_full(tmp_path):
    """Of the trace: said, with what to do, and no part of it is left; the report comes all the same, and the program's status."""
    disk = tmp_path / 'disk'
    fill = f'cat /dev/zero > {disk}/rest 2> /dev/null; "$@"; s=$?; ls -A {disk}; exit $s'
    done = run([*on_a_small_disk(disk, fill), SEEP, 'run', '-o', disk / 't.seep', '--', 'sh', '-c', f'{PROGRAM} own 40; exit 3'])
    assert done.code == 3, done
    assert done.out == b'rest\n'
    assert (messages.CANNOT_WRITE_TRACE % 't.seep' + f'No space left on device ({messages.MAKE_ROOM})').encode() in done.err
    assert b'still live' in done.err


def test_the_disk_of_what_waits_is_full(tmp_path):
    """Processes that have ended wait in memory then, and nothing is missing."""
    disk = tmp_path / 'disk'
    script = f'i=0; while [ $i -lt 200 ]; do {PROGRAM} own 40; i=$((i+1)); done'
    # Room for some of them only.
    fill = f'head -c 200k /dev/zero > {disk}/most; "$@"'
    trace = tmp_path / 't.seep'
    prefix = on_a_small_disk(disk, fill)
    done = run([*prefix, 'env', f'TMPDIR={disk}', SEEP, 'run', '-q', '-o', trace, '--', 'sh', '-c', script])
    assert (done.code, done.err) == (0, b''), done
    processes = report_json.loads(run([SEEP, 'report', '--json', trace]).out)['processes']
    assert [p['totals']['live_bytes'] for p in processes[1:]] == [40] * 200
    assert all(p['health']['complete'] for p in processes)


def tool_memory(nr, tmp_path):
    """Bytes that the tool has had at most, as the last of so many children sees it."""
    script = f'i=0; while [ $i -lt {nr} ]; do {PROGRAM} own 40; i=$((i+1)); done; grep VmHWM /proc/$PPID/status'
    done = traced(['sh', '-c', script], tmp_path, options=['--scan', 'no'], name=f'of{nr}')
    assert done.code == 0, done
    return int(done.out.split()[1]) << 10


def test_the_tool_does_not_grow_with_the_number_of_processes(sanitized, tmp_path):
    """Those that have ended are on disk: of each only what it is and what it came to stays in memory."""
    if sanitized:
        pytest.skip('a sanitizer keeps what was given back')
    few, many = tool_memory(150, tmp_path), tool_memory(750, tmp_path)
    assert many - few < 600 * 6_000, (few, many)


def test_no_such_process_in_the_trace(tmp_path):
    done = traced([PROGRAM, 'own', '5'], tmp_path)
    look = run([SEEP, 'report', '--pid', '1', done.trace])
    assert (look.code, look.out) == (1, b'') and b'its only process is not the one asked for' in look.err
    assert run([SEEP, 'report', '--program', 'live-processes', done.trace]).code == 0


@pytest.mark.parametrize('before', [0, 60])
def test_who_runs_on_without_a_heap_operation(before, tmp_path):
    """It has no image yet, and nothing but the kernel knows of it: it is named when the program has ended, whether few
    numbers were given meanwhile and each is asked for, or many."""
    loop = 'i=0; while [ $i -lt %d ]; do (exit 0); i=$((i + 1)); done; exec "$0" idle 5' % before
    done = traced(['/bin/sh', '-c', loop, PROGRAM], tmp_path, options=['--no-wait'])
    (note,) = [note for process in done.report() for note in notes(process) if note.code == 'left_running']
    assert note.startswith('1 process ') and '(live-processes)' in note, note


def test_a_zombie_does_not_run(tmp_path):
    """A program without an image that has ended, and whose parent does not wait for it: not "running"."""
    ended = built_program('empty_main.c', tmp_path, '-static')
    done = traced(['/bin/sh', '-c', '("$0" & exec sleep 3) & sleep 0.7', ended], tmp_path, options=['--no-wait'])
    lines = run([SEEP, 'report', done.trace]).out.decode().splitlines()
    assert [line for line in lines if line.endswith(f'exec {ended}') and ' end not known ' in line], lines


def test_threads_of_who_runs_on_are_no_processes(tmp_path):
    code = 'import threading, time; [threading.Thread(target=time.sleep, args=(4,)).start() for i in range(5)]'
    done = traced(['/bin/sh', '-c', '/usr/bin/python3 -c "%s" >/dev/null 2>&1 & sleep 1' % code], tmp_path, options=['--no-wait'])
    assert not [note for process in done.report() for note in notes(process) if 'still ran' in note]
