#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the keys of `seep top` cost on a large heap: until the first answer, until all of it is there, the processor time of it;
and the bytes that a refresh writes to a terminal of 80x24 while a hundred sites change.

    top.py --build DIR [--sites N...] [--rounds N] [--link]

With --link it looks through `seep serve`. The answer is complete when nothing came for two seconds. On a machine that has much else
to do the first answer is what counts: it does not wait for the table.
"""
import argparse
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time

import common
import remote
from common import say

ESCAPE, ENTER = "\x1b", "\r"
KEYS = [("a tab", "23415"), ("a sort", "1ssssss"), ("a filter, a letter", ["/"] + list("way3")), ("its end", [ENTER, ESCAPE]),
        ("the tree, and back", "tttt"), ("down and up", "jjkk")]
QUIET = 2


class Screen:
    def __init__(self, build, what):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
            os.execv(os.path.join(build, "seep"), ["seep", "top", *what])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def read(self, quiet, until=None):
        """Bytes, the time of the first and of the last, until nothing came for so long (or for this time in all)."""
        nr, first, last = 0, None, None
        begin = time.monotonic()
        end = begin + (until or quiet)
        while True:
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                return nr, first, last
            nr += len(os.read(self.fd, 65536))
            last = time.monotonic()
            first = first or last
            if not until:
                end = last + quiet

    def processor_time(self):
        return sum(remote.processor_time(f"{self.pid}/task/{task}") for task in os.listdir(f"/proc/{self.pid}/task"))

    def key(self, key):
        """Bytes, milliseconds until the first answer and until all of it, and of processor time. None: nothing on the screen changed."""
        before, begin = self.processor_time(), time.monotonic()
        os.write(self.fd, key.encode())
        nr, first, last = self.read(QUIET)
        if first is None:
            return None
        return nr, 1000 * (first - begin), 1000 * (last - begin), 1000 * (self.processor_time() - before)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        os.kill(self.pid, signal.SIGTERM)
        try:
            while os.read(self.fd, 65536):
                pass
        except OSError:  # the terminal is gone
            pass
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def refreshes(traced, build, what):
    """A refresh a second, while there is something new."""
    with Screen(build, what) as screen:
        screen.read(None, until=4)
        sizes = []
        for _ in range(10):
            traced.tell("100")
            sizes.append(screen.read(None, until=1)[0])
    return sizes


def told(answers):
    """One line of what the keys took; those without an answer are counted."""
    figures = [one for one in answers if one]
    silent = f"{len(answers) - len(figures)} of {len(answers)} keys without an answer"
    if not figures:
        return silent
    nr, first, last, used = (sorted(column) for column in zip(*figures))
    return (f"first answer {statistics.median(first):.0f} ms (at most {first[-1]:.0f}), all {statistics.median(last):.0f} "
            f"({last[-1]:.0f}), processor {statistics.median(used):.0f} ({used[-1]:.0f}), at most {nr[-1]:,} bytes"
            + (f"; {silent}" if len(figures) < len(answers) else ""))


def measure(build, scratch, options, sites):
    with remote.Traced(build, scratch, sites) as traced:
        what = ["unix:" + traced.path if options.link else str(traced.pid)]
        sizes = refreshes(traced, build, what)
        say(f"{sites:,} sites: a refresh writes {statistics.median(sizes):,.0f} bytes to 80x24, at most {max(sizes):,}")
        with Screen(build, ["-i", "60"] + what) as screen:
            screen.read(5)
            for name, keys in KEYS:
                say(f"  {name}: {told([screen.key(key) for _ in range(options.rounds) for key in keys])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--sites", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--link", action="store_true")
    options = parser.parse_args()
    for sites in options.sites:
        with tempfile.TemporaryDirectory(prefix="seep-top-") as scratch:
            measure(os.path.abspath(options.build), scratch, options, sites)


if __name__ == "__main__":
    sys.exit(main())
