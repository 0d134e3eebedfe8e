# SPDX-License-Identifier: BSD-2-Clause
"""Each program of tests/programs, in each build, under `seep run`: the report is what its EXPECT block says,
the program behaves as it does untraced, and the witness counts the same."""
import pytest
from harness import (
    PROGRAMS,
    ROOT,
    check_expectation,
    check_witness,
    ended,
    environment,
    exit_status,
    expectation,
    no_losses,
    run,
    traced,
    with_witness,
)

COVERS = [
    ('fork', 'covered', 'test_program[forks]', ''),
    ('vfork', 'covered', 'test_program[execs]', ''),
    ('system and popen', 'covered', 'test_program[execs]', ''),
    ('the exec family', 'covered', 'test_program[execs]', 'also the same program once more under its pid'),
    ('thread storms', 'covered', 'test_program[storm]', '2,000 short threads; slots are used again'),
    ('thread storms', 'covered', 'test_program[many_threads]', ''),
    ('thread-exit destructors', 'covered', 'test_program[storm]', ''),
    ('setjmp and longjmp', 'covered', 'test_program[jumps]', 'also out of handlers of signals'),
    ('coroutines (makecontext)', 'covered', 'test_program[coroutines]', ''),
    ('stacks freed and mapped again', 'covered', 'test_program[coroutines]', ''),
    ('alloca-heavy frames', 'covered', 'test_program[frames]', ''),
    ('signals on alternate stacks', 'covered', 'test_program[callbacks]', 'raised, sent, and of a bad access'),
    ('_exit', 'covered', 'test_program[ending]', 'and eleven other ways to end'),
    ('quick_exit', 'covered', 'test_program[ending]', ''),
    ('C++ sized and aligned new', 'covered', 'test_program[operators]', 'every form'),
    ('allocation inside dlopen', 'covered', 'test_program[early]', 'the first of the process, in a constructor'),
    ('what malloc promises (errno, alignment, zero, overflow)', 'covered', 'test_program[contract]', ''),
    ('glibc', 'covered', 'test_program[family]', 'every function of it'),
]

SOURCES = sorted(p for p in (ROOT / 'tests/programs').glob('*.c*') if '// EXPECT:' in p.read_text())


# Frame pointers matter to how a stack is walked, of which tests/oracle has all programs; these have stacks of a kind of their own.
FRAMES = {'callbacks', 'coroutines', 'exceptions', 'frames', 'jumps', 'recursion'}


def cases():
    for source in SOURCES:
        expected, _ = expectation(source)
        for program in sorted(PROGRAMS.glob(f'*@{source.stem}')):
            if program.name.startswith('gcc-O2-fp@') and source.stem not in FRAMES:
                continue
            for one in expected.get('runs', [{}]):
                name = ' '.join([program.name, *one.get('args', [])])
                yield pytest.param(program, source, {**expected, **one}, id=name)


def test_every_program_is_built():
    built = {p.name.split('@')[1] for p in PROGRAMS.glob('*@*')}
    assert built == {s.stem for s in SOURCES}, 'run ninja programs'


@pytest.mark.parametrize('program, source, expected', cases())
def test_program(program, source, expected, tmp_path):
    args = [program, *expected.get('args', [])]
    plain = run(args)
    assert exit_status(plain.code) == ended(expected.get('exit', {'code': 0})), plain

    under = traced(args, tmp_path, env=with_witness(tmp_path, environment()))
    assert under.code == exit_status(plain.code), under
    assert under.out == plain.out
    assert under.err == plain.err

    _, marks = expectation(source)
    own = [program.name, *('lib' + name for name in expected.get('needs', []))]
    processes = under.report()
    main = processes[0]
    assert main['process']['exe'] == str(program)
    assert main['process']['args'][1:] == expected.get('args', [])
    assert main['process']['exit'] == expected.get('exit', {'code': 0})
    check_expectation(main, expected, own, marks)
    check_children(processes[1:], expected, own, marks)
    for process in processes:
        no_losses(process)
        assert expected.get('may_cut') or process['health']['stacks_cut'] == 0, process['health']
    # operator new rounds sizes up before it calls the allocator: the witness sees those.
    check_witness(processes, tmp_path, compare_bytes=not expected.get('rounds_sizes'))


def check_children(children, expected, own, marks):
    """Children in the order of the EXPECT block, which is the order of their start. Those that were another
    program (a shell) are no concern of it; those that never left the fork are named by no arguments."""
    children = [c for c in children if any(c['process']['exe'].endswith(o) for o in own)]
    wanted = expected.get('children', [])
    if any('args' in child for child in wanted):
        children = [c for c in children if len(c['process']['args']) > 1]
    assert len(children) == len(wanted), [c['process'] for c in children]
    for child, want in zip(children, wanted):
        if 'args' in want:
            assert child['process']['args'][1:] == want['args']
        assert child['process']['exit'] == want['exit']
        check_expectation(child, want, own, marks)
