# SPDX-License-Identifier: BSD-2-Clause
"""A word of memory that lies in two root ranges is one pointer and has one holder; data without names is one holder."""
import json
import re
import subprocess

import pytest

from harness import ROOT, SEEP, environment, need, run

WORDS = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "seep.h"
static __thread void *of_thread;
static __attribute__((noinline)) void fill(void **told) {
    for (int i = 1; i < 9; i++)
        told[i] = malloc(1000);
    *told = malloc(400);
    of_thread = malloc(300);
}
static void *work(void *told) {
    fill(told);
    dprintf(1, "%d %p %p\\n", getpid(), of_thread, *(void **)told);
    sleep(100);
    return told;
}
int main(void) {
    pthread_t thread;
    void **told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    seep_root_add(told, 4096);
    pthread_create(&thread, NULL, work, told);
    return pthread_join(thread, NULL);
}
"""


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


DATA = """
#include <stdlib.h>
static void *inited[600] = {(void *)1, (void *)2};
static void *zeroed[40000];
int main(void) {
    for (int i = 0; i < 3; i++) {
        inited[i * 100 + 1] = malloc(100);
        zeroed[i * 10000] = malloc(200);
    }
    return inited[1] == zeroed[5];
}
"""


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
