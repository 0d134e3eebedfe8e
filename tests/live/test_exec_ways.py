# SPDX-License-Identifier: BSD-2-Clause
"""Programs that become others: in every way there is, with environments of their own, and into what cannot be traced.
What can be is traced; of what cannot, the report says which it was and why, in one line."""
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import messages
import report_json
from harness import BUILD, LIBSEEP, SEEP, WITNESS, environment, environment_of_others, exit_status, need, report, run, traced
from small_programs import program_source

COVERS = [
    ('the exec family', 'covered', 'test_with_the_environment_it_has', 'each of its functions, posix_spawn, and the bare system call'),
    ('the exec family', 'declared', 'test_with_an_environment_that_drops_everything',
     'with an environment that has no libseep.so in LD_PRELOAD (env -i): the program gets what it asked for'),
    ("LD_PRELOAD of the user's own", 'covered', 'test_the_users_own_list_is_kept_in_order', 'in its order, in children too'),
    ("LD_PRELOAD of the user's own", 'declared', 'test_with_a_list_of_its_own', 'a list of the program for its child, without libseep.so'),
    ("LD_PRELOAD of the user's own", 'declared', 'test_with_the_list_alone', 'an environment with libseep.so in LD_PRELOAD, and without SEEP_*'),
    ('posix_spawn', 'covered', 'test_with_the_environment_it_has', ''),
    ('scripts', 'covered', 'test_script', ''),
    ('programs of another libc (musl)', 'covered', 'test_musl', 'by exec'),
    ('exec of a static program', 'declared', 'test_static', 'also by descriptor and posix_spawn'),
    ('programs of another architecture', 'declared', 'test_other_architecture', 'where the kernel can run them'),
    ('exec of a set-user-ID program', 'declared', 'test_set_user_id', 'the loader ignores LD_PRELOAD for it; also by exec'),
    ('dropped privileges', 'declared', 'test_with_an_effective_id_of_its_own',
     'a program that comes by exec while the effective user or group is not the real one: told'),
]
WAYS = BUILD / 'tests/live/live-exec-ways'
OF_ENVIRON = ('execl', 'execlp', 'execv', 'execvp')
WITH_ENVIRONMENT = ('execle', 'execve', 'execvpe', 'fexecve', 'execveat', 'posix_spawn', 'posix_spawnp')


def sizes(process):
    """What own() kept."""
    return [s['size_max'] for s in process['sites'] if s['live_blocks'] and any(f['function'] == 'own' for f in s['stack'])]


def untraced(processes):
    return [p for p in processes if any(n.startswith('not traced: ') for n in p['health']['notes'])]


@pytest.mark.parametrize('way', [*OF_ENVIRON, *WITH_ENVIRONMENT, 'syscall'])
def test_with_the_environment_it_has(way, tmp_path):
    done = traced([WAYS, way, 'keep', WAYS, 'child'], tmp_path)
    assert done.code == 4 and done.out == f'{LIBSEEP}\n'.encode(), done
    processes = done.report()
    assert sorted(sizes(p) for p in processes) == [[33], [77]]
    assert not untraced(processes) and all(p['health']['complete'] for p in processes)
    child = next(p['process'] for p in processes if sizes(p) == [77])
    # A bare system call passes the hooks by: what it leads to is known by its image alone.
    assert child['origin'] == ('spawn' if 'spawn' in way else 'exec')


@pytest.mark.parametrize('way, kind', [(way, kind) for way in WITH_ENVIRONMENT for kind in ('drop', 'null')
                                       if (way, kind) != ('fexecve', 'null')])  # glibc refuses it
def test_with_an_environment_that_drops_everything(way, kind, tmp_path):
    """env -i: the program asked for that environment and gets it; the report says what it did not see."""
    done = traced([WAYS, way, kind, WAYS, 'child'], tmp_path)
    assert done.code == 4 and done.out == b'(none)\n', done
    (other,) = untraced(done.report())
    assert 'not traced: ' + messages.OWN_ENVIRONMENT % WAYS in other['health']['notes'][0]
    assert other['process']['origin'] == ('spawn' if 'spawn' in way else 'exec')


@pytest.mark.parametrize('way', ['execve', 'posix_spawn'])
def test_with_a_list_of_its_own(way, tmp_path):
    """Kept as it is and in its order; traced where libseep.so is in it, at whatever place."""
    for own, seen in ((f'{WITNESS}:{LIBSEEP}', True), (f'{WITNESS}', False)):
        done = traced([WAYS, way, 'own', WAYS, 'child'], tmp_path, env=environment(OWN_LIST=own))
        assert done.code == 4 and done.out == f'{own}\n'.encode(), done
        assert bool(untraced(done.report())) == (not seen)


@pytest.mark.parametrize('way', ['execve', 'posix_spawn'])
def test_with_the_list_alone(way, tmp_path):
    """As lighttpd starts CGI programs: libseep.so is in them, and is not told of the tool. It leaves a file of its own."""
    done = traced([WAYS, way, 'list', WAYS, 'child'], tmp_path, env=environment(OWN_LIST=LIBSEEP), cwd=tmp_path)
    assert done.code == 4 and done.out == f'{LIBSEEP}\n'.encode(), done
    assert len(list(tmp_path.glob(f'seep.{WAYS.name}.*.seep'))) == 1
    (other,) = untraced(done.report())
    assert report_json.codes(other) == ['no_preload']


def test_the_users_own_list_is_kept_in_order(tmp_path):
    """And follows libseep.so, in children too."""
    other = tmp_path / 'second.so'
    shutil.copy(WITNESS, other)
    for own in (f'{WITNESS}:{other}', f'{other} {WITNESS}'):
        done = traced([WAYS, 'execve', 'keep', WAYS, 'child'], tmp_path, env=environment(LD_PRELOAD=own))
        assert done.code == 4 and done.out == f'{LIBSEEP}:{own}\n'.encode(), done
        assert sorted(sizes(p) for p in done.report()) == [[33], [77]]


@pytest.mark.parametrize('way', ['execve', 'fexecve', 'posix_spawn'])
def test_static(way, tmp_path):
    need('gcc')
    (tmp_path / 's.c').write_text(program_source('four.c'))
    assert run(['gcc', '-static', 's.c', '-o', 'static'], cwd=tmp_path).code == 0
    done = traced([WAYS, way, 'keep', tmp_path / 'static', 'x'], tmp_path)
    assert done.code == 4, done
    (other,) = untraced(done.report())
    assert 'not traced: ' + messages.STATIC_BINARY % (tmp_path / 'static') in other['health']['notes'][0]


def test_script(tmp_path):
    script = tmp_path / 'script'
    script.write_text(f'#!{WAYS} child\n')
    script.chmod(0o755)
    done = traced([WAYS, 'execve', 'keep', script, 'x'], tmp_path)
    assert done.code == 4, done
    processes = done.report()
    assert sorted(sizes(p) for p in processes) == [[33], [77]] and not untraced(processes)


def test_musl(tmp_path):
    need('musl-gcc')
    (tmp_path / 'm.c').write_text(program_source('exec_ways_musl.c'))
    assert run(['musl-gcc', '-O1', 'm.c', '-o', 'musl'], cwd=tmp_path).code == 0
    done = traced([WAYS, 'execve', 'keep', tmp_path / 'musl', 'x'], tmp_path)
    assert done.code == 4, done
    main, before = done.report()
    assert main['totals']['live_bytes'] >= 55 and not untraced([main, before])


@pytest.mark.parametrize('way', ['execve', 'posix_spawn'])
def test_other_architecture(way, tmp_path):
    """Where the kernel refuses it, as untraced, and nothing is left of the attempt; where it has an emulator for it, it
    runs untraced and the report says why."""
    need('aarch64-linux-gnu-gcc')
    (tmp_path / 'a.c').write_text(program_source('four.c'))
    assert run(['aarch64-linux-gnu-gcc', '-static', 'a.c', '-o', 'other'], cwd=tmp_path).code == 0
    plain = run([WAYS, way, 'keep', tmp_path / 'other', 'x'])
    done = traced([WAYS, way, 'keep', tmp_path / 'other', 'x'], tmp_path)
    assert (done.code, done.out, done.err) == (plain.code, plain.out, plain.err), (done, plain)
    others = untraced(done.report())
    if plain.code == 8:
        assert not others
    else:
        assert 'is made for another processor or word size than libseep.so' in others[0]['health']['notes'][0]  # seldom: emulated


@pytest.fixture
def for_all():
    """A folder that every user can read, with seep in it."""
    if os.geteuid() != 0:
        pytest.skip('only root can make a set-user-ID program of another user')
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        for path in (SEEP, LIBSEEP, WAYS):
            shutil.copy(path, folder)
        yield folder
    finally:
        shutil.rmtree(folder)


def test_set_user_id(for_all, tmp_path):
    """The loader ignores LD_PRELOAD there, as it must."""
    program = for_all / 'raised'
    shutil.copy(WAYS, program)
    program.chmod(0o4755)
    out = for_all / 'out'
    out.mkdir()
    os.chown(out, 65534, 65534)

    def as_nobody(*command):
        return subprocess.run(
            [str(word) for word in command], user=65534, group=65534, extra_groups=[], env=environment_of_others(), cwd=out,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False,
        )

    if not program.stat().st_mode & stat.S_ISUID or os.statvfs(for_all).f_flag & os.ST_NOSUID:
        pytest.skip('no set-user-ID programs on this file system')
    ways = for_all / WAYS.name
    plain = as_nobody(ways, 'execve', 'keep', program, 'child')
    done = as_nobody(for_all / 'seep', 'run', '-q', '-o', 't.seep', '--', ways, 'execve', 'keep', program, 'child')
    assert exit_status(done.returncode) == exit_status(plain.returncode) == 4, done
    (other,) = untraced(report(out / 't.seep'))
    assert f'{program} {messages.SET_USER_ID}' in other['health']['notes'][0]
    assert done.stderr == b''


@pytest.mark.usefixtures('for_all')  # of root only
@pytest.mark.parametrize('id_of', ['--euid', '--egid'])
def test_with_an_effective_id_of_its_own(id_of, tmp_path):
    """As squid starts its workers: the real one stays root's. The loader ignores LD_PRELOAD there, too."""
    need('setpriv')
    done = traced(['setpriv', id_of, '65534', '--keep-groups', '/bin/cat', '/proc/self/maps'], tmp_path)
    assert done.code == 0 and b'libseep' not in done.out, done
    (other,) = untraced(done.report())
    assert report_json.codes(other) == ['cannot_preload']


def test_python_starts_programs_in_its_own_ways(tmp_path):
    """subprocess forks by vfork and executes with a list of places to try: what fails on the way leaves nothing."""
    script = (
        'import subprocess, os\n'
        f'a = subprocess.run(["live-exec-ways", "child"], env=dict(os.environ, PATH="/none:/usr/bin:{WAYS.parent}")).returncode\n'
        f'b = subprocess.run(["{WAYS}", "child"], env={{}}).returncode\n'
        'raise SystemExit(a * 10 + b)'
    )
    done = traced([sys.executable, '-S', '-c', script], tmp_path)
    assert done.code == 44, done
    processes = done.report()
    assert [sizes(p) for p in processes if sizes(p)] == [[77]]
    assert len(untraced(processes)) == 1


def test_pointers_that_lead_nowhere(tmp_path):
    """The kernel refuses them; the library looks at what is executed, and at the environment."""
    program = BUILD / 'tests/live/live-bad-pointers'
    plain = run([program])
    assert plain.code == 5, plain
    under = traced([program], tmp_path)
    assert (under.code, under.out, under.err) == (5, plain.out, b''), under
