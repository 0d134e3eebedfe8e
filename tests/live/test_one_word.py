# SPDX-License-Identifier: BSD-2-Clause
"""A word of memory that lies in two root ranges is one pointer and has one holder; data without names is one holder."""
import json
import re
import subprocess

import pytest

from harness import ROOT, SEEP, environment, need, run
from small_programs import program_source

WORDS = program_source('one_word_words.c')


@pytest.fixture
def words(tmp_path):
    need('gcc')
    (tmp_path / 'word.c').write_text(WORDS)
    subprocess.run(['gcc', '-O0', '-pthread', '-I', ROOT / 'include', 'word.c', '-o', 'word'], cwd=tmp_path, check=True)
    process = subprocess.Popen([SEEP, 'run', '-q', '-o', '-', tmp_path / 'word'], env=environment(), stdout=subprocess.PIPE,
                               stdin=subprocess.DEVNULL)
    pid, *blocks = process.stdout.readline().split()
    yield int(pid), [block.decode() for block in blocks]
    subprocess.run(['kill', pid], check=False)
    process.stdout.read()
    process.stdout.close()
    process.wait(60)


def test_one_word_is_one_pointer(words):
    pid, blocks = words
    for block, holder in zip(blocks, ('thread-local storage', 'memory mapped')):
        done = run([SEEP, 'whois', '--top', '0', '--json', str(pid), block])
        pointers = json.loads(done.out)['block']['pointers']
        addresses = [pointer['address'] for pointer in pointers if pointer['address']]
        assert len(addresses) == len(set(addresses)), pointers
        assert sum(pointer['from'].startswith(holder) for pointer in pointers) == 1, pointers
        text = run([SEEP, 'whois', '--top', '0', str(pid), block]).out.decode()
        assert int(re.search(r'\npointers to it: (\d+)\n', text)[1]) == len(re.findall(r'\n  (?:0x\w{12}|\s{14})  ', text)), text
    # Of some an address may still stand in a register, too.
    holders = json.loads(run([SEEP, 'scan', '--json', str(pid)]).out)['leaks']['holders']
    assert any(h['what'].startswith('memory mapped') and h['retained_bytes'] >= 5000 for h in holders), holders


DATA = program_source('one_word_data.c')


def test_data_without_names_is_one_holder(tmp_path):
    need('gcc')
    (tmp_path / 'data.c').write_text(DATA)
    subprocess.run(['gcc', '-s', '-O0', 'data.c', '-o', 'data'], cwd=tmp_path, check=True)
    trace = tmp_path / 'x.seep'
    assert run([SEEP, 'run', '-q', '-o', trace, 'sh', '-c', f'{tmp_path}/data; true']).code == 0
    processes = json.loads(run([SEEP, 'report', '--json', trace]).out)['processes']
    assert processes[1]['leaks']['holders'] == [{'what': 'data of data', 'retained_blocks': 6, 'retained_bytes': 900}]
    text = run([SEEP, 'report', trace]).out.decode()
    assert re.search(rf"\n +6 +900   data of data, in pid {processes[1]['process']['pid']}\n", text), text
