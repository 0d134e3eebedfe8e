# SPDX-License-Identifier: BSD-2-Clause
"""The account of resident memory: it adds up to the kernel's figure, and each row is what the program knows of it."""

import json
import os
import re
import subprocess
from contextlib import contextmanager

from harness import BUILD, LIBSEEP, SEEP, environment, kill, report, run, traced
from small_programs import program_source

COVERS = [
    ('the account of resident memory (--rss)', 'covered', 'test_of_a_running_process', 'its rows add up to Rss'),
]

PROGRAM = BUILD / 'tests/live/live-resident'
MIB = 1 << 20


@contextmanager
def running(folder, program=PROGRAM, *args):
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=folder / 'out.seep')
    process = subprocess.Popen([program, *args], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b'ready\n'
        yield process
    finally:
        kill(process)


def check(resident):
    rows = resident['rows']
    assert sum(rows.values()) == resident['rss']
    assert resident['by_page']
    assert rows['unexplained'] <= resident['rss'] // 20, rows
    # 20,000 blocks of 100 bytes and 2 MiB of a larger one; what was never touched of that is not in it.
    assert abs(rows['live_blocks'] - (2000000 + 2 * MIB)) <= 64 << 10, rows
    assert abs(resident['live_untouched'] - 6 * MIB) <= 64 << 10
    assert abs(rows['rounding'] - 20000 * 12) <= 32 << 10, rows
    assert 20000 * 112 <= rows['allocator_free'] <= 20000 * 112 + (256 << 10), rows
    assert abs(rows['mappings'] - 3 * MIB) <= 4096, rows
    assert MIB <= rows['stacks'] <= 2 * MIB, rows
    assert rows['seep_image'] > 0 and rows['seep_private'] > 0 and rows['files'] > 0


def kernel_rss(pid):
    with open(f'/proc/{pid}/smaps_rollup', encoding='ascii') as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith('Rss:'))


def test_of_a_running_process(tmp_path):
    with running(tmp_path) as process:
        done = run([SEEP, 'report', '--rss', '--json', process.pid])
        assert done.code == 0, done
        resident = json.loads(done.out)['resident']
        check(resident)
        assert abs(resident['rss'] - kernel_rss(process.pid)) <= 64 << 10
        text = run([SEEP, 'report', '--rss', process.pid]).out.decode()
        assert "all (the kernel's Rss)" in text and 'not explained' in text and 'were never touched' in text


def test_who_keeps_free_memory(tmp_path):
    """The account said how much memory of the allocator is free. It did not say why that memory stays."""
    (tmp_path / 'pins.c').write_text(program_source('resident_pins.c'))
    subprocess.run(['gcc', '-g', '-O1', '-o', 'pins', 'pins.c'], check=True, cwd=tmp_path)
    with running(tmp_path, tmp_path / 'pins') as process:
        text = re.sub(r'\s+', ' ', run([SEEP, 'report', '--rss', process.pid]).out.decode())
        told = json.loads(run([SEEP, 'report', '--rss', '--json', process.pid]).out)
    empty, regions, place, most = re.search(r'(\d+) of (\d+) regions of 2 MiB are nearly empty, with [\d.]+ KiB live; blocks from '
                                            r'(\S+ \S+) are in (\d+) of them', text).groups()
    assert 15 <= int(empty) <= int(regions) <= 19 and 15 <= int(most) <= int(empty), text
    assert place.startswith('pin (pins.c:'), place
    in_json = told['resident']['regions']
    assert (in_json['nearly_empty'], in_json['with_blocks'], in_json['most']['regions']) == (int(empty), int(regions), int(most)), in_json
    innermost = told['frames'][told['stacks'][in_json['most']['stack']][0]]
    assert place == f"{innermost['function']} ({os.path.basename(innermost['file'])}:{innermost['line']})", innermost
    with running(tmp_path, tmp_path / 'pins', 'few') as process:  # six regions, as any heap has at its ends
        few = run([SEEP, 'report', '--rss', process.pid]).out.decode()
    assert "all (the kernel's Rss)" in few and 'nearly empty' not in few, few
    with running(tmp_path) as process:  # half of each page is in use there
        assert 'nearly empty' not in run([SEEP, 'report', '--rss', process.pid]).out.decode()


def test_kept_in_a_snapshot(tmp_path):
    trace = tmp_path / 'x.seep'
    with running(tmp_path) as process:
        done = run([SEEP, 'snap', process.pid, '-o', trace])
        assert done.code == 0, done
    (process,) = report(trace, '--rss')
    check(process['resident'])
    (process,) = report(trace)
    assert 'resident' not in process


def test_a_run_that_is_over_says_so(tmp_path):
    under = traced(['/bin/true'], tmp_path)
    (process,) = under.report('--rss')
    assert process['resident'] is None
    done = run([SEEP, 'report', '--rss', under.trace])
    assert b'resident memory: not known, because it was not looked at while the process ran' in done.out
