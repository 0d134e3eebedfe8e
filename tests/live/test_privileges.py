# SPDX-License-Identifier: BSD-2-Clause
"""A program with rights that its user does not have (set-uid, set-gid, file capabilities): nothing that the user says is
heeded in it."""
import os
import shutil
import socket
import struct
import tempfile
from pathlib import Path

import pytest
from harness import BUILD, LIBSEEP, SEEP, environment, need, report, run

COVERS = [
    ('dropped privileges', 'declared', 'test_a_program_with_rights_of_its_own',
     'a set-uid program that has the library is not traced: no setting is read in it, no file written'),
]

USER = 65534
CAP_NET_RAW = struct.pack('<5I', 0x02000001, 1 << 13, 0, 0, 0)  # permitted and effective: linux/capability.h, vfs_cap_data
LIVE = BUILD / 'tests/live'
SOURCE = Path(__file__).parent / 'privileged.c'


@pytest.fixture
def folder():
    """One that every user can read and write, on a file system that knows set-uid."""
    if os.geteuid() != 0:
        pytest.skip('only root can make a set-uid program of another user')
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o777)
        if os.statvfs(path).f_flag & os.ST_NOSUID:
            pytest.skip(f'{path} is mounted nosuid')
        yield path


@pytest.mark.parametrize('rights', ['user', 'group', 'capability', 'none'])
def test_a_program_with_rights_of_its_own(rights, folder):
    """Linked with the library, for the loader ignores LD_PRELOAD there. Without such rights all of it is heeded: that shows
    the test's own means."""
    need('gcc', 'setpriv')
    program, library, evil = folder / 'program', folder / 'libseep.so', folder / 'evil.so'
    for source, copy in ((LIBSEEP, library), (LIVE / 'libevil-allocator.so', evil)):
        shutil.copy(source, copy)
        copy.chmod(0o755)
    built = run(['gcc', '-O1', SOURCE, '-o', program, '-Wl,--no-as-needed', library, f'-Wl,-rpath,{folder}'])
    assert built.code == 0, built
    if rights == 'capability':
        os.setxattr(program, 'security.capability', CAP_NET_RAW)
    elif rights != 'none':
        program.chmod(0o4755 if rights == 'user' else 0o2755)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as tool:
        tool.bind(str(folder / 'tool'))
        (folder / 'tool').chmod(0o777)
        tool.listen(8)
        tool.setblocking(False)
        seen = []
        # With a socket the library writes no file, so both are tried.
        for name in ('SEEP_SOCKET', 'SEEP_OUT'):
            value = {'SEEP_SOCKET': folder / 'tool', 'SEEP_OUT': folder / 'out.seep'}[name]
            env = environment(SEEP_ALLOCATOR=evil, EVIL=folder / 'evil', SEEP_SIGNAL='nonsense',
                              **{name: value})
            done = run(['setpriv', '--reuid', USER, '--regid', USER, '--clear-groups', program], env=env, cwd=folder)
            assert done.code == 0, done
            seen.append((done.out.decode(), done.err.decode()))
        try:
            tool.accept()[0].close()
            met = True
        except BlockingIOError:
            met = False
    gained = rights != 'none'
    image = 0 if gained else 1
    assert [out for out, _ in seen] == [f'effective user {0 if rights == "user" else USER}, library: 1, image: {image}\n'] * 2
    assert [bool(err) for _, err in seen] == [not gained] * 2, seen  # it complains of no setting that it does not read
    assert (met, (folder / 'out.seep').exists(), (folder / 'evil').exists()) == (not gained,) * 3


@pytest.mark.parametrize('children', ['follow', 'ignore'])
@pytest.mark.parametrize('how', ['fork', 'clone', 'filter'])
def test_no_child_can_write_its_parents_image(how, children, tmp_path):
    """Neither one with an image of its own nor one without, before it uses its heap and after."""
    program, trace = LIVE / 'live-parents-image', tmp_path / 'x.seep'
    alone = run([program, how], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT='/dev/null', SEEP_CHILDREN=children))
    assert (alone.code, alone.out, alone.err) == (0, b'child: 3\n', b''), alone
    done = run([SEEP, 'run', '-q', '--children', children, '-o', trace, '--', program, how])
    assert (done.code, done.out) == (0, b'child: 3\n'), done
    processes = report(trace)
    # Who goes without an image is counted by its parent.
    assert processes[0]['health']['lost'] == ({'fork': 1} if (how, children) == ('filter', 'follow') else {})
    assert len(processes) == (2 if how != 'filter' and children == 'follow' else 1)


def dumped(folder, *, uid=0, out=None):
    """Runs a program with the library alone; returns what is in the folder then."""
    library = folder.parent / 'libseep.so'  # the project may lie in a folder that USER cannot enter
    if not library.exists():
        shutil.copy(LIBSEEP, library)
    env = environment(LD_PRELOAD=library, **({'SEEP_OUT': out} if out else {}))
    done = run(['setpriv', '--reuid', uid, '--regid', uid, '--clear-groups', '/bin/true'], env=env, cwd=folder)
    assert done.code == 0, done
    return sorted(p.name for p in folder.iterdir())


def test_the_folder_of_the_file(folder):
    """One's own, root's or sticky: in another one its owner can foretell the name and put anything there."""
    need('setpriv')
    theirs, sticky, own = (folder / name for name in ('theirs', 'sticky', 'own'))
    for path, uid, mode in ((theirs, USER, 0o777), (sticky, USER, 0o1777), (own, 0, 0o700)):
        path.mkdir()
        os.chown(path, uid, uid)
        path.chmod(mode)
    assert dumped(theirs) == []
    for place in (sticky, own):
        files = dumped(place)
        assert len(files) == 1 and files[0].endswith('.seep'), files
        assert {(place / name).stat().st_mode & 0o7777 for name in files} == {0o600}
    assert len(dumped(theirs, uid=USER)) == 1


def test_a_name_alone_in_a_folder_of_another(folder):
    """The library refuses a relative name like an absolute one: nothing is written there."""
    theirs = folder / 'theirs'
    theirs.mkdir()
    os.chown(theirs, USER, USER)
    for out in ('x.seep', theirs / 'x.seep'):
        done = run(['/bin/true'], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=out), cwd=theirs)
        assert (done.code, list(theirs.iterdir())) == (0, []), done
        assert done.err.startswith(b"libseep: SEEP_OUT: a file in a folder of this user"), done


@pytest.mark.parametrize('kind', ['fifo', 'link to a file', 'link to a device', 'block device', 'null'])
def test_what_is_there_already(kind, folder):
    """Nothing but a regular file is ever written, and that is a new one."""
    need('setpriv')
    work = folder / 'work'
    work.mkdir()
    target = folder / 'target'
    out = work / 'out.seep'
    if kind == 'fifo':
        os.mkfifo(out)
        reader = os.open(out, os.O_RDONLY | os.O_NONBLOCK)
    elif kind == 'link to a file':
        target.write_text('precious')
        out.symlink_to(target)
    elif kind == 'link to a device':
        out.symlink_to('/dev/zero')
    elif kind == 'block device':
        try:
            os.mknod(out, 0o60600, os.makedev(7, 250))
        except OSError as trouble:
            pytest.skip(f'no device files can be made here: {trouble}')
    before = out.lstat() if kind != 'null' else None
    assert dumped(work, out='/dev/null' if kind == 'null' else out) == ([] if kind == 'null' else ['out.seep'])
    if kind == 'fifo':
        assert os.read(reader, 1) == b''
        os.close(reader)
    if kind == 'link to a file':  # it is replaced, as it was when a trace of that name was there
        assert target.read_text() == 'precious' and out.lstat().st_ino != before.st_ino
        assert report(out)[0]['process']['exe'].endswith('true')
    elif kind != 'null':
        assert out.lstat().st_ino == before.st_ino
