# SPDX-License-Identifier: BSD-2-Clause
"""Live blocks by when they were born: between marks, not at the end of the run; and the histogram of ages."""
import json
import os
import subprocess
import sys

import pytest

import messages
from harness import BUILD, ROOT, SEEP, children_of, environment, kill, need, run

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
import schema  # noqa: E402
from small_programs import program_source

STEPS = program_source('generations_steps.c')

LATE = program_source('generations_late.c')


def build(folder, name, text):
    need('gcc')
    source, program = folder / f'{name}.c', folder / name
    source.write_text(text)
    done = run(['gcc', '-O0', '-w', source, '-o', program])
    assert done.code == 0, done
    return program


def sizes(*command):
    done = run([SEEP, 'report', '--json', '--blocks', *command])
    assert done.code == 0, done
    value = json.loads(done.out)
    rules = json.loads((ROOT / 'docs/report.schema.json').read_text(encoding='utf-8'))
    assert schema.check(value, rules, rules) == []
    return sorted(block['size'] for site in value['sites'] for block in site['blocks'] if block['size'] in range(100, 900)), value


def test_between_marks(tmp_path):
    program, trace = build(tmp_path, 'steps', STEPS), tmp_path / 'x.seep'
    process = subprocess.Popen([SEEP, 'run', '-q', '--age', '-o', trace, program], env=environment(), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    try:
        def allocate(size):
            process.stdin.write(b'%d\n' % size)
            process.stdin.flush()
            assert process.stdout.readline() == b'ok\n'

        def mark(name):
            pid = children_of(process.pid)[0]
            assert run([SEEP, 'mark', pid, name]).code == 0
            return pid

        allocate(111)
        mark('one')
        allocate(222)
        mark('two')
        allocate(333)
        mark('one')
        allocate(444)
        pid = mark('end')
        assert sizes('--since', 'two', pid)[0] == [333, 444]
        process.stdin.close()
        assert process.wait(timeout=60) == 0
    finally:
        kill(process)
    assert sizes(trace)[0] == [111, 222, 333, 444]
    assert sizes('--since', 'two', trace)[0] == [333, 444]
    assert sizes('--until', 'two', trace)[0] == [111, 222]
    assert sizes('--since', 'one#1', '--until', 'two', trace)[0] == [222]
    assert sizes('--since', 'one', trace)[0] == [444]  # the last of that name
    assert sizes('--since', 'end', trace)[0] == []
    done = run([SEEP, 'report', '--since', 'three', trace])
    assert done.code == 1 and (messages.NO_MARK % 'three' + ' (its marks are one, two, one, end, exit)').encode() in done.err, done
    # The histogram has every live block.
    _, value = sizes(trace)
    assert sum(span['blocks'] for span in value['ages']) == value['totals']['live_blocks']
    assert sum(span['bytes'] for span in value['ages']) == value['totals']['live_bytes']
    assert value['ages'][-1]['below_s'] is None and value['ages'][0]['below_s'] == 0.01


def test_ignore_last(tmp_path):
    program, trace = build(tmp_path, 'steps', STEPS), tmp_path / 'x.seep'
    assert run(['sh', '-c', '(echo 111; sleep 0.6; echo 222) | "$@"', 'sh', SEEP, 'run', '-q', '--ignore-last', '5%', '-o',
                trace, program]).code == 0  # which keeps ages
    both, value = sizes(trace)
    assert both == [111, 222], (value['process'], value['health'], value['totals'])
    ages = {block['size']: block['age_s'] for site in value['sites'] for block in site['blocks']}
    seconds = value['process']['duration_s']
    percent = int((ages[111] + ages[222]) / 2 / seconds * 100)
    assert 0 < percent < 100
    assert sizes('--ignore-last', f'{percent}%', trace)[0] == [111]
    assert sizes('--ignore-last', '0', trace)[0] == [111, 222]
    for wrong in ('x', '100%', '-1', '5%%', ''):
        done = run([SEEP, 'report', f'--ignore-last={wrong}', trace])
        assert done.code == 2 and b'--ignore-last' in done.err, done


@pytest.mark.parametrize('scan', ['yes', 'no'])
@pytest.mark.parametrize('command', [['run', '-q', '-o', '/dev/null', '--error-exitcode', '9'], ['check', '--error-exitcode', '9']])
def test_gates_let_go_what_came_last(tmp_path, command, scan):
    program = build(tmp_path, 'late', LATE)
    # Suppressed, but for what is ours.
    late = [SEEP, *command, '--scan', scan, '--ignore-last', '50%', program]
    assert run(late, cwd=tmp_path).code == 0
    assert run([*late, 'early'], cwd=tmp_path).code == 9
    assert run([SEEP, *command, '--scan', scan, program], cwd=tmp_path).code == 9


def test_without_ages(tmp_path):
    program, trace = build(tmp_path, 'late', LATE), tmp_path / 'x.seep'
    assert run([SEEP, 'run', '-q', '-o', trace, program]).code == 0
    for option in (['--since', 'x'], ['--until', 'x'], ['--ignore-last', '5%']):
        done = run([SEEP, 'report', *option, trace])
        assert done.code == 1 and messages.NO_AGES.encode() in done.err, done
    _, value = sizes(trace)
    assert 'ages' not in value


LEAVING = program_source('generations_leaving.c')


@pytest.fixture(scope='module')
def leaving(tmp_path_factory):
    return build(tmp_path_factory.mktemp('leaving'), 'leaving', LEAVING)


def freed_at_exit(process):
    """Size of the blocks of a site -> what of it was freed at exit."""
    return {site['size_min']: site['freed_at_exit'] for site in process['sites']
            if site['size_min'] in range(100, 900) and site['size_min'] == site['size_max']}


@pytest.mark.parametrize('way', ['return', 'exit', 'thread', 'fork'])
def test_freed_only_at_exit(leaving, tmp_path, way):
    trace = tmp_path / 'x.seep'
    assert run([SEEP, 'run', '-q', '--age', '-o', trace, leaving, way]).code == 0
    done = run([SEEP, 'report', '--json', trace])
    value = json.loads(done.out)
    rules = json.loads((ROOT / 'docs/report.schema.json').read_text(encoding='utf-8'))
    assert schema.check(value, rules, rules) == []
    processes = value.get('processes') or [value]
    assert len(processes) == (2 if way == 'fork' else 1)
    for process in processes:
        assert process['health']['complete'] and process['totals']['unknown_frees'] == 0
        assert process['marks'][-1]['name'] == 'exit' and process['marks'][-1]['counted']
        found = freed_at_exit(process)
        assert found[111] == {'blocks': 1, 'bytes': 111, 'all': True}
        # One was freed before: by the parent, where there is a child.
        assert found[222] == {'blocks': 3, 'bytes': 666, 'all': process is not processes[0]}
        assert found[333] == {'blocks': 0, 'bytes': 0, 'all': False}
        # The sum of what the rows say, also of sites of which something was freed before.
        rows = [site['freed_at_exit'] for site in process['sites'] if site['freed_at_exit']['blocks']]
        assert process['freed_only_at_exit'] == {
            'sites': len(rows), 'blocks': sum(row['blocks'] for row in rows),
            'bytes': sum(row['bytes'] for row in rows)}
    done = run([SEEP, 'report', '--sort', 'exit', trace])
    only = messages.FREED_ONLY_AT_EXIT
    assert f'\n{only} '.encode() in done.out, done
    assert f'    {only}: {"222 bytes in 2 blocks" if way == "fork" else "111 bytes in 1 block"}\n'.encode() in done.out, done


def test_exit_is_not_known_of_all(leaving, tmp_path):
    for options, way in (([], 'return'), (['--age'], '_exit')):
        trace = tmp_path / f'{way}.seep'
        assert run([SEEP, 'run', '-q', *options, '-o', trace, leaving, way]).code == 0
        value = json.loads(run([SEEP, 'report', '--json', trace]).out)
        assert 'freed_only_at_exit' not in value and 'freed_at_exit' not in value['sites'][0]
        done = run([SEEP, 'report', '--sort', 'exit', trace])
        assert done.code == 1 and b'--sort exit needs to know when the program began to leave' in done.err, done
