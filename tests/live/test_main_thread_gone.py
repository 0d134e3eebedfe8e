# SPDX-License-Identifier: BSD-2-Clause
"""The main thread has left by pthread_exit, the others go on: /proc/PID is nearly empty, the process lives."""
import json
import subprocess
from pathlib import Path

import pytest

import harness
from harness import SEEP
from small_programs import program_source

PROGRAM = program_source('main_thread_gone_program.c')


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    harness.need('gcc')
    folder = tmp_path_factory.mktemp('gone')
    (folder / 'gone.c').write_text(PROGRAM)
    subprocess.run(['gcc', '-g', '-w', '-fno-builtin', '-pthread', 'gone.c', '-o', 'gone'], check=True, cwd=folder,
                   timeout=harness.TIMEOUT)
    return folder / 'gone'


def kept(whole):
    process = (whole.get('processes') or [whole])[0]
    blocks = [block for site in process['sites'] for block in site.get('blocks', ()) if block['size'] == 6400]
    assert len(blocks) == 1
    return blocks[0]


def test_it_is_looked_at_when_it_leaves(program, tmp_path):
    done = harness.run([SEEP, 'run', '--json', '--blocks', '--report', tmp_path / 'r.json', '-o', tmp_path / 'o.seep', program])
    assert done.code == 0, done
    whole = json.loads((tmp_path / 'r.json').read_text())
    assert kept(whole)['kind'] == 'reachable'
    done = harness.run([SEEP, 'check', '--error-exitcode', '9', program], cwd=tmp_path)
    assert done.code == 0, done


def test_it_is_looked_at_while_it_runs(program, tmp_path):
    with subprocess.Popen([SEEP, 'run', '-q', '-o', tmp_path / 'o.seep', program, 'wait'], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as run:
        try:
            assert run.stdout.readline() == b'ready\n'
            pid = harness.children_of(run.pid)[0]
            assert not Path(f'/proc/{pid}/maps').read_text()
            for command in (['scan'], ['scan', '--cow']):
                done = harness.run([SEEP, *command, '--json', '--blocks', pid], cwd=tmp_path)
                assert done.code == 0, done
                block = kept(json.loads(done.out))
                assert block['kind'] == 'reachable'
            for command in (['report', '--rss', pid], ['snap', pid, '-o', tmp_path / 's.seep'],
                            ['growth', '--interval', '10ms', '--count', '7', pid]):
                done = harness.run([SEEP, *command], cwd=tmp_path)
                assert done.code == 0, done
            assert kept(json.loads(harness.run([SEEP, 'report', '--json', '--blocks', tmp_path / 's.seep']).out))
            done = harness.run([SEEP, 'whois', pid, block['address']], cwd=tmp_path)
            assert done.code == 0 and b'6,400' in done.out, done
        finally:
            run.stdin.close()
            run.wait(harness.TIMEOUT)
        assert run.returncode == 0


def test_attach_says_why_not(program):
    harness.need_bpf()
    with subprocess.Popen([program, 'wait'], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b'ready\n'
        done = harness.run([SEEP, 'attach', process.pid])
        assert done.code == 1 and b'main thread has left' in done.err, done
        process.stdin.close()
        assert process.wait(harness.TIMEOUT) == 0
