# SPDX-License-Identifier: BSD-2-Clause
"""What only a suppressed block leads to is let go with it: in reports, in gates, from a saved trace."""
import json
import sys

import pytest

from harness import ROOT, SEEP, need, run

sys.path.insert(0, str(ROOT / 'tests/golden'))
import seep_reader  # noqa: E402
from small_programs import program_source

# A lost head with a list of 5 below it; a lost single with one block below; a ring of 3.
SOURCE = program_source('let_go.c')


@pytest.fixture
def program(tmp_path):
    need('gcc')
    source = tmp_path / 'led.c'
    source.write_text(SOURCE)
    done = run(['gcc', '-g', '-O0', '-w', source, '-o', tmp_path / 'led'])
    assert done.code == 0, done
    return tmp_path / 'led'


def leaks(*command):
    done = run([SEEP, *command, '--json'])
    assert done.code == 0, done
    found = json.loads(done.out)['leaks']
    return {kind: found[kind]['blocks'] for kind in ('lost', 'indirect', 'possible', 'suppressed')}


def test_below_a_suppressed_block(program, tmp_path):
    trace, rules = tmp_path / 'x.seep', tmp_path / 'rules'
    assert run([SEEP, 'run', '-q', '-o', trace, program]).code == 0
    # Of the ring one block stands for the others.
    assert leaks('report', trace) == {'lost': 3, 'indirect': 8, 'possible': 0, 'suppressed': 0}
    rules.write_text('leak:list_head\n')
    assert leaks('report', trace, '--suppressions', rules) == {'lost': 2, 'indirect': 3, 'possible': 0, 'suppressed': 6}
    # By the head alone: the elements have another stack. They come along, and are counted with the rule.
    rules.write_text('{\n heads\n Memcheck:Leak\n match-leak-kinds: definite\n fun:malloc\n fun:list_head\n}\n')
    assert leaks('report', trace, '--suppressions', rules) == {'lost': 2, 'indirect': 3, 'possible': 0, 'suppressed': 6}
    done = run([SEEP, 'report', trace, '--suppressions', rules])
    assert b' 6 ' in [line for line in done.out.splitlines() if line.endswith(b'heads')][0], done
    done = run([SEEP, 'report', trace, '--suppressions', rules, '--kind', 'indirect', '--json'])
    assert sum(site['live_blocks'] for site in json.loads(done.out)['sites']) == 3
    rules.write_text('{\n all heads\n Memcheck:Leak\n match-leak-kinds: definite\n fun:malloc\n ...\n}\n')
    assert leaks('report', trace, '--suppressions', rules) == {'lost': 1, 'indirect': 2, 'possible': 0, 'suppressed': 8}


@pytest.mark.parametrize('command', [['run', '-q', '-o', '/dev/null', '--error-exitcode', '9'], ['check', '--error-exitcode', '9']])
def test_gates(program, tmp_path, command):
    rules = tmp_path / 'rules'
    for text, status in (('leak:list_head\nleak:single\n', 9), ('leak:list_head\nleak:single\nleak:ring\n', 0)):
        rules.write_text(text)
        done = run([SEEP, *command, '--suppressions', rules, program], cwd=tmp_path)
        assert done.code == status, done


def test_the_trace_says_who_leads(program, tmp_path):
    trace = tmp_path / 'x.seep'
    assert run([SEEP, 'run', '-q', '-o', trace, program]).code == 0
    profile = seep_reader.read(trace.read_bytes())['processes'][0]
    kinds, leaders = profile['leaks']['kinds'], profile['leaders']
    assert sorted(leaders) == [i for i, kind in enumerate(kinds) if kind == 2]
    below = {}
    for block, leader in leaders.items():
        assert kinds[leader] == 1
        below[leader] = below.get(leader, 0) + 1
    assert sorted(below.values()) == [1, 2, 5]
