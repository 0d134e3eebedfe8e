# SPDX-License-Identifier: BSD-2-Clause
"""seep-agent, the server for targets: what seep's own server is tested with, and what it does where there is nothing else of seep."""
import json
import os
import re
import shutil
import signal
import stat
import subprocess

import pytest

import harness
import wire_client
import messages
from harness import SEEP, children_of, environment, need, run
from small_programs import program_source
from test_network import Network
from test_network import (test_a_link_that_is_cut_at_a_message, test_bytes_that_are_no_greeting_or_are_changed,  # noqa: F401
                          test_garbage_and_frames_that_come_again, test_two_clients_that_have_the_key)
from test_top import shop  # noqa: F401 (fixture)
from test_wire import Server, figures, figures_of, wait_for_a_look
from test_wire import (test_a_link_that_broke_goes_on, test_a_server_ends_with_the_program_that_it_started,  # noqa: F401
                       test_a_stalled_client_holds_nothing_up,
                       test_a_server_without_descriptors_rests_until_it_has_one, test_answers_under_a_limit_of_file_sizes,
                       test_both_clients_have_the_figures_of_the_report, test_children_exec_and_the_end,
                       test_it_starts_a_program, test_many_questions_take_no_memory, test_only_what_changed_is_sent,
                       test_traces_scans_and_marks_over_the_link, test_wrong_bytes_close_the_link_and_nothing_else)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.fixture(scope='module')
def agent():
    need('musl-gcc')
    done = run([os.path.join(ROOT, 'tools', 'agent.sh'), harness.build_dir()], timeout=600)
    assert done.code == 0, done
    return os.path.join(harness.build_dir(), 'seep-agent')


@pytest.fixture
def serve(tmp_path, agent):
    made = []

    def make(*arguments, **more):
        made.append(Server(tmp_path, *arguments, program=agent, **more))
        return made[-1]

    yield make
    for server in made:
        server.end()


@pytest.fixture
def network(tmp_path, agent):
    made = []

    def make(pid):
        made.append(Network(tmp_path, pid, program=agent))
        return made[-1]

    yield make
    for server in made:
        server.end()


# ---- where there is nothing else ----

ENTER = 'set -e; mount --make-rprivate /; mount -t proc proc "$1/proc"; exec chroot "$@"'


def add_file(root, path, to=None):
    to = root / (to or path).lstrip('/')
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(os.path.realpath(path), to)


@pytest.fixture(params=['glibc', 'musl'])
def root(request, tmp_path, agent):
    """A root with the agent, a program, what that needs of its libc, and nothing else. `enter(*words)` are words to run there."""
    if os.getuid():
        pytest.skip('only root enters another root')
    root = tmp_path / 'root'
    compiler = {'glibc': ['gcc'], 'musl': ['musl-gcc', '-Wl,--eh-frame-hdr']}[request.param]
    (tmp_path / 'held.c').write_text(program_source('agent_held.c'))
    done = run([*compiler, '-g', '-O1', '-fasynchronous-unwind-tables', '-fno-builtin', 'held.c', '-o', 'held'], cwd=tmp_path)
    assert done.code == 0, done
    add_file(root, agent, '/seep-agent')
    add_file(root, tmp_path / 'held', '/held')
    for line in subprocess.run(['readelf', '-l', '-d', tmp_path / 'held'], stdout=subprocess.PIPE).stdout.decode().splitlines():
        if found := re.search(r'program interpreter: (.*)\]', line):
            add_file(root, found[1])
    if request.param == 'glibc':
        for name in ('libc.so.6',):
            done = run(['gcc', f'-print-file-name={name}'])
            add_file(root, done.out.decode().strip(), f'/lib/{name}')
    for name in ('proc', 'tmp'):
        (root / name).mkdir()
    return root


def enter(root, *words):
    return ['unshare', '--mount', 'sh', '-c', ENTER, 'enter', str(root), *map(str, words)]


def test_a_root_with_nothing_else(root, tmp_path, agent):
    program = subprocess.Popen(enter(root, '/seep-agent', 'run', '/held', '7'), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=environment())
    assert program.stdout.readline() == b'ready\n', program.stderr.read()
    pid = next(child for child in children_of(program.pid) if os.readlink(f'/proc/{child}/exe').endswith('/held'))
    assert len(list((root / 'tmp').glob('seep-agent-*'))) == 1  # the library
    done = run(enter(root, '/seep-agent', 'list'))
    assert re.search(rf'^ +{pid} +13.4 KiB +20  held$', done.out.decode(), re.M), done
    # By a pipe, as ssh and adb have it.
    served = subprocess.Popen(enter(root, '/seep-agent', 'serve', '--listen', 'stdio', pid), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    client = wire_client.Client(served.stdout, served.stdin)
    client.pull()
    assert figures_of(client) == figures(pid)[1]
    served.stdin.close()
    assert served.wait(timeout=harness.TIMEOUT) == 0
    served.stdout.close()
    # By a socket: what has names has them of the files that this side has, by their build-ids.
    served = subprocess.Popen(enter(root, '/seep-agent', 'serve', '--listen', 'unix:/tmp/s', pid), stdout=subprocess.PIPE)
    assert served.stdout.readline() == b'unix:/tmp/s\n'
    address = f'unix:{root}/tmp/s'
    done = run([SEEP, 'connect', '--json', '-e', 'status; scan; functions; leaks; holders', '--sysroot', root, address])
    answers = [json.loads(line) for line in done.out.decode().splitlines()]
    assert (answers[0]['live_blocks'], answers[0]['live_bytes']) == (20, 13700), done
    classes = {row['class']: row['blocks'] for row in answers[1]['rows']}
    assert (classes['lost'], classes['reachable']) == (7, 13), classes
    assert {row['where']: row['live_blocks'] for row in answers[2]['rows'] if row['where'].startswith(('hold', 'lose'))} \
        == {'hold': 13, 'lose': 7}, answers[2]
    assert [row['live_blocks'] for row in answers[3]['rows']] == [7], answers[3]
    assert [row['bytes'] for row in answers[4]['rows']] == [1000] * 10 and 'held[' in answers[4]['rows'][0]['held_by'], answers[4]
    screen = run([SEEP, 'top', '--once', '--sysroot', root, address]).out.decode()
    assert 'held' in screen and re.search(r'live 13.4K .*blocks 20 ', screen) and 'lose:' in screen, screen
    served.send_signal(signal.SIGTERM)
    served.communicate(timeout=harness.TIMEOUT)
    program.stdin.close()
    assert program.wait(timeout=harness.TIMEOUT) == 5
    assert program.stderr.read() == b''
    assert [path.name for path in (root / 'tmp').iterdir()] == ['seep-0']  # the folder of sockets
    program.stdout.close(), program.stderr.close()


@pytest.mark.parametrize('name', ['header_lengths.c', 'objects_private.c'])
def test_a_scan_knows_headers_and_objects_as_that_of_seep(name, agent, tmp_path):
    need('gcc')
    corpus = os.path.join(ROOT, 'tests/corpus')
    assert run(['gcc', '-g', '-O2', f'-I{corpus}', f'{corpus}/{name}', '-o', 'program'], cwd=tmp_path).code == 0
    program = subprocess.Popen([agent, 'run', tmp_path / 'program'], stdout=subprocess.PIPE, env=environment())
    served = None
    try:
        pid = program.stdout.readline().split()[1].decode()
        served = subprocess.Popen([agent, 'serve', '--listen', f'unix:{tmp_path}/s', pid], stdout=subprocess.PIPE)
        assert served.stdout.readline()
        done = run([SEEP, 'connect', '--json', '-e', 'scan', f'unix:{tmp_path}/s'])
        found = {row['class']: row['blocks'] for row in json.loads(done.out)['rows']}
        leaks = json.loads(run([SEEP, 'scan', '--json', pid]).out)['leaks']
    finally:
        for process in (served, program):
            if process:
                process.terminate()
                process.communicate(timeout=harness.TIMEOUT)
    assert found['reachable'] and all(found.get(kind, 0) == leaks[kind]['blocks'] for kind in ('lost', 'indirect', 'possible', 'reachable')), (found, leaks)


def test_a_root_without_proc(root):
    for make in (lambda: None, (root / 'proc').rmdir):  # it is empty, or not there
        make()
        for words in (['list'], ['serve', '1']):
            done = run(['chroot', root, '/seep-agent', *words])
            assert (done.code, done.out) == (1, b'') and b'mount -t proc' in done.err and done.err.count(b'\n') == 1, done


def test_a_server_starts_a_program_where_dev_null_is_not(root):
    served = subprocess.Popen(enter(root, '/seep-agent', 'serve', '--listen', 'unix:/tmp/s', '--', '/held', '7'), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    assert {served.stdout.readline(), served.stdout.readline()} == {b'unix:/tmp/s\n', b'ready\n'}
    served.send_signal(signal.SIGTERM)
    served.communicate(timeout=harness.TIMEOUT)
    # By a pipe the program has an input that is at its end. Whether it is looked at before it ends is chance.
    for _ in range(12):
        done = run(enter(root, '/seep-agent', 'serve', '--listen', 'stdio', '--', '/held', '7'), input=b'')
        assert done.code == 0 or f'{messages.ENDED_EARLY}, with status 5: ready'.encode() in done.err, done


def test_no_place_for_code(agent, tmp_path):
    # All folders that the library could be written to are not for code: then it is in the memory of the agent.
    if os.getuid():
        pytest.skip('only root mounts')
    (tmp_path / 'held.c').write_text(program_source('agent_held.c'))
    assert run(['gcc', '-g', '-O1', 'held.c', '-o', 'held'], cwd=tmp_path).code == 0
    shutil.copy(agent, tmp_path / 'agent')
    script = ('set -e; mount --make-rprivate /; mount --bind "$1" /mnt; '
              'for f in /run /tmp /dev/shm; do mount -t tmpfs -o noexec none $f; done; exec /mnt/agent run /mnt/held 7')
    done = run(['unshare', '--mount', 'sh', '-c', script, 'sh', tmp_path], env=environment(TMPDIR='/nowhere'), input=b'')
    assert (done.code, done.out, done.err) == (5, b'ready\n', b''), done


def test_a_place_of_another_user(agent, tmp_path):
    """A user who owns the folder, or may rename in it, could put another library there, which would run as root."""
    if os.getuid():
        pytest.skip('files of other users are made by root')
    for owner, mode, used in ((12345, 0o755, False), (12345, 0o777, False), (12345, 0o1777, False), (0, 0o777, False), (0, 0o1777, True)):
        os.chown(tmp_path, owner, owner)
        tmp_path.chmod(mode)
        done = run([agent, 'run', 'sh', '-c', 'echo "$LD_PRELOAD"'], env=environment(TMPDIR=tmp_path))
        assert done.code == 0 and b'libseep.so' in done.out and (os.fsencode(tmp_path) in done.out) == used, done


def test_folders_of_agents_that_were_killed(agent, tmp_path):
    """The next one removes them; not those in use, those of others, links, nor what else is in there."""
    (tmp_path / 'tmp').mkdir()
    there = tmp_path / 'tmp'
    (tmp_path / 'held.c').write_text(program_source('agent_held.c'))
    assert run(['gcc', '-O1', 'held.c', '-o', 'held'], cwd=tmp_path).code == 0
    env = environment(TMPDIR=there)
    killed, used, running = (subprocess.Popen([agent, 'run', tmp_path / 'held'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
                             for _ in range(3))
    folder_of = {}
    for one in (killed, used, running):
        assert one.stdout.readline() == b'ready\n'
        program = next(child for child in children_of(one.pid) if os.readlink(f'/proc/{child}/exe').endswith('/held'))
        with open(f'/proc/{program}/maps') as file:
            folder_of[one] = there / re.search(r'/(seep-agent-\w+)/', file.read())[1]
    for one in (killed, used):
        one.kill()
        one.wait()
    killed.stdin.close()  # its program ends
    harness.wait_until(lambda: not any(str(folder_of[killed].name) in maps for maps in all_maps()), 'the program ends')
    (tmp_path / 'elsewhere').mkdir(mode=0o700)
    (there / 'seep-agent-linked').symlink_to(tmp_path / 'elsewhere')
    (there / 'seep-agent-filled').mkdir(mode=0o700)
    (there / 'seep-agent-filled/mine').write_text('')
    for entry in there.iterdir():
        os.utime(entry, (1, 1), follow_symlinks=False)
    (there / 'seep-agent-recent').mkdir(mode=0o700)
    if not os.getuid():
        (there / 'seep-agent-others').mkdir()
        os.chown(there / 'seep-agent-others', 12345, 12345)
        os.utime(there / 'seep-agent-others', (1, 1))
    before = set(there.glob('seep-agent-*'))
    assert run([agent, 'run', 'true'], env=env).code == 0
    assert before - set(there.glob('seep-agent-*')) == {folder_of[killed]}
    assert (folder_of[used] / 'libseep.so').exists() and (folder_of[running] / 'libseep.so').exists()
    assert (tmp_path / 'elsewhere').is_dir() and (there / 'seep-agent-filled/mine').exists()
    for one in (used, running):
        one.stdin.close()
    assert running.wait(timeout=harness.TIMEOUT) == 5
    for one in (killed, used, running):
        one.stdout.close()


def all_maps():
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/maps', errors='replace') as file:
                yield file.read()
        except OSError:
            pass  # it has ended


def test_words_that_are_none(agent, tmp_path):
    for words in ([], ['nonsense'], ['run'], ['serve'], ['serve', 'x'], ['serve', '--listen'], ['serve', '--port', '1'], ['serve', '1', '2'],
                  ['serve', '--listen', 'tcp:127.0.0.1:0', '1'], ['serve', '--listen', 'file:x', '1'], ['list', 'x']):
        done = run([agent, *words])
        assert done.code == 2 and not done.out and done.err.count(b'\n') == 1 and done.err.startswith(b'seep-agent: '), done
    done = run([agent, 'serve', str(os.getpid())])
    assert done.code == 1 and b'not traced' in done.err and done.err.count(b'\n') == 1, done
    done = run([agent, 'serve', '999999999'])  # the agent needs no trace
    assert done.code == 1 and done.err == f'seep-agent: {messages.NO_PROCESS % 999999999}\n'.encode(), done
    assert run([agent, 'run', '/no/such/program']).code == 127
    assert run([agent, 'run', 'false'], env=environment(PATH='/usr/bin:/bin')).code == 1
    assert b'seep-agent serve' in run([agent, '--help']).out
    assert run([agent, '--version']).out.startswith(b'seep-agent ')
    # It needs no other file, and no loader.
    assert b'INTERP' not in run(['readelf', '-l', agent]).out


def test_a_line_that_is_a_command(agent, shop, tmp_path):  # noqa: F811
    """adb, docker exec, a serial line: what starts the agent there is the link. And ssh to a machine that has the agent only."""
    program = shop()
    blocks = harness.totals(program.pid)[0]['totals']['live_blocks']
    done = run([SEEP, 'connect', '--json', '-e', 'status', f'exec:{agent} serve --listen stdio {program.pid}'])
    assert done.code == 0 and json.loads(done.out)['live_blocks'] == blocks, done
    done = run([SEEP, 'connect', '-e', 'status', 'exec:exit 3'])
    assert done.code == 1 and done.err.count(b'\n') == 1, done
    (tmp_path / 'bin').mkdir()
    (tmp_path / 'bin/ssh').write_text('#!/bin/sh\nfor last; do :; done\nexec env PATH="${0%/*}/there" /bin/sh -c "$last"\n')
    (tmp_path / 'bin/ssh').chmod(0o755)
    (tmp_path / 'bin/there').mkdir()
    os.symlink('/bin/sh', tmp_path / 'bin/there/sh')
    os.symlink(agent, tmp_path / 'bin/there/seep-agent')
    done = run([SEEP, 'connect', '--json', '-e', 'status', f'ssh://board7/{program.pid}'], env=environment(PATH=f'{tmp_path}/bin:/usr/bin:/bin'))
    assert done.code == 0 and json.loads(done.out)['live_blocks'] == blocks, done


@pytest.mark.parametrize('of_agent', [False, True])
def test_a_line_that_broke_goes_on(agent, shop, tmp_path, of_agent):  # noqa: F811
    """Each line starts a process; what they pass on is answered by one server, which is there for the next line, too."""
    program = shop()
    words = [agent if of_agent else SEEP, 'serve', '--listen', 'stdio', str(program.pid)]

    def line():
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(XDG_RUNTIME_DIR=tmp_path))
        return process, wire_client.Client(process.stdout, process.stdin)

    def end(process):
        process.stdin.close()
        assert process.wait(timeout=harness.TIMEOUT) == 0
        process.stdout.close()

    process, client = line()
    first, _ = client.pull()
    process.kill()
    process.wait()
    process.stdin.close(), process.stdout.close()
    program.tell(100, 'churn 7')
    process, observer = line()
    wait_for_a_look(observer)
    end(process)
    process, again = line()
    again.server, again.epoch, again.images = client.server, client.epoch, client.images
    nr_bytes, _ = again.pull()
    assert again.server == client.server and nr_bytes < first, (nr_bytes, first)
    assert figures_of(again) == figures(program.pid)[1]
    end(process)
    path = tmp_path / 'seep' / f'{program.pid}-line.sock'
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    # Nothing of it stays when the program is gone.
    os.kill(program.pid, signal.SIGKILL)
    harness.wait_until(lambda: not path.exists(), 'the server behind the line ends')
