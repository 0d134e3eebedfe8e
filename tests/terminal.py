# SPDX-License-Identifier: BSD-2-Clause
"""What a program writes to a terminal."""
import fcntl
import os
import pty
import struct
import subprocess
import termios


def read_to_the_end(terminal, wait):
    """What is written to the terminal until all have closed it. `wait` returns when the program has ended.

    Linux may report the end while the last lines are still on their way; the next read gets them."""
    text, is_last = b"", False
    while True:
        try:
            more = os.read(terminal, 65536)
        except OSError:
            more = b""
        text += more
        if more:
            continue
        if is_last:
            return text
        wait()
        is_last = True


def on_terminal(columns, *command, environment, status=0):
    """What the command writes to a terminal of that many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        text = read_to_the_end(ours, process.wait)
    os.close(ours)
    assert process.returncode == status, text
    return text.decode().replace("\r\n", "\n")
