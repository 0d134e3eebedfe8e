# SPDX-License-Identifier: BSD-2-Clause
"""Reports keep to the width of the terminal, and lose no word by that."""
import fcntl
import os
import pty
import re
import struct
import termios

import pytest


def on_terminal(columns, *command):
    """What the command writes to a terminal of that many columns, without its colours."""
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        os.execve(command[0], command, {"TERM": "xterm", "LC_ALL": "C.UTF-8", "HOME": "/proc/nonexistent", "NO_COLOR": "1"})
    got = b""
    while True:
        try:
            more = os.read(fd, 65536)
        except OSError:
            break
        if not more:
            break
        got += more
    os.close(fd)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, got
    return got.decode().replace("\r\n", "\n")


def answers(text):
    """The lines of the answers, each with the lines that it goes on in."""
    found = re.findall(r"^(?:leaks|grows|frees|holds|peak|churn) {2,}\S.*(?:\n {9}\S.*)*$", text, re.M)
    assert found, text
    return found


@pytest.mark.parametrize("trace", ["v1-huge.seep", "v1-indexed.seep", "v1-family-cut.seep"])
def test_answers_are_wrapped(root, seep, trace):
    path = os.path.join(root, "tests", "golden", trace)
    narrow, wide = (answers(on_terminal(columns, str(seep), "report", path)) for columns in (80, 400))
    assert [re.sub(r"\s+", " ", answer) for answer in narrow] == [re.sub(r"\s+", " ", answer) for answer in wide]
    lines = [line for answer in narrow for line in answer.split("\n")]
    # A word alone may be wider.
    assert all(len(line) <= 80 or " " not in line.strip() for line in lines), lines
    if trace == "v1-huge.seep":
        assert len(lines) > len(narrow)


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize("words", [["report", "v1-huge.seep"], ["report", "--by", "function", "v1-family-cut.seep"],
                                   ["diff", "v1-huge.seep", "v1-family-cut.seep"]])
def test_every_line_fits(root, seep, columns, words):
    words = [os.path.join(root, "tests", "golden", word) if word.endswith(".seep") else word for word in words]
    narrow, wide = (on_terminal(width, str(seep), *words) for width in (columns, 4000))
    assert narrow.split() == wide.split()
    # A word alone may be wider, and what comes next is there to be copied.
    over = [line for line in narrow.split("\n") if len(line) > columns and " " in line.strip() and not line.startswith("next:")]
    assert not over
    assert any(len(line) > columns for line in wide.split("\n"))
