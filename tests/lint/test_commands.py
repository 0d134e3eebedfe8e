# SPDX-License-Identifier: BSD-2-Clause
"""Every command of the table has all its parts: help, man page, completion, a test of its own."""
import json
import os
import re

import pytest


@pytest.fixture(scope="module")
def commands(seep):
    """The command table, from the tool itself."""
    import subprocess
    done = subprocess.run([seep, "help", "--dump"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)["commands"]
    assert table
    return table


def options_of(command):
    return [option for group in command["groups"] for option in group["options"]]


def read(root, *path):
    with open(os.path.join(root, *path), encoding="utf-8") as file:
        return file.read()


def page_of(root, command):
    """The man page of a command, with the escaped hyphens of troff as plain ones."""
    name = "seep.1" if command["name"] == "help" else "seep-%s.1" % command["name"]
    path = os.path.join(root, "docs", "man", name)
    assert os.path.exists(path), "docs/man/%s does not exist" % name
    return read(root, "docs", "man", name).replace("\\-", "-")


def test_every_command_has_a_man_page_that_names_its_options(root, commands):
    shared = read(root, "docs", "man", "seep-report.1").replace("\\-", "-")
    troubles = []
    for command in commands:
        page = page_of(root, command)
        # Options of the report are described once, in seep-report(1); a page that points there has them.
        text = page + shared if re.search(r"seep-report", page) else page
        if command["name"] == "check":  # a run with a judgement: its page tells what differs
            text += page_of(root, {"name": "run"})
        troubles += ["seep-%s.1 does not tell of --%s" % (command["name"], option["name"])
                     for option in options_of(command) if "--" + option["name"] not in text]
    assert not troubles, "\n".join(troubles)


def test_man_pages_name_no_option_that_does_not_exist(root, commands):
    known = {"help", "version", "dump"}
    for command in commands:
        known |= {option["name"] for option in options_of(command)}
    troubles = []
    for command in commands:
        # seep(1) shows examples of other commands and programs.
        page = "" if command["name"] == "help" else page_of(root, command).replace("--its-own-option", "")
        for name in re.findall(r"(?<![\w-])--([a-z][a-z-]+)", page):
            if name not in known:
                troubles.append("seep-%s.1 tells of --%s" % (command["name"], name))
    assert not troubles, "\n".join(troubles)


def test_seep_1_lists_every_command(root, commands):
    page = read(root, "docs", "man", "seep.1").replace("\\-", "-")
    for command in commands:
        name = command["name"]
        assert re.search(r"\b%s\b" % re.escape(name), page), "seep.1 does not list seep " + name
        if name != "help":
            assert re.search(r"seep-%s\b.*\n?" % re.escape(name), page), "seep.1 does not point to seep-" + name


def test_completions_know_every_command_and_option(build, commands):
    for name in ("seep", "_seep", "seep.fish"):
        text = read(build, "tools", name)
        for command in commands:
            assert command["name"] in text, "%s does not know seep %s" % (name, command["name"])
            for option in options_of(command):
                assert option["name"] in text, "%s does not know --%s of seep %s" % (name, option["name"], command["name"])


def test_every_command_has_a_cli_test(root, commands):
    folder = os.path.join(root, "tests", "cli")
    tests = "".join(read(root, "tests", "cli", name) for name in os.listdir(folder) if name.endswith(".py"))
    for command in commands:
        assert re.search(r"['\"]%s['\"]" % re.escape(command["name"]), tests), \
            "no test in tests/cli calls seep " + command["name"]


def test_docs_of_attach_name_options_that_help_shows(root, commands):
    text = read(root, "docs", "attach.md")
    shown = {"--" + option["name"] for command in commands for option in options_of(command)}
    of_memleak = {"--stack-storage-size", "--perf-max-stack-depth", "--ebpf"}
    for_developers = set(re.findall(r"`(--[a-z]+)` is an option for developers", text))
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))
    assert named - shown - of_memleak == for_developers == {"--probes"}


def test_every_command_has_examples_that_use_its_own_options(commands):
    for command in commands:
        known = {"--" + option["name"] for option in options_of(command)} | {"--help", "--version", "--"}
        assert command["examples"], "seep %s has no example" % command["name"]
        for example in command["examples"]:
            words = example["line"].split(" -- ")[0].split()
            assert "seep" in words, example
            for word in words[words.index("seep"):]:
                if word.startswith("--"):
                    assert word.split("=")[0] in known, "%s: %s" % (example["line"], word)
