# SPDX-License-Identifier: BSD-2-Clause
"""What starts hundreds of processes in real life: a configure script, and make with two jobs that compile. They do what
they do untraced; the tree is right, and the sums of each process are those of the witness."""
import collections
import json

import pytest
from harness import SEEP, check_witness, environment, need, run, with_witness
from small_programs import program_source

COVERS = [('a thousand short-lived children', 'covered', 'test_configure_and_make', 'a configure script, make -j2')]
CONFIGURE_AC = """AC_INIT([small], [1.0])
AC_CONFIG_HEADERS([config.h])
AC_PROG_CC
AC_CHECK_FUNCS([mmap no_such_function])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
"""
CONFIG_H_IN = '#undef HAVE_MMAP\n#undef HAVE_NO_SUCH_FUNCTION\n'
MAKEFILE_IN = """CC = @CC@
objects = main.o a.o b.o c.o
small: $(objects)
\t$(CC) -o $@ $(objects)
%.o: %.c
\t$(CC) -I. -c -o $@ $<
"""
SOURCE = program_source('builds.c')


@pytest.fixture(scope='module')
def project(tmp_path_factory):
    need('autoconf', 'gcc', 'make')
    folder = tmp_path_factory.mktemp('project')
    (folder / 'configure.ac').write_text(CONFIGURE_AC)
    (folder / 'config.h.in').write_text(CONFIG_H_IN)
    (folder / 'Makefile.in').write_text(MAKEFILE_IN)
    (folder / 'main.c').write_text(program_source('builds_main.c'))
    for name in ('a', 'b', 'c'):
        (folder / f'{name}.c').write_text(SOURCE.replace('NAME', name))
    done = run(['autoconf'], cwd=folder)
    assert done.code == 0, done
    return folder


def processes_of(trace):
    done = run([SEEP, 'report', '--json', '--top', '1', trace])
    assert done.code == 0, done
    return json.loads(done.out)['processes']


def check_tree(processes):
    """One root, whom all others descend from; nothing lost."""
    main, *others = processes
    by_pid = collections.defaultdict(list)
    for process in processes:
        by_pid[process['process']['pid']].append(process['process'])
    # A configure script may go on as another shell.
    assert main['process']['started_by'] in (None, main['process']['pid'])
    for process in others:
        pids, pid = set(), process['process']['pid']
        while pid != main['process']['pid'] and pid not in pids:
            pids.add(pid)
            pid = by_pid[pid][0]['started_by']
        assert pid == main['process']['pid'], process['process']
    assert not any(p['health']['lost'] for p in processes)
    assert all(p['health']['complete'] for p in processes), [p['health'] for p in processes if not p['health']['complete']]


def test_configure_and_make(project, tmp_path):
    env = environment(HOME=tmp_path)
    outs = {}
    for name, tool in (('plain', []), ('traced', [SEEP, 'run', '-q', '-o', tmp_path / 'configure.seep', '--'])):
        (tmp_path / name).mkdir()
        done = run([*tool, project / 'configure', '--srcdir', project], cwd=tmp_path / name, env=env)
        assert done.code == 0 and done.err == b'', done
        outs[name] = (done.out, (tmp_path / name / 'config.h').read_text())
    assert outs['plain'] == outs['traced']
    assert '#define HAVE_MMAP 1' in outs['plain'][1] and '/* #undef HAVE_NO_SUCH_FUNCTION */' in outs['plain'][1]
    processes = processes_of(tmp_path / 'configure.seep')
    check_tree(processes)
    names = collections.Counter(p['process']['name'] for p in processes)
    assert len(processes) > 50 and names['cc1'] >= 5 and names['sed'] > 5, names
    one = run([SEEP, 'report', '--json', '--program', '/cc1$', tmp_path / 'configure.seep'])
    assert len(json.loads(one.out)['processes']) == names['cc1']

    for path in project.glob('*.c'):
        (tmp_path / 'traced' / path.name).write_text(path.read_text())
    (tmp_path / 'seen').mkdir()
    trace = tmp_path / 'make.seep'
    done = run([SEEP, 'run', '-q', '-o', trace, '--', 'make', '-j2'], cwd=tmp_path / 'traced', env=with_witness(tmp_path / 'seen', env))
    assert done.code == 0 and done.err == b'', done
    assert run([tmp_path / 'traced' / 'small']).code == 0
    processes = processes_of(trace)
    check_tree(processes)
    names = collections.Counter(p['process']['name'] for p in processes)
    assert names['cc1'] == names['as'] == 4 and names['make'] >= 1, names
    assert check_witness(processes, tmp_path / 'seen', compare_bytes=False) >= 14
