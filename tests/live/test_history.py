# SPDX-License-Identifier: BSD-2-Clause
"""`seep history`: what a recording tells of time, lives, resizes, threads and pages, beside a plain count of the same events."""
import collections
import json

import pytest
import messages
from harness import PROGRAMS, SEEP, need, run
from recording import ALLOCATION, FREE, chunks

REALLOC = FREE + 1


def history(trace, *options):
    done = run([SEEP, 'history', '--json', *options, trace])
    assert done.code == 0, done
    return json.loads(done.out)['processes']


def record(tmp_path, name):
    trace = tmp_path / f'{name}.seep'
    done = run([SEEP, 'run', '-q', '--scan', 'no', '--mode', 'record', '-o', trace, PROGRAMS / f'gcc-O2@{name}'], cwd=tmp_path)
    assert done.code == 0, done
    return trace


def site_of(process, function):
    (site,) = [site for site in process['sites'] if site['stack'] and site['stack'][0]['function'] == function
               and sum(live[1] for live in site['live']) >= 0 and site['freed'] + len(site['live']) > 0][:1]
    return site


def test_what_was_planted_is_found(tmp_path):
    trace = record(tmp_path, 'lives')
    (process,) = history(trace, '--parts', '50')
    lived = site_of(process, 'lived')
    assert lived['freed'] == 20 and sum(lived['lives'][5:7]) == 20  # 10 ms to 1 s
    assert lived['life_least_ns'] >= 30e6
    sites = {site['site']: site for site in process['sites']}
    grown = [resize for resize in process['resizes'] if sites[resize['site']]['stack'][0]['function'] == 'grown']
    assert sum(resize['resizes'] for resize in grown) == 9
    assert max(resize['most_in_a_row'] for resize in grown) == 9
    assert sites[grown[0]['begun_at']]['stack'][0]['function'] == 'grown'
    (handover,) = process['handovers']
    assert (handover['blocks'], handover['bytes']) == (30, 3000)
    assert handover['from']['tid'] != handover['to']['tid']
    assert site_of(process, 'handed_over')['freed_elsewhere'] == 30
    assert process['timeline'][-1]['live_bytes'] >= 5000 == site_of(process, 'kept')['live'][-1][2]
    text = run([SEEP, 'history', trace])
    assert text.code == 0 and b'lived (lives.c' in text.out and b'by another' in text.out, text
    page = tmp_path / 'page.html'
    done = run([SEEP, 'html', trace, '-o', page])
    assert done.code == 0 and page.stat().st_size > 10000, done


@pytest.mark.parametrize('name', ['storm', 'resize', 'threads'])
def test_it_is_what_a_plain_count_finds(name, tmp_path):
    """Every figure once more, from the second reader's events."""
    trace = record(tmp_path, name)
    (process,) = history(trace, '--parts', '7')
    live, pending = {}, {}
    resizes, handovers = collections.Counter(), collections.Counter()
    freed, elsewhere, counts = collections.Counter(), collections.Counter(), collections.Counter()
    for event in (event for chunk in chunks(trace) for event in chunk.events):
        if event.kind == ALLOCATION:
            counts['allocations'] += 1
            counts['allocated_bytes'] += event.size
            before = pending.pop(event.slot, None)
            if before and event.site in reallocs(process):
                resizes['moved'] += before.address != event.address
                resizes['copied'] += min(before.size, event.size) if before.address != event.address else 0
                resizes['all'] += 1
            live[event.address] = event
        elif FREE <= event.kind < FREE + 5:
            counts['frees'] += 1
            counts['freed_bytes'] += event.size
            block = live.pop(event.address)
            freed[block.site] += 1
            pending.pop(event.slot, None)
            if event.kind == REALLOC:
                pending[event.slot] = block
            if block.slot != event.slot:
                handovers[block.slot, event.slot] += 1
                elsewhere[block.site] += 1
        else:
            live[event.address] = event
    for key in ('allocations', 'allocated_bytes', 'frees', 'freed_bytes'):
        assert sum(part[key] for part in process['timeline']) == counts[key], key
    assert process['timeline'][-1]['live_blocks'] == len(live)
    assert process['timeline'][-1]['live_bytes'] == sum(event.size for event in live.values())
    assert {site['site']: site['freed'] for site in process['sites'] if site['freed']} == dict(freed)
    assert {site['site']: site['freed_elsewhere'] for site in process['sites'] if site['freed_elsewhere']} == dict(elsewhere)
    assert {(h['from']['slot'], h['to']['slot']): h['blocks'] for h in process['handovers']} == dict(handovers)
    assert sum(resize['resizes'] for resize in process['resizes']) == resizes['all']
    assert sum(resize['moved'] for resize in process['resizes']) == resizes['moved']
    assert sum(resize['copied_bytes'] for resize in process['resizes']) == resizes['copied']


def reallocs(process):
    return {resize['site'] for resize in process['resizes']}


def test_pages_count_what_is_live_in_them(tmp_path):
    trace = record(tmp_path, 'storm')
    (process,) = history(trace, '--pages', '--parts', '5')
    live = {}
    for event in (event for chunk in chunks(trace) for event in chunk.events):
        if event.kind in (ALLOCATION, 8):
            live[event.address] = event.size
        else:
            del live[event.address]
    for shift, key in ((12, 'pages'), (21, 'regions')):
        units = {unit for address, size in live.items() for unit in range(address >> shift, (address + max(size, 1) - 1 >> shift) + 1)}
        assert process['timeline'][-1][key] == len(units), key
    assert 0 <= process['pages']['nearly_empty_regions'] <= len(units)


def test_names_that_are_not_shown_are_not_looked_up(tmp_path):
    """The debug file of libc takes longer than all else, and the program's own line is shown."""
    need('strace')
    log, trace = tmp_path / 'calls', record(tmp_path, 'lives')
    done = run(['strace', '-f', '-e', 'trace=openat', '-o', log, SEEP, 'history', '--top', '1', trace])
    if b'ptrace' in done.err and not done.out:
        pytest.skip(f'strace cannot trace here: {done}')
    assert done.code == 0, done
    read = [line for line in log.read_text().splitlines() if 'O_PATH' in line]
    assert any('gcc-O2@lives' in line for line in read) and not any('/libc.so' in line for line in read), read


def test_of_snapshots_what_was_live_is_known(tmp_path):
    trace = tmp_path / 'looked.seep'
    done = run([SEEP, 'run', '-q', '--interval', '20ms', '-o', trace, PROGRAMS / 'gcc-O2@lives'], cwd=tmp_path)
    assert done.code == 0, done
    done = run([SEEP, 'history', '--json', trace])
    if done.code == 0:
        (process,) = json.loads(done.out)['processes']
        assert not process['recorded'] and 'resizes' not in process and len(process['timeline']) >= 1
    else:
        assert messages.NO_HISTORY.encode() in done.err, done  # seldom: it ended before a look
    done = run([SEEP, 'run', '-q', '-o', trace, PROGRAMS / 'gcc-O2@plain'], cwd=tmp_path)
    done = run([SEEP, 'history', trace])
    assert done.code == 1 and done.err.count(b'\n') == 1 and b'--mode record' in done.err, done
