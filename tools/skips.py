# SPDX-License-Identifier: BSD-2-Clause
"""Holds the tests that were skipped against tests/expected_skips.txt, which says what may be skipped on which machine."""
import collections
import re
import subprocess

Rule = collections.namedtuple("Rule", "command tests reason line")
Skip = collections.namedtuple("Skip", "name reason")  # name: suite and test


def read(path):
    rules = []
    with open(path, encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            if not text.strip() or text.startswith("#"):
                continue
            # A pipe in the command has a space on each side too: the last two fields are what is left.
            command, tests, reason = (part.strip() for part in split(text, number))
            rules.append(Rule(command, re.compile(tests), re.compile(reason, re.S), number))
    return rules


def split(text, number):
    """The fields are parted by ' | '; in commands and alternatives a pipe is part of the field, so the tests field is the one
    that is '.*' or begins with the name of a suite."""
    parts = text.rstrip("\n").split(" | ")
    for i in range(1, len(parts) - 1):
        if re.match(r"(\.\*|\(?(build|unit|fuzz|live|cross|corpus|lint|golden|cli|hostile|oracle|random|web)\b)", parts[i]):
            return " | ".join(parts[:i]), parts[i], " | ".join(parts[i + 1:])
    raise ValueError("expected_skips.txt:%d: three fields are wanted: command | tests | reason" % number)


class Machine:
    """Asks each command once."""

    def __init__(self, environment):
        self.environment, self.answers = environment, {}

    def lacks(self, command, word):
        if word is not None and not re.fullmatch(r"[\w.+-]+", word):
            return False
        key = (command, word if "$1" in command else None)
        if key not in self.answers:
            done = subprocess.run(["sh", "-c", command, "sh", word or ""], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env=self.environment, timeout=60, check=False)
            self.answers[key] = done.returncode != 0
        return self.answers[key]


def check(rules, skips, machine, is_whole):
    """What is wrong, a line each: skips that no rule expects here, and where all tests ran rules that are not needed."""
    wrong, used = [], set()
    for skip in skips:
        name = skip.name[len("sanitized "):] if skip.name.startswith("sanitized ") else skip.name
        for rule in rules:
            match = rule.reason.fullmatch(skip.reason) if rule.tests.fullmatch(name) else None
            if match and machine.lacks(rule.command, match.group(1) if rule.reason.groups else None):
                used.add(rule)
                break
        else:
            wrong.append("%s is skipped, which is not expected here: %s" % (skip.name, skip.reason or "no reason given"))
    for rule in rules:
        if is_whole and rule.command == "false" and rule not in used:
            wrong.append("expected_skips.txt:%d: no test is skipped by it any more: take it out" % rule.line)
    return wrong
