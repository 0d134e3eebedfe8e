# SPDX-License-Identifier: BSD-2-Clause
"""seep serve, by seep's own client and by one that was written from docs/protocol.md: exact figures, reconnecting, wrong bytes."""
import contextlib
import fcntl
import json
import os
import random
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

import pytest

import harness
import messages
import recording
import wire_client
from harness import SEEP, environment, need, root_only, run, status_of
from small_programs import built_program
from test_connect import Console
from test_top import SHOP, shop, terminal  # noqa: F401 (fixtures)


class Server:
    def __init__(self, folder, *arguments, name='s', program=SEEP, before=()):
        self.path = str(folder / name)
        self.process = subprocess.Popen([*before, program, 'serve', '--listen', f'unix:{self.path}', *map(str, arguments)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=folder)
        self.address = self.process.stdout.readline().decode().strip()

    def client(self, **more):
        return wire_client.connect(self.path, **more)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=harness.TIMEOUT)
        assert self.process.returncode == 0 and not err, err
        assert not os.path.exists(self.path)


@pytest.fixture
def serve(tmp_path):
    made = []

    def make(*arguments, **more):
        made.append(Server(tmp_path, *arguments, **more))
        return made[-1]

    yield make
    for server in made:
        server.end()


def wait_for_a_look(observer):
    """Waits until the server has begun a look after this call. It answers questions at nearly the same time from one look."""
    observer.pull()
    first = observer.epoch
    while observer.epoch == first and not observer.look['ended']:
        observer.pull()


def settle(server):
    observer = server.client()
    wait_for_a_look(observer)
    observer.link.close()


def figures(pid):
    """Of each stack and function what the report on this machine says, whatever its names are."""
    process, = harness.report(pid)
    sites = {}
    for site in process['sites']:
        key = tuple((frame['module'], frame['offset']) for frame in site['stack'] if not frame['inlined'])
        sites[key] = tuple(site[name] for name in ('live_blocks', 'live_bytes', 'allocations', 'allocated_bytes', 'frees', 'temporary'))
    return process['totals'], sites


def figures_of(client):
    image = client.images[client.places[0]]
    found = {}
    for site in range(1, len(image.sites)):
        blocks, size = image.live(site)
        figures = image.counters[site]
        if not figures[0] and not figures[2]:  # a report has no line for it
            continue
        key = tuple((os.path.basename(module), offset) for module, offset in image.stack(site))
        found[key] = (blocks, size, figures[0], figures[1], figures[2], figures[4])
    return found


def test_both_clients_have_the_figures_of_the_report(shop, serve):  # noqa: F811
    program = shop()
    server = serve(program.pid)
    client, console = wire_client.connect(server.path), Console(server.address)
    for steps in ([], [1000], ['churn 300', 17], ['lose'], []):
        program.tell(*steps)
        settle(server)
        totals, sites = figures(program.pid)
        client.pull()
        assert figures_of(client) == sites
        status = console.ask('status')
        for name in ('live_bytes', 'live_blocks', 'allocations', 'frees', 'temporary', 'peak_bytes'):
            assert status[name] == totals[name], name
        assert client.images[client.places[0]].peak == totals['peak_bytes']
    console.end()


def test_marks_of_the_session(shop, serve):  # noqa: F811
    """Looks over a link bring no marks of the image; those that the session made it has itself."""
    program = shop()
    server = serve(program.pid)
    console = Console(server.address)
    assert 'done' in console.ask('mark first')
    for name, nr in (('second', 500), ('third', 3)):
        program.tell(nr)
        settle(server)
        assert console.ask('diff')['rows'][0]['since_blocks'] == nr
        console.ask(f'mark {name}')
    assert console.ask('diff first')['rows'][0]['since_blocks'] == 503
    assert console.ask('diff second')['rows'][0]['since_blocks'] == 3
    assert console.ask('diff third')['rows'][0]['since_blocks'] == 0
    assert 'error' in console.ask('diff fourth')
    console.end()


def test_only_who_pulls_waits_while_the_server_rests(shop, serve):  # noqa: F811
    """After a Pull it rests for 20 ms for each other client that has asked lately: 240 ms of 13. Whose latest question was a Pull
    waits for that."""
    server = serve(shop().pid)
    clients = [server.client() for _ in range(13)]
    resting, pulls, asks, *_others = clients

    def waits(question, of):
        for client in of:  # all at once, so that a rest is after many of them
            client.begin_pull()
        for client in of:
            client.pull()
        resting.pull()
        begun = time.monotonic()
        question()
        return time.monotonic() - begun

    others = [client for client in clients if client is not asks]
    assert max(waits(pulls.pull, others) for _ in range(5)) > 0.1
    assert min(waits(lambda: asks.top(1), others) for _ in range(5)) < 0.1
    assert min(waits(lambda: server.client().link.close(), others) for _ in range(5)) < 0.1
    # Those that ask no more are not waited for.
    harness.wait_until(lambda: waits(pulls.pull, []) < 0.1, 'the server rests for two clients')


def test_a_server_without_descriptors_rests_until_it_has_one(shop, serve):  # noqa: F811
    server = serve(shop().pid)
    pid = server.process.pid
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    link = socket.socket(socket.AF_UNIX)
    link.connect(server.path)
    slept = harness.waits_of(pid)
    # A server that asks again and again does not sleep.
    harness.wait_until(lambda: harness.waits_of(pid) > slept + 1, 'the server rests')
    resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
    client = wire_client.Client(link.makefile('rb', 0), link.makefile('wb', 0))
    client.pull()
    assert figures_of(client)
    link.close()


def test_a_look_without_descriptors_is_no_end(shop, serve):  # noqa: F811
    """What the server cannot open it has not seen: it said that the program had ended, and looked no more."""
    server = serve(shop().pid)
    client = server.client()
    client.pull()
    pid, first = server.process.pid, client.epoch
    hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(os.listdir(f'/proc/{pid}/fd')), hard))

    def looks_again():
        client.pull()
        return client.look['ended'] or client.epoch > first

    harness.wait_until(looks_again, 'the server tries to look')
    resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
    wait_for_a_look(client)
    assert not client.look['ended'] and client.look['rss'], client.look
    assert figures_of(client) == figures(client.places[0][0])[1]


def test_many_processes(serve, tmp_path):
    """A client whose Hello does not take many processes has figures of the first 256. The others count as not seen."""
    nr, there = 300, tmp_path / 'there'
    program = built_program('many_children.c', tmp_path)
    with subprocess.Popen([SEEP, 'run', '-q', '-o', tmp_path / 'x.seep', '--', program, str(nr), there], stdin=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env=environment()) as running:
        harness.wait_until(lambda: there.exists() and there.stat().st_size == nr, 'all have allocated')
        pid, = (int(child) for child in Path(f'/proc/{running.pid}/task/{running.pid}/children').read_text().split()
                if os.readlink(f'/proc/{child}/exe') == str(program))
        server = serve(pid)
        new, old = server.client(greeting=wire_client.hello(takes=4)), server.client()
        for client, most in ((new, nr + 1), (old, 256)):
            for _ in range(2):  # all of them, and then what has changed
                client.pull()
                assert (client.look['processes'], client.look['untraced']) == (most, nr + 1 - most)
                assert sum(image.live(site)[1] for image in client.images.values()
                           for site in range(1, len(image.sites))) == 500 * most + 1000 * (most - 1)
            blocks, found = client.blocks(0, 10000)
            assert blocks == len(found) == 2 * most - 1 and max(process for process, *_ in found) == most - 1
        for target in (server.address, pid):  # seep's own client over a link, and its look at processes here
            console = Console(target)
            status = console.ask('status')
            assert (status['processes'], status['unseen_processes']) == (nr + 1, 0), (target, status)
            assert len(console.ask('processes 0')['rows']) == nr + 1
            children = next(row for row in console.ask('sites 0')['rows'] if row['live_blocks'] == nr)
            of_row = console.ask(f'blocks {children["site"]} 0')['rows']
            assert len({block['pid'] for block in of_row}) == nr and {block['size'] for block in of_row} == {1000}
            last = console.ask(f'blocks {children["site"]} 7 {nr - 4}')
            assert (last['rows'], last['more']) == (of_row[-4:], 0)
            assert console.ask(f'blocks {children["site"]} 7')['more'] == nr - 7
            assert 'done' in console.ask('stop')  # all wait together: it took half a second for each process that is idle
            console.end()
        running.stdin.close()


def test_answers_under_a_limit_of_file_sizes(shop, serve):  # noqa: F811
    """Answers are memory files. Soft limits are raised; what the hard one forbids is an error of that question."""
    program = shop()
    hard = [resource.getrlimit(limit)[1] for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)]
    server = serve(program.pid, before=['sh', '-c', 'ulimit -S -f 0; ulimit -S -n 64; exec "$@"', 'sh'])
    client = server.client()
    assert client.top(1)
    pid = server.process.pid
    assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (hard[1], hard[1])
    assert resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, 0)) == (hard[0], hard[0])
    with pytest.raises(wire_client.ServerError):
        client.top(1)
    client.pull()
    assert figures_of(client) == figures(program.pid)[1]


def test_clients_leave_descriptors_for_answers(shop, serve):  # noqa: F811
    server = serve(shop().pid)
    client = server.client()
    pid = server.process.pid
    hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(os.listdir(f'/proc/{pid}/fd')) + 20, hard))
    links = [socket.socket(socket.AF_UNIX) for _ in range(30)]
    for link in links:
        link.connect(server.path)
    for _ in range(2 * len(links)):  # the server takes one of them before each answer
        assert client.top(1)
    for link in links:
        link.close()


def test_a_socket_that_begins_is_not_deserted(shop, tmp_path):  # noqa: F811
    """Of two servers that begin at the same time at one path, one listens."""
    need('strace')
    program = shop()
    path = tmp_path / 'both'
    first = subprocess.Popen(['strace', '-o', tmp_path / 'calls', '-f', '-e', 'trace=listen', '-e', 'inject=listen:delay_enter=500000',
                              SEEP, 'serve', '--listen', f'unix:{path}', str(program.pid)], stdout=subprocess.PIPE,
                             env=environment())
    harness.wait_until(path.exists, 'the socket of the first server')
    second = run([SEEP, 'serve', '--listen', f'unix:{path}', program.pid])
    assert second.code == 1 and b'another server does' in second.err, second
    assert first.stdout.readline().decode() == f'unix:{path}\n'
    client = wire_client.connect(str(path))
    client.pull()
    client.link.close()
    os.kill(harness.children_of(first.pid)[0], signal.SIGTERM)
    first.wait(timeout=harness.TIMEOUT)
    first.stdout.close()
    assert not path.exists()


def test_a_folder_without_locks(shop, tmp_path):  # noqa: F811
    """NFS refuses the lock of a folder. The server does not wait for one that never comes, and removes its socket before it stops
    to listen: in between, another server would take the socket for a deserted one."""
    need('strace')
    path, calls = tmp_path / 'socket', tmp_path / 'calls'
    server = subprocess.Popen(['strace', '-o', calls, '-f', '-y', '-e', 'trace=flock,unlink,close', '-e', 'inject=flock:error=EBADF',
                               SEEP, 'serve', '--listen', f'unix:{path}', str(shop().pid)], stdout=subprocess.PIPE,
                              env=environment())
    assert server.stdout.readline().decode() == f'unix:{path}\n'
    os.kill(harness.children_of(server.pid)[0], signal.SIGTERM)
    server.communicate(timeout=harness.TIMEOUT)
    lines = calls.read_text().splitlines()
    assert sum('flock(' in line for line in lines) == 1
    removed = next(i for i, line in enumerate(lines) if 'unlink(' in line and str(path) in line)
    assert not any('close(' in line and 'UNIX-STREAM' in line for line in lines[:removed])


def test_the_socket_of_another_server_stays(shop, serve, tmp_path):  # noqa: F811
    pid = shop().pid
    first = Server(tmp_path, pid)
    os.unlink(first.path)
    second = serve(pid)
    first.process.terminate()
    assert first.process.communicate(timeout=harness.TIMEOUT) == (b'', b'')
    second.client().pull()


def test_another_user_is_told_why(shop):  # noqa: F811
    root_only()
    need('setpriv')
    with tempfile.TemporaryDirectory(prefix='seep', dir='/tmp') as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copy(SEEP, folder / 'seep')
        server = Server(folder, shop().pid)
        answers = []
        for mode in 0o600, 0o666:
            os.chmod(server.path, mode)
            answers.append(run(['setpriv', '--reuid', '65534', '--clear-groups', folder / 'seep', 'connect', '-e', 'status',
                                f'unix:{server.path}'], env=harness.environment_of_others()))
        server.end()
    assert all(done.code == 1 and b'its own user and root' in done.err and done.err.count(b'\n') == 1 for done in answers), answers


def test_a_file_that_is_no_socket_stays(shop, tmp_path):  # noqa: F811
    (tmp_path / 'mine').write_text('mine')
    done = run([SEEP, 'serve', '--listen', f'unix:{tmp_path}/mine', str(shop().pid)])
    assert done.code == 1 and done.err.count(b'\n') == 1 and (tmp_path / 'mine').read_text() == 'mine', done


@pytest.mark.parametrize('name', ['none/socket', 'x' * 120])
def test_a_socket_that_cannot_be_there_has_advice(shop, tmp_path, name):  # noqa: F811
    done = run([SEEP, 'serve', '--listen', f'unix:{tmp_path}/{name}', str(shop().pid)])
    assert done.code and done.err.count(b'\n') == 1 and b'--listen unix:PATH' in done.err, done


def test_only_what_changed_is_sent(shop, serve):  # noqa: F811
    program = shop()
    server = serve(program.pid)
    client = server.client()
    first, nr = client.pull()
    assert nr >= 4
    settle(server)
    nothing, nr = client.pull()
    assert nr == 0 and nothing <= 200 < first
    program.tell('churn 10')  # a new site: by figures
    settle(server)
    client.pull()
    program.tell('churn 10')
    settle(server)
    some, nr = client.pull()
    assert 1 <= nr <= 4 and some < first


def test_what_threads_did_comes_as_changes_too(shop, serve):  # noqa: F811
    program = shop()
    # A server for each: changes are of the look before, and a client can make looks that the other does not see.
    plain, changes = serve(program.pid).client(), serve(program.pid, name='other').client(greeting=wire_client.hello(takes=2))
    told = {plain: [], changes: []}  # forms and bytes

    def note(client):
        take = client.thread_sites
        client.thread_sites = lambda image, how, reader: told[client].append((how, len(reader.data))) or take(image, how, reader)

    note(plain), note(changes)
    for steps in ([], [100, 'churn 7'], ['both'], ['both', 'lose'], [], [3]):
        program.tell(*steps)
        wait_for_a_look(plain)
        wait_for_a_look(changes)
        first, second = (client.images[client.places[0]] for client in (plain, changes))
        assert first.of_threads() == second.of_threads() and len({thread for _, thread in first.of_threads()}) > 1
    assert {how for how, _ in told[plain]} == {0} and {how for how, _ in told[changes]} == {0, 1}
    assert max(nr for how, nr in told[changes] if how == 1) < max(nr for _, nr in told[plain])
    # A client that missed a change gets all items anew.
    changes.epoch -= 2
    program.tell('both')
    wait_for_a_look(plain)
    wait_for_a_look(changes)
    assert first.of_threads() == second.of_threads() and not second.one_thread


def test_a_process_with_one_thread_has_what_its_sites_have(serve):
    server = serve('--', 'sleep', '60')
    plain, changes = wire_client.connect(server.path), wire_client.connect(server.path, greeting=wire_client.hello(takes=2))
    plain.pull()
    harness.wait_until_idle(plain.places[0][0])  # both get what it has allocated when it sleeps
    settle(server)
    plain.pull()
    changes.pull()
    first, second = (client.images[client.places[0]] for client in (plain, changes))
    assert second.one_thread and not second.thread_sites
    assert first.of_threads() == second.of_threads() and len(first.of_threads()) > 2
    os.kill(plain.places[0][0], signal.SIGKILL)


def test_a_link_that_broke_goes_on(shop, serve):  # noqa: F811
    program = shop()
    server = serve(program.pid)
    steady, lost = wire_client.connect(server.path), wire_client.connect(server.path)
    first, _ = lost.pull()
    steady.pull()
    lost.link.close()
    for _ in range(3):
        program.tell(100, 'churn 7')
        settle(server)
        steady.pull()
    again = wire_client.connect(server.path)
    again.server, again.epoch, again.images = lost.server, lost.epoch, lost.images
    settle(server)
    nr_bytes, _ = again.pull()
    steady.pull()
    assert figures_of(again) == figures_of(steady) == figures(program.pid)[1]
    anew = server.client()
    assert nr_bytes < anew.pull()[0]
    assert figures_of(anew) == figures_of(again)
    # Another server knows nothing of that: all is told anew.
    other = wire_client.connect(serve(program.pid, name='t').path)
    other.server, other.epoch, other.images = again.server, again.epoch, dict(again.images)
    other.pull()
    assert figures_of(other) == figures_of(again)


def test_seeps_client_survives_a_server_that_restarts(shop, serve, tmp_path):  # noqa: F811
    program = shop()
    first = Server(tmp_path, program.pid, name='r')
    console = Console(first.address)
    assert console.ask('status')['live_blocks'] == harness.totals(program.pid)[0]['totals']['live_blocks']
    first.end()
    program.tell(50)
    second = serve(program.pid, name='r')
    assert second.address == first.address
    assert console.ask('status')['live_blocks'] == harness.totals(program.pid)[0]['totals']['live_blocks']
    console.end()


def test_traces_scans_and_marks_over_the_link(shop, serve, tmp_path):  # noqa: F811
    program = shop()
    program.tell('lose', 'lose', 5)
    server = serve(program.pid)
    client = wire_client.connect(server.path)
    (tmp_path / 'far.seep').write_bytes(client.trace())
    assert harness.report(tmp_path / 'far.seep')[0]['totals'] == harness.report(program.pid)[0]['totals']
    assert recording.GIVEN in [section.kind for section in recording.all_sections((tmp_path / 'far.seep').read_bytes())]  # for 'seep scan CORE'
    (tmp_path / 'scan.seep').write_bytes(client.trace(scan=True))
    leaks = harness.report(tmp_path / 'scan.seep')[0]['leaks']
    assert leaks['lost']['blocks'] >= 1 and leaks['reachable']['blocks'] >= 12
    client.mark('far')
    program.tell(8)
    assert run([SEEP, 'diff', f'{program.pid}@far', program.pid]).code == 0
    with pytest.raises(wire_client.ServerError):
        client.mark('a@b')
    console = Console(server.address)
    assert console.ask('blocks 1 0')['rows'] or console.ask('blocks')['rows']
    assert {row['class'] for row in console.ask('scan')['rows']} >= {'lost', 'reachable'}
    # It runs, but not for who asks from elsewhere.
    other = run([SEEP, 'connect', '-e', 'whois 0x10', server.address]).out
    assert messages.IN_NO_BLOCK.encode() in other and b'this machine' in other
    assert 'done' in console.ask('mark here')
    program.tell(3)
    settle(server)
    assert console.ask('diff')['rows'][0]['since_blocks'] == 3
    assert 'done' in console.ask(f'save {tmp_path / "saved.seep"}')
    assert harness.report(tmp_path / 'saved.seep')[0]['totals'] == harness.report(program.pid)[0]['totals']
    console.end()


def test_children_exec_and_the_end(shop, serve):  # noqa: F811
    program = shop()
    server = serve(program.pid)
    client = wire_client.connect(server.path)
    program.tell('child')
    harness.wait_until(lambda: client.pull() and len(client.images) == 2, 'the child')
    assert len({pid for pid, _ in client.images}) == 2
    before = client.places[0]
    program.tell('exec')
    harness.wait_until(lambda: client.pull() and client.places[0] != before, 'the new program')
    assert client.places[0][0] == before[0]
    program.tell(77)
    os.kill(program.pid, signal.SIGKILL)
    program.run.stdin.close()
    program.run.wait(timeout=harness.TIMEOUT)
    settle(server)
    client.pull()
    assert client.look['ended']
    assert any(blocks == 77 for blocks, *_ in figures_of(client).values())


def test_a_stalled_client_holds_nothing_up(shop, serve):  # noqa: F811
    program = shop()
    server = serve(program.pid)
    stalled = wire_client.connect(server.path)
    for _ in range(200):  # it asks, and takes no answer
        try:
            stalled.link.settimeout(0.05)
            stalled.link.send(wire_client.frame(3, 1, b''))
        except (socket.timeout, BlockingIOError):
            break
    client = wire_client.connect(server.path)
    program.tell(10)
    settle(server)
    client.pull()
    assert figures_of(client) == figures(program.pid)[1]
    os.kill(server.process.pid, signal.SIGSTOP)
    program.tell(1000)  # and the program waits for no server
    os.kill(server.process.pid, signal.SIGCONT)


def test_a_server_that_accepts_no_connection(tmp_path):
    """The server is stopped, and other clients wait already: the kernel would let the next client wait for ever."""
    path = str(tmp_path / 'server')
    with socket.socket(socket.AF_UNIX) as server, contextlib.ExitStack() as waiting:
        server.bind(path)
        server.listen(0)
        with pytest.raises(BlockingIOError):
            while True:
                link = waiting.enter_context(socket.socket(socket.AF_UNIX))
                link.setblocking(False)
                link.connect(path)
        done = run([SEEP, 'connect', path])
    assert done.code == 1 and b'it is stopped' in done.err, done


def test_stdio_and_ssh(shop, tmp_path):  # noqa: F811
    program = shop()
    process = subprocess.Popen([SEEP, 'serve', '--listen', 'stdio', str(program.pid)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=environment())
    client = wire_client.Client(process.stdout, process.stdin)
    client.pull()
    assert figures_of(client) == figures(program.pid)[1]
    process.stdin.close()
    assert process.wait(timeout=harness.TIMEOUT) == 0
    process.stdout.close()
    # An ssh that goes nowhere else.
    (tmp_path / 'bin').mkdir()
    (tmp_path / 'bin' / 'ssh').write_text('#!/bin/sh\necho "$@" >> "$0.log"\nfor last; do :; done\nexec sh -c "$last"\n')
    (tmp_path / 'bin' / 'ssh').chmod(0o755)
    os.symlink(SEEP, tmp_path / 'bin' / 'seep')
    env = environment(PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin")
    done = run([SEEP, 'connect', '--json', '-e', 'status', f'ssh://me@board7:2222/{program.pid}'], env=env)
    assert done.code == 0 and json.loads(done.out)['live_blocks'] == harness.totals(program.pid)[0]['totals']['live_blocks'], done
    log = (tmp_path / 'bin' / 'ssh.log').read_text()
    assert log.startswith("-T -p 2222 -- me@board7 sh -c '") and f'exec seep serve --listen stdio {program.pid};' in log, log
    (tmp_path / 'bin' / 'ssh').write_text('#!/bin/sh\necho "ssh: connect to host board7 port 22: Connection refused" >&2\nexit 255\n')
    done = run([SEEP, 'connect', '-e', 'status', f'ssh://board7/{program.pid}'], env=env)
    assert done.code == 1 and done.err.endswith(b'(ssh has said why; the other machine needs seep or seep-agent in the PATH that ssh gives)\n'), done
    for address in ('ssh://-oProxyCommand=x/1', 'ssh://host', 'ssh://host/1;x', 'ssh:///1', 'ssh://a b/1', 'ssh://h:x/1'):
        done = run([SEEP, 'connect', '-e', 'status', address], env=env)
        assert done.code == 2 and done.err.count(b'\n') == 1, done


def test_a_command_that_stays_when_its_link_is_closed(shop):  # noqa: F811
    """The command ignores SIGTERM, and does not end by itself."""
    program = shop()
    done = run([SEEP, 'connect', '--json', '-e', 'status',
                f"exec:trap '' TERM; echo $$ >&2; {SEEP} serve --listen stdio {program.pid}; kill -STOP $$"])
    assert done.code == 0 and json.loads(done.out)['pid'] == str(program.pid), done
    assert not os.path.exists(f'/proc/{int(done.err)}')
    done = run([SEEP, 'connect', '-e', 'status', 'exec:true'])
    assert done.code == 1 and b"(the command has to run 'seep serve --listen stdio PID' on its standard streams)" in done.err and done.err.count(b'\n') == 1, done
    done = run([SEEP, 'connect', '-e', 'status', 'exec:cat'])
    assert done.code == 1 and b'it sends a question, not an answer' in done.err and done.err.count(b'\n') == 1, done


def test_the_screen_over_a_link(shop, serve, terminal):  # noqa: F811
    program = shop()
    server = serve(program.pid)
    screen = terminal('-i', '0.1', server.address)
    screen.shows(rf'live-shop {program.pid}  LIVE', r'^>   3\.0M .* 12 .* cache_init:38$')
    program.tell(1000)
    screen.shows(r'^ +625K .* 1,000 .* session_new:31, \w+')
    screen.keys('m', 'far', 'Enter')
    screen.shows('since mark "far"')
    program.tell('lose')
    screen.keys('S')
    screen.shows(r'scanned \d+s ago', r'lost \d')
    os.kill(program.pid, signal.SIGKILL)
    screen.shows('ENDED')
    screen.keys('q')
    screen.shows('left with 0')


def test_the_screen_says_that_its_link_is_gone(shop, serve, tmp_path, terminal):  # noqa: F811
    program = shop()
    first = Server(tmp_path, program.pid, name='r')
    screen = terminal('-i', '0.1', first.address)
    screen.shows(rf'live-shop {program.pid}  LIVE')
    first.end()
    screen.shows(rf'live-shop {program.pid}  NO LINK', '^ cannot connect to ')
    serve(program.pid, name='r')
    screen.shows(rf'live-shop {program.pid}  LIVE', '^ the link is back')
    screen.keys('q')
    screen.shows('left with 0')


def test_the_screen_is_left_while_its_link_is_silent(shop, serve, tmp_path, terminal):  # noqa: F811
    """A look waits for an answer for two minutes, but not when the screen is left."""
    program = shop()
    client = wire_client.connect(serve(program.pid).path)
    frames = [(kind, reader.data) for kind, reader in client.ask(2, b'\0\0\0')]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / 'silent'))
        listener.listen()
        listener.settimeout(harness.TIMEOUT)
        screen = terminal('-i', '0.1', f'unix:{tmp_path}/silent')
        link = listener.accept()[0]
        with link, link.makefile('rwb') as stream:
            def take(kind, *answers):
                nr, asked, _, number = struct.unpack('<IBBH', stream.read(8))
                stream.read(nr)
                assert asked == kind
                for answer in answers:
                    stream.write(wire_client.frame(answer[0], number, answer[1]))
                stream.flush()

            take(1, (1, wire_client.hello()))
            take(8, (32, LEB(3) + TEXT('there is no Top here') + LEB(0)))
            take(2, *frames)
            take(2)
            screen.shows(rf'live-shop {program.pid}  LIVE')
            screen.keys('q')
            screen.shows('left with 0')


def test_it_starts_a_program(tmp_path, serve):
    server = serve('--', SHOP, 'free', '5')
    console = Console(server.address)
    pid = int(console.ask('status')['pid'])
    settle(server)
    assert console.ask('functions')['rows']
    os.kill(pid, signal.SIGKILL)
    console.end()


def test_a_server_ends_with_the_program_that_it_started(serve):
    """Not while a client is connected, nor with --keep. Those servers' programs end first, so that they would end first, too."""
    connected, kept, alone = (serve(*options, '--', 'sleep', '60', name=name)
                              for name, options in (('connected', ()), ('kept', ('--keep',)), ('alone', ())))
    client = connected.client()
    for server in (connected, kept, alone):
        observer = server.client()
        observer.pull()
        pid = observer.places[0][0]
        observer.link.shutdown(socket.SHUT_RDWR)
        os.kill(pid, signal.SIGKILL)
        harness.wait_until(lambda: not os.path.exists(f'/proc/{pid}'), 'the end of the program')
    assert alone.process.wait(timeout=harness.TIMEOUT) == 0 and not os.path.exists(alone.path)
    for one in (client, kept.client()):
        one.pull()
        assert one.look['ended'] and figures_of(one)
        one.link.shutdown(socket.SHUT_RDWR)
    assert connected.process.wait(timeout=harness.TIMEOUT) == 0 and not os.path.exists(connected.path)
    kept.client().pull()


def test_a_program_that_executes_another_at_once(serve):
    for i in range(6):  # about one of these begins while there is no image
        server = serve('--', 'sh', '-c', 'exec sleep 60', name=f's{i}')
        client = wire_client.connect(server.path)
        client.pull()
        assert len(client.places) == 1
        os.kill(client.places[0][0], signal.SIGKILL)


def test_the_socket_is_private(shop, serve, tmp_path):  # noqa: F811
    program = shop()
    server = serve(program.pid)
    assert stat.S_IMODE(os.stat(server.path).st_mode) == 0o600
    done = run([SEEP, 'serve', '--listen', f'unix:{server.path}', program.pid])
    assert done.code == 1 and b'another server' in done.err and done.err.count(b'\n') == 1, done
    # By itself: in a folder of one's own.
    process = subprocess.Popen([SEEP, 'serve', str(program.pid)], stdout=subprocess.PIPE,
                               env=environment(XDG_RUNTIME_DIR=tmp_path))
    address = process.stdout.readline().decode().strip()
    assert address == f'unix:{tmp_path}/seep/{program.pid}.sock'
    assert stat.S_IMODE(os.stat(tmp_path / 'seep').st_mode) == 0o700
    # One that was killed leaves its socket, which the next replaces.
    process.kill()
    process.wait()
    process.stdout.close()
    process = subprocess.Popen([SEEP, 'serve', str(program.pid)], stdout=subprocess.PIPE,
                               env=environment(XDG_RUNTIME_DIR=tmp_path))
    assert process.stdout.readline().decode().strip() == address
    process.terminate()
    assert process.wait() == 0
    process.stdout.close()
    os.chmod(tmp_path / 'seep', 0o777)
    done = run([SEEP, 'serve', program.pid], env=environment(XDG_RUNTIME_DIR=tmp_path))
    assert done.code == 1 and b'not ours alone' in done.err, done


def raw(path):
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(30)
    link.connect(path)
    return link


def until_closed(link):
    got = b''
    try:
        while more := link.recv(65536):
            got += more
    except ConnectionResetError:
        pass
    link.close()
    return got


def test_wrong_bytes_close_the_link_and_nothing_else(shop, serve):  # noqa: F811
    program = shop()
    server = serve(program.pid)
    wrong = [b'GET / HTTP/1.1\r\n\r\n', b'\xff' * 64, struct.pack('<IBBH', 1 << 30, 1, 0, 0),
             wire_client.frame(2, 1, b'\0\0\0'), wire_client.frame(1, 0, b'SEEPWIRF' + b'\0' * 8),
             wire_client.frame(1, 0, b'SEEP'), wire_client.frame(1, 0, wire_client.hello(7, 9)),
             wire_client.frame(1, 0, wire_client.hello(), flags=1),
             wire_client.frame(1, 0, wire_client.hello()) + wire_client.frame(2, 1, b'\0\0\xff\xff\xff\xff\x0f'),
             wire_client.frame(1, 0, wire_client.hello()) + wire_client.frame(2, 1, b'\x80' * 40)]
    for data in wrong:
        link = raw(server.path)
        link.sendall(data)
        if data[0] in b'\xff':
            link.shutdown(socket.SHUT_WR)
        until_closed(link)
    old = raw(server.path)
    old.sendall(wire_client.frame(1, 0, wire_client.hello(7, 9)))
    answer = until_closed(old)
    assert b'SEEPWIRE' in answer and b'versions 7 to 9' in answer
    chance = random.Random(1)
    for _ in range(60):
        link = raw(server.path)
        data = bytearray(wire_client.frame(1, 0, wire_client.hello()) + wire_client.frame(2, 1, b'\0\0\0'))
        for _ in range(chance.randrange(1, 5)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        link.sendall(bytes(data))
        link.shutdown(socket.SHUT_WR)
        until_closed(link)
    client = wire_client.connect(server.path)
    with pytest.raises(wire_client.ServerError):  # a question of another time is answered, and that is all
        list(client.ask(9))
    client.pull()
    assert figures_of(client) == figures(program.pid)[1]


def test_many_questions_take_no_memory(shop, serve, sanitized):  # noqa: F811
    program = shop()
    server = serve(program.pid)
    client = wire_client.connect(server.path)

    def size():
        return int(status_of(server.process.pid, 'VmRSS')), len(os.listdir(f'/proc/{server.process.pid}/fd'))

    for _ in range(300):
        client.pull()
    before = size()
    for _ in range(2000):
        client.pull()
    for _ in range(100):
        wire_client.connect(server.path).link.close()
    client.pull()
    after = size()
    assert after[1] <= before[1] + 1, (before, after)
    if not sanitized:  # AddressSanitizer keeps what was freed
        assert after[0] <= before[0] + 512, (before, after)


def frames_of(data):
    found, at = [], 0
    while at < len(data):
        nr, kind, _, stream = struct.unpack_from('<IBBH', data, at)
        found.append((kind, stream, data[at + 8:at + 8 + nr]))
        at += 8 + nr
    assert at == len(data)
    return found


def ends(data):
    """The streams that got an End, in the order of the Ends."""
    return [stream for kind, stream, _ in frames_of(data) if kind == 31]


MANY = 300
QUESTIONS = wire_client.frame(1, 0, wire_client.hello()) + b''.join(
    wire_client.frame(3, i, b'') if i == 100 else wire_client.frame(9, i, b'\0\0\0\1') for i in range(1, MANY + 1)) + wire_client.frame(3, MANY + 1, b'')


def test_all_questions_of_a_client_that_then_asks_no_more(shop, serve):  # noqa: F811
    """Snapshots are made by another process; the input may end meanwhile."""
    program = shop()
    link = raw(serve(program.pid).path)
    link.sendall(QUESTIONS)
    link.shutdown(socket.SHUT_WR)
    assert ends(until_closed(link)) == list(range(1, MANY + 2))
    done = subprocess.run([SEEP, 'serve', '--listen', 'stdio', str(program.pid)], input=QUESTIONS, stdout=subprocess.PIPE, env=environment(),
                          timeout=harness.TIMEOUT, check=True)
    assert ends(done.stdout) == list(range(1, MANY + 2))


def test_a_line_that_hears_why_the_server_left(shop):  # noqa: F811
    """Even if the client goes on sending and no server reads it."""
    program = shop()
    process = subprocess.Popen([SEEP, 'serve', '--listen', 'stdio', str(program.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=environment())
    try:
        process.stdin.write(wire_client.frame(1, 0, wire_client.hello(7, 9)) + b'x' * 4000000)
        process.stdin.close()
    except BrokenPipeError:
        pass
    assert b'versions 7 to 9' in process.stdout.read()
    process.stdout.close()
    assert process.wait(timeout=harness.TIMEOUT) == 0


def test_a_line_whose_client_takes_nothing_any_more_ends(shop):  # noqa: F811
    program = shop()
    process = subprocess.Popen([SEEP, 'serve', '--listen', 'stdio', str(program.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=environment())
    client = wire_client.Client(process.stdout, process.stdin)
    client.pull()
    process.stdout.close()  # its input stays open
    assert process.wait(timeout=harness.TIMEOUT) == 0
    process.stdin.close()


class Liar:
    """A server that says what it is told to say: the same to each question, or `frames` of the kind of the question."""

    def __init__(self, folder, frames, questions=1):
        self.questions = questions
        self.path = str(folder / 'liar')
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(4)
        self.frames = frames

    def serve(self, process):
        self.listener.settimeout(0.2)
        while process.poll() is None:
            try:
                link, _ = self.listener.accept()
            except socket.timeout:
                continue
            link.settimeout(5)
            try:
                link.recv(4096)
                link.sendall(wire_client.frame(1, 0, wire_client.hello()))
                for _ in range(self.questions):
                    question = link.recv(65536)
                    if len(question) < 8:
                        break
                    stream = struct.unpack('<IBBH', question[:8])[3]
                    for kind, payload, flags in self.frames(question[4]) if callable(self.frames) else self.frames:
                        link.sendall(wire_client.frame(kind, stream, payload, flags))
                link.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            link.close()
        self.listener.close()


LEB, TEXT = wire_client.leb, wire_client.text
LOOK = LEB(5) + LEB(1) + LEB(0) * 4 + LEB(0) + LEB(1) + LEB(0) + LEB(1)
PROCESS = LEB(0) + LEB(7) + LEB(9) + LEB(0) + LEB(1) + LEB(1) + b'\0' * 300
MODULE = LEB(0) * 2 + TEXT('(no module)') + b'\0' * 6
NODE = LEB(0) * 2 + b'\0\0\0'
SITE = LEB(0) * 2 + b'\0\0'


@pytest.mark.parametrize('frames', [
    [(31, LEB(1), 0)],
    [(16, LOOK, 0), (31, LEB(1), 0)],
    [(16, LOOK, 0), (31, LEB(2), 0)],
    [(16, LEB(5) + LEB(1) + LEB(0) * 7 + LEB(1 << 32), 0)],
    [(16, LOOK, 0), (17, PROCESS, 0), (17, PROCESS, 0), (31, LEB(1), 0)],
    [(16, LOOK, 0), (17, PROCESS, 0), (18, MODULE, 0), (19, NODE, 0), (20, SITE + LEB(1998) + LEB(0), 0), (31, LEB(1), 0)],
    [(16, LOOK, 0), (17, PROCESS, 0), (18, MODULE, 0), (19, NODE + LEB(0) * 3, 0), (31, LEB(1), 0)],
    [(16, LOOK, 0), (17, PROCESS, 0), (18, MODULE, 0), (19, NODE, 0), (20, SITE, 0), (21, LEB(0) * 2 + LEB(1 << 31) + LEB(1) + LEB(9), 0)],
    [(16, LOOK, 0), (17, PROCESS, 0), (18, LEB(0) * 2 + LEB((1 << 32) + 1), 0)],
    [(16, LOOK, 0), (18, LEB(3) + LEB(0), 0)],
    [(16, LEB(1 << 30) + b'(\xb5/\xfd', 1)],
    [(16, LEB(1000) + b'no zstd at all', 1)],
    [(16, LOOK, 0)] * 5000,
    [(99, b'x' * 1000000, 0)] * 20,
    [(32, LEB(3) + TEXT('\033[31m no') + LEB(0), 0)],
    [(32, b'', 0)],
])
def test_a_server_that_lies(tmp_path, frames):
    liar = Liar(tmp_path, frames)
    process = subprocess.Popen([SEEP, 'connect', '-e', 'status; sites', f'unix:{liar.path}'], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=environment())
    liar.serve(process)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1 and err.count(b'\n') == 1 and not out and b'\x1b' not in err, (out, err)


def zig(value):
    return LEB(value << 1 if value >= 0 else (-value << 1) - 1)


def lies(frames):
    """(name, kind, payloads) of lies that follow true payloads of that kind."""
    image = wire_client.Image()
    client = wire_client.Client.__new__(wire_client.Client)
    for kind, payload, _ in frames:
        take = {18: client.modules, 19: client.nodes, 20: client.sites}.get(kind)
        if take:
            reader = wire_client.Reader(payload)
            reader.leb()
            take(image, reader.leb(), reader)
    modules, nodes, sites = len(image.modules), len(image.nodes), len(image.sites)
    process = LEB(0)
    yield 'a site out of range', 21, [process + LEB(1) + LEB(sites) + LEB(1) + zig(1)]
    yield 'site 2^40', 21, [process + LEB(1) + LEB(1 << 40) + LEB(1) + zig(1)]
    yield 'allocations that go back', 21, [process + LEB(1) + LEB(1) + LEB(1) + zig(-(1 << 40))]
    yield 'frees that go back', 21, [process + LEB(1) + LEB(1) + LEB(4) + zig(-(1 << 40))]
    yield 'figures that are not there', 21, [process + LEB(1) + LEB(1) + LEB(1 << 9) + zig(1)]
    yield 'a process out of range', 21, [LEB(7) + LEB(1) + LEB(1) + LEB(1) + zig(1)]
    yield 'a site of threads out of range', 22, [process + LEB(0) + LEB(sites) + LEB(0) * 6]
    yield 'a thread out of range', 22, [process + LEB(0) + LEB(1) + LEB(1 << 33) + LEB(0) * 5]
    yield 'a form of threads that is not known', 22, [process + LEB(9)]
    yield 'a name of 2^32 bytes', 18, [process + LEB(modules) + LEB((1 << 32) + 1) + b'x' * 100]
    yield 'a build-id of 2^32 bytes', 18, [process + LEB(modules) + TEXT('m') + b'\0' * 5 + LEB(1 << 32)]
    yield 'a parent that is not there', 19, [process + LEB(nodes) + LEB(nodes + 1) + LEB(0) * 2]
    yield 'a parent that is its own child', 19, [process + LEB(nodes) + LEB(0) + LEB(0) * 2]
    yield 'a module that is not there', 19, [process + LEB(nodes) + LEB(1) + LEB(modules << 2) + LEB(0)]
    yield 'a node that is not there', 20, [process + LEB(sites) + zig(nodes) + LEB(1)]
    yield 'a gap in the sites', 20, [process + LEB(sites + 1) + zig(0) + LEB(1)]
    yield 'endless names', 18, [process + LEB(modules + i) + TEXT('n' * 1000000) + b'\0' * 6 for i in range(3)]
    yield 'endless modules', 18, [process + LEB(modules + 1000 * i) + (TEXT('') + b'\0' * 6) * 1000 for i in range(70)]


def test_lies_after_what_is_true(shop, serve, tmp_path):  # noqa: F811
    """Each lie is added to the answer of a server. Without the lie the client accepts the answer."""
    program = shop()
    client = wire_client.connect(serve(program.pid).path)
    frames = [(kind, reader.data, 0) for kind, reader in client.ask(2, b'\0\0\0')]

    def told(frames):
        liar = Liar(tmp_path, frames, questions=9)
        process = subprocess.Popen([SEEP, 'connect', '-e', 'status; sites', f'unix:{liar.path}'], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment())
        liar.serve(process)
        return process.returncode, *process.communicate(timeout=60)

    _, out, err = told(frames)
    assert b'live-shop' in out, err
    wrong = []
    for what, kind, payloads in lies(frames):
        at = max((i + 1 for i, frame in enumerate(frames) if frame[0] == kind), default=len(frames) - 1)
        code, out, err = told(frames[:at] + [(kind, payload, 0) for payload in payloads] + frames[at:])
        if code != 1 or err.count(b'\n') != 1 or out or b'does not fit' not in err:
            wrong.append((what, code, out[:60], err[:300]))
    assert not wrong, wrong


def test_more_blocks_than_were_asked_for(shop, serve, tmp_path):  # noqa: F811
    program = shop()
    client = wire_client.connect(serve(program.pid).path)
    frames = [(kind, reader.data, 0) for kind, reader in client.ask(2, b'\0\0\0')]
    page = [(24, LEB(1 << 40) + (LEB(0) + LEB(4096) + LEB(8) + LEB(1) + LEB(0)) * 1000, 0)] * 100
    liar = Liar(tmp_path, frames[:-1] + page + frames[-1:], questions=9)
    process = subprocess.Popen([SEEP, 'connect', '--json', '-e', 'blocks 0 5', f'unix:{liar.path}'], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=environment())
    liar.serve(process)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 1 and json.loads(out)['error'] == 'more blocks than were asked for', out


def test_an_answer_to_a_scan_without_a_scan(shop, serve, tmp_path):  # noqa: F811
    """And of a server that never looks again `top --once` has what there is."""
    client = wire_client.connect(serve(shop().pid).path)
    frames = [(kind, reader.data, 0) for kind, reader in client.ask(2, b'\0\0\0')]
    trace = client.trace()
    pieces = [(23, trace[at:at + 100000], 0) for at in range(0, len(trace), 100000)]
    for words, code, told in ((['connect', '-e', 'scan; leaks'], 1, b'has no scan'), (['top', '--once'], 0, b'live-shop')):
        liar = Liar(tmp_path, frames[:-1] + pieces + frames[-1:], questions=9)
        process = subprocess.Popen([SEEP, *words, f'unix:{liar.path}'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        liar.serve(process)
        out, err = process.communicate(timeout=60)
        assert process.returncode == code and told in out and not err, (words, out, err)


def test_a_trace_that_is_larger_than_what_was_told(shop, serve, tmp_path):  # noqa: F811
    client = wire_client.connect(serve(shop().pid).path)
    frames = [(kind, reader.data, 0) for kind, reader in client.ask(2, b'\0\0\0')]
    liar = Liar(tmp_path, lambda kind: frames if kind == 2 else [(23, b'x' * 1000000, 0)] * 70 + [(31, b'', 0)], questions=9)
    process = subprocess.Popen([SEEP, 'connect', '--json', '-e', 'dump', f'unix:{liar.path}'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment())
    liar.serve(process)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 1 and 'more than 64 MiB' in json.loads(out)['error'], out


def test_a_server_that_begins_again_and_again(tmp_path, sanitized):
    """A client drops what an endless answer sent before: 90 MB of other processes take less than 60 MB."""
    told = LEB(9) + LEB(0) + LEB(1) + LEB(1) + b'\0' * 30000
    liar = Liar(tmp_path, (frame for pid in range(3000) for frame in ((16, LOOK, 0), (17, LEB(0) + LEB(pid) + told, 0))))
    limit = [] if sanitized else ['prlimit', '--data=60000000']  # AddressSanitizer needs more
    process = subprocess.Popen([*limit, SEEP, 'connect', '-e', 'status', f'unix:{liar.path}'], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=environment())
    liar.serve(process)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1 and not out and err.count(b'\n') == 1 and b'memory' not in err, err


def test_what_has_most_comes_first(shop, serve, tmp_path):  # noqa: F811
    """A trace of a few sites, and of one for all others: the totals are those of the whole."""
    program = shop()
    program.tell(1000, 'churn 300', 'lose')
    client = wire_client.connect(serve(program.pid).path)
    (tmp_path / 'top.seep').write_bytes(client.top(2))
    first, whole = harness.report(tmp_path / 'top.seep')[0], harness.report(program.pid)[0]
    for name in ('live_bytes', 'live_blocks', 'allocations', 'allocated_bytes', 'frees', 'temporary', 'peak_bytes'):
        assert first['totals'][name] == whole['totals'][name], name
    most = sorted(whole['sites'], key=lambda site: -site['live_bytes'])[:2]
    named = [site for site in first['sites'] if 'the other sites' not in site['stack'][0]['module']]
    assert [site['stack'] for site in sorted(named, key=lambda site: -site['live_bytes'])] == [site['stack'] for site in most]
    assert len(first['sites']) == 3
    for wrong in (b'\0', b'\xe9\7', b''):
        with pytest.raises(wire_client.ServerError):
            list(client.ask(8, wrong))


def test_blocks_come_by_pages(shop, serve):  # noqa: F811
    program = shop()
    program.tell(3000, 'lose')
    server = serve(program.pid)
    client, console = wire_client.connect(server.path), Console(server.address)
    total, page = client.blocks(0, 10000)
    assert total == len(page) == harness.totals(program.pid)[0]['totals']['live_blocks']
    assert page == sorted(page, key=lambda block: (-block[2], block[0], block[1]))
    parts = [block for first in range(0, total, 700) for block in client.blocks(first, 700)[1]]
    assert parts == page
    assert client.blocks(total - 1, 700) == (total, page[-1:]) and client.blocks(total, 700) == (total, [])
    assert client.blocks(0, 0) == (total, [])
    site = next(block[3] for block in page if block[2] == 640)
    nr, sessions = client.blocks(0, 10000, site=site)
    assert nr == len(sessions) == 3000 and {block[2] for block in sessions} == {640}
    assert client.blocks(0, 10, site=1 << 40) == (0, [])
    with pytest.raises(wire_client.ServerError):
        client.blocks(0, 10001)
    for words, rows in ((f'blocks {site} 5 2990', sessions[2990:2995]), ('blocks 0 7', page[:7]), (f'blocks {site} 0', sessions)):
        answer = console.ask(words)
        assert [(row['address'], row['size']) for row in answer['rows']] == [(f'0x{block[1]:x}', block[2]) for block in rows], words
    assert console.ask(f'blocks {site} 5 2990')['more'] == 5
    console.end()


def test_a_question_is_cancelled(shop, serve):  # noqa: F811
    """While an answer is made, and while it is sent; others are answered meanwhile."""
    program = shop()
    program.tell(2000)
    server = serve(program.pid)
    client, other = wire_client.connect(server.path), wire_client.connect(server.path)
    other.pull()
    before = children(server.process.pid)  # that opens files, for as long as the server lives
    for kind, name in ((3, 'snapshot'), (4, 'scan')):
        for _ in range(3):
            client.stream += 1
            client.send(kind, b'')
            client.send(7, b'')  # of that stream
            other.pull()
            try:
                while client.read()[0] != 31:
                    pass
            except wire_client.ServerError as error:  # else it was over
                assert error.args[1] == 'it was interrupted', name
    client.send(7, b'')  # of what is over: nothing comes
    client.pull()
    other.pull()
    assert figures_of(client) == figures_of(other) == figures(program.pid)[1]
    assert children(server.process.pid) == before
    assert status_of(program.pid, 'TracerPid') == '0'


def children(pid):
    with open(f'/proc/{pid}/task/{pid}/children') as file:
        return file.read().split()


def nr_unread(pipe):
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_an_interrupt_ends_a_question_at_the_server_too(shop, serve):  # noqa: F811
    program = shop()
    server = serve(program.pid)
    process = subprocess.Popen([SEEP, 'connect', '--json', '-f', '-', server.address], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=environment())

    def ask(words):
        process.stdin.write(words.encode() + b'\n')
        process.stdin.flush()

    ask('status')
    assert json.loads(process.stdout.readline())['pid'] == str(program.pid)
    before = children(server.process.pid)
    os.kill(server.process.pid, signal.SIGSTOP)  # it is as slow as it can be
    ask('scan')
    harness.wait_until(lambda: nr_unread(process.stdin) == 0, 'the question is read')
    harness.wait_until_idle(process.pid)  # it waits for the server
    process.send_signal(signal.SIGINT)
    harness.wait_until_idle(process.pid)  # it has heard that
    os.kill(server.process.pid, signal.SIGCONT)
    answer = json.loads(process.stdout.readline())
    assert answer['error'] == 'it was interrupted', answer
    ask('status')
    assert json.loads(process.stdout.readline())['pid'] == str(program.pid)
    os.kill(server.process.pid, signal.SIGSTOP)  # it does not even end its answer: then its next client is not greeted
    for words in ('sites', 'threads'):
        ask(words)
        harness.wait_until(lambda: nr_unread(process.stdin) == 0, 'the question is read')
        harness.wait_until_idle(process.pid)
        process.send_signal(signal.SIGINT)
        assert 'does not answer' in json.loads(process.stdout.readline())['error']
    os.kill(server.process.pid, signal.SIGCONT)
    ask('status')
    assert json.loads(process.stdout.readline())['pid'] == str(program.pid)
    process.stdin.close()
    process.wait(timeout=harness.TIMEOUT)
    process.stdout.close()
    assert children(server.process.pid) == before


def test_many_clients_share_looks_and_answers(shop, serve):  # noqa: F811
    program = shop()
    server = serve(program.pid)
    clients = [wire_client.connect(server.path) for _ in range(40)]
    for step in range(4):
        program.tell(10)
        settle(server)
        for client in clients:
            client.begin_pull()
        for client in clients:
            client.pull()
        assert len({client.epoch for client in clients}) == 1
        assert len({client.received for client in clients}) == 1
    expected = figures(program.pid)[1]
    assert all(figures_of(client) == expected for client in clients)


def test_few_clients_share_looks_too(shop, serve):  # noqa: F811
    """A look that is news to a client serves it. Five clients that ask at times of their own cause one look a round, not five."""
    server = serve(shop().pid)
    clients = [server.client() for _ in range(5)]
    for client in clients:
        client.pull()
    epochs = set()
    for _ in range(3):
        for client in clients:
            due = time.monotonic() + 0.06  # a look serves five clients that had it for 50 ms
            harness.wait_until(lambda: time.monotonic() > due, 'the look is old')
            before = client.epoch
            client.pull()
            assert client.epoch > before
            epochs.add(client.epoch)
    assert len(epochs) < 10


def many_sites(serve, tmp_path, nr_sites=28000):
    """A server of a program that has ended with that many sites, and a client that has them. 28,000 are an answer of 1.3 MB."""
    os.mkfifo(tmp_path / 'until')
    server = serve('--', harness.BUILD / 'tests/live/live-many', nr_sites, 1, tmp_path / 'until')
    client = wire_client.connect(server.path)
    client.pull()
    os.close(os.open(tmp_path / 'until', os.O_WRONLY))  # once the program opens it, it ends: the server has seen it
    harness.wait_until(lambda: client.pull() and client.look['ended'], 'the sites are there')
    return server, client


def test_many_clients_that_take_nothing_share_an_answer(serve, tmp_path, sanitized):
    """The unpacked answer has 380 KB. The server has it once, and of each client no frame but the page of its state."""
    server, client = many_sites(serve, tmp_path, 8000)
    clients = [raw(server.path) for _ in range(40)]

    def most():
        return int(status_of(server.process.pid, 'VmHWM'))

    client.pull()
    before = most()
    for stream, link in enumerate(clients, 1):
        link.sendall(wire_client.frame(1, 0, wire_client.hello()) + wire_client.frame(2, stream, b'\0\0\0'))
    harness.wait_until_idle(server.process.pid)
    after = most()
    clients[0].sendall(wire_client.frame(7, 1, b''))  # a frame is begun: it ends, and no other comes
    for link in clients:
        link.shutdown(socket.SHUT_WR)
    cancelled, *answers = (frames_of(until_closed(link)) for link in clients)
    assert [kind for kind, _, _ in cancelled].count(32) == 1 and cancelled[-1][:2] == (32, 1)
    assert [payload for _, _, payload in cancelled[:-1]] == [payload for _, _, payload in answers[0][:len(cancelled) - 1]]
    for stream, answer in enumerate(answers, 2):
        assert {frame[1] for frame in answer[1:]} == {stream} and answer[-1][0] == 31
        assert [payload for _, _, payload in answer] == [payload for _, _, payload in answers[0]]
    nr_bytes = sum(len(payload) + 8 for _, _, payload in answers[0])
    assert nr_bytes > 300000 and len(cancelled) < len(answers[0])
    if not sanitized:  # AddressSanitizer keeps what was freed
        assert (after - before) * 1024 < 2 * nr_bytes + len(clients) * 8192


def asking_for_all(server, takes=0, then=b''):
    """A client that does not read. For clients of other kinds an answer is not shared."""
    link = raw(server.path)
    link.sendall(wire_client.frame(1, 0, wire_client.hello(takes=takes)) + wire_client.frame(2, 1, b'\0\0\0') + then)
    return link


def test_a_long_answer_waits_until_others_are_read(serve, tmp_path):
    """The server keeps two answers of 1.3 MB: the third is made when one of them is read, or not at all."""
    server, _ = many_sites(serve, tmp_path)
    first = asking_for_all(server)
    harness.wait_until(lambda: nr_unread(first) > 100000, 'the first answer is made')
    second = asking_for_all(server, takes=2)
    harness.wait_until(lambda: nr_unread(second) > 100000, 'the second does not wait')
    third, fourth = asking_for_all(server, takes=1), asking_for_all(server, takes=1, then=wire_client.frame(7, 1, b''))
    fourth.shutdown(socket.SHUT_WR)
    assert [frame[:2] for frame in frames_of(until_closed(fourth))][1:] == [(32, 1)]
    assert 0 < nr_unread(third) < 200, 'more than the greeting'
    for link, least in ((first, 1200000), (third, 20000), (second, 1200000)):
        link.shutdown(socket.SHUT_WR)
        assert len(until_closed(link)) > least


def test_a_client_that_goes_while_it_waits_has_no_place(serve, tmp_path):
    """There are 100 places. Also one that has said before that it asks no more is seen to go."""
    server, _ = many_sites(serve, tmp_path)
    held = []
    for takes in (0, 2):
        held.append(asking_for_all(server, takes=takes))
        harness.wait_until(lambda: nr_unread(held[-1]) > 100000, 'the answer is made')
    folder = f'/proc/{server.process.pid}/fd'
    before = len(os.listdir(folder))
    links = [asking_for_all(server, takes=1) for _ in range(4)]
    for link in links:
        harness.wait_until(lambda: nr_unread(link), 'the greeting')
        link.recv(200)
    for link in links[::2]:
        link.shutdown(socket.SHUT_WR)
    harness.wait_until_idle(server.process.pid)
    assert len(os.listdir(folder)) == before + 4
    for link in links:
        link.close()
    harness.wait_until(lambda: len(os.listdir(folder)) == before, 'they are gone')
    for link in held:
        assert nr_unread(link) > 100000
        link.close()


def test_one_slow_client_keeps_no_other_waiting(serve, tmp_path):
    """A client that takes minutes for 1.3 MB is not disconnected, as it would be after ten seconds for one that waits."""
    server, client = many_sites(serve, tmp_path)
    slow = asking_for_all(server)
    harness.wait_until(lambda: nr_unread(slow) > 100000, 'its answer is made')
    client.pull()
    wire_client.connect(server.path, greeting=wire_client.hello(takes=2)).pull()
    slow.shutdown(socket.SHUT_WR)
    assert len(until_closed(slow)) > 1200000


def test_a_client_that_asks_again_and_again_keeps_no_other_from_its_room(serve, tmp_path):
    """The server keeps two answers of 1.3 MB. One client reads none, another reads each and asks for the next, which no other has
    asked for. A third client gets its answer before the next one of these is made."""
    server, _ = many_sites(serve, tmp_path)
    held = asking_for_all(server)
    harness.wait_until(lambda: nr_unread(held) > 100000, 'the first answer is made')
    again = raw(server.path)
    again.sendall(wire_client.frame(1, 0, wire_client.hello()) +
                  b''.join(wire_client.frame(2, i, wire_client.leb(1) + wire_client.leb(i) + b'\0') for i in range(1, 20)))
    harness.wait_until(lambda: nr_unread(again) > 100000, 'the second answer is made')
    waits = asking_for_all(server, takes=1)
    harness.wait_until(lambda: nr_unread(waits), 'the greeting')
    stream = again.makefile('rb')
    nr_answers = 0
    while nr_answers < 3:
        nr, kind, _, _ = struct.unpack('<IBBH', stream.read(8))
        stream.read(nr)
        nr_answers += kind == 31
    assert nr_unread(waits) > 20000
    for link in (held, again, waits):
        link.close()


def test_clients_are_answered_in_turn(shop, serve):  # noqa: F811
    """Each has asked for 15 marks before the server reads. The marks in the image have the order of the answers."""
    program = shop()
    server = serve(program.pid)
    clients = [server.client() for _ in range(2)]
    for client in clients:
        client.pull()
    os.kill(server.process.pid, signal.SIGSTOP)
    harness.wait_until(lambda: harness.state_of(server.process.pid) == 'T', 'the stop')
    for number, client in enumerate(clients):
        for i in range(15):
            client.send(5, wire_client.text(f'{number}.{i}'))
    os.kill(server.process.pid, signal.SIGCONT)
    for client in clients:
        assert {client.read()[0] for _ in range(15)} == {31}
    marks = [one['name'] for one in harness.report(program.pid)[0]['marks']]
    turns = [name.partition('.')[0] for name in marks]
    assert len(turns) == 30 and all(set(turns[i:i + 2]) == {'0', '1'} for i in range(0, 30, 2)), marks


def test_an_answer_to_many_clients_costs_a_wait_for_all_of_them(shop, serve):  # noqa: F811
    server = serve(shop().pid)
    clients = [wire_client.connect(server.path) for _ in range(40)]

    for _ in range(2):  # the first answers are long
        before = harness.waits_of(server.process.pid)
        for client in clients:
            client.begin_pull()
        for client in clients:
            client.pull()
    assert harness.waits_of(server.process.pid) - before < 20
