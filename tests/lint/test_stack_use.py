# SPDX-License-Identifier: BSD-2-Clause
"""How much stack the hooks need. A signal handler that allocates may have little beside the kernel's frame."""
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from stack_use import MOST_BYTES, Library, hooks_that_need_more  # noqa: E402


@pytest.fixture(scope="module", params=["libseep.so", "libseep-record.so"])
def library(request, build):
    path = os.path.join(build, request.param)
    with open(path, "rb") as file:
        if b"clang version" in file.read():
            pytest.skip("the stack that functions need is counted for gcc")
    try:
        return Library(path)
    except ValueError as error:
        pytest.skip("the stack that functions need is counted for x86-64: %s" % error)


def test_hooks_need_little_stack(library):
    assert not hooks_that_need_more(library, MOST_BYTES)


def test_what_the_unwinder_leaves_is_wiped(library):
    """The wiped memory is as deep as the stack of each function that is called before, because deeper words would stay."""
    wipes = library.place("wipe_stack_below")
    for name in ("seep_rule_in", "seep_starts_function", "seep_module_find"):
        assert library.deepest_by_name(name)[0] <= library.frames[wipes], name
    for name in ("seep_rule_learn", "seep_code_kind"):
        assert wipes in {place for _, place in library.calls[library.place(name)]}, name


def test_what_is_counted(tmp_path, require):
    """A program whose figures are in its source: the frame of each function, one below the other."""
    source = os.path.join(HERE, "..", "programs", "small", "stack_use.c")
    program = str(tmp_path / "stack_use.so")
    subprocess.run([require("gcc"), "-O2", "-shared", "-fPIC", "-o", program, source], check=True)
    try:
        made = Library(program)
    except ValueError as error:
        pytest.skip("the stack that functions need is counted for x86-64: %s" % error)
    total, path = made.deepest_by_name("outer")
    assert [name for name, _ in path if "@" not in name] == ["outer", "middle", "inner"]
    assert 3000 + 500 + 100 <= total <= 3000 + 500 + 100 + 3 * 64
    assert made.deepest_by_name("leaf")[0] >= 100
