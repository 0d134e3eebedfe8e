# SPDX-License-Identifier: BSD-2-Clause
"""A client of `seep serve`, written from docs/protocol.md alone. It takes no packed frames, so it needs no library."""
import socket
import struct


class ServerError(Exception):
    """What the server said in an Error."""


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def leb(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                assert value < 1 << 64
                return value

    def zig(self):
        value = self.leb()
        return value >> 1 ^ -(value & 1)

    def bytes(self, nr):
        taken = self.data[self.at:self.at + nr]
        assert len(taken) == nr
        self.at += nr
        return taken

    def text(self):
        nr = self.leb()
        return self.bytes(nr - 1).decode('utf-8', 'surrogateescape') if nr else None

    def list(self):
        return [self.leb() for _ in range(self.leb())]

    def more(self):
        return self.at < len(self.data)


def leb(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def text(value):
    data = value.encode()
    return leb(len(data) + 1) + data


def frame(kind, stream, payload, flags=0):
    return struct.pack('<IBBH', len(payload), kind, flags, stream) + payload


def hello(least=1, most=1, takes=0):
    return b'SEEPWIRE' + leb(least) + leb(most) + leb(takes) + text('wire_client.py')


FIGURES = ('allocations', 'allocated_bytes', 'frees', 'freed_bytes', 'temporary', 'peak_bytes', 'size_min', 'size_max')


class Image:
    def __init__(self):
        self.modules, self.nodes, self.sites, self.counters, self.threads = [], [], [], [], []
        self.thread_sites, self.one_thread, self.changes = {}, False, {}

    def of_threads(self):
        """{(site, thread): allocations, bytes, frees, bytes, temporary}"""
        if self.one_thread:
            return {(site, 0): figures[:5] for site, figures in enumerate(self.counters) if figures[0] or figures[2]}
        return self.thread_sites

    def live(self, site):
        figures = self.counters[site]
        return figures[0] - figures[2], figures[1] - figures[3]

    def stack(self, site):
        """(module path, offset), innermost first."""
        node, frames = self.sites[site][0], []
        while node:
            parent, module, _, _, offset = self.nodes[node]
            frames.append((self.modules[module], offset))
            node = parent
        return frames


class Client:
    def __init__(self, stream_in, stream_out, greeting=None):
        self.stream_in, self.stream_out = stream_in, stream_out
        self.server = self.epoch = self.stream = self.received = 0
        self.images, self.look, self.is_asked = {}, {}, False
        self.send(1, greeting if greeting is not None else hello())
        kind, _, payload = self.read()
        assert kind == 1
        reader = Reader(payload)
        assert reader.bytes(8) == b'SEEPWIRE'
        self.versions = reader.leb(), reader.leb()
        reader.leb()
        self.build = reader.text()

    def send(self, kind, payload=b''):
        self.stream_out.write(frame(kind, self.stream, payload))
        self.stream_out.flush()

    def exactly(self, nr):
        data = b''
        while len(data) < nr:
            more = self.stream_in.read(nr - len(data))
            if not more:
                raise EOFError
            data += more
        self.received += nr
        return data

    def read(self):
        nr, kind, flags, stream = struct.unpack('<IBBH', self.exactly(8))
        assert nr <= 1 << 20 and not flags
        payload = self.exactly(nr)
        if kind == 32:
            reader = Reader(payload)
            raise ServerError(reader.leb(), reader.text(), reader.text())
        return kind, stream, payload

    def ask(self, kind, payload=b''):
        self.stream = self.stream + 1 & 0xFFFF
        self.send(kind, payload)
        yield from self.answer()

    def answer(self):
        while True:
            answer, stream, data = self.read()
            assert stream == self.stream
            yield answer, Reader(data)
            if answer == 31:
                return

    # ---- questions ----

    def trace(self, scan=False):
        return b''.join(reader.data for kind, reader in self.ask(4 if scan else 3) if kind == 23)

    def mark(self, name):
        for _ in self.ask(5, text(name)):
            pass

    def top(self, nr):
        return b''.join(reader.data for kind, reader in self.ask(8, leb(nr)) if kind == 23)

    def blocks(self, first, nr, process=0, site=0):
        """How many there are, and (process, address, size, site, age) of those."""
        found, total = [], 0
        for kind, reader in self.ask(9, leb(process) + leb(site) + leb(first) + leb(nr)):
            if kind == 24:
                total = reader.leb()
                while reader.at < len(reader.data):
                    found.append((reader.leb(), reader.leb(), reader.leb(), reader.leb(), reader.zig()))
        return total, found

    def control(self, recording=0, depth=0):
        for kind, reader in self.ask(6, leb(recording) + leb(depth)):
            if kind == 31:
                return reader.leb() == 1

    def begin_pull(self):
        """The question of the next pull() alone."""
        have = b''.join(leb(pid) + leb(start) + leb(len(image.modules)) + leb(len(image.nodes)) + leb(len(image.sites))
                        for (pid, start), image in self.images.items())
        self.stream = self.stream + 1 & 0xFFFF
        self.send(2, leb(self.server) + leb(self.epoch) + leb(len(self.images)) + have)
        self.is_asked = True

    def pull(self):
        before, places, changed = self.received, [], 0
        if not self.is_asked:
            self.begin_pull()
        self.is_asked = False
        for kind, reader in self.answer():
            if kind == 16:
                self.take_look(reader)
            elif kind == 17:
                places.append(self.take_process(reader))
            elif kind == 31:
                self.epoch = reader.leb()
                assert self.epoch == self.look['epoch']
            elif 18 <= kind <= 22:
                image, first = self.images[places[reader.leb()]], reader.leb()
                changed += getattr(self, {18: 'modules', 19: 'nodes', 20: 'sites', 21: 'counters', 22: 'thread_sites'}[kind])(
                    image, first, reader) or 0
        self.server = self.look['server']
        self.images = {place: self.images[place] for place in places}
        self.places = places
        return self.received - before, changed

    # ---- frames ----

    def take_look(self, reader):
        names = ('server', 'epoch', 'ended', 'rss', 'used', 'limit')
        self.look = {name: reader.leb() for name in names}
        self.look['limit_name'] = reader.text()
        self.look.update({name: reader.leb() for name in ('threads', 'untraced', 'processes')})
        assert not reader.more()

    def take_process(self, reader):
        reader.leb()
        key = reader.leb(), reader.leb()
        duration, anew, told = reader.zig(), reader.leb(), reader.leb()
        if anew:
            self.images[key] = Image()
        image = self.images[key]
        image.duration, image.changes = duration, {}
        if not told:
            assert not reader.more()
            return key
        image.ppid, _, image.exit_kind, image.exit_value, _ = reader.leb(), reader.leb(), reader.leb(), reader.zig(), reader.leb()
        image.machine, image.word, image.big = reader.leb(), reader.leb(), reader.leb()
        image.exe = reader.text()
        nr, _ = reader.leb(), reader.leb()
        image.args = [reader.text() for _ in range(nr)]
        image.peak, image.peak_exact, _, image.failed = reader.leb(), reader.leb(), reader.leb(), reader.leb()
        reader.leb(), reader.leb(), reader.leb()
        image.releases, image.size_classes = reader.list(), reader.list()
        image.state, _, image.flags, _, image.sample = (reader.leb() for _ in range(5))
        reader.text()
        image.lost, image.cuts = reader.list(), reader.list()
        image.notes = [(reader.leb(), reader.text()) for _ in range(reader.leb())]
        image.threads = [(reader.leb(), reader.leb(), reader.text(), [reader.leb() for _ in range(4)])
                         for _ in range(reader.leb())]
        assert not reader.more()
        return key

    def modules(self, image, first, reader):
        assert first == len(image.modules)
        while reader.more():
            path = reader.text()
            reader.leb(), reader.leb(), reader.leb(), reader.zig(), reader.zig()
            reader.bytes(reader.leb())
            image.modules.append(path)

    def nodes(self, image, first, reader):
        assert first == len(image.nodes)
        offset = 0
        while reader.more():
            up, what = reader.leb(), reader.leb()
            offset = offset + reader.zig() & (1 << 64) - 1
            parent = len(image.nodes) - up
            assert 0 <= parent and (up or not image.nodes)
            image.nodes.append((parent, what >> 2, what >> 1 & 1, what & 1, offset))

    def sites(self, image, first, reader):
        assert first == len(image.sites)
        node = 0
        while reader.more():
            node += reader.zig()
            assert 0 <= node < len(image.nodes)
            image.sites.append((node, reader.leb()))
            image.counters.append([0] * 8)

    def counters(self, image, differences, reader):
        site = nr = 0
        while reader.more():
            site += reader.leb()
            mask, figures = reader.leb(), image.counters[site]
            before = list(figures)
            for i in range(8):
                if differences:
                    figures[i] = figures[i] + (reader.zig() if mask >> i & 1 else 0) & (1 << 64) - 1
                else:
                    figures[i] = reader.leb() if mask >> i & 1 else 0
            image.changes[site] = [new - old for new, old in zip(figures, before)]
            nr += 1
        return nr

    def thread_sites(self, image, how, reader):
        site = 0
        image.one_thread = how == 2
        if how != 1:
            image.thread_sites = {}
        while reader.more():
            site += reader.leb()
            thread = reader.leb()
            if how == 0:
                image.thread_sites[site, thread] = [reader.leb() for _ in range(5)]
                continue
            whole, thread = thread & 1, thread >> 1
            figures = image.thread_sites.setdefault((site, thread), [0] * 5)
            mask = 0 if whole else reader.leb()
            for i in range(5):
                figures[i] += image.changes[site][i] if whole else reader.zig() if mask >> i & 1 else 0


def connect(path, **more):
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(60)
    link.connect(path)
    stream = link.makefile('rwb')
    client = Client(stream, stream, **more)
    client.link = link
    return client
