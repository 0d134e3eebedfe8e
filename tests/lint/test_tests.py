# SPDX-License-Identifier: BSD-2-Clause
"""Tests that would pass whatever seep does: without an assertion, with one that is always true, with a sleep in place of
a condition. And tests that fail for no fault of seep: Valgrind beside probes."""
import ast
import collections
import os
import re
import signal
import subprocess
import sys

import pytest

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tools"))
import messages  # noqa: E402
import skips  # noqa: E402
import wording  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Sleeps that are part of the test: a kill, another file, or the next message comes that much later.
SLEEPS = {"tests/live/fault_proxy.py": 1, "tests/hostile/test_hostile_kept.py": 1, "tests/hostile/test_kill_recording.py": 2, "tests/live/test_attach.py": 1,
          "tests/live/test_exit_scan.py": 1, "tests/live/test_reachability.py": 1}


class Found:
    """Of all tests in one walk."""

    def __init__(self):
        self.always_true, self.alone, self.tests, self.disturbed, self.sleeps = [], [], [], [], collections.Counter()
        self.calls, self.asserts = collections.defaultdict(set), {"fail", "raises", "check_call"}

    def walk(self, path, node, functions, loop):
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
            self.sleeps[path] += name_of(node.func) == "sleep" and not waits(loop)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            functions = (*functions, node.name)
            if node.name.startswith("test_"):
                self.tests.append((place, node.name))
                given = {argument.arg for argument in node.args.args}
                self.calls[node.name] |= given
                if "undisturbed" not in given and any(map(asks_for_valgrind, ast.walk(node))):
                    self.disturbed.append(place + node.name)
        loop = node if isinstance(node, (ast.For, ast.While)) else loop
        for child in ast.iter_child_nodes(node):
            self.walk(path, child, functions, loop)


def name_of(node):
    """The last word of the called name."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)


def waits(loop):
    """Whether what happens ends the loop, and a deadline where it does not; no number of turns, which is no time."""
    if not isinstance(loop, ast.While) or not asks_the_clock(loop):
        return False
    parts = loop.test.values if isinstance(loop.test, ast.BoolOp) else [loop.test]
    if not all(isinstance(part, ast.Constant) or asks_the_clock(part) for part in parts):
        return True
    return any(isinstance(node, ast.Try) and ends_in(node.body) or isinstance(node, ast.If) and not asks_the_clock(node.test) and ends_in(node.body)
               for node in ast.walk(loop))


def asks_the_clock(tree):
    return any(name_of(getattr(node, "func", None)) in ("monotonic", "monotonic_ns", "time") for node in ast.walk(tree))


def ends_in(body):
    return any(isinstance(node, (ast.Break, ast.Return)) for part in body for node in ast.walk(part))


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
            all_of_them.walk(path, ast.parse(file.read()), (), None)
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
    """A sleep is in a loop that waits for a condition until a deadline, which says what did not come."""
    assert {path: nr for path, nr in found.sleeps.items() if nr} == SLEEPS


@pytest.mark.parametrize("text, does", [
    ("while not done() and monotonic() < end: sleep(1)", True), ("while not done():\n  assert monotonic() < end\n  sleep(1)", True),
    ("while probed < 3 or monotonic() < since: sleep(1)", True), ("while monotonic() < end:\n  if done(): return\n  sleep(1)", True),
    ("while True:\n  try:\n    leave()\n    break\n  except OSError: assert monotonic() < end\n  sleep(1)", True),
    ("while True:\n  if done(): break\n  assert time.monotonic() < end\n  sleep(1)", True),
    ("while not done(): sleep(1)", False), ("while True:\n  if done(): break\n  sleep(1)", False), ("while monotonic() < end: sleep(1)", False),
    ("while True:\n  if monotonic() > end: break\n  sleep(1)", False), ("while True: sleep(1)", False),
    ("for _ in range(9):\n  if done(): return\n  sleep(1)", False), ("for i in range(9): sleep(i)", False)])
def test_what_waits_is_known(text, does):
    assert waits(ast.parse(text).body[0]) == does


def test_valgrind_is_undisturbed(found):
    assert not found.disturbed, found.disturbed


# ---- programs ----

# Lines of programs that a loop writes, as the random ones.
GENERATED = {"tests/lint/test_lint.py": 1, "tests/live/test_behaviour.py": 2, "tests/live/test_counts.py": 1, "tests/live/test_own_malloc.py": 1,
             "tests/oracle/test_oracle.py": 1, "tests/random/batch.py": 3}


def lines_of_c(text):
    return [line for line, literal in wording.literals_of_python(text) if re.search(r'^ *# *include\b *[<"]|\bint main *\(', literal, re.M)]


def test_programs_of_c_are_files():
    """A program in a string has no colours, no compiler that reads it, and no line to go to: tests/programs/small, program_source()."""
    found = {path: lines_of_c(text) for path, text in wording.files("tests/*.py").items() if path != "tests/lint/test_tests.py"}
    assert {path: len(lines) for path, lines in found.items() if lines} == GENERATED, {path: lines for path, lines in found.items() if lines}


@pytest.mark.parametrize("text, nr", [
    ("write('#include <x.h>\\n')", 1), ("source = 'int main(void) { return 0; }'", 1), ("f('static int i;\\nint main() {}')", 1),
    ("source = f'int main(int c, char **v) {{ return {n}; }}'", 1), ("assert 'main (app.c:3)' in text and 'in main()' in text", 0),
    ("grep('#include')", 0)])
def test_a_program_in_a_string_is_found(text, nr):
    assert len(lines_of_c(text)) == nr


# ---- signals ----

def kills_of_c(text):
    """Variables that fork() or clone() sets and kill() gets, without a check for -1: a kill of -1 ends all processes."""
    killed = set(re.findall(r"\bkill\((\w+(?:->\w+)*), [^0]", text)) & set(re.findall(r"(\w+(?:->\w+)*) = (?:[^;=]|[=!<>]=)*\b(?:fork|clone)\(", text))
    return sorted(name for name in killed if not re.search(r"(?<![\w>])%s (?:<|<=|>|>=|!=|==) -?[01]\b(?<!== 0)" % re.escape(name), text))


def test_no_signal_for_a_child_that_was_not_made():
    found = {path: kills_of_c(text) for path, text in wording.files("tests/*.[ch]", "bench/*.[ch]", "src/*.[ch]").items()}
    assert sum(bool(re.search(r"\bkill\(", text)) for text in wording.files("tests/*.[ch]").values()) > 20
    assert not any(found.values()), {path: names for path, names in found.items() if names}


@pytest.mark.parametrize("text, names", [
    ("pid_t pid = fork(); if (pid == 0) child(); kill(pid, SIGKILL);", ["pid"]),
    ("pid_t pid = fork(); if (pid < 0) return 1; kill(pid, SIGKILL);", []), ("pid = fork(); assert_true(pid >= 0); kill(pid, SIGKILL);", []),
    ("a->pid = fork(); kill(a->pid, SIGCONT);", ["a->pid"]), ("a->pid = fork(); if (a->pid > 0) kill(a->pid, SIGCONT);", []),
    ("pid_t pid = way ? fork() : syscall(SYS_clone, 0); kill(pid, 9);", ["pid"]), ("kill(getpid(), 9); pid = fork();", []),
    ("pid = fork(); kill(pid, 0);", []), ("pid_t parent = getpid(), pid = fork(); kill(pid, 9);", ["pid"])])
def test_a_signal_for_a_child_that_was_not_made_is_found(text, names):
    assert kills_of_c(text) == names


@pytest.mark.parametrize("send", [os.kill, os.killpg])
@pytest.mark.parametrize("pid", [0, -1, 1, os.getppid()])
def test_no_test_ends_all_tests(send, pid):
    with pytest.raises(AssertionError):
        send(pid, signal.SIGCONT)


def test_no_test_ends_its_own_group():
    with pytest.raises(AssertionError):
        os.killpg(os.getpgrp(), signal.SIGCONT)


# ---- the wording of messages ----

@pytest.fixture(scope="module")
def said():
    return wording.said_in_tests()


def test_the_wording_of_a_message_is_in_one_place_of_the_tests(said):
    """A new wording is one change in src and one in the tests: here a literal, a name of messages.py, or the golden files."""
    wrong = ["%s:%d is in %s" % (*message, ", ".join("%s:%d" % place for place in sorted(places)))
             for message, places in sorted(said.items()) if len(places) > 1]
    assert len(said) > 300 and not wrong, "\n".join(wrong) + "\nassert the code of a note (report_json.codes), or name it in tests/messages.py"


@pytest.mark.parametrize("name", [name for name in vars(messages) if name.isupper()])
def test_a_named_message_is_in_src_and_used(name):
    for part in " ".join(wording.words(getattr(messages, name))).split("\x01"):
        assert any(" %s " % part.strip() in text for text in wording.texts_of_src()), "no message has these words: " + part
    users = [path for path, text in wording.files("tests/*.py").items() if re.search(r"\bmessages\.%s\b" % name, text)]
    assert users, "no test asks for it"


@pytest.mark.parametrize("literal, message, does", [
    ("cannot write the report here", "%s: cannot write the report here and now", True),
    ("x.seep: cannot write the report", "%s: cannot write the report: %s", True),
    ("cannot write the report at all", "%s: cannot write the report here", False),  # of another message
    ("write the report", "%s: cannot write the report", False),  # three words
    (r"kept 12 blocks of memory from [\d,]+", "kept %d blocks of memory from %s", True)])
def test_a_repeated_wording_is_found(literal, message, does):
    assert bool(wording.matches_of(literal, message)) == does


# What stands for the parts of a reason that a test puts in.
PARTS = ["name", "/usr/name", "/lib/ld-linux.so.2", "/lib/ld-musl-x86_64.so.1", "@duckdb/node-api", "99"]
BY_HAND = ["not with name: name"]  # what make test does not run


def text_of(node):
    """What a test says, with None for each part that is known only when it runs."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    if isinstance(node, ast.JoinedStr):
        return [part for value in node.values for part in text_of(value)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return [part for piece in re.split(r"(%\w)", "".join(map(str, text_of(node.left)))) for part in ([None] if piece.startswith("%") else [piece])]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return text_of(node.left) + text_of(node.right)
    return [None]


def reasons_of(tree):
    """(line, what text_of() says) of each skip."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func) in ("skip", "skipif"):
            given = [word.value for word in node.keywords if word.arg == "reason"] or (node.args[:1] if name_of(node.func) == "skip" else [])
            yield from ((node.lineno, text_of(reason)) for reason in given)


def is_expected(suite, stem, reason, rules):
    said = {"".join(part if word is None else word for word in reason) for part in PARTS}
    return any(rule.reason.fullmatch(one) and (stem in rule.tests.pattern or rule.tests.fullmatch("%s %s::test_x" % (suite, stem)))
               for rule in rules for one in said)


def test_the_reason_of_each_skip_is_expected_on_some_machine():
    """A reason that is not expected fails the whole run on the machine that gives it, which the author does not have."""
    rules = skips.read(os.path.join(ROOT, "tests", "expected_skips.txt"))
    unknown = []
    for folder, _, files in os.walk(os.path.join(ROOT, "tests")):
        for name in files:
            if not name.endswith(".py"):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                tree = ast.parse(file.read())
            for line, reason in reasons_of(tree):
                if any(re.search("[a-z]{3}", word or "") for word in reason) and not is_expected(os.path.basename(folder), name[:-3], reason, rules):
                    unknown.append("%s:%d: %s" % (name, line, "".join(word or "name" for word in reason)))
    assert [one for one in unknown if one.split(": ", 1)[1] not in BY_HAND] == []
