# SPDX-License-Identifier: BSD-2-Clause
"""seep attach --source otel: the samples that a program tells by probes of its own (the otel_memory contract)."""
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

import messages
from harness import BUILD, SEEP, TIMEOUT, environment, need, need_bpf, report, run, wait_until
import report_json

PROGRAM = BUILD / 'tests/live/live-attach-otel'
PLACES = b'4 1\n'  # of alloc and free: each counts in its semaphore


@pytest.fixture(scope='module', autouse=True)
def can():
    need_bpf()


class Program:
    """A copy of its own, so that no other process runs into its probes."""

    def __init__(self, path, folder, *args):
        own = shutil.copy(path, folder)
        self.process = subprocess.Popen([own, *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment())
        self.pid = self.process.pid
        assert self.ask('look') == b'0 0\n'

    def ask(self, word='work'):
        """Works, and gives the semaphores."""
        self.process.stdin.write(word.encode() + b'\n')
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def close(self):
        self.process.kill()
        self.process.wait()
        if not self.process.stdin.closed:
            self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def start(tmp_path):
    started = []

    def go(*args, path=PROGRAM):
        started.append(Program(path, tmp_path, *args))
        return started[-1]
    yield go
    for program in started:
        program.close()


def attach(program, *options):
    tool = subprocess.Popen([str(SEEP), 'attach', *map(str, options), str(program.pid)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=environment())
    first = tool.stdout.readline()
    assert first.startswith(b'Attaching to'), (first, tool.communicate())
    return tool


def stop(tool):
    tool.send_signal(signal.SIGINT)
    out, err = tool.communicate(timeout=TIMEOUT)
    assert tool.returncode == 0, (out, err)
    return out.decode()


def compile_program(tmp_path, name, *options):
    need('gcc')
    (tmp_path / 'built').mkdir()
    program = tmp_path / 'built' / name
    done = run(['gcc', '-O2', '-w', *options, Path(__file__).with_name('attach_otel.c'), '-o', program])
    if done.code:
        (pytest.skip if '-static' in options else pytest.fail)('no static C library: %s' % done.err[-200:])
    return program


def expected(rounds):
    """By function: allocations, their bytes, frees, their bytes, samples. A sample stands for weight / size."""
    def rounded(number):
        return int(number + 0.5)

    return {
        'in_registers': (rounded(rounds * 4 * 1000 / 100), rounds * 4000, 0, 0, rounds * 4),
        'in_memory': (rounded(rounds * 4 * 3000 / 300), rounds * 12000, rounds * 40, rounds * 12000, rounds * 4),
        'by_index': (rounded(rounds * 10 * 256 / 64), rounds * 2560, rounds * 20, rounds * 1280, rounds * 10),
        'constants': (rounded(rounds * (4096 * 1024 // 7) / 1024), rounds * 4096, 0, 0, rounds),
    }


def found(process):
    sites = {}
    for site in process['sites']:
        assert site['via'] == 'otel_memory'
        assert site['stack'][1]['function'] == 'main', site['stack']
        sites[site['stack'][0]['function']] = tuple(site[x] for x in (
            'allocations', 'allocated_bytes', 'frees', 'freed_bytes', 'samples'))
    return sites


@pytest.mark.parametrize('probes', ['best', 'multi', 'perf'])
def test_samples_are_weighted_and_the_semaphores_counted(start, tmp_path, probes):
    program, trace = start(3), tmp_path / 'otel.seep'
    tool = attach(program, '--source', 'otel', '--probes', probes, '-o', '0', '--output', trace)
    assert program.ask() == PLACES
    out = stop(tool)
    assert program.ask('look') == b'0 0\n'
    process, = report(trace)
    assert process['health']['lost'] == {} and process['health']['stacks_cut'] == 0, process['health']
    assert process['health']['sample_bytes'] == 256
    assert found(process) == expected(3)
    assert process['totals']['live_bytes'] == 3 * (4000 + 1280 + 4096)
    assert not process['totals']['peak_exact']
    assert process['totals']['by_function']['otel_memory'] == process['totals']['allocations']
    assert any('estimates' in note for note in process['health']['notes'])
    assert re.search(r'^ {8}12000 bytes in 120 allocations from stack \(estimated from 12 samples, ±29%\)$', out, re.M), out
    assert re.search(r'^ +sampled: .* 256 B ', out, re.M) and 'health: complete' in out, out


def test_blocks_that_pass_a_filter_are_weighted_too(start, tmp_path):
    program, trace = start(2), tmp_path / 'otel.seep'
    tool = attach(program, '--source', 'otel', '-a', '-o', '0', '-z', '50', '--output', trace)
    program.ask()
    out = stop(tool)
    assert '8000 bytes in 80 allocations' in out and '2560 bytes in 40 allocations' in out, out
    assert 'in_registers' in out and 'constants' not in out, out
    assert len(re.findall(r'^ +addr = 0x[0-9a-f]+ size = 100 age = ', out, re.M)) == 8, out
    done = run([SEEP, 'report', trace, '--min-size', '65', '--json'])
    assert done.code == 0, done
    assert [site['live_bytes'] for site in report_json.loads(done.out)['sites'] if site['live_bytes']] == [8000]


def test_a_killed_tracer_leaves_no_count_behind(start):
    program = start(1)
    tool = attach(program, '--source', 'otel')
    assert program.ask('look') == PLACES
    tool.kill()
    tool.communicate()
    wait_until(lambda: program.ask('look') == b'0 0\n', 'no count')


@pytest.mark.parametrize('children', ['follow', 'ignore'])
def test_a_forked_child_is_left_without_a_count(start, children):
    """It begins with a copy of its parent's semaphores."""
    program = start(1, 'fork')
    tool = attach(program, '--source', 'otel', '--children', children)
    assert program.ask('look') == PLACES  # by the child
    try:
        stop(tool)
        assert program.ask('look') == b'0 0\n'
    finally:
        program.process.stdin.close()  # the end of its input ends it


def test_exact_figures_are_preferred(start, tmp_path):
    """Without --source the allocator's functions are probed, and the semaphores are left alone."""
    program, trace = start(1), tmp_path / 'exact.seep'
    tool = attach(program, '--output', trace)
    assert program.ask() == b'0 0\n'
    stop(tool)
    process, = report(trace)
    assert process['totals']['by_function']['malloc'] == 121 and process['health']['sample_bytes'] is None


def test_where_no_function_is_found_the_samples_are_taken(start, tmp_path):
    path = compile_program(tmp_path, 'stripped', '-static', '-s')
    program, trace = start(2, path=path), tmp_path / 'static.seep'
    tool = attach(program, '-o', '0', '--output', trace)
    assert program.ask() == PLACES
    stop(tool)
    process, = report(trace)
    assert process['totals']['live_bytes'] == 2 * (4000 + 1280 + 4096)
    assert process['health']['sample_bytes'] == 256


def test_probes_without_a_semaphore(start, tmp_path):
    path = compile_program(tmp_path, 'always', '-DNO_SEMAPHORE')
    program, trace = start(1, path=path), tmp_path / 'always.seep'
    tool = attach(program, '--source', 'otel', '-o', '0', '--output', trace)
    assert program.ask() == b'0 0\n'
    stop(tool)
    process, = report(trace)
    assert found(process) == expected(1)


def test_an_argument_that_is_not_understood_is_said(start, tmp_path):
    path = compile_program(tmp_path, 'refused', '-DREFUSED')
    program = start(1, path=path)
    tool = attach(program, '--source', 'otel', '-o', '0')
    assert program.ask() == PLACES
    out = stop(tool)
    assert 'health: INCOMPLETE' in out, out
    assert re.search(r"otel_memory:alloc \(arguments '8@%\w+ 8@size\(%rip\) 8@\$9'\) of \S+ is not covered", out), out
    assert '4096 bytes in 585 allocations' in out


NO_PROBES = b'no otel_memory probes in its code'


@pytest.mark.parametrize('options, said', [
    (['--source', 'otel'], NO_PROBES),
    (['--source', 'otel', '-O', 'libz'], NO_PROBES)])
def test_a_process_that_offers_none(options, said):
    sleeper = subprocess.Popen(['sleep', '1000'])
    try:
        done = run([SEEP, 'attach', *options, sleeper.pid, '1s', '1'])
        assert done.code == 1 and said in done.err and done.err.count(b'\n') == 1, done
    finally:
        sleeper.kill()
        sleeper.wait()


def test_each_sample_is_a_line(start):
    program = start(1)
    tool = attach(program, '--source', 'otel', '-t')
    program.ask()
    out = stop(tool)
    assert len(re.findall(r'otel_memory 100 bytes for 1000 = 0x[0-9a-f]+ from in_registers\+0x', out)) == 4, out
    assert len(re.findall(r' free 0x[0-9a-f]+$', out, re.M)) == 9, out


def test_from_its_start_and_with_its_children(tmp_path):
    own, trace = shutil.copy(PROGRAM, tmp_path), tmp_path / 'family.seep'
    tool = subprocess.Popen([str(SEEP), 'attach', '--source', 'otel', '--output', str(trace), '--', own, '1', 'fork'],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
                            cwd=tmp_path)
    try:
        for _ in range(2):  # the second is the child's
            tool.stdin.write(b'work\n')
            tool.stdin.flush()
            assert tool.stdout.readline() == PLACES
        tool.send_signal(signal.SIGINT)
        tool.wait(timeout=TIMEOUT)
    finally:
        for process in report(trace) if trace.exists() else []:
            try:
                os.kill(process['process']['pid'], signal.SIGKILL)
            except ProcessLookupError:
                pass
        tool.communicate()
    parent, child = report(trace)
    assert found(parent) == expected(1)
    # What it began with is live of its parent's, and counts as allocated.
    once = expected(1)
    assert found(child) == {name: tuple(a + b for a, b in zip(once[name], began)) for name, began in {
        'in_registers': (40, 4000, 0, 0, 4), 'in_memory': (0, 0, 0, 0, 0), 'by_index': (20, 1280, 0, 0, 5),
        'constants': (585, 4096, 0, 0, 1)}.items()}


def test_other_commands_take_what_was_saved(start, tmp_path):
    program, first, second = start(1), tmp_path / '1.seep', tmp_path / '2.seep'
    for trace in (first, second):
        tool = attach(program, '--source', 'otel', '--output', trace)
        program.ask()
        if trace == second:
            program.ask()
        stop(tool)
    done = run([SEEP, 'diff', first, second])
    assert done.code == 0 and b'a change smaller than the error of its samples is chance' in done.out, done
    done = run([SEEP, 'report', second, '--by', 'function'])
    assert done.code == 0 and b'18,752' in done.out, done
    done = run([SEEP, 'whois', second, '0x10'])
    assert done.code == 0 and messages.IN_NO_BLOCK.encode() in done.out, done
    done = run([SEEP, 'scan', second])
    assert done.code != 0 and done.err.count(b'\n') == 1, done
