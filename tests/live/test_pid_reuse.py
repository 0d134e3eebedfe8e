# SPDX-License-Identifier: BSD-2-Clause
"""Processes of the same number, one after the other, are told apart: in a pid namespace of their own, where the test may
say which number is next."""
import os

import pytest
from harness import BUILD, SEEP, need, no_losses, report, run

COVERS = [('PID reuse', 'covered', 'test_five_children_of_one_number', 'in a pid namespace where numbers can be chosen')]

PROGRAM = BUILD / 'tests/live/live-processes'
SCRIPT = r'''
import os, sys
for i in range(5):
    with open('/proc/sys/kernel/ns_last_pid', 'w') as file:
        file.write('499')
    if (pid := os.fork()) == 0:
        os.execv(sys.argv[1], [sys.argv[1], 'own', str(20 + i)])
    print(pid, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
'''


def test_five_children_of_one_number(tmp_path):
    need('unshare')
    namespace = ['unshare', '--pid', '--fork', '--mount-proc']
    if os.geteuid() != 0 or run([*namespace, 'test', '-w', '/proc/sys/kernel/ns_last_pid']).code:
        pytest.skip('the number of the next process cannot be chosen here (root, CONFIG_CHECKPOINT_RESTORE)')
    trace = tmp_path / 't.seep'
    program = ['/usr/bin/python3', '-S', '-c', SCRIPT, PROGRAM]
    plain = run([*namespace, *program])
    done = run([*namespace, SEEP, 'run', '-q', '-o', trace, '--', *program])
    assert (done.code, done.out, done.err) == (plain.code, plain.out, plain.err) == (0, b'500 0\n' * 5, b''), done
    main, *children = report(trace)
    origins = [(c['process']['pid'], c['process']['origin'], c['process']['started_by']) for c in children]
    assert origins == [(500, 'fork', main['process']['pid']), (500, 'exec', 500)] * 5
    sizes = []
    for child in children:
        no_losses(child)
        sizes += [s['size_max'] for s in child['sites'] if any(f['function'] == 'own' for f in s['stack'])]
    assert sizes == [20, 21, 22, 23, 24]
