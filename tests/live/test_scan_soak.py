# SPDX-License-Identifier: BSD-2-Clause
"""No false "lost": the short form of `make soak ONLY=scan`. Each program is looked at once when it waits, once with its
threads at work, and once in each way to leave."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(os.environ['SEEP_BUILD'])
SOAK = Path(__file__).resolve().parents[2] / 'bench' / 'scan_soak.py'
PROGRAMS = {'sqlite3': 'sqlite3', 'python3': '/usr/bin/python3', 'perl': 'perl', 'git': 'git', 'redis-server': 'redis-server',
            'nginx': 'nginx', 'node': 'node', 'gcc': 'gcc'}


@pytest.mark.parametrize('name', PROGRAMS)
def test_nothing_is_called_lost_that_is_not(name):
    if not shutil.which(PROGRAMS[name]):
        pytest.skip(f'{name} is not installed')
    done = subprocess.run([sys.executable, SOAK, '--build', BUILD, '--times', '1', '--settle', '0.2', name],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    rows = [[cell.strip() for cell in line.split('|')[1:-1]] for line in done.stdout.splitlines() if line.startswith('|')]
    assert done.returncode == 0, done.stdout
    assert {row[1] for row in rows[2:]} == {'idle', 'load', 'exit'}, done.stdout
    assert all(int(row[2]) >= 1 and row[5] == '0' for row in rows[2:]), done.stdout
