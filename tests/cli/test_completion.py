# SPDX-License-Identifier: BSD-2-Clause
"""The bash completion, asked as bash asks it; the others at least parse where their shell is here."""
import os
import shutil

import pytest


@pytest.fixture
def complete(build, run, require, tmp_path):
    """complete("seep report --to"): what bash would offer for the last word."""
    script = os.path.join(build, "tools", "seep")

    def ask(line):
        words = line.split(" ")
        quoted = " ".join("'%s'" % word for word in words)
        done = run(require("bash"), "-c", "complete() { :; }; . '%s'; COMP_WORDS=(%s); COMP_CWORD=%d; _seep; "
                   "printf '%%s\\n' \"${COMPREPLY[@]}\"" % (script, quoted, len(words) - 1))
        assert done.returncode == 0 and not done.stderr, done.stderr
        return set(done.stdout.split("\n")) - {""}

    return ask


def test_commands(complete):
    assert complete("seep re") == {"replay", "report"}
    assert {"run", "report", "help"} <= complete("seep ")


def test_options_and_their_values(complete):
    assert complete("seep report --to") == {"--top"}
    assert "allocations" in complete("seep report --sort ")
    assert complete("seep report --by fi") == {"file"}
    assert complete("seep report -s te") == {"temporary"}


def test_traces_are_offered(complete, tmp_path):
    (tmp_path / "a.seep").write_text("")
    (tmp_path / "a.txt").write_text("")
    assert complete("seep report ./a") == {"./a.seep"}


def test_options_after_the_program_are_its_own(complete):
    assert complete("seep run ./app --to") == set()
    assert complete("seep run -o out.seep ./app --to") == set()
    assert complete("seep run -o out.seep --to") == {"--top"}


def test_help_offers_commands(complete):
    assert complete("seep help sn") == {"snap"}


@pytest.mark.parametrize("shell, name", [("bash", "seep"), ("zsh", "_seep"), ("fish", "seep.fish")])
def test_scripts_parse(build, run, shell, name):
    if not shutil.which(shell):
        pytest.skip("%s is not installed" % shell)
    done = run(shell, "-n", os.path.join(build, "tools", name))
    assert done.returncode == 0, done.stderr
