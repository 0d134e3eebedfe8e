# SPDX-License-Identifier: BSD-2-Clause
"""The report of a session of many processes: who started whom, what was not traced and why, one process of many."""
import collections
import json

import pytest
from harness import BUILD, SEEP, need, run, traced

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
    (tmp_path / 's.c').write_text('int main(int argc, char **argv) { return argc > 1 ? 7 : 0; }\n')
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
    assert '4 processes: not traced: ./static is a static binary' in whole
    assert f'not traced: {PROGRAM} was started with an environment of its own, without LD_PRELOAD' in whole
    assert whole.count('not traced          ') == 5
    assert './none' not in whole.split('program\n')[-1].replace(script, '')


def test_the_program_goes_on_untraced(static_program, tmp_path):
    done = traced(['sh', '-c', 'exec ./static x'], tmp_path, cwd=tmp_path)
    assert done.code == 7
    other, shell = done.report()
    assert shell['process']['went_on'] and shell['process']['exit'] is None
    assert other['process']['origin'] == 'exec' and other['process']['exit'] == {'code': 7}
    assert other['process']['pid'] == shell['process']['pid']
    assert 'not traced: ./static is a static binary' in notes(other)[0]


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
    one = json.loads(run([SEEP, 'report', '--json', '--pid', pid, done.trace]).out)
    assert one['process']['pid'] == int(pid) and one['totals']['live_bytes'] == 40
    some = json.loads(run([SEEP, 'report', '--json', '--top', '1', '--program', 'live-proc', done.trace]).out)
    assert len(some['processes']) == 1000
    assert {p['process']['started_by'] for p in some['processes']} == {None}
    by_process = text(done.trace, '--by', 'process', '--csv').split('\n')
    assert len([line for line in by_process if line.endswith(f'{PROGRAM}')]) == 1000


def test_no_such_process_in_the_trace(tmp_path):
    done = traced([PROGRAM, 'own', '5'], tmp_path)
    look = run([SEEP, 'report', '--pid', '1', done.trace])
    assert (look.code, look.out) == (1, b'') and b'none of the 1 processes' in look.err
    assert run([SEEP, 'report', '--program', 'live-processes', done.trace]).code == 0


def test_who_runs_on_without_a_heap_operation(tmp_path):
    """It has no image yet, and nothing but the kernel knows of it: it is named when the program has ended."""
    done = traced([PROGRAM, 'idle', '5'], tmp_path)
    (main,) = done.report()
    (note,) = notes(main)
    assert note.startswith('1 process still ran when the program had ended, without a heap operation of its own')
    assert '(live-processes)' in note
