# SPDX-License-Identifier: BSD-2-Clause
"""The sources of tests/programs/small: programs that a test compiles by itself, in its own way. A test may know their lines by
number; so the layout stays as it is, and the two lines at the top, which say so, do not count."""
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "programs" / "small"


def program_source(name):
    return (FOLDER / name).read_text().split("\n", 2)[2]


def built_program(name, folder, *flags):
    """One of C, compiled by gcc into the folder."""
    source = folder / name
    program = source.with_suffix('')
    source.write_text(program_source(name))
    subprocess.run(['gcc', '-w', '-pthread', '-I', FOLDER, *flags, source, '-o', program], check=True)
    return program
