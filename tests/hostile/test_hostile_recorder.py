# SPDX-License-Identifier: BSD-2-Clause
"""A recording whose file cannot be written for a while or any more, or is cut by another process: the program does its work, what
is missing is counted, and what is there can be read."""
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
import messages  # noqa: E402
from harness import BUILD, SEEP, TIMEOUT, environment, need, run, wait_until  # noqa: E402

PROGRAM, PLUGIN = BUILD / 'tests/hostile/hostile-self', BUILD / 'tests/hostile/hostile-plugin.so'
WORK = [PROGRAM, 'plugins', PLUGIN]
RECORD = [SEEP, 'run', '--scan', 'no', '--mode', 'record', '-o']


def nr_of_events(trace):
    done = run([SEEP, 'sql', '--csv', trace, "select sum(kind in ('allocation', 'free')) from event"])
    assert done.code == 0, done
    return int(done.out.splitlines()[1] or 0)


def check_cut(done, trace):
    assert done.code == 1 and done.out == run(WORK).out, done
    errors = [line for line in done.err.splitlines() if line.startswith(b'seep: ')]
    assert len(errors) == 1 and (messages.CANNOT_WRITE_TRACE % trace).encode() in errors[0], errors
    process = json.loads(done.err[done.err.index(b'{'):])
    process = (process.get('processes') or [process])[0]
    health, totals = process['health'], process['totals']
    assert not health['complete'] and health['lost']['event'] > 0, health
    assert nr_of_events(trace) + health['lost']['event'] >= totals['allocations'] + totals['frees'] > 0, (health, totals)


@pytest.mark.parametrize('trouble', ['EIO', 'ENOSPC'])
@pytest.mark.parametrize('until', ['', '..12'])
def test_writes_fail(trouble, until, tmp_path):
    """Also where they would do again a little later."""
    need('strace')
    trace = tmp_path / 't.seep'
    failing = ['-e', f'inject=write,writev,pwrite64:error={trouble}:when=8{until or "+"}']
    done = run(['strace', '-f', '-qq', '-o', tmp_path / 'calls', '-e', 'trace=write,writev,pwrite64', *failing, '-P', trace, *RECORD[:-1],
                '--json', '-o', trace, '--', *WORK])
    assert '(INJECTED)' in (tmp_path / 'calls').read_text(), done
    check_cut(done, trace)


def test_the_limit_of_file_sizes(tmp_path):
    """SIGXFSZ is not the program's: it has the limit that the tool has."""
    trace = tmp_path / 't.seep'
    done = subprocess.run([*map(str, RECORD[:-1]), '--json', '-o', trace, '--', *map(str, WORK)], stdout=subprocess.PIPE, timeout=TIMEOUT,
                          stderr=subprocess.PIPE, env=environment(), stdin=subprocess.DEVNULL, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (60000, resource.RLIM_INFINITY)))
    done.code, done.out, done.err = done.returncode, done.stdout, done.stderr
    assert os.path.getsize(trace) <= 60000
    check_cut(done, trace)


def test_a_limit_of_file_sizes_is_not_one_of_memory(tmp_path):
    """What the tool says to the library is written into its memory file, far behind: each full ring was waited for."""
    need('strace')
    trace, calls = tmp_path / 't.seep', tmp_path / 'calls'
    done = run(['sh', '-c', 'ulimit -S -f 100000 && exec "$@"', 'sh', 'strace', '-f', '-o', calls, '-e', 'trace=openat', *RECORD, trace,
                '--', *WORK])
    assert done.code == 0, done
    # The library takes over from a tool that says nothing, and writes a file of its own.
    assert not [line for line in calls.read_text().splitlines() if 't.seep.' in line and 'O_CREAT' in line]
    assert nr_of_events(trace) > 50000
    target = subprocess.Popen([PROGRAM, 'plugins', PLUGIN, 'stay'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=environment(LD_PRELOAD=BUILD / 'libseep.so', SEEP_OUT=tmp_path / 'x'))
    assert target.stdout.readline() == b'ready\n'
    done = run(['sh', '-c', 'ulimit -S -f 1000 && exec "$@"', 'sh', SEEP, 'mark', target.pid, 'here'])
    assert done.code == 0, done
    target.communicate(timeout=TIMEOUT)
    assert target.returncode == 0


@pytest.mark.parametrize('size', [0, 5000])
def test_the_file_is_cut_by_another_process(size, tmp_path):
    trace = tmp_path / 't.seep'
    tool = subprocess.Popen([*map(str, [*RECORD, trace, '--', PROGRAM, 'plugins', PLUGIN, 'stay'])], stdin=subprocess.PIPE, cwd=tmp_path,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    assert tool.stdout.readline() == b'ready\n'
    wait_until(lambda: trace.exists() and trace.stat().st_size > 20000, 'something is written')
    os.truncate(trace, size)
    wait_until(lambda: trace.stat().st_size > 20000, 'more is written')
    out, err = tool.communicate(timeout=TIMEOUT)
    assert tool.returncode in (0, 1) and b'plugins: ' in out, (tool.returncode, out, err)
    for command in ['report'], ['sql', '--csv'], ['history']:
        done = run([SEEP, *command, trace, *(['select count(*) from event'] if command[0] == 'sql' else [])])
        # A file without its beginning is none; else there is what lies before the hole.
        # The health line of a report says it on stdout.
        said = size == 0 or command[0] != 'report'
        assert done.code == (size == 0) and done.err.count(b'\n') == said, done
        assert (b'seep: process ' in done.err) == (said and size != 0), done
