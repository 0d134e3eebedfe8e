# SPDX-License-Identifier: BSD-2-Clause
"""Recording is stopped, started and changed in depth while the program runs: what was not seen is said, what lived before is exact."""
import json
from pathlib import Path

import pytest

import harness
import wire_client
import messages
from harness import BUILD, SEEP, Told, children_of, run, wait_until
from test_connect import Console
from test_top import terminal  # noqa: F401 (fixture)
from test_wire import serve  # noqa: F401 (fixture)

SWITCHED = BUILD / 'tests/live/live-switched'


class Switched(Told):
    def __init__(self, folder, threads, *options):
        super().__init__(folder, 'switched.seep', options, [SWITCHED, str(threads)])

    def obeys(self, console, words):
        """It does nothing by itself: it looks when it frees a block."""
        answer = console.ask(words)
        self.tell('spare')
        return answer


@pytest.fixture
def switched(tmp_path):
    made = []

    def make(threads, *options):
        made.append(Switched(tmp_path, threads, *options))
        return made[-1]

    yield make
    for each in made:
        each.end()


def kept(process):
    """Live blocks and allocations of keep()."""
    sites = [site for site in process['sites'] if any(frame['function'] == 'keep' for frame in site['stack'])]
    return sum(site['live_blocks'] for site in sites), sum(site['allocations'] for site in sites)


def threads_run(pid):
    """Until each thread but the first has had a processor for 5 ms more: proc(5), /proc/PID/schedstat."""
    def ran_ns(task):
        return int((task / 'schedstat').read_text().split()[0])

    tasks = [task for task in Path(f'/proc/{pid}/task').iterdir() if int(task.name) != pid]
    before = [ran_ns(task) for task in tasks]
    assert tasks
    wait_until(lambda: all(ran_ns(task) >= ns + 5_000_000 for task, ns in zip(tasks, before)), 'its threads run')


def wrong(process):
    return process['totals']['unknown_frees'], process.get('mismatches'), process.get('misuses')


@pytest.mark.parametrize('options', [(), ('--free-stacks',), ('--age',), ('--mode', 'record')])
def test_what_lived_before_is_exact_and_the_rest_is_a_loss(switched, options):
    program = switched(0, *options)
    program.tell('keep 100')
    before = harness.report(program.pid)[0]
    console = Console(program.pid)
    program.obeys(console, 'stop')
    program.tell('keep 50')  # not seen
    while_stopped = harness.report(program.pid)[0]
    assert kept(while_stopped) == kept(before) == (100, 100)
    assert while_stopped['health']['lost'] == {'stopped': 50}
    status = console.ask('status')
    assert status['state'] == 'running, recording is stopped'
    assert status['health'] == 'incomplete' and 'lost 50 (stopped)' in status['why']
    program.tell('drop 70')  # 50 that were not seen, and 20 that were
    assert kept(harness.report(program.pid)[0]) == (80, 100)
    assert 'soon' not in console.ask('stop')['done']  # it has done so
    program.obeys(console, 'start')
    program.tell('keep 7')
    after = harness.report(program.pid)[0]
    assert kept(after) == (87, 107) and after['health']['lost'] == {'stopped': 50}
    assert wrong(after) == wrong(before)
    assert console.ask('status')['state'] == 'running'
    console.end()
    text = run([SEEP, 'report', program.pid]).out.decode()
    assert 'INCOMPLETE' in text and 'lost 50 (stopped)' in text
    program.tell('drop 87')
    program.end()
    saved = harness.report(program.run.args[4])[0]  # and in the trace
    assert saved['health']['lost'] == {'stopped': 50} and kept(saved) == (0, 107) and wrong(saved) == wrong(before)


RECORDS = 'allocations are recorded'


def test_threads_that_go_no_long_way_stop_too(switched):
    """Their operations are all of the shortest kind: nothing but what the tool takes from them makes them look."""
    program = switched(2)
    console = Console(program.pid)
    wait_until(lambda: console.ask('status')['allocations'] > 1000, 'the threads are at work')
    for _ in range(3):
        assert console.ask('stop')['done'] == messages.RECORDS_NOTHING
        first = console.ask('status')
        threads_run(program.pid)
        # What each thread was at when it was switched ends as it began.
        assert console.ask('status')['allocations'] <= first['allocations'] + 2
        assert console.ask('start')['done'] == RECORDS
        wait_until(lambda: console.ask('status')['allocations'] > first['allocations'], 'the next allocation')
        threads_run(program.pid)
        then = console.ask('status')
        assert 0 <= then['allocations'] - then['frees'] < 100
    assert wrong(harness.report(program.pid)[0])[0] == 0
    console.end()


def test_depth_is_changed_live(switched):
    program = switched(0)
    console = Console(program.pid)

    def deepest():
        process = harness.report(program.pid)[0]
        return {site['allocations']: [frame['function'] for frame in site['stack']] for site in process['sites']
                if site['stack'] and site['stack'][0]['function'] == 'deep'}, process['health']

    for round_nr in range(3):
        program.tell('deep 30')
    stacks, health = deepest()
    assert stacks[3].count('deep') == 31 and 'main' in stacks[3] and not health['cut']
    program.obeys(console, 'set depth 4')
    assert console.ask('show')['depth'] == 4
    program.tell(*['deep 30'] * 6)
    stacks, health = deepest()
    assert stacks[6] == ['deep'] * 4 and health['cut'] == {'depth': 1}
    program.obeys(console, 'set depth 16384')
    program.tell(*['deep 30'] * 2)
    stacks, _ = deepest()
    assert stacks[5].count('deep') == 31 and 'main' in stacks[5]  # the three of before, and these
    for words in ('set depth 0', 'set depth 16385', 'set depth x', 'set depth'):
        assert 'error' in console.ask(words), words
    console.end()


def test_descendants_and_children_of_fork(switched):
    program = switched(0)
    console = Console(program.pid)
    program.tell('keep 10', 'fork')
    program.obeys(console, 'stop')
    program.tell('fork', 'keep 5')  # a child that is born while it is stopped
    processes = harness.report(program.pid)
    assert kept(processes[0]) == (10, 10) and processes[0]['health']['lost'] == {'stopped': 5}
    born = children_of(program.pid)[-1]  # in the order of their births; numbers of processes begin again at some time
    child = harness.report(born)[0]
    assert kept(child)[0] == 10 and child['health']['lost'] == {'stopped': 1}
    program.obeys(console, 'start')
    program.tell('keep 5')
    assert kept(harness.report(program.pid)[0]) == (15, 15)
    console.end()


def test_what_only_unseen_blocks_hold_is_not_lost(switched):
    """A table that came while recording was stopped holds what was recorded: at a scan, after a fork, at the end."""
    program = switched(0)
    console = Console(program.pid)

    def scan():
        answer = console.ask('scan')
        unheld = {row['class']: row['blocks'] for row in answer['rows']}
        return unheld['lost'] + unheld['indirect'], [note['code'] for note in answer.get('notes', [])]

    program.tell('keep 100')
    assert scan() == (0, [])
    program.obeys(console, 'stop')
    program.tell('table')
    assert scan() == (0, ['scan_stopped'])
    program.obeys(console, 'start')
    program.tell('keep 100', 'fork')
    assert scan() == (0, ['scan_stopped'])
    child = run([SEEP, 'scan', '--json', str(children_of(program.pid)[-1])])
    child = json.loads(child.out)
    assert child['leaks']['lost']['blocks'] == 0, child['leaks']
    assert 'scan_stopped' in [note['code'] for note in child['health']['notes']]
    program.tell('lose 50')
    lost, _ = scan()
    assert lost >= 48  # words of free memory may hold one
    program.tell('drop 200')
    console.end()
    program.end()
    lost = harness.report(program.run.args[4])[0]
    assert 48 <= lost['leaks']['lost']['blocks'] <= 50, lost['leaks']


def test_sampled(switched):
    program = switched(0, '--sample', '2K')
    console = Console(program.pid)
    program.tell('keep 1000')
    before = kept(harness.report(program.pid)[0])
    assert before[0] > 0
    program.obeys(console, 'stop')
    program.tell('keep 1000', 'keep 1000')
    process = harness.report(program.pid)[0]
    assert kept(process) == before and process['health']['lost']['stopped'] > 100
    program.tell('drop 3000')
    assert kept(harness.report(program.pid)[0]) == (0, before[1])
    console.end()


def test_calls_that_are_counted_only_are_not_changed(switched):
    program = switched(0, '--mode', 'count')
    console = Console(program.pid)
    answer = console.ask('stop')
    assert 'cannot be changed' in answer['error']
    console.end()


def test_what_others_write_there_is_checked(switched):
    """Who has the image may write anything: what is out of range is not done."""
    program = switched(0)
    program.tell('keep 3')
    with open(f'/proc/{program.pid}/maps') as maps:
        start = next(int(line.split('-')[0], 16) for line in maps if '/memfd:seep-image' in line and line.split()[2] == '00000000')
    for word in ((1 << 64) - 2, 16385 << 32, 0xfffffffe):
        with open(f'/proc/{program.pid}/mem', 'r+b', buffering=0) as memory:
            memory.seek(start + 960)
            memory.write(word.to_bytes(8, 'little'))
        program.tell('keep 1', 'deep 40')
    process = harness.report(program.pid)[0]
    assert kept(process) == (6, 6) and not process['health']['lost'] and not process['health']['cut']


def test_over_a_link_and_on_the_screen(switched, serve, terminal):  # noqa: F811
    program = switched(0)
    server = serve(program.pid)
    client = wire_client.connect(server.path)
    assert client.control(recording=1) in (True, False)  # it allocates nothing now
    program.tell('spare', 'keep 9')
    assert client.control(recording=1)
    assert harness.report(program.pid)[0]['health']['lost'] == {'stopped': 9}
    for wrong_words in (b'\3\0', b'\0\xff\xff\x7f', b'\x80'):
        with pytest.raises(wire_client.ServerError):
            list(client.ask(6, wrong_words))
    screen = terminal('-i', '0.1', server.address)
    screen.shows(rf'live-switched {program.pid}  STOPPED')
    screen.keys('X')
    screen.shows(RECORDS)
    program.tell('keep 1')
    screen.shows(rf'live-switched {program.pid}  LIVE .* health: incomplete')
    screen.keys(':', *'stop', 'Enter')
    screen.shows(messages.RECORDS_NOTHING)
    program.tell('spare', 'keep 1')
    screen.shows(rf'live-switched {program.pid}  STOPPED')
    screen.keys('q')
    screen.shows('left with 0')
