# SPDX-License-Identifier: BSD-2-Clause
"""A link that goes wrong on demand: between a client and a server it passes messages on as they are, late, changed, twice, half, or
not at all. A message is a frame (docs/protocol.md), or a record of a link over a network."""
import socket
import struct
import threading
import time


def read_exactly(link, nr):
    got = b''
    while len(got) < nr:
        more = link.recv(nr - len(got))
        if not more:
            return None
        got += more
    return got


def read_message(link, sealed):
    head = read_exactly(link, 2 if sealed else 8)
    body = head and read_exactly(link, struct.unpack('<H' if sealed else '<I', head[:2 if sealed else 4])[0])
    return None if body is None or head is None else head + body


class Proxy:
    """`fault(number, message)` says of each message of the server's, counted over all links, what is passed on instead: bytes; None
    cuts the link; False keeps it open and passes nothing on any more (half-open)."""

    def __init__(self, path, to, sealed=False, fault=None, delay=0):
        self.to, self.sealed, self.fault, self.delay = to, sealed, fault or (lambda number, message: message), delay
        self.number = self.links = 0
        self.open, self.listener = [], socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self.listener.bind(path or ('127.0.0.1', 0))
        self.listener.listen(8)
        self.address = path or 'tcp:127.0.0.1:%d' % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX if isinstance(self.to, str) else socket.AF_INET)
            try:
                server.connect(self.to)
            except OSError:
                client.close()
                continue
            self.links += 1
            self.open += [client, server]
            threading.Thread(target=self.pass_on, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self.pass_on, args=(server, client, True), daemon=True).start()

    def pass_on(self, source, target, counts):
        try:
            while (message := read_message(source, self.sealed)) is not None:
                if self.delay:
                    time.sleep(self.delay)
                if counts:
                    self.number += 1
                    message = self.fault(self.number, message)
                    if message is None:
                        break
                    if message is False:
                        return
                target.sendall(message)
        except OSError:
            pass
        for link in (source, target):
            try:
                link.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        for link in [self.listener, *self.open]:
            link.close()
