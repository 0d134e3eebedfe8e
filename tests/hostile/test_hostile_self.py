# SPDX-License-Identifier: BSD-2-Clause
"""Programs that take away what the library in them may rely on: descriptors, limits, rights, stacks, libraries, the image's
own memory. They end as without seep in each mode of the library, and the tool has a report."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
from harness import BUILD, SEEP, TIMEOUT, environment, need, run, wait_until  # noqa: E402

PROGRAM, PLUGIN = BUILD / 'tests/hostile/hostile-self', BUILD / 'tests/hostile/hostile-plugin.so'
WAYS = ['descriptors', 'limits', 'forks', 'stacks', 'no-new-code', 'landlock', 'asked-about', 'same-memory', 'plugins', 'image-unmapped',
        'image-unmapped-at-work', 'image-protected', 'image-read-only', 'image-covered']


def how_it_ends(command, **env):
    done = run([*command, PROGRAM, *env.pop('args')], env=environment(**env))
    return done.code, done.out, done.err


@pytest.mark.parametrize('way', WAYS)
def test_it_ends_as_without_seep(way, tmp_path):
    args = [way, PLUGIN]
    plain = how_it_ends([], args=args)
    assert plain[0] == 0 and way.encode() in plain[1], plain
    trace = tmp_path / 't.seep'
    for options in ['--mode', 'live'], ['--mode', 'record'], ['--sample', '512']:
        command = [SEEP, 'run', '-q', '-o', trace, *options, '--']
        assert how_it_ends(command, args=args) == plain, options
        done = run([SEEP, 'report', '--json', '--top', '1', trace])
        assert done.code == 0, done
        whole = json.loads(done.out)
        health = (whole.get('processes') or [whole])[0]['health']
        gave_up = [note['code'] for note in health['notes']].count('gave_up')
        assert gave_up == (way == 'image-covered') and health['complete'] == (way not in ('image-covered', 'limits')), health
    alone = how_it_ends([], args=args, LD_PRELOAD=BUILD / 'libseep.so', SEEP_OUT=tmp_path / 'alone.%p.seep')
    assert alone == plain
    alone = how_it_ends([], args=args, LD_PRELOAD=BUILD / 'libseep-record.so', SEEP_MODE='record',
                        SEEP_OUT=tmp_path / 'alone.%p.seep')
    assert alone == plain
