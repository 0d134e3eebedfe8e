# SPDX-License-Identifier: BSD-2-Clause
"""Tests that would pass whatever seep does: without an assertion, with one that is always true, with a sleep in place of
a condition. And tests that fail for no fault of seep: Valgrind beside probes."""
import ast
import collections
import os
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Sleeps that are part of the test: a kill comes that much later.
SLEEPS = {"tests/hostile/test_kill_recording.py": 1}


class Found:
    """Of all tests in one walk."""

    def __init__(self):
        self.always_true, self.alone, self.tests, self.disturbed, self.sleeps = [], [], [], [], collections.Counter()
        self.calls, self.asserts = collections.defaultdict(set), {"fail", "raises", "check_call"}

    def walk(self, path, node, functions, in_loop):
        place = "%s:%d: " % (path, getattr(node, "lineno", 0))
        if isinstance(node, (ast.Assert, ast.Raise)):
            self.asserts.update(functions)
            if isinstance(node, ast.Assert) and is_always_true(node.test):
                self.always_true.append(place + ast.unparse(node)[:100])
        elif isinstance(node, ast.Expr) and isinstance(node.value, (ast.Compare, ast.BoolOp, ast.UnaryOp)):
            self.alone.append(place + ast.unparse(node)[:100])
        elif isinstance(node, ast.Call):
            for function in functions:
                self.calls[function].add(name_of(node.func))
            self.sleeps[path] += name_of(node.func) == "sleep" and not in_loop
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            functions = (*functions, node.name)
            if node.name.startswith("test_"):
                self.tests.append((place, node.name))
                given = {argument.arg for argument in node.args.args}
                self.calls[node.name] |= given
                if "undisturbed" not in given and any(map(asks_for_valgrind, ast.walk(node))):
                    self.disturbed.append(place + node.name)
        in_loop = in_loop or isinstance(node, (ast.For, ast.While))
        for child in ast.iter_child_nodes(node):
            self.walk(path, child, functions, in_loop)


def name_of(node):
    """The last word of the called name."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)


def is_always_true(test):
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(map(is_always_true, test.values))
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.In):
        return isinstance(test.left, ast.Constant) and test.left.value in ("", b"")
    if isinstance(test, (ast.Tuple, ast.Dict)):
        return bool(ast.unparse(test)[1:-1])
    return isinstance(test, (ast.GeneratorExp, ast.Lambda, ast.JoinedStr)) or isinstance(test, ast.Constant) and bool(test.value)


def asks_for_valgrind(node):
    return isinstance(node, ast.Call) and name_of(node.func) in ("need", "require") and \
        any(isinstance(word, ast.Constant) and word.value == "valgrind" for word in node.args)


@pytest.fixture(scope="module")
def found():
    paths = subprocess.run(["git", "ls-files", "tests/*.py"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.decode().split()
    all_of_them = Found()
    for path in paths:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            all_of_them.walk(path, ast.parse(file.read()), (), False)
    assert len(all_of_them.tests) > 1000
    return all_of_them


def test_no_assertion_is_always_true(found):
    assert not found.always_true, "\n".join(found.always_true)


def test_no_comparison_stands_without_assert(found):
    assert not found.alone, "\n".join(found.alone)


def test_every_test_asserts(found):
    """By itself, through a function of tests that it calls, or through a fixture; the names are enough to tell."""
    nr = 0
    while len(found.asserts) > nr:
        found.asserts.discard("run")  # fails only if its command takes too long
        nr = len(found.asserts)
        found.asserts.update(name for name, called in found.calls.items() if name != "run" and called & found.asserts)
    wrong = [place + name for place, name in found.tests if name not in found.asserts]
    assert not wrong, "\n".join(wrong)


def test_sleeps_look_at_something(found):
    """A sleep in a loop waits for a condition, however long a busy machine takes."""
    assert {path: nr for path, nr in found.sleeps.items() if nr} == SLEEPS


def test_valgrind_is_undisturbed(found):
    assert not found.disturbed, found.disturbed
