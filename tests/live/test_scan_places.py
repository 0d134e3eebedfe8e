# SPDX-License-Identifier: BSD-2-Clause
"""Stacks, thread-local storage, mappings and data hold what they hold, though the kernel joins them with memory of the
allocator into one mapping; what is free there holds nothing. With glibc and musl, and with other allocators."""
import collections
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

import harness
from harness import ALLOCATORS, LIBSEEP, SEEP, environment, library, need
from small_programs import program_source

HERE = Path(__file__).resolve().parent
PATIENCE_S = 60
COMPILERS = {'glibc': 'gcc', 'musl': 'musl-gcc'}
# By size of block; see the source.
HELD = {1000: 1, 1001: 1, 1002: 7, 1003: 7, 1004: 7, 1005: 4, 1006: 1, 1007: 1, 1008: 1, 1010: 1, 1011: 1, 1012: 1}


@pytest.fixture(scope='module', params=COMPILERS)
def built(request, tmp_path_factory):
    """(which libc, program, library that it opens)"""
    compiler = COMPILERS[request.param]
    need(compiler)
    folder = tmp_path_factory.mktemp(request.param)
    command = [compiler, '-std=gnu11', '-g', '-O0', '-w', '-fasynchronous-unwind-tables', '-Wl,--eh-frame-hdr']
    opened, program = folder / 'library.so', folder / 'places'
    subprocess.run([*command, '-fPIC', '-shared', HERE / 'scan_places_library.c', '-o', opened], check=True, timeout=PATIENCE_S)
    subprocess.run([*command, HERE / 'scan_places.c', '-o', program, '-pthread'], check=True, timeout=PATIENCE_S)
    return request.param, program, opened


def kinds_of(report):
    kinds = collections.defaultdict(collections.Counter)
    for site in (report.get('processes') or [report])[0]['sites']:
        for block in site.get('blocks', ()):
            kinds[block['size']][block['kind']] += 1
    return kinds


def check(report, exit_handlers=True, roots='all', own_words=0):
    """`own_words`: so many blocks may be the first of a slab, to which the allocator itself points."""
    kinds = kinds_of(report)
    mapped = (1005, 1006, 1012)
    for size, number in HELD.items():
        if roots == 'all' or size not in mapped:
            assert kinds[size] == {'reachable': number}, (size, kinds[size])
        else:
            assert set(kinds[size]) == {'lost'}, (size, kinds[size])
    if exit_handlers:
        assert kinds[1009] == {'reachable': 40}
    # Free memory is read by nobody; but it may be given out once more, with what was in it.
    found = kinds[2000]
    assert found['lost'] + found['indirect'] > 6000 and found['possible'] == 0 and found['reachable'] <= own_words, found


def wait_ready(process):
    assert process.stdout.readline() == b'ready\n'


def parked(built, tmp_path, prefix=()):
    _, program, opened = built
    return subprocess.Popen([*prefix, program, opened], cwd=tmp_path, stdout=subprocess.PIPE,
                            env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'left.seep'))


def end(process):
    process.kill()
    process.communicate(timeout=PATIENCE_S)


@pytest.mark.parametrize('prefix', [(), ('setarch', '-R')], ids=['', 'without-chance'])
def test_while_it_runs(built, prefix, tmp_path):
    if prefix:
        need(*prefix[:1])
    process = parked(built, tmp_path, prefix)
    try:
        wait_ready(process)
        for options in ((), ('--cow',)) if os.uname().machine == 'x86_64' else ((),):
            done = harness.run([SEEP, 'scan', '--json', '--blocks', *options, process.pid])
            assert done.code == 0, done
            check(json.loads(done.out))
    finally:
        end(process)


def test_roots_of_lsan(built, tmp_path):
    """What the program mapped holds nothing then, wherever it lies."""
    if built[0] == 'musl':
        pytest.skip("of musl's allocator what libc keeps there for itself is no root then")
    process = parked(built, tmp_path)
    try:
        wait_ready(process)
        done = harness.run([SEEP, 'scan', '--json', '--blocks', '--roots', 'lsan', process.pid])
        check(json.loads(done.out), roots='lsan')
    finally:
        end(process)


def run_to_its_end(built, tmp_path, *options):
    _, program, opened = built
    report = tmp_path / 'report.json'
    done = harness.run([SEEP, 'run', '--json', '--blocks', '--report', report, '-o', tmp_path / 'out.seep', *options,
                        program, opened, 'leave'], cwd=tmp_path)
    assert done.code == 0, done
    return json.loads(report.read_text())


def test_when_it_leaves(built, tmp_path):
    check(run_to_its_end(built, tmp_path), exit_handlers=False)


@pytest.mark.parametrize('allocator', ALLOCATORS)
def test_other_allocators(built, allocator, tmp_path):
    """Of these nothing is known but their blocks, and where they map."""
    if built[0] != 'glibc':
        pytest.skip('they are libraries of glibc')
    if not library(*ALLOCATORS[allocator]):
        pytest.skip(f'{allocator} is not installed')
    check(run_to_its_end(built, tmp_path, '--allocator', allocator), exit_handlers=False, own_words=20)


def test_core_file(built, tmp_path):
    need('gcore')
    _, program, opened = built
    process = subprocess.Popen([SEEP, 'run', '-q', '-o', tmp_path / 'out.seep', program, opened], cwd=tmp_path,
                               stdout=subprocess.PIPE, env=environment())
    try:
        wait_ready(process)
        (pid,) = [c for c in harness.children_of(process.pid) if os.readlink(f'/proc/{c}/exe') == str(program)]
        subprocess.run(['gcore', '-o', tmp_path / 'core', str(pid)], check=True, timeout=PATIENCE_S,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.kill(pid, signal.SIGKILL)
    finally:
        process.communicate(timeout=PATIENCE_S)
    done = harness.run([SEEP, 'scan', '--json', '--blocks', '--trace', tmp_path / 'out.seep', tmp_path / f'core.{pid}'])
    assert done.code == 0, done
    check(json.loads(done.out))


NOWHERE = program_source('scan_places_nowhere.c')


def test_a_thread_whose_stack_pointer_is_nowhere(tmp_path):
    """Its control block tells of a stack, but the part that it stands in was unmapped."""
    need('gcc')
    (tmp_path / 'nowhere.c').write_text(NOWHERE)
    subprocess.run(['gcc', '-g', '-w', '-pthread', 'nowhere.c', '-o', 'nowhere'], cwd=tmp_path, check=True, timeout=PATIENCE_S)
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT='/dev/null')
    with subprocess.Popen([tmp_path / 'nowhere'], env=env, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b'ready\n'
            done = harness.run([SEEP, 'scan', process.pid, '--json', '--blocks'])
        finally:
            process.kill()
    assert done.code == 0, done
    assert kinds_of(json.loads(done.out))[100] == {'reachable': 1}


def test_a_library_that_is_loaded_twice(tmp_path):
    """Both copies have data, though they lie side by side and are of one file."""
    need('gcc')
    for name, options in (('scan_loaded_twice_library', ['-shared', '-fPIC']), ('scan_loaded_twice', ['-ldl'])):
        (tmp_path / 'source.c').write_text(program_source(name + '.c'))
        subprocess.run(['gcc', '-w', 'source.c', '-o', name, *options], cwd=tmp_path, check=True, timeout=PATIENCE_S)
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT='/dev/null')
    with subprocess.Popen([tmp_path / 'scan_loaded_twice', tmp_path / 'scan_loaded_twice_library'], env=env, stdout=subprocess.PIPE) as process:
        try:
            wait_ready(process)
            done = harness.run([SEEP, 'scan', process.pid, '--json', '--blocks', '--roots', 'lsan'])
        finally:
            process.kill()
    assert done.code == 0, done
    assert kinds_of(json.loads(done.out))[1007] == {'reachable': 2}
