# SPDX-License-Identifier: BSD-2-Clause
"""Programs of other users: their files are read in a process without rights, and the report is the same."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
from harness import BUILD, SEEP, TIMEOUT, children_of, environment, need_bpf, pids_with, run, wait_until  # noqa: E402

TARGET = BUILD / 'tests/hostile/hostile-target'
OTHER = 12345


@pytest.fixture
def copies(tmp_path):
    """The same program twice by the same name: ours, and one that everybody may write to (and is another user's, where we are root)."""
    made = {}
    for whose in ('ours', 'theirs'):
        folder = tmp_path / whose
        folder.mkdir()
        made[whose] = folder / 'program'
        shutil.copy(TARGET, made[whose])
    made['theirs'].chmod(0o757)
    if os.geteuid() == 0:
        os.chown(made['theirs'], OTHER, OTHER)
    return made


def shown(text):
    """Without what differs from run to run."""
    text = re.sub(rb'/\S*/(ours|theirs)(/|\.)', b'', text)
    text = re.sub(rb'pid +\d+|ran [\d.]+ \w+|paused [^,]*, [^,]*,', b'', text)
    return re.sub(rb'0x[0-9a-f]{6,}', b'ADDRESS', text)


def test_the_report_is_the_same(copies, tmp_path):
    reports = {}
    for whose, program in copies.items():
        done = run([SEEP, 'run', '-q', '-o', tmp_path / (whose + '.seep'), '--', program], input=b'')
        assert done.code == 0, done
        reports[whose] = run([SEEP, 'report', tmp_path / (whose + '.seep')])
        assert reports[whose].code == 0 and b'hostile_target.c:' in reports[whose].out, reports[whose]
    assert shown(reports['ours'].out) == shown(reports['theirs'].out)


def test_whois_and_scan_name_variables(copies, tmp_path):
    for whose, program in copies.items():
        traced = subprocess.Popen([SEEP, 'run', '-q', '-o', tmp_path / 'x.seep', '--', program], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, env=environment())
        assert traced.stdout.readline() == b'ready\n'
        child = children_of(traced.pid)[0]
        done = run([SEEP, 'scan', child])
        traced.stdin.close()
        assert traced.wait(TIMEOUT) == 0
        traced.stdout.close()
        assert done.code == 0 and b'hostile_target.c' in done.out, (whose, done)


def of_session(number):
    return pids_with(3, number)


def test_the_reader_ends_with_the_tool(copies, tmp_path):
    trace = tmp_path / 'x.seep'
    assert run([SEEP, 'run', '-q', '-o', trace, '--', copies['theirs']], input=b'').code == 0
    for i in range(20):
        seep = subprocess.Popen([SEEP, 'report', trace], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(),
                                start_new_session=True)
        try:
            seep.wait(i * 0.005)
        except subprocess.TimeoutExpired:
            seep.kill()
            seep.wait(TIMEOUT)
        wait_until(lambda: not of_session(seep.pid), 'no reader that is left over')


def test_attach_traces_the_same(copies):
    need_bpf()
    for whose, program in copies.items():
        process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
        assert process.stdout.readline() == b'ready\n'
        done = run([SEEP, 'attach', process.pid, '200ms', '2', '-o', '0'])
        process.stdin.close()
        assert process.wait(TIMEOUT) == 0
        process.stdout.close()
        # The stack leads through the program, so its call-frame information was read too.
        assert done.code == 0 and b'hostile_target.c:' in done.out and b'_start+0x' in done.out, (whose, done)
        assert b'was not read' not in done.out, done
