# SPDX-License-Identifier: BSD-2-Clause
"""Images that this machine's libseep.so would not write: of another byte order and word size, and of version 1. What
comes of them is the same."""
import json
import sys

import pytest
from foreign_image import Foreign
import messages
from harness import BUILD, LIBSEEP, PROGRAMS, ROOT, SEEP, environment, need, run

pytestmark = pytest.mark.skipif(sys.byteorder != 'little', reason='this machine is big-endian itself')

EM_PPC = 20
COMMANDS = {
    'threads': ([PROGRAMS / 'gcc-O2@threads'], {}),
    'annotated': (['annotated'], {'SEEP_AGE': '1'}),
    'sampled': ([PROGRAMS / 'gcc-O2@family'], {'SEEP_SAMPLE': '64'}),
    'released': ([BUILD / 'tests/live/live-wrong-releases', 'all'], {'SEEP_FREE_STACKS': '1'}),
}


def annotated(folder):
    need('gcc')
    made = run(['gcc', '-O2', '-pthread', '-I', ROOT / 'include', ROOT / 'tests/live/annotated.c', '-o', folder / 'annotated'])
    assert made.code == 0, made
    return folder / 'annotated'


def report(path, *options):
    done = run([SEEP, 'report', path, *options, '--json', '--top', '0'], timeout=60)
    assert done.code == 0, done
    return json.loads(done.out)


def without_names(found):
    """What a report says, without what names the file."""
    return {key: value for key, value in found.items() if key not in ('source', 'next')}


@pytest.mark.parametrize('name', COMMANDS)
def test_other_byte_order_and_word_size(name, tmp_path):
    command, settings = COMMANDS[name]
    if name == 'annotated':
        command = [annotated(tmp_path)]
    run(command, env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'x.%p.seep', **settings))
    dumps = list(tmp_path.glob('x.*.seep'))
    assert dumps
    for dump in dumps:
        other = tmp_path / 'other.seep'
        Foreign(dump).write(other, EM_PPC, 4)
        own, foreign = report(dump, '--blocks'), report(other, '--blocks')
        assert own['totals']['allocations'] > 0
        assert without_names(foreign) == without_names(own)
        assert f'{messages.ON_ANOTHER_MACHINE}PowerPC, 32 bits, big-endian\n'.encode() in run([SEEP, 'report', other]).out
        assert messages.ON_ANOTHER_MACHINE.encode() not in run([SEEP, 'report', dump]).out
        other.unlink()


def test_version_1_is_read():
    found = report(ROOT / 'tests' / 'golden' / 'image-v1.raw')
    assert b'another machine' not in run([SEEP, 'report', ROOT / 'tests' / 'golden' / 'image-v1.raw']).out
    assert found['totals']['allocations'] == 5
    assert found['totals']['live_blocks'] == 3
    assert found['health']['lost'] == {'reentered': 2}
    assert [mark['name'] for mark in found['marks']] == ['before', 'loaded']
