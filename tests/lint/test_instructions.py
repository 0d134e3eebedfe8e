# SPDX-License-Identifier: BSD-2-Clause
"""The hot path does not grow unseen: instructions per operation, against the committed counts."""
import os
import subprocess
import sys

import pytest


def test_no_case_costs_over_three_percent_more_instructions(root, libseep, require, undisturbed):
    require("valgrind")
    # One job: pytest runs several tests at once by itself.
    done = subprocess.run([sys.executable, os.path.join(root, "bench", "instructions.py"), "--jobs", "1", "--build",
                           os.path.dirname(libseep)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300, check=False)
    output = done.stdout.decode("utf-8", "replace")
    if done.returncode == 77:
        pytest.skip(output.strip())
    assert done.returncode == 0, "\n" + output
