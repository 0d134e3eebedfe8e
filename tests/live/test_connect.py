# SPDX-License-Identifier: BSD-2-Clause
"""seep connect on a program that runs: its figures are those of the report, before and after its end; by hand, in a terminal."""
import json
import os
import re
import signal
import subprocess

import harness
import messages
from harness import SEEP, environment, run, wait_until
from small_programs import built_program, program_source
from test_top import SHOP, shop, terminal  # noqa: F401 (fixtures)

NEW = 'new since the scan before'


class Console:
    """A session by a pipe, an answer a line."""

    def __init__(self, target):
        self.process = subprocess.Popen([SEEP, 'connect', '--json', '-f', '-', str(target)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=environment())

    def ask(self, line):
        self.process.stdin.write(line.encode() + b'\n')
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=harness.TIMEOUT) is not None
        self.process.stdout.close()


def by_function(answer):
    return {row['where']: row for row in answer['rows']}


def test_figures_are_those_of_the_report(shop):  # noqa: F811
    program = shop()
    console = Console(program.pid)
    for steps in ([], [1000], ['churn 300', 17], ['lose']):
        program.tell(*steps)
        totals = harness.report(program.pid)[0]['totals']
        status = console.ask('status')
        for name in ('live_bytes', 'live_blocks', 'allocations', 'frees', 'temporary', 'peak_bytes'):
            assert status[name] == totals[name], name
    rows = by_function(console.ask('functions 0'))
    assert rows['session_new']['live_blocks'] == 10 + 1000 + 17 and rows['parse_header']['allocations'] == 300
    console.end()


def test_temporary_is_of_the_allocations_beside_it(tmp_path):
    """Two looks at nearly the same time give no share of temporary allocations: a site with 1,000 kept blocks had 100 %, because
    the one allocation since the look before was temporary."""
    (tmp_path / 'kept.c').write_text(program_source('kept_and_passing.c'))
    assert run(['gcc', '-O0', '-pthread', 'kept.c', '-o', 'kept'], cwd=tmp_path).code == 0
    program = harness.Told(tmp_path, 'x.seep', [], [tmp_path / 'kept'])
    rows = []

    def looks_follow_at_once():
        done = run([SEEP, 'connect', '--json', '-e', 'sites 0', program.pid])
        rows[:] = json.loads(done.out)['rows'][:1]
        return rows[0]['allocations_per_s'] is None

    for _ in range(5):
        wait_until(looks_follow_at_once, 'two looks within 40 ms')
        allocations, kept = rows[0]['allocations'], rows[0]['live_blocks']
        # The counters are read one after another while the program goes on: each may be one pair ahead.
        assert rows[0]['temporary_percent'] in {100 * (allocations - nr) // allocations for nr in range(kept - 1, kept + 3)}
    program.end()


def rows_of_status(pid):
    lines = run([SEEP, 'connect', pid, '-e', 'status']).out.decode().splitlines()
    return dict(re.split('  +', line, maxsplit=1) for line in lines)


def test_descendants_that_are_not_seen_are_counted(tmp_path):
    program = harness.Told(tmp_path, 'x.seep', [], ['sh', '-c', 'env -i sleep 1000 & echo ok; read line; kill $!'])
    console = Console(program.pid)
    # Until `env` has executed it, the child is traced.
    status = {}

    def is_seen_as_untraced():
        status.update(console.ask('status'))
        return (status['processes'], status['unseen_processes']) == (1, 1)

    harness.wait_until(is_seen_as_untraced, 'a child that is not traced')
    assert 'health' in status, status
    console.end()
    assert rows_of_status(program.pid)['not seen'] == '1'
    first, *_ = run([SEEP, 'top', '--once', program.pid]).out.decode().splitlines()
    assert '+0 of 1 processes' in first, first
    program.end()


# Waits until its parent is another program, because a shell would take note of its end.
WAITS_FOR_CAT = 'until read -r name </proc/$$/comm && [ "$name" = cat ]; do :; done'


def test_a_child_that_has_ended_is_none_that_is_not_seen(tmp_path):
    """A parent that does not wait for its child: it was counted as a process that is not seen, as long as the parent ran."""
    program = harness.Told(tmp_path, 'x.seep', [], ['sh', '-c', WAITS_FOR_CAT + ' & echo ok; exec cat'])

    def has_ended():
        ps = subprocess.run(['ps', '--ppid', str(program.pid), '-o', 'stat='], capture_output=True, text=True).stdout
        name = open(f'/proc/{program.pid}/comm').read()
        return ps.startswith('Z') and name == 'cat\n'

    harness.wait_until(has_ended, 'a zombie')
    console = Console(program.pid)
    status = console.ask('status')
    assert (status['processes'], status['unseen_processes']) == (1, 0), status
    console.end()
    rows = rows_of_status(program.pid)
    assert rows['processes'] == '1' and 'not seen' not in rows, rows
    first, *_ = run([SEEP, 'top', '--once', program.pid]).out.decode().splitlines()
    assert ' processes' not in first, first
    program.end()


def test_a_wrong_word_changes_no_setting(shop):  # noqa: F811
    program = shop()
    console = Console(program.pid)
    for word in ('yes', 'ON', 'offf'):
        assert 'error' in console.ask(f'set json {word}'), word
    assert console.ask('status')['state'] == 'running'
    console.end()


def test_marks_and_what_came_since(shop):  # noqa: F811
    program = shop()
    console = Console(program.pid)
    assert 'done' in console.ask('mark warm')
    program.tell(500)
    first = console.ask('diff')['rows'][0]
    assert first['since_blocks'] == 500 and first['since_bytes'] == 500 * 640 and 'session_new' in first['where']
    console.ask('reset')
    program.tell(3)
    assert console.ask('diff')['rows'][0]['since_blocks'] == 3
    assert console.ask('diff warm')['rows'][0]['since_blocks'] == 503
    stack = console.ask(f"stack {first['site']}")['rows']
    assert [frame['function'] for frame in stack][:2] == ['session_new', 'step']
    console.ask('pause')
    program.tell(7)
    assert console.ask('diff')['rows'][0]['since_blocks'] == 503
    console.ask('resume')
    assert console.ask('diff')['rows'][0]['since_blocks'] == 510
    console.end()
    done = run([SEEP, 'diff', f'{program.pid}@warm', program.pid])
    assert done.code == 0, done


def test_scans_leave_out_what_reports_suppress(tmp_path):
    """`scan` and `leaks` counted suppressed blocks as lost: of the program itself, over a link, and in a trace until `dump`."""
    program = harness.Told(tmp_path, 'x.seep', [], [built_program('lost_and_known.c', tmp_path)])
    served = subprocess.Popen([SEEP, 'serve', '--listen', f'unix:{tmp_path}/s', str(program.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment())
    assert served.stdout.readline()
    for target in (program.pid, f'unix:{tmp_path}/s'):
        console = Console(target)
        classes = {row['class']: row['blocks'] for row in console.ask('scan')['rows']}
        assert classes['lost'] == 2 and classes['suppressed'] == 3 and classes[NEW] == 2, classes
        assert [row['live_blocks'] for row in console.ask('leaks')['rows']] == [2]
        console.end()
    served.terminate()
    served.communicate(timeout=harness.TIMEOUT)
    program.end()
    console = Console(tmp_path / 'x.seep')
    assert [row['live_blocks'] for row in console.ask('leaks')['rows']] == [2]
    console.end()


def test_scans_tell_what_is_new(shop):  # noqa: F811
    program = shop()
    console = Console(program.pid)
    assert 'error' in console.ask('leaks')
    program.tell('lose', 'lose', 'lose', 1)
    first = {row['class']: row for row in console.ask('scan')['rows']}
    assert first['lost']['blocks'] >= 2 and first['reachable']['blocks'] >= 12
    assert first[NEW]['blocks'] == first['lost']['blocks'] + first['indirect']['blocks']
    again = {row['class']: row for row in console.ask('scan')['rows']}
    assert again[NEW]['blocks'] == 0 and again['lost'] == first['lost']
    assert 'error' in console.ask('scan new')  # no word of it, and no pid
    assert 'lose' in console.ask('leaks 1')['rows'][0]['where']
    assert any('cache' in row['held_by'] for row in console.ask('holders')['rows'])
    site = next(row['site'] for row in console.ask('sites 0')['rows'] if row['where'].startswith('cache_init'))
    block = console.ask(f'blocks {site} 1')['rows'][0]
    assert block['size'] == 256 << 10
    console.process.stdin.write(f"whois {block['address']}\n".encode())
    console.process.stdin.flush()
    text = ''
    while True:
        text += console.process.stdout.readline().decode()
        try:
            whois = json.loads(text)
            break
        except json.JSONDecodeError:
            continue
    assert whois['block']['size'] == 256 << 10
    console.end()


def test_after_the_end(shop):  # noqa: F811
    program = shop()
    console = Console(program.pid)
    assert console.ask('status')['state'] == 'running'
    program.tell(99)
    os.kill(program.pid, signal.SIGKILL)
    program.run.wait(timeout=harness.TIMEOUT)
    assert console.ask('status')['state'] == 'ended'
    assert by_function(console.ask('functions 0'))['session_new']['live_blocks'] == 109
    assert console.ask('scan')['error'].startswith(messages.RUNS_NO_LONGER % 'scan')
    assert console.ask('mark x')['error'].startswith(messages.RUNS_NO_LONGER % 'mark')
    console.ask('pause')
    assert console.ask('show')['looks'] == 'none'
    console.end()


def test_by_hand(shop, terminal):  # noqa: F811
    program = shop()
    screen = terminal('--version')  # a tmux with a shell in it
    screen.shows('left with')
    screen.tmux('new-window', f'trap : INT; {SEEP} connect {program.pid}; echo "left with $?"; exec sleep 1000')
    screen.shows(r'^state +running$', r'^seep>')
    screen.keys('func', 'Tab', '1', 'Enter')
    screen.shows(r'^seep> func.* 1', r'cache_init$')
    screen.keys('set so', 'Tab', 'te', 'Tab', 'Enter')
    screen.shows(r'^seep> set sort temporary', r'^sort +temporary$')
    screen.keys('help resu', 'Tab', 'Enter')
    screen.shows(r'^seep> help resume')
    screen.keys('growth 100000', 'Enter')
    wait_until(screen.is_cooked, 'the command runs')
    screen.keys('C-c')
    screen.shows(r'growth 100000[^$]*\nseep>')
    screen.keys('quit', 'Enter')
    screen.shows('left with 0')
    os.kill(program.pid, 0)
