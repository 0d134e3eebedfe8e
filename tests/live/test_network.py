# SPDX-License-Identifier: BSD-2-Clause
"""Links over a network, and links that go wrong: who has no key, another key or other bytes gets one line or a closed connection;
whatever happens to a link, the figures afterwards are those of a link that nothing happened to."""
import json
import os
import signal
import socket
import stat
import struct
import subprocess

import pytest

import harness
import noise_link
import wire_client
from fault_proxy import Proxy
from harness import SEEP, environment, run, status_of, wait_until
from test_connect import Console
from test_top import shop  # noqa: F401 (fixture)
from test_wire import Server, figures, figures_of, serve, settle, until_closed  # noqa: F401 (serve: fixture)


def has_network():
    return 'BearSSL' not in run([SEEP, 'serve', '--listen', 'tcp:127.0.0.1:0', '--key', '/nowhere/key', '1']).err.decode()


class Network:
    def __init__(self, folder, pid, program=SEEP):
        self.key = folder / 'key'
        self.process = subprocess.Popen([program, 'serve', '--listen', 'tcp:127.0.0.1:0', '--key', str(self.key), str(pid)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), cwd=folder)
        self.address = self.process.stdout.readline().decode().strip()
        assert self.address, self.process.stderr.read()
        self.port = int(self.address.rsplit(':', 1)[1])

    def client(self):
        link, noise = noise_link.connect(self.port, self.key.read_text().strip())
        client = wire_client.Client(noise, noise)
        client.link = link
        return client

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=harness.TIMEOUT)
        assert self.process.returncode == 0 and (not err or b'made the key' in err), err


@pytest.fixture
def network(tmp_path):
    made = []

    def make(pid):
        made.append(Network(tmp_path, pid))
        return made[-1]

    yield make
    for server in made:
        server.end()


def read_until_end(client):
    """Kinds of the frames of an answer; the last is End or Error (32)."""
    kinds = []
    try:
        while not kinds or kinds[-1] != 31:
            kinds.append(client.read()[0])
    except wire_client.ServerError as error:
        assert error.args[1] == 'it was interrupted'
        kinds.append(32)
    return kinds


def connect(address, key, words='status'):
    options = ['--key', str(key)] if key else []
    return run([SEEP, 'connect', '--json', '-e', words, *options, address])


needs_network = pytest.mark.skipif(not has_network(), reason='seep is built without BearSSL')


@needs_network
def test_two_clients_that_have_the_key(shop, network):  # noqa: F811
    program = shop()
    server = network(program.pid)
    assert stat.S_IMODE(os.stat(server.key).st_mode) == 0o600 and len(server.key.read_text()) == 65
    client = server.client()
    for steps in ([], [1000], ['churn 30', 'lose']):
        program.tell(*steps)
        settle(server)
        client.pull()
        assert figures_of(client) == figures(program.pid)[1]
    done = connect(server.address, server.key, 'status; scan; sites 1')
    assert done.code == 0 and not done.err, done
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert answers[0]['live_blocks'] == harness.totals(program.pid)[0]['totals']['live_blocks'] and len(answers) == 3
    # The key that is there is taken, and no other is made.
    before = server.key.read_text()
    other = network(program.pid)
    assert other.key.read_text() == before and connect(other.address, other.key).code == 0


@needs_network
def test_who_has_not_the_key(shop, network, tmp_path):  # noqa: F811
    program = shop()
    server = network(program.pid)
    others = tmp_path / 'other'
    others.write_text('ab' * 32 + '\n')
    others.chmod(0o600)
    done = connect(server.address, others)
    assert done.code == 1 and b'no server of seep with this key' in done.err and done.err.count(b'\n') == 1, done
    done = connect(server.address, None)
    assert done.code == 2 and b'needs a key' in done.err and done.err.count(b'\n') == 1, done
    for text, mode, why in (('ab' * 32, 0o644, b'others may read'), ('ab' * 31, 0o600, b'64 hexadecimal'), ('xy' * 32, 0o600, b'64 hexadecimal'),
                            ('ab' * 33, 0o600, b'64 hexadecimal')):
        others.write_text(text)
        others.chmod(mode)
        done = connect(server.address, others)
        assert done.code in (1, 2) and why in done.err and done.err.count(b'\n') == 1, done
    for arguments in (['--listen', 'tcp:127.0.0.1:0'], ['--listen', 'tcp:', '--key', 'k'], ['--listen', 'tcp:7777', '--key', 'k'],
                      ['--listen', 'tcp:127.0.0.1:0x', '--key', 'k'], ['--listen', 'tcp::7777', '--key', 'k'], ['--key', 'k']):
        done = run([SEEP, 'serve', *arguments, program.pid], cwd=tmp_path)
        assert done.code == 2 and done.err.count(b'\n') <= 2 and b'seep:' in done.err, done
    # It listens where it was told to, and nowhere else.
    with open(f'/proc/{server.process.pid}/net/tcp') as table:
        lines = [line.split() for line in table if line.split()[3] == '0A' and line.split()[1].endswith(f':{server.port:04X}')]
    assert [line[1] for line in lines] == [f'0100007F:{server.port:04X}']


@needs_network
def test_peers_without_the_key_keep_no_owner_out(shop, network):  # noqa: F811
    """They take all of the 100 places and say nothing. Who comes then takes the place of the one that has been silent for longest."""
    server = network(shop().pid)
    silent = [socket.create_connection(('127.0.0.1', server.port), timeout=30) for _ in range(105)]
    server.client().pull()
    assert [link.recv(1) for link in silent[:6]] == [b''] * 6
    silent[-1].setblocking(False)
    with pytest.raises(BlockingIOError):
        silent[-1].recv(1)
    for link in silent:
        link.close()


@needs_network
def test_bytes_that_are_no_greeting_or_are_changed(shop, network):  # noqa: F811
    program = shop()
    server = network(program.pid)

    def raw(data):
        link = socket.create_connection(('127.0.0.1', server.port), timeout=20)
        try:
            link.sendall(data)
            link.shutdown(socket.SHUT_WR)
        except OSError:  # it has closed it already
            pass
        return until_closed(link)

    for data in (b'', b'\x30', b'GET / HTTP/1.1\r\n\r\n', b'\0\0', b'\x30\0' + bytes(48), b'\x30\0' + bytes(20), b'\xff\xff' + bytes(65535),
                 wire_client.frame(1, 0, wire_client.hello())):
        assert raw(data) == b'', data
    # Each record of a true client, with a bit flipped, or sent again.
    for what in ('flip', 'again', 'cut'):
        client = server.client()
        client.pull()
        noise = client.stream_in
        send = noise.send

        def wrong(record):
            if what == 'flip':
                record = record[:5] + bytes([record[5] ^ 1]) + record[6:]
            elif what == 'cut':
                record = record[:-1]
            send(record)
            if what == 'again':
                send(record)

        noise.send = wrong
        with pytest.raises((EOFError, OSError)):
            client.pull()
            client.pull()
    client = server.client()
    client.pull()
    assert figures_of(client) == figures(program.pid)[1]


@needs_network
def test_a_changed_answer_is_not_believed(shop, network):  # noqa: F811
    program = shop()
    server = network(program.pid)
    for fault in (lambda number, message: message[:20] + bytes([message[20] ^ 1]) + message[21:],
                  lambda number, message: message if number < 3 else message[:20] + bytes([message[20] ^ 1]) + message[21:],
                  lambda number, message: message + message if number == 2 else message,
                  lambda number, message: message if number < 2 else None):
        proxy = Proxy(None, ('127.0.0.1', server.port), sealed=True, fault=fault)
        done = connect(proxy.address, server.key)
        assert done.code in (0, 1) and done.err.count(b'\n') <= 1, done
        if done.code == 0:  # it asked anew
            assert json.loads(done.out)['live_blocks'] == harness.totals(program.pid)[0]['totals']['live_blocks']
        proxy.close()


@pytest.mark.parametrize('at', range(1, 11))
def test_a_link_that_is_cut_at_a_message(shop, serve, tmp_path, at):  # noqa: F811
    """The client connects anew, is told what came since, and then knows what one knows that was never cut."""
    program = shop()
    server = serve(program.pid)
    proxy = Proxy(str(tmp_path / 'proxy'), server.path, fault=lambda number, message: None if number == at else message)
    console = Console(f'unix:{proxy.address}') if at > 1 else None
    if at == 1:
        done = connect(f'unix:{proxy.address}', None)
        assert done.code == 1 and done.err.count(b'\n') == 1, done
    else:
        for steps in ([], [30], ['churn 7'], ['lose', 20]):
            program.tell(*steps)
            settle(server)
            status = console.ask('status')
            assert status['live_blocks'] == harness.totals(program.pid)[0]['totals']['live_blocks']
        console.end()
        assert proxy.links == 2
    proxy.close()


@needs_network
def test_a_question_is_cancelled_within_a_sealed_answer(shop, network):  # noqa: F811
    """While a trace, a scan or figures are on their way in records: the link goes on, and the figures are exact."""
    program = shop()
    program.tell(3000)
    server = network(program.pid)
    client = server.client()
    client.pull()
    for kind, question in ((3, b''), (4, b''), (2, b'\0\0\0')):
        for frames in (0, 1):
            client.stream += 1
            client.send(kind, question)
            for _ in range(frames):
                client.read()
            client.send(7, b'')  # of that stream
            assert read_until_end(client)[-1] in (31, 32)
        client.stream += 1
        client.stream_out.write(wire_client.frame(kind, client.stream, question))
        client.send(7, b'')  # in the record of the question
        assert read_until_end(client)[-1] == 32
    client.send(7, b'')  # of what is over: nothing comes
    program.tell(10)
    settle(server)
    client.pull()
    assert figures_of(client) == figures(program.pid)[1]


def test_a_link_that_returns_needs_no_snapshot(shop, serve, tmp_path):  # noqa: F811
    program = shop()
    program.tell(*[f'churn {i}' for i in range(5)], 10)
    server = serve(program.pid)
    proxy = Proxy(str(tmp_path / 'proxy'), server.path)
    console = Console(f'unix:{proxy.address}')
    console.ask('status')
    proxy.close()
    os.unlink(proxy.address)
    assert 'error' in console.ask('status')
    program.tell(50)
    seen = []
    proxy = Proxy(str(tmp_path / 'proxy'), server.path, fault=lambda number, message: seen.append(message[4]) or message)
    settle(server)
    assert console.ask('status')['live_blocks'] == harness.totals(program.pid)[0]['totals']['live_blocks']
    assert 21 in seen and not {18, 19, 20} & set(seen), seen  # figures: no modules, nodes or sites
    console.end()
    proxy.close()


def test_garbage_and_frames_that_come_again(shop, serve, tmp_path):  # noqa: F811
    program = shop()
    server = serve(program.pid)
    faults = [lambda n, m: b'\xff' * 64 if n == 2 else m, lambda n, m: m + m if n in (3, 6) else m, lambda n, m: m[:-1] if n == 4 else m,
              lambda n, m: m[:8] + bytes(len(m) - 8) if n == 3 else m, lambda n, m: struct.pack('<IBBH', 1 << 30, 21, 0, 1) if n == 5 else m]
    for i, fault in enumerate(faults):
        proxy = Proxy(str(tmp_path / f'proxy{i}'), server.path, fault=fault)
        console = Console(f'unix:{proxy.address}')
        answers = [console.ask('status') for _ in range(3)]
        assert all('error' in answer or answer['pid'] == str(program.pid) for answer in answers), answers
        settle(server)
        assert console.ask('status')['live_blocks'] == harness.totals(program.pid)[0]['totals']['live_blocks']
        console.end()
        proxy.close()


def test_the_program_waits_for_no_half_open_link(shop, serve, tmp_path):  # noqa: F811
    program = shop()
    server = serve(program.pid)
    proxy = Proxy(str(tmp_path / 'proxy'), server.path, fault=lambda number, message: False if number == 3 else message)
    client = subprocess.Popen([SEEP, 'connect', '-e', 'status', f'unix:{proxy.address}'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    other = wire_client.connect(server.path)
    for _ in range(5):
        program.tell(100)
        settle(server)
        other.pull()
    client.send_signal(signal.SIGKILL)
    client.wait()
    settle(server)
    other.pull()
    assert figures_of(other) == figures(program.pid)[1]
    proxy.close()


def test_many_questions_and_many_links_leave_nothing(shop, serve):  # noqa: F811
    """A short soak; bench/remote.py --soak asks 100,000 times."""
    program = shop()
    server = serve(program.pid)

    def size():
        return int(status_of(server.process.pid, 'VmRSS')), len(os.listdir(f'/proc/{server.process.pid}/fd'))

    def some(nr):
        for i in range(nr):
            client = wire_client.connect(server.path)
            for _ in range(20):
                client.pull()
            client.top(5)
            client.blocks(0, 50)
            if i % 5 == 0:
                client.trace()
                client.send(3, b'')  # and leaves
            client.link.close()

    some(20)
    before = size()
    some(200)
    client = wire_client.connect(server.path)
    client.pull()
    client.link.close()
    # What a question needs for its time is given to the system or kept: 0.9 MB more or less.
    wait_until(lambda: size()[0] <= before[0] + 1024 and size()[1] <= before[1] + 1, f'no more than {before}')
