#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Lists what of the pytest tests tests nothing, because no run reaches it.

An `assert` below an `if` or in a loop over an empty list, `all(...)` and `[... if wrong]` of an empty list, and the
second operand of `assert a or b`: all of them pass while seep is wrong. This is a plugin of pytest that counts how often
each is reached, and the command that runs the folders of tests with it, one after the other, and lists those that were
reached by no test:

    tools/never-reached.py [--build build] [--jobs 2] [--counts FOLDER] [tests/live tests/cli/test_run.py ...]

Left out are tests that are skipped on this machine, functions that no test called, how long a loop waits at most, and lines
with a comment `seldom: WHEN`.
A child of fork() that ends by os._exit() counts nothing. Exit status 1 when something was never reached.
"""
import argparse
import ast
import builtins
import collections
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TESTS = os.path.join(ROOT, "tests", "")
COUNTS = "SEEP_REACHED"  # the folder in which each process of pytest leaves its counts

reached = collections.Counter()  # by (file, line, column, kind, function)
skipped = set()                  # (file, name) of tests


# ---- the plugin ----


def reach(key):
    reached[key] += 1
    return True


def value(key, it):
    reached[key] += 1
    return it


def each(key, iterable):
    for item in iterable:
        reached[key] += 1
        yield item


class Counting(ast.NodeTransformer):
    """Adds the counts to one file."""

    def __init__(self, path):
        self.path, self.function, self.in_assert, self.keys = path, [], False, []

    def key(self, node, kind):
        key = (self.path, node.lineno, node.col_offset, kind, ".".join(self.function))
        self.keys.append(key)
        return key

    def call(self, name, node, kind, *arguments):
        key = ast.Tuple([ast.Constant(part) for part in self.key(node, kind)], ast.Load())
        return ast.Call(ast.Name("seep_" + name, ast.Load()), [key, *arguments], [])

    def visit_FunctionDef(self, node):
        self.function.append(node.name)
        self.generic_visit(node)
        has_docstring = ast.get_docstring(node) is not None
        node.body.insert(has_docstring, ast.Expr(self.call("reach", node, "function")))
        self.function.pop()
        return node

    def visit_Assert(self, node):
        self.in_assert = True
        node.test = self.visit(node.test)
        self.in_assert = False
        if "monotonic()" in ast.unparse(node.test):  # the patience of a loop that waits
            return node
        return [ast.Expr(self.call("reach", node, "assert")), node]

    def visit_Call(self, node):
        if getattr(node.func, "id", None) in ("all", "any") and isinstance(node.args[0], ast.GeneratorExp):
            self.count_items(node.args[0])
        return self.generic_visit(node)

    def visit_filter(self, node):
        if node.generators[0].ifs:
            self.count_items(node)
        return self.generic_visit(node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_filter

    def count_items(self, node):
        node.generators[0].iter = self.call("each", node, "list", node.generators[0].iter)

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        if self.in_assert and isinstance(node.op, ast.Or):
            node.values[1:] = [operand if isinstance(operand, ast.Constant) else self.call("value", operand, "operand of or", operand)
                               for operand in node.values[1:]]
        return node


def install():
    from _pytest.assertion import rewrite

    def rewrite_counted(tree, source, module_path=None, config=None):
        if str(module_path).startswith(TESTS):
            Counting(os.path.relpath(module_path, ROOT)).visit(tree)
            ast.fix_missing_locations(tree)
        rewrite_asserts(tree, source, module_path, config)

    rewrite_asserts, rewrite.rewrite_asserts = rewrite.rewrite_asserts, rewrite_counted
    rewrite._read_pyc = lambda *_: None  # what was translated before counts nothing
    # pytest rewrites files of tests alone; those beside them have assertions as well.
    hook, should = rewrite.AssertionRewritingHook, rewrite.AssertionRewritingHook._should_rewrite
    hook._early_rewrite_bailout = lambda *_: False
    hook._should_rewrite = lambda self, name, path, state: path.startswith(TESTS) or should(self, name, path, state)
    builtins.seep_reach, builtins.seep_value, builtins.seep_each = reach, value, each


def pytest_runtest_logreport(report):
    if report.skipped:
        path, _, name = report.nodeid.partition("::")
        skipped.add((path, name.partition("[")[0].replace("::", ".")))


def pytest_sessionfinish():
    with open(os.path.join(os.environ[COUNTS], "%d-%d.json" % (os.getpid(), time.monotonic_ns())), "w", encoding="utf-8") as file:
        json.dump([sorted(reached.items()), sorted(skipped)], file)


if COUNTS in os.environ and __name__ != "__main__":
    sys.dont_write_bytecode = True
    install()


# ---- the command ----


def run(folder, options, counts):
    """Runs the tests of a folder, as make test does."""
    environment = dict(os.environ, SEEP_BUILD=os.path.abspath(options.build), PYTHONDONTWRITEBYTECODE="1", **{COUNTS: counts})
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tools.never-reached",
               "-n", str(options.jobs), "--dist", "loadfile", "--tb=short", folder]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def read(counts):
    """The counts of all processes."""
    for path in glob.glob(os.path.join(counts, "*.json")):
        with open(path, encoding="utf-8") as file:
            items, skips = json.load(file)
        for key, nr in items:
            reached[tuple(key)] += nr
        skipped.update(map(tuple, skips))


def never():
    """(file, line, kind, text) of what no test reached in functions that were called; and how many there are in all."""
    found, nr = [], 0
    for path in sorted({key[0] for key in reached}):
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            text = file.read()
        counting = Counting(path)
        counting.visit(ast.parse(text))
        called = {key[4] for key in counting.keys if key[3] == "function" and reached[key]}
        keys = [key for key in counting.keys if key[3] != "function"]
        nr += len(keys)
        for _, line, _, kind, function in (key for key in keys if not reached[key]):
            here = text.splitlines()[line - 1]
            if function in called | {""} and (path, function) not in skipped and "# seldom" not in here:
                found.append((path, line, kind, here.strip()))
    return found, nr


def main():
    parser = argparse.ArgumentParser(description="List what of the tests no run reaches.")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--counts", help="keep the counts in this folder, and add those that an earlier run left there")
    parser.add_argument("folder", nargs="*", help="default: all that have pytest tests")
    options = parser.parse_args()
    all_of_them = sorted({os.path.dirname(path) for path in glob.glob(os.path.join(ROOT, "tests", "*", "test_*.py"))})
    with tempfile.TemporaryDirectory() as own:
        counts = os.path.abspath(options.counts or own)
        os.makedirs(counts, exist_ok=True)
        for folder in options.folder or all_of_them:
            run(folder, options, counts)
        read(counts)
    found, nr = never()
    for place in found:
        print("%s:%d: %s: %s" % place)
    print("%d of %d asserts, lists and operands were never reached" % (len(found), nr))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
