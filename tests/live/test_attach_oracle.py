# SPDX-License-Identifier: BSD-2-Clause
"""seep attach on real programs from their start: each allocation's stack is the one that libseep.so, which unwinds inside the
process, has for it. The probes are in the traced process only, so the system's own libraries will do.
"""
import os
from collections import Counter

import pytest

from harness import SEEP, environment, need, report, run
from test_attach import can  # noqa: F401
from small_programs import program_source


def stacks_of(trace):
    """How often each (function called, stack of functions and offsets) allocated, and the process."""
    process, = report(trace)
    assert process['health']['lost'] == {}, process['health']
    assert process['health']['stacks_cut'] == 0, process['health']
    stacks = Counter()
    for site in process['sites']:
        # A file has one name by the loader and may have another one by the kernel, where a link leads to it.
        stack = tuple((frame['function'], frame['module'].split('.so')[0], frame['offset']) for frame in site['stack'])
        stacks[site['via'].replace('[]', ''), stack] += site['allocations']
    return stacks, process


def added_by_run(env):
    """How many words `seep run` adds to the environment of a program."""
    plain = run(['env'], env=env)
    return run([SEEP, 'run', '-q', '-o', '/dev/null', 'env'], env=env).out.count(b'\n') - plain.out.count(b'\n')


def compare(tmp_path, command, **env):
    by_library, by_probes = tmp_path / 'library.seep', tmp_path / 'probes.seep'
    env = environment(**env)
    empty = tmp_path / 'empty'  # a program that lists its folder finds the same in both
    empty.mkdir()
    first = run([SEEP, 'run', '-q', '-o', by_library, *command], env=env, cwd=empty)
    # A program that copies its environment finds as many words in both.
    padded = {**env, **{f'WORD_{i}': 'something' for i in range(added_by_run(env))}}
    second = run([SEEP, 'attach', '--output', by_probes, '--', *command], env=padded, cwd=empty)
    assert first.code == second.code == 0, (first, second)
    expected, _ = stacks_of(by_library)
    found, process = stacks_of(by_probes)
    assert process['process']['exit'] == {'code': 0}
    for stacks in (expected, found):
        for key in [key for key in stacks if '_dl_init' in (frame[0] for frame in key[1])]:
            del stacks[key]  # of the libraries that are there, libseep.so is one
    assert sum(found.values()) > 1000 and len(found) > 100
    assert found == expected, [(expected[key], found[key], key) for key in set(expected) | set(found)
                               if expected[key] != found[key]][:5]


def test_python(tmp_path):
    python = os.path.realpath('/usr/bin/python3')
    if not os.path.exists(python):
        pytest.skip('no /usr/bin/python3')
    # Hashes are the same in both runs. Nothing of that is in a library that it opens later, whose first milliseconds the probes
    # have no stacks of.
    compare(tmp_path, [python, '-S', '-c', 'import re; re.compile("a(b|c)*d"); [str(i) for i in range(999)]'], PYTHONHASHSEED='0', PYTHONMALLOC='malloc')


def test_clang(tmp_path):
    need('clang')
    source = tmp_path / 'source.c'
    source.write_text(program_source('empty_main.c'))
    compare(tmp_path, [os.path.realpath('/usr/bin/clang'), '-fsyntax-only', source])


def test_node_is_complete_by_its_frame_pointers(tmp_path):
    """Its compiled code has no call-frame information, and leaves a frame by its pointer: no stack is cut for that."""
    need('node')
    script = 'const a = []; for (let i = 0; i < 300; i++) a.push(Buffer.alloc(9000 + i)); console.log(a.length)'
    done = run([SEEP, 'attach', '--output', tmp_path / 'node.seep', '--', os.path.realpath('/usr/bin/node'), '-e', script],
               env=environment(), cwd=tmp_path)
    assert done.code == 0 and b'300' in done.out, done
    process, = report(tmp_path / 'node.seep')
    sites = process['sites']
    through_script = [site for site in sites
                      if any(frame['module'] is None or 'jit' in frame['module'] for frame in site['stack'])]
    assert len(through_script) > 100
    complete = sum(site['allocations'] for site in sites if not site['cut'])
    # Those from before the tool had read a library's code are cut: the constructors of a separate libnode are some 2 %.
    assert set(process['health']['cut']) <= {'unread'}, process['health']
    assert complete > 0.95 * process['totals']['allocations'], process['health']
