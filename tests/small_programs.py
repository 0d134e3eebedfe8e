# SPDX-License-Identifier: BSD-2-Clause
"""The sources of tests/programs/small: programs that a test compiles by itself, in its own way. A test may know their lines by
number; so the layout stays as it is, and the two lines at the top, which say so, do not count."""
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "programs" / "small"


def program_source(name):
    return (FOLDER / name).read_text().split("\n", 2)[2]
