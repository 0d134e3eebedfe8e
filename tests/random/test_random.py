# SPDX-License-Identifier: BSD-2-Clause
"""Random programs, others each day: what they do, and what is told about them, is what the generator knows.

A failure says how to run its program again. SEEP_RANDOM_SEED takes another seed than today's, SEEP_RANDOM_SECONDS another time.
"""
import copy
import datetime
import os
import time

import pytest

import actions
import batch as batches
import compare
import machine
import ways

SECONDS = float(os.environ.get('SEEP_RANDOM_SECONDS') or 25)


def first_seed():
    """A million seeds for each day."""
    given = os.environ.get('SEEP_RANDOM_SEED')
    return machine.start_of(int(given) if given else datetime.date.today().toordinal() * 1000000)


@pytest.fixture(scope='module', autouse=True)
def compilers():
    missing = batches.compilers_are_there()
    if missing:
        pytest.skip(f'{", ".join(missing)} is not installed (tools/install-deps.sh test)')


def test_todays_programs(build, capsys):
    first, until = first_seed(), time.monotonic() + SECONDS
    this = machine.Machine(build, machine.names_of(), seldom={'attach': 4, 'record': 4})
    start = first
    while (time.monotonic() < until or this.seeds < machine.LEAST) and not this.failures:
        this.run_batch(start, set(range(start, start + batches.SIZE)), until)
        start += batches.SIZE
    with capsys.disabled():
        print(f'\nrandom programs: {this.seeds} from seed {first} in {this.runs} runs')
        if 'attach' not in this.names:
            print('random programs: not under seep attach, which needs root')
    assert not this.failures, '\n\n'.join(map(str, this.failures))
    assert this.seeds >= machine.LEAST


def test_a_seed_is_one_program():
    assert batches.Batch(800).text == batches.Batch(800).text
    assert batches.Batch(800).expectation() == batches.Batch(800).expectation()
    assert batches.Batch(800).text != batches.Batch(808).text


def test_a_compiler_is_ended_by_its_processor_time(tmp_path, monkeypatch):
    """On a busy machine a compiler that works may take any time. A compiler that hangs ends the batch."""
    one = batches.Batch(800)
    hanging = tmp_path / 'hanging'
    hanging.write_text('#!/bin/sh\nwhile :; do :; done\n')
    hanging.chmod(0o755)
    one.compiler = str(hanging)
    monkeypatch.setattr(batches, 'COMPILER_S', 1)
    with pytest.raises(AssertionError):
        one.build(tmp_path)


def test_every_action_and_way_out_is_taken():
    taken = set()
    for first in range(0, 800, batches.SIZE):
        for program in batches.Batch(first).programs:
            taken |= program.tags
    assert taken >= {entry.name for entry in actions.TABLE + actions.EXITS}


def lies(program):
    """What is expected of the program, each time with one figure that is not so."""
    for what, change in (('allocations', 1), ('allocated_bytes', 8), ('frees', 1), ('live_blocks', 1), ('live_bytes', -1)):
        wrong = copy.deepcopy(program)
        wrong['lives'][-1]['sites'][0][what] += change
        yield what, wrong
    wrong = copy.deepcopy(program)
    wrong['lives'][-1]['sites'][0]['path'].insert(1, 'p0_nobody_1')
    yield 'a frame more', wrong
    wrong = copy.deepcopy(program)
    row = next(row for row in wrong['lives'][-1]['sites'] if row['kinds'])
    kind, blocks = row['kinds'].popitem()
    row['kinds'] = {'reachable' if kind != 'reachable' else 'lost': blocks}
    yield 'a class', wrong
    wrong = copy.deepcopy(program)
    wrong['output'].append('line 99 of 0')
    yield 'a line', wrong
    wrong = copy.deepcopy(program)
    wrong['exit'] = {'code': 200}
    yield 'exit status', wrong
    wrong = copy.deepcopy(program)
    wrong['lives'].append(dict(wrong['lives'][-1], exit={'code': 201}))
    yield 'a process', wrong


def is_exact(program):
    """Whether each figure and each class of its last life has one right value."""
    life = program['lives'][-1]
    kinds = [row['kinds'] for row in life['sites']]
    return life['looked_at'] and life['exit'] == program['exit'] and 'from_a_thread' not in program['actions'] \
        and not (life['old_words'] or life['dangling']) and any(kinds) \
        and not any({'any', 'stale'} & set(kind) for kind in kinds)


def test_a_wrong_expectation_is_found(build, tmp_path):
    """The comparison compares: of a program that agrees, each figure that is changed is told."""
    batch, one = next((batch, one) for batch in map(batches.Batch, range(80, 800, batches.SIZE)) for one in batch.expectation()
                      if is_exact(one))
    program = batch.build(tmp_path)
    way = ways.Ways(build, tmp_path)
    assert not way.under_run(program, one, batch.lines_known)
    for what, wrong in lies(one):
        assert way.under_run(program, wrong, batch.lines_known), f'{what} is not compared'


def unread_report(*stacks):
    """A report by probes of malloc calls that were cut as unread: (functions innermost first, allocations) each."""
    report = {'frames': [], 'stacks': []}
    sites = []
    for functions, calls in stacks:
        node = -1
        for function in reversed(functions):
            report['frames'].append({'function': function, 'module': '/batch', 'line': 7, 'inlined': False})
            report['stacks'].append([len(report['frames']) - 1, node])
            node = len(report['stacks']) - 1
        sites.append({'via': 'malloc', 'stack': node, 'cut': 'unread', 'allocations': calls, 'allocated_bytes': 8 * calls,
                      'frees': 0, 'live_blocks': calls, 'live_bytes': 8 * calls, 'temporary': 0})
    return report, {'sites': sites}


def expected_site(path):
    return {'via': 'malloc', 'path': path, 'line': 7, 'inlined': None, 'tail': False, 'by_library': False, 'learnt': False, 'site': 1,
            'probes_only': False, 'uncounted': False, 'allocations': 2, 'allocated_bytes': 16,
            'frees': 0, 'live_blocks': 2, 'live_bytes': 16, 'temporary': 0}


def test_a_header_that_old_words_hide_makes_no_block_lost():
    group = [{'kinds': {'reachable': 20}, 'learnt': True, 'held_by': {}}]

    def differences(old_words=True, **kinds):
        found = compare.Row()
        found.kinds.update(kinds)
        return compare.compare_kinds('site', group, [found], compare.Look('run', lines=False), old_words, 0)

    assert not differences(reachable=20) and not differences(possible=20) and not differences(reachable=1, possible=19)
    assert differences(possible=20, old_words=False)
    assert differences(lost=20) and differences(reachable=19, indirect=1) and differences(possible=19)


def test_a_cut_stack_is_the_inner_part_of_an_expected_one():
    leaf, one, two = 'p0_leaf_1', 'p0_one_2', 'p0_two_3'
    expected = {'sites': [expected_site([leaf, one, 'main']), expected_site([leaf, two, 'main'])],
                'nameless': False, 'vague': [], 'dangling': False, 'old_words': False, 'in_allocator': 0}
    look = compare.Look('attach', classes=False, temporary=False, by_probes=True)

    def differences(*stacks):
        return compare.compare_sites(expected, *unread_report(*stacks), look)

    assert not differences(([leaf], 4))
    assert not differences(([leaf, one], 1), ([leaf], 3))
    assert differences(([leaf], 3))
    assert differences(([leaf, one], 3), ([leaf, two], 1))
    assert differences(([leaf, 'p0_three_4'], 4))
    assert differences(([leaf], 4), ([one], 1))
    assert 'part of' in ' '.join(differences(([leaf], 4), ([one], 1)))
