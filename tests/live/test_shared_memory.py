# SPDX-License-Identifier: BSD-2-Clause
"""Shared memory is a root wherever its file has data: also where the process that is looked at has touched none of it."""
import json
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from harness import BUILD, LIBSEEP, SEEP, need, report, run
from small_programs import program_source

PROGRAM = BUILD / 'tests/live/live-shared-memory'
HELD = {1001: 'reachable', 1002: 'reachable', 1003: 'reachable', 2000: 'lost'}


def kinds(process):
    found = {block['size']: block['kind'] for site in process['sites'] for block in site.get('blocks', ())}
    return {size: found.get(size) for size in HELD}


@pytest.mark.parametrize('user', ['root', 'nobody'])
@pytest.mark.parametrize('way', ['stay', 'fork', 'drop'])
def test_at_the_end(way, user):
    prefix = []
    if os.geteuid() != 0:
        user = 'the user who runs this'
    elif user == 'nobody':  # who may not open what the kernel has mapped
        prefix = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']
    with tempfile.TemporaryDirectory() as folder:  # pytest's are for their owner alone
        os.chmod(folder, 0o777)
        for file in (SEEP, LIBSEEP, PROGRAM):  # and so may be the folder of the build
            shutil.copy(file, folder)
        trace = Path(folder) / 'x.seep'
        done = run([*prefix, f'{folder}/seep', 'run', '-q', '-o', trace, '--', f'{folder}/{PROGRAM.name}', way], cwd=folder)
        assert (done.code, done.out) == (0, b''), done
        processes = report(trace, '--blocks')
    assert len(processes) == (2 if way == 'fork' else 1)
    for process in processes:
        assert kinds(process) == HELD, (process['process'], process['leaks'])
        assert process['leaks']['unread_bytes'] == 0


@pytest.mark.parametrize('options, held', [
    ([], HELD), (['--cow'], HELD), (['--roots', 'lsan'], dict.fromkeys(HELD, 'lost'))])
def test_of_a_running_process(tmp_path, options, held):
    command = [SEEP, 'run', '-q', '--scan', 'no', '-o', tmp_path / 'x.seep', '--', PROGRAM, 'wait']
    with subprocess.Popen([str(c) for c in command], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        pid = int(process.stdout.readline())
        done = run([SEEP, 'scan', *options, '--json', '--blocks', pid])
        process.communicate(b'\n', timeout=60)
    assert done.code == 0, done
    assert kinds(json.loads(done.out)) == held


def test_what_is_not_there_is_not_made(tmp_path):
    """To look for holes does not fill them: the file of a mapping is as large as before."""
    program = tmp_path / 'sparse'
    (tmp_path / 'sparse.c').write_text(program_source('shared_memory_holes.c'))
    assert run(['gcc', '-D_GNU_SOURCE', '-w', '-o', program, program.with_suffix('.c')]).code == 0
    command = [SEEP, 'run', '-q', '--scan', 'no', '-o', tmp_path / 'x.seep', '--', program]
    with subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        pid = int(process.stdout.readline())
        scanned = json.loads(run([SEEP, 'scan', '--json', '--blocks', pid]).out)
        out, _ = process.communicate(b'\n', timeout=60)
    found = Counter(block['kind'] for site in scanned['sites'] for block in site['blocks'] if block['size'] == 100)
    assert found == {'reachable': 1} and out == b'0\n'


def test_a_file_behind_many_mappings_is_asked_once(tmp_path):
    """Where data of a file ends the kernel finds page by page: asked for each of 2,000 mappings, that is 4 million pages."""
    need('strace')
    program, log = tmp_path / 'many', tmp_path / 'calls'
    (tmp_path / 'many.c').write_text(program_source('shared_memory_many.c'))
    assert run(['gcc', '-D_GNU_SOURCE', '-w', '-o', program, program.with_suffix('.c')]).code == 0
    command = [SEEP, 'run', '-q', '--scan', 'no', '-o', tmp_path / 'x.seep', '--', program]
    with subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        pid = int(process.stdout.readline())
        done = run(['strace', '-f', '-e', 'trace=lseek', '-o', log, SEEP, 'scan', '--json', '--blocks', pid])
        process.communicate(b'\n', timeout=60)
    if b'ptrace' in done.err and not done.out:
        pytest.skip(f'strace cannot trace here: {done}')
    found = Counter(block['kind'] for site in json.loads(done.out)['sites'] for block in site['blocks'] if block['size'] == 100)
    assert found == {'reachable': 1}
    assert 0 < log.read_text().count('lseek') < 500
