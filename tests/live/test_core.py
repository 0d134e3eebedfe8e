# SPDX-License-Identifier: BSD-2-Clause
"""seep scan of core files: by the kernel and by gcore, against classes that the program's source says; and of
files that are none, are cut, or belong to another run."""
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
from pathlib import Path

import pytest

import harness
import messages
from harness import BUILD, LIBSEEP, SEEP, environment
import report_json
from small_programs import built_program, program_source

CRASH = BUILD / 'tests/live/live-crash'
LOST, INDIRECT, POSSIBLE = set(range(1000, 1005)), set(range(2000, 2005)), {3000}
HELD = {4000: r'global .*\bglobal\b.* in live-crash$', 4048: r'global .*\bglobal\b.* in live-crash -> block of 4000 B.* from hold',
        4016: messages.THREAD_LOCAL, 4032: 'stack of thread'}
NT_PRSTATUS = 1


def kernel_core(folder, *how, program=CRASH):
    """Runs the program under `seep run` in the folder until it dies; its core, and its trace."""
    pattern = Path('/proc/sys/kernel/core_pattern').read_text().strip()
    if pattern.startswith('|'):
        pytest.skip(f'cores go to a program here (core_pattern: {pattern})')
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        pytest.skip('core files are forbidden here (ulimit -H -c is 0)')

    def allow():
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))

    done = subprocess.run([SEEP, 'run', '-q', '--', program, *how], cwd=folder, env=environment(), preexec_fn=allow,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=harness.TIMEOUT)
    assert done.returncode > 128 and not done.stderr, done
    trace, = folder.glob(f'seep.{Path(program).name}.*.seep')
    pid = trace.name.split('.')[2]
    cores = [path for path in folder.iterdir() if path not in (trace, Path(program))]
    if not cores:
        pytest.skip(f'the kernel wrote no core here (core_pattern: {pattern})')
    return cores[0], trace, int(pid)


def scan(*arguments, cwd):
    done = harness.run([SEEP, 'scan', '--json', '--blocks', *arguments], cwd=cwd)
    assert done.code == 0, done
    return report_json.loads(done.out)


def check(report):
    kinds, held = {}, {}
    for site in report['sites']:
        for block in site['blocks']:
            kinds.setdefault(block['kind'], set()).add(block['size'])
            if len(site['blocks']) == 1:
                held[block['size']] = site['held_by']
    assert kinds['lost'] == LOST and kinds['indirect'] == INDIRECT and kinds['possible'] == POSSIBLE
    for size, who in HELD.items():
        assert size in kinds['reachable'] and re.match(who, held[size]), (size, held)
    assert report['leaks']['unread_bytes'] == 0


@pytest.mark.parametrize('how,signal_number', [('abort', signal.SIGABRT), ('segv', signal.SIGSEGV)])
def test_core_of_the_kernel(tmp_path, how, signal_number):
    core, trace, pid = kernel_core(tmp_path, how)
    report = scan(core.name, cwd=tmp_path)  # the trace lies beside it
    check(report)
    assert report['process']['pid'] == pid and report['process']['exit'] == {'signal': int(signal_number)}
    # A core is a source as any other: every report shows what was traced of its process.
    shown = harness.run([SEEP, 'report', core.name, '--json'], cwd=tmp_path)
    assert shown.code == 0, shown
    assert report_json.loads(shown.out)['totals'] == report['totals']
    moved = tmp_path / 'elsewhere'
    moved.mkdir()
    renamed = trace.rename(moved / 'mine')
    check(scan(core, '--trace', renamed, cwd=tmp_path))
    saved = tmp_path / 'scanned.seep'
    text = harness.run([SEEP, 'scan', core, '--trace', renamed, '-o', saved])
    assert b'paused' not in text.out and b' in live-crash -> block of 4000 B' in text.out
    check(report_json.loads(harness.run([SEEP, 'report', saved, '--json', '--blocks']).out))


@pytest.mark.parametrize('place, kind', [('bare_areas', 'lost'), ('seep_boot_memory', 'reachable'), ('data', 'lost')])
def test_the_data_of_the_library_holds_nothing_but_what_it_gave(place, kind, tmp_path):
    harness.need('gcc', 'nm')
    (tmp_path / 'run').mkdir()
    program = built_program('exit_scan_data_of_library.c', tmp_path, '-O1')
    core, trace, _ = kernel_core(tmp_path / 'run', *harness.word_in_library(place), 'die', program=program)
    kinds = {block['size']: block['kind'] for site in scan(core, '--trace', trace, cwd=tmp_path)['sites'] for block in site['blocks']}
    assert kinds[3005] == kind


def test_core_of_gcore(tmp_path):
    if not shutil.which('gdb'):
        pytest.skip('gdb is not installed')
    process = subprocess.Popen([CRASH, 'wait'], cwd=tmp_path, stdout=subprocess.PIPE,
                               env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'left.seep'))
    try:
        assert process.stdout.readline() == b'ready\n'
        live = scan(str(process.pid), cwd=tmp_path)
        snapped = harness.run([SEEP, 'snap', process.pid, '-o', tmp_path / 'snap.seep'])
        assert snapped.code == 0, snapped
        made = harness.run(['gdb', '-q', '-nx', '-batch', '-ex', 'set debuginfod enabled off', '-p', process.pid,
                            '-ex', f'generate-core-file {tmp_path}/gcore'])
    finally:
        process.kill()
        process.communicate()
    if not (tmp_path / 'gcore').exists():
        pytest.skip(f'gdb makes no core here: {made.err[-200:]!r}')
    report = scan('gcore', '--trace', 'snap.seep', cwd=tmp_path)
    check(report)
    for kind in ('lost', 'indirect', 'possible', 'reachable'):
        assert report['leaks'][kind] == live['leaks'][kind]


# Objects that only a pointer to their second base class holds: that those are whole, their vtables tell, which lie in
# memory that a core leaves out. A plain block that is held by its middle stays possibly lost.
BASES = program_source('core_bases.c')


@pytest.mark.parametrize('how', ['-pie', '-no-pie'])
@pytest.mark.parametrize('by', ['kernel', 'gcore'])
def test_objects_of_several_bases(tmp_path, how, by):
    harness.need('g++')
    program = tmp_path / 'bases'
    built = subprocess.run(['g++', '-g', '-O1', '-fPIE' if how == '-pie' else '-fno-pie', how, '-x', 'c++', '-', '-o', program],
                           input=BASES, text=True, check=False)
    assert built.returncode == 0
    where = tmp_path / 'run'
    where.mkdir()
    if by == 'kernel':
        core, trace, _ = kernel_core(where, 'abort', program=program)
        report = scan(core, '--trace', trace, cwd=where)
    else:
        harness.need('gdb')
        process = subprocess.Popen([program], cwd=where, stdout=subprocess.PIPE,
                                   env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=where / 'left.seep'))
        try:
            assert process.stdout.readline() == b'ready\n'
            assert harness.run([SEEP, 'snap', process.pid, '-o', where / 'snap.seep']).code == 0
            made = harness.run(['gdb', '-q', '-nx', '-batch', '-ex', 'set debuginfod enabled off', '-p', process.pid,
                                '-ex', f'generate-core-file {where}/gcore'])
        finally:
            process.kill()
            process.communicate()
        if not (where / 'gcore').exists():
            pytest.skip(f'gdb makes no core here: {made.err[-200:]!r}')
        report = scan('gcore', '--trace', 'snap.seep', cwd=where)
    kinds = {site['live_bytes']: site['kind'] for site in report['sites']}
    assert (kinds[8], kinds[136], kinds[300]) == ('reachable', 'reachable', 'possible'), kinds


# ---- what is wrong with it ----


def small_core(path, segments, phnum=None, notes=None, machine=62):
    """A core of one thread; segments are (address, bytes, length in memory)."""
    if notes is None:
        status = bytes(32) + struct.pack('<i', 77) + bytes(300)
        notes = struct.pack('<III', 5, len(status), NT_PRSTATUS) + b'CORE\0\0\0\0' + status
    at = 64 + 56 * (len(segments) + 1)
    headers = struct.pack('<IIQQQQQQ', 4, 0, at, 0, 0, len(notes), 0, 4)
    body = notes
    for address, data, length in segments:
        headers += struct.pack('<IIQQQQQQ', 1, 6, at + len(body), address, 0, len(data), length, 4096)
        body += data
    head = b'\x7fELF' + bytes([2, 1, 1]) + bytes(9) + struct.pack('<HHIQQQIHHHHHH', 4, machine, 1, 0, 64, 0, 0, 64, 56,
                                                                  len(segments) + 1 if phnum is None else phnum, 0, 0, 0)
    path.write_bytes(head + headers + body)
    return path


def refused(*arguments, cwd):
    done = harness.run([SEEP, 'scan', *arguments], cwd=cwd)
    assert done.code == 1 and not done.out and done.err.count(b'\n') == 1, done
    return done.err.decode()


def test_damaged_cores(tmp_path):
    page = (0x10000, bytes(4096), 4096)
    machine = 62 if os.uname().machine == 'x86_64' else 183
    make = lambda **more: small_core(tmp_path / 'bad', **{'segments': [page], 'machine': machine, **more})
    (tmp_path / 'text').write_text('not a core\n' * 20)
    assert messages.NOT_A_TRACE in refused('text', cwd=tmp_path)
    assert 'another CPU' in refused(make(machine=40), cwd=tmp_path)
    assert 'headers' in refused(make(phnum=0xfffe), cwd=tmp_path)
    assert 'overlap' in refused(make(segments=[page, (0x10800, bytes(64), 4096)]), cwd=tmp_path)
    assert 'out of range' in refused(make(segments=[(2**64 - 4096, bytes(64), 8192)]), cwd=tmp_path)
    assert 'no threads' in refused(make(notes=b'\xff' * 64), cwd=tmp_path)
    whole = make().read_bytes()
    for length in (0, 10, 63, 64, 100, 170, 200):
        (tmp_path / 'cut').write_bytes(whole[:length])
        refused('cut', cwd=tmp_path)
    assert 'has no trace here' in refused(make(), cwd=tmp_path)
    assert 'cannot open' in refused('missing', cwd=tmp_path)


def test_trace_of_another_run_and_a_cut_core(tmp_path):
    first, second = tmp_path / '1', tmp_path / '2'
    first.mkdir()
    second.mkdir()
    core, trace, _ = kernel_core(first, 'abort')
    _, other, _ = kernel_core(second, 'abort')
    assert 'none of its processes is that of' in refused(core, '--trace', other, cwd=tmp_path)
    usage = harness.run([SEEP, 'scan', str(os.getpid()), '--trace', trace])
    assert usage.code == 2 and b'--trace goes with a core file' in usage.err
    cut = first / 'cut'
    cut.write_bytes(core.read_bytes()[:core.stat().st_size // 2])
    report = scan(cut, '--trace', trace, cwd=tmp_path)
    assert any('was cut' in note for note in report['health']['notes'])
    assert not report['health']['complete']
