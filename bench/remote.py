#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the link of `seep serve` costs: bytes by number of sites, processor time by clients, memory of the server, and the
program's throughput beside no server, one that is asked, and one that is stopped.

    remote.py --build DIR [--sites N...]

The client is the one of the tests, written from docs/protocol.md; bytes of packed frames are counted as they come.
"""
import argparse
import os
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import common
from common import say

sys.path.insert(0, os.path.join(common.ROOT, "tests", "live"))
import wire_client  # noqa: E402

FRESH = 1.5  # seconds until a new look is made, whatever the image is


class Traced:
    def __init__(self, build, scratch, sites):
        program = os.path.join(scratch, "remote")
        if not os.path.exists(program):
            subprocess.run(["gcc", "-O0", "-g", "-w", "-o", program, os.path.join(common.BENCH, "remote.c")], check=True)
        self.run = subprocess.Popen([os.path.join(build, "seep"), "run", "-q", "-o", os.path.join(scratch, "x.seep"), "--", program,
                                     str(sites)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=common.clean_environment())
        assert self.run.stdout.readline() == b"ready\n"
        with open(f"/proc/{self.run.pid}/task/{self.run.pid}/children", encoding="ascii") as file:
            self.pid = int(file.read().split()[0])
        self.path = os.path.join(scratch, f"s{sites}")
        self.server = subprocess.Popen([os.path.join(build, "seep"), "serve", "--listen", "unix:" + self.path, str(self.pid)],
                                       stdout=subprocess.PIPE, env=common.clean_environment())
        self.server.stdout.readline()

    def tell(self, text):
        self.run.stdin.write(text.encode() + b"\n")
        self.run.stdin.flush()
        return int(self.run.stdout.readline().split()[1])

    def end(self):
        self.server.terminate()
        self.server.wait()
        self.server.stdout.close()
        self.run.stdin.close()
        self.run.wait()
        self.run.stdout.close()


def processor_time(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
    links = [wire_client.connect(traced.path) for _ in range(clients)]
    for link in links:
        link.pull()
    before, begin = processor_time(traced.server.pid), time.monotonic()
    for _ in range(seconds):
        for link in links:
            link.pull()
        time.sleep(1)
    used = processor_time(traced.server.pid) - before
    for link in links:
        link.link.close()
    return 100 * used / (time.monotonic() - begin)


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


def measure(build, scratch, sites):
    traced = Traced(build, scratch, sites)
    client = wire_client.connect(traced.path)
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
    say(f"  at 1 Hz: one client {cost(traced, 1):.2f} % of a processor, 99 clients {cost(traced, 99):.2f} %")
    asked, stopped = throughput(traced)
    say(f"  throughput of the program: asked 10 times a second {asked:.3f}, server stopped {stopped:.3f} (alone: 1)")
    say(f"  memory of the server at most {high_water(traced.server.pid):,} KiB")
    traced.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--sites", type=int, nargs="+", default=[1000, 10000, 100000])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="seep-remote-") as scratch:
        for sites in options.sites:
            measure(os.path.abspath(options.build), scratch, sites)


if __name__ == "__main__":
    main()
