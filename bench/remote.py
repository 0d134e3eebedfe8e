#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the link of `seep serve` costs: bytes by number of sites, processor time by clients, memory of the server, and the
program's throughput beside no server, one that is asked, one that is stopped, one whose client takes nothing, and one that was
killed.

    remote.py --build DIR [--agent FILE] [--sites N...] [--blocks N] [--stall S] [--soak N]

With --agent, that seep-agent is the server, and its size is told.

and, over a link of 1 Mbit/s and 100 ms (there and back 200), until a client has the totals and the first 20 sites, and until it has
all; until a page of 1,000 of so many blocks is there; what so many requests leave behind in the server.

The client is the one of the tests, written from docs/protocol.md; bytes of packed frames are counted as they come.
"""
import argparse
import fcntl
import os
import queue
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

import common
from common import say

sys.path.insert(0, os.path.join(common.ROOT, "tests", "live"))
import wire_client  # noqa: E402

FRESH = 1.5  # seconds; more than SEEP_SERVER_LOOK_MOST_NS (server.h), so the next question gets a new look


class Traced:
    server_program = None  # of the build, where it is not told

    def __init__(self, build, scratch, sites):
        program = os.path.join(scratch, "remote")
        if not os.path.exists(program):
            subprocess.run(["gcc", "-O0", "-g", "-w", "-o", program, os.path.join(common.BENCH, "remote.c"), "-pthread"], check=True)
        self.server = None
        self.run = subprocess.Popen([os.path.join(build, "seep"), "run", "-q", "-o", os.path.join(scratch, "x.seep"), "--", program,
                                     str(sites)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=common.clean_environment())
        try:
            self.begin(build, scratch, sites)
        except BaseException:
            self.end()
            raise

    def begin(self, build, scratch, sites):
        assert self.run.stdout.readline() == b"ready\n"
        self.tell("0")  # the buffer of standard input is a site, too: no pull may see the program without it
        with open(f"/proc/{self.run.pid}/task/{self.run.pid}/children", encoding="ascii") as file:
            self.pid = int(file.read().split()[0])
        self.path = os.path.join(scratch, f"s{sites}")
        self.server = subprocess.Popen([self.server_program or os.path.join(build, "seep"), "serve", "--listen", "unix:" + self.path,
                                        str(self.pid)], stdout=subprocess.PIPE, env=common.clean_environment())
        self.server.stdout.readline()

    def tell(self, text):
        self.run.stdin.write(text.encode() + b"\n")
        self.run.stdin.flush()
        return int(self.run.stdout.readline().split()[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        if self.server:
            self.server.send_signal(signal.SIGCONT)  # a check may have failed while it was stopped
            self.server.terminate()
            self.server.wait()
            self.server.stdout.close()
        self.run.stdin.close()
        self.run.wait()
        self.run.stdout.close()


def processor_time(pid):
    with open(f"/proc/{pid}/schedstat", encoding="utf-8") as file:
        return int(file.read().split()[0]) / 1e9


def high_water(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def packed_bytes(path):
    link = socket.socket(socket.AF_UNIX)
    link.connect(path)
    stream = link.makefile("rwb")
    stream.write(wire_client.frame(1, 0, wire_client.hello(takes=1)) + wire_client.frame(2, 1, b"\0\0\0"))
    stream.flush()
    total = 0
    while True:
        nr, kind, _, _ = struct.unpack("<IBBH", stream.read(8))
        stream.read(nr)
        total += 8 + nr
        if kind == 31:
            link.close()
            return total


def cost(traced, clients, seconds=6):
    """Of clients that ask once a second, each at its own time."""
    links = [wire_client.connect(traced.path, greeting=wire_client.hello(takes=2)) for _ in range(clients)]
    for _ in range(2):
        for link in links:
            link.begin_pull()
        for link in links:
            link.pull()
        time.sleep(FRESH)
    before, begin = processor_time(traced.server.pid), time.monotonic()
    for second in range(seconds):
        for number, link in enumerate(links):
            time.sleep(max(0, begin + second + number / clients - time.monotonic()))
            if second:
                link.pull()
            link.begin_pull()
    time.sleep(max(0, begin + seconds - time.monotonic()))
    used, time_all = processor_time(traced.server.pid) - before, time.monotonic() - begin
    for link in links:
        link.link.close()
    return 100 * used / time_all


def answer_floor(scratch, clients):
    """What the kernel alone takes for the answers, at the wake-ups that the server has with so many clients."""
    program = os.path.join(scratch, "answer_floor")
    subprocess.run(["gcc", "-O2", "-o", program, os.path.join(common.BENCH, "answer_floor.c")], check=True)
    return float(subprocess.run([program, str(clients), str((clients - 1) * 5 // 2), "6"], stdout=subprocess.PIPE, check=True).stdout)


def reconnect(traced):
    """Bytes of the first question after a link that broke, while 1,000 sites changed three times; the figures are those of a client
    that never lost its link."""
    steady, lost = (wire_client.connect(traced.path, greeting=wire_client.hello(takes=2)) for _ in range(2))
    first, _ = lost.pull()
    steady.pull()
    lost.link.close()
    for _ in range(3):
        traced.tell("1000")
        time.sleep(FRESH)
        steady.pull()
    again = wire_client.connect(traced.path, greeting=wire_client.hello(takes=2))
    again.server, again.epoch, again.images = lost.server, lost.epoch, lost.images
    begin = time.monotonic()
    nr_bytes, changed = again.pull()
    took = time.monotonic() - begin
    steady.pull()
    key = again.places[0]
    assert again.images[key].counters == steady.images[key].counters and again.images[key].of_threads() == steady.images[key].of_threads()
    say(f"  after a link that broke: {nr_bytes:,} bytes for {changed:,} sites in {took:.2f} s ({nr_bytes / first:.4f} of the first "
        f"{first:,}); figures as of the client that never lost it")
    for link in (steady, again):
        link.link.close()


def throughput(traced):
    """Pairs of malloc and free in half a second: alone, with a client at 10 Hz, with a server that is stopped."""
    rounds = []
    client = wire_client.connect(traced.path)
    for _ in range(5):
        alone = traced.tell("spin 500")
        traced.run.stdin.write(b"spin 500\n")
        traced.run.stdin.flush()
        for _ in range(4):
            client.pull()
            time.sleep(0.1)
        asked = int(traced.run.stdout.readline().split()[1])
        os.kill(traced.server.pid, signal.SIGSTOP)
        stopped = traced.tell("spin 500")
        os.kill(traced.server.pid, signal.SIGCONT)
        rounds.append((asked / alone, stopped / alone))
    client.link.close()
    return [statistics.median(column) for column in zip(*rounds)]


def stalled(traced, seconds):
    """The same while a client takes nothing of what it asked for, then without a server; alone is before and after the client. In
    pairs a second of the program's processor time, which another program's load changes less; waits are told beside it."""
    def some(nr):
        rates = []
        for _ in range(nr):
            before = processor_time(traced.pid)
            pairs = traced.tell("spin 250")
            rates.append(pairs / (processor_time(traced.pid) - before))
        return rates

    def waits():
        with open(f"/proc/{traced.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt_switches"))

    alone = some(seconds)
    link = socket.socket(socket.AF_UNIX)
    link.connect(traced.path)
    link.sendall(wire_client.frame(1, 0, wire_client.hello()) + wire_client.frame(2, 1, b"\0\0\0") * 100)
    begin, during, before = time.monotonic(), [], waits()
    while time.monotonic() - begin < seconds:
        during += some(4)
    waited = waits() - before
    taken = struct.unpack("I", fcntl.ioctl(link, termios.FIONREAD, b"0000"))[0]
    link.close()
    alone += some(seconds)
    traced.server.kill()
    traced.server.wait()
    without = some(2 * seconds)
    expected = statistics.median(alone)
    say(f"  throughput of the program: client stalled for {seconds} s ({taken:,} bytes unread) {statistics.median(during) / expected:.3f}, "
        f"{waited} waits in {len(during)} commands, "
        f"server killed {statistics.median(without) / expected:.3f} (alone: 1; quartiles {statistics.quantiles(alone)[0] / expected:.3f} to "
        f"{statistics.quantiles(alone)[2] / expected:.3f})")


class SlowLink:
    """Passes on what comes, at so many bytes a second and so much later."""

    RATE, DELAY = 125_000, 0.1

    def __init__(self, path, to):
        self.path, self.to = path, to
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(4)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.to)
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self.pass_on, args=(source, target), daemon=True).start()

    def pass_on(self, source, target):
        late = queue.Queue()
        threading.Thread(target=self.deliver, args=(late, target), daemon=True).start()
        free = time.monotonic()
        while data := source.recv(1460):
            free = max(free, time.monotonic()) + len(data) / self.RATE
            late.put((free + self.DELAY, data))
            time.sleep(max(0, free - time.monotonic()))
        late.put((0, b""))

    @staticmethod
    def deliver(late, target):
        while True:
            when, data = late.get()
            if not data:
                return target.close()
            time.sleep(max(0, when - time.monotonic()))
            target.sendall(data)


def first_screen(traced, scratch):
    slow = SlowLink(os.path.join(scratch, "slow"), traced.path)
    begin = time.monotonic()
    client = wire_client.connect(slow.path)
    nr = len(client.top(20))
    top = time.monotonic() - begin
    client.link.close()
    begin = time.monotonic()
    packed_bytes(slow.path)
    say(f"  1 Mbit/s, 100 ms: totals and 20 sites ({nr:,} bytes) after {top:.2f} s, all after {time.monotonic() - begin:.2f} s")


def pages(build, scratch, blocks):
    with Traced(build, scratch, 1000) as traced:
        traced.tell(f"blocks {blocks}")
        client = wire_client.connect(traced.path)
        begin = time.monotonic()
        client.pull()
        look = time.monotonic() - begin
        total = client.blocks(0, 1)[0]
        times = []
        for first in (0, total // 2, max(total - 1000, 0)):
            begin = time.monotonic()
            assert len(client.blocks(first, 1000)[1]) == min(1000, total - first)
            times.append(time.monotonic() - begin)
        say(f"{total:,} blocks: a look {look:.2f} s; pages of 1,000 at the beginning, middle and end " +
            ", ".join(f"{t:.2f}" for t in times) + " s")
        say(f"  memory of the server at most {high_water(traced.server.pid):,} KiB")


def soak(build, scratch, requests):
    with Traced(build, scratch, 1000) as traced:
        def left():
            with open(f"/proc/{traced.server.pid}/status", encoding="utf-8") as file:
                rss = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
            return rss, len(os.listdir(f"/proc/{traced.server.pid}/fd"))

        def some(nr):
            for i in range(nr // 100):
                client = wire_client.connect(traced.path)
                for _ in range(98):
                    client.pull()
                client.top(5)
                client.blocks(0, 100)
                if i % 20 == 0:
                    client.trace()
                client.link.close()

        some(requests // 10)
        before = left()
        begin = time.monotonic()
        some(requests)
        say(f"{requests:,} requests in {time.monotonic() - begin:.0f} s: server {before[0]:,} KiB and {before[1]} descriptors before, "
            f"{left()[0]:,} KiB and {left()[1]} after")


def unread(build, scratch, sites, packed, clients=99):
    """Memory of a server whose clients ask for all sites and read nothing."""
    with Traced(build, scratch, sites) as traced:
        if packed:
            packed_bytes(traced.path)
        else:
            wire_client.connect(traced.path).pull()
        alone, links = high_water(traced.server.pid), []
        for stream in range(1, clients + 1):
            links.append(socket.socket(socket.AF_UNIX))
            links[-1].connect(traced.path)
            links[-1].sendall(wire_client.frame(1, 0, wire_client.hello(takes=int(packed))) + wire_client.frame(2, stream, b"\0\0\0"))
        time.sleep(2 * FRESH)
        say(f"{sites:,} sites, {'packed' if packed else 'plain'} frames: memory of the server at most {alone:,} KiB with one client, {high_water(traced.server.pid):,} KiB "
            f"with {clients} more that read nothing")


def measure(build, scratch, sites, stall):
    with Traced(build, scratch, sites) as traced:
        client = wire_client.connect(traced.path, greeting=wire_client.hello(takes=2))
        first, _ = client.pull()
        image = client.images[client.places[0]]
        depths = [len(image.stack(site)) for site in range(1, len(image.sites), 1 + len(image.sites) // 1000)]
        say(f"{sites:,} sites, mean depth {statistics.mean(depths):.0f}: first {first:,} bytes, packed {packed_bytes(traced.path):,}")
        time.sleep(FRESH)
        nothing, _ = client.pull()
        traced.tell("1000")  # the line that is read has sites of its own
        time.sleep(FRESH)
        client.pull()
        traced.tell("1000")
        time.sleep(FRESH)
        some, changed = client.pull()
        say(f"  nothing changed: {nothing} bytes; {changed:,} sites changed: {some:,} bytes, {some / max(changed, 1):.1f} each")
        if sites <= 20000:  # 99 clients in Python take their time for what they get first
            costs = ", ".join(f"{clients}: {cost(traced, clients):.2f} %" for clients in (1, 2, 3, 5, 7, 10, 20, 99))
            say(f"  at 1 Hz, of a processor by clients: {costs}; the kernel's part of 99 answers {answer_floor(scratch, 99):.2f} %")
        reconnect(traced)
        first_screen(traced, scratch)
        asked, stopped = throughput(traced)
        say(f"  throughput of the program: asked 10 times a second {asked:.3f}, server stopped {stopped:.3f} (alone: 1)")
        say(f"  memory of the server at most {high_water(traced.server.pid):,} KiB")
        if stall:
            stalled(traced, stall)


def busy(build, scratch, sites, threads=8):
    """Of one client, while threads change the figures of all sites."""
    with Traced(build, scratch, sites) as traced:
        before = cost(traced, 1)
        traced.tell(f"threads {threads}")
        say(f"{sites:,} sites, {threads} threads that change them all: one client at 1 Hz takes {cost(traced, 1):.2f} % of a processor "
            f"(nothing changes: {before:.2f} %)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--agent")
    parser.add_argument("--sites", type=int, nargs="+", default=[1000, 10000, 100000])
    parser.add_argument("--blocks", type=int, default=1_000_000)
    parser.add_argument("--stall", type=int, default=10, help="seconds that a client takes nothing")
    parser.add_argument("--soak", type=int, default=10_000)
    options = parser.parse_args()
    if options.agent:
        Traced.server_program = os.path.abspath(options.agent)
        say(f"{options.agent}: {os.path.getsize(options.agent):,} bytes")
    with tempfile.TemporaryDirectory(prefix="seep-remote-") as scratch:
        for number, sites in enumerate(options.sites):
            folder = os.path.join(scratch, str(number))
            os.mkdir(folder)
            measure(os.path.abspath(options.build), folder, sites, options.stall)
            for packed in (False, True):
                unread(os.path.abspath(options.build), folder, sites, packed)
            if sites <= 20000:
                busy(os.path.abspath(options.build), folder, sites)
        for what, number in ((pages, options.blocks), (soak, options.soak)):
            folder = os.path.join(scratch, what.__name__)
            os.mkdir(folder)
            if number:
                what(os.path.abspath(options.build), folder, number)


if __name__ == "__main__":
    main()
