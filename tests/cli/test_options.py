# SPDX-License-Identifier: BSD-2-Clause
"""The command line: wrong use is exit 2 and one line that names the thing and the nearest right one."""
import collections
import itertools
import json
import os
import pty
import re
import subprocess

import pytest

import messages


def call(seep, *args, **more):
    env = dict(os.environ, LC_ALL="C.UTF-8")
    env.pop("NO_COLOR", None)
    return subprocess.run([seep, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                          stdin=subprocess.DEVNULL, env=env, **more)


def refused(seep, *args, status=2):
    done = call(seep, *args)
    text = done.stderr.decode("utf-8")
    assert done.returncode == status, (args, done)
    assert done.stdout == b"", done
    assert text.startswith("seep: ") and text.count("\n") == 1 and text.endswith("\n"), text
    return text


@pytest.fixture(scope="module")
def table(seep):
    done = call(seep, "help", "--dump")
    assert done.returncode == 0 and done.stderr == b"", done
    return {command["name"]: command for command in json.loads(done.stdout)["commands"]}


@pytest.fixture(scope="module")
def names(table):
    return list(table)


def options(command):
    return [option for group in command["groups"] for option in group["options"]]


@pytest.fixture(scope="module")
def pairs(table):
    """(command, its option) for each option."""
    return [(name, option) for name, command in table.items() for option in options(command)]


# ---- help ----

def test_version(seep, table):
    assert call(seep, "--version").stdout.startswith(b"seep ")
    assert call(seep, "--version").stdout == call(seep, "-V").stdout


def test_help_lists_all_commands(seep, names):
    text = call(seep, "help").stdout.decode()
    assert text == call(seep, "--help").stdout.decode() == call(seep, "-h").stdout.decode()
    for name in names:
        assert "\n  %s " % name in text


def test_help_of_each_command(seep, table):
    for name, command in table.items():
        done = call(seep, name, "--help")
        text = done.stdout.decode()
        assert done.returncode == 0 and done.stderr == b"", done
        assert text == call(seep, "help", name).stdout.decode() == call(seep, name, "-h").stdout.decode()
        wide = [line for line in text.splitlines() if len(line) > 100 and len(line.split()) > 1]
        assert not wide, wide
        assert command["summary"] in text and "usage: seep %s " % name in text and "\nExamples:\n" in text
        for option in options(command):
            assert "--" + option["name"] in text
        assert all(len(line) <= 110 or line.lstrip().startswith("seep") or ":" in line for line in text.splitlines())


def test_summaries_are_short_and_alike(table):
    for name, command in table.items():
        assert len(command["summary"]) <= 80, name
        assert not command["summary"].endswith("."), name
        for option in options(command):
            assert option["help"] and not option["help"].endswith("."), (name, option)


def test_letters_and_names_are_unique_within_a_command(table):
    for name, command in table.items():
        letters = [option["letter"] for option in options(command) if option.get("letter")]
        longs = [option["name"] for option in options(command)]
        assert len(letters) == len(set(letters)), (name, letters)
        assert len(longs) == len(set(longs)), (name, longs)
        assert "help" not in longs


# ---- wrong use ----

def test_no_command(seep):
    assert "no command" in refused(seep)


@pytest.mark.parametrize("wrong, right", [("hlep", "help"), ("inf", "info"), ("infoo", "info"), ("ifno", "info"),
                                          ("--versoin", "--version"), ("--hlep", "--help")])
def test_unknown_command_names_the_nearest(seep, wrong, right):
    text = refused(seep, wrong)
    assert "'%s'" % wrong in text and "'%s'" % right in text


@pytest.mark.parametrize("wrong", ["xyzzyplugh", "foo"])
def test_unknown_command_far_from_all(seep, wrong):
    text = refused(seep, wrong)
    assert wrong in text and "did you mean" not in text


def test_option_before_the_command(seep):
    assert "--json" in refused(seep, "--json", "info")


@pytest.mark.parametrize("words", [("run", "-q", "-o", "-", "touch", "started"), ("shrink", "TRACE", "-o", "-")])
def test_a_trace_does_not_go_to_a_terminal(seep, root, tmp_path, words):
    """And the program is not started."""
    trace = os.path.join(root, "tests", "golden", "recording-v1.seep")
    ours, theirs = pty.openpty()
    done = subprocess.run([seep, *(trace if word == "TRACE" else word for word in words)], stdin=subprocess.DEVNULL,
                          stdout=theirs, stderr=subprocess.PIPE, cwd=tmp_path, timeout=60)
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 2 and b"a trace cannot be written to a terminal" in done.stderr, done
    assert os.listdir(tmp_path) == []


def test_unknown_options_name_the_nearest(seep, pairs):
    for name, option in pairs:
        wrong = option["name"][:-1] + "_" + option["name"][-1] if len(option["name"]) > 3 else option["name"] + "x"
        text = refused(seep, name, "--" + wrong)
        assert "'--%s'" % wrong in text and "did you mean '--" in text, text


def test_of_names_as_near_the_one_with_all_letters_is_meant(seep):
    assert "did you mean '--keep'" in refused(seep, "serve", "--kep")


def test_help_takes_no_value(seep, names):
    for name in names:
        text = refused(seep, name, "--help=3")
        assert "'3'" in text and "did you mean" not in text, text


def test_unknown_option_of_each_command(seep, names):
    for name in names:
        assert "--no-such-thing-at-all" in refused(seep, name, "--no-such-thing-at-all")
        assert "--no-such-thing-at-all" in refused(seep, name, "--no-such-thing-at-all=1")
        assert "-%" in refused(seep, name, "-%")


def test_long_options_are_not_shortened(seep):
    text = refused(seep, "info", "--js")
    assert "'--js'" in text and "'--json'" in text


def test_values_for_flags_and_missing_values(seep, pairs):
    for name, option in pairs:
        long = "--" + option["name"]
        if option["kind"] == "flag":
            assert long in refused(seep, name, long + "=yes")
        elif option["kind"] == "optional":
            assert long in refused(seep, name, long + "=no-such-value")
        elif option["kind"] == "text":  # with a value or without
            assert "needs a value" not in refused(seep, name, long)
        else:
            text = refused(seep, name, long)
            assert long in text and "value" in text


BAD = {
    "number": ["", "x", "-1", "1x", "1.5", "99999999999999999999", " 1"],
    "size": ["", "x", "K", "-1", "1Q", "1.M", "1..5M", "99999999999999999999", "17179869184G", "1 K"],
    "duration": ["", "x", "ms", "-1s", "1y", "99999999999999999999", "9999999999h"],
    "choice": ["", "no-such-choice"],
    "regex": ["(", "[", "a{2", "a{1,32767}{1,32767}", "(){32767}", "(a{0}){32767}", r"(\b){32767}", "[]{]{1000}{66}", "(" * 201 + ")" * 201],
    "string": [""],
}


def test_bad_values_are_named(seep, pairs):
    """Three of each option, others for the next option of its kind, in either form."""
    turn = {kind: itertools.cycle(bad) for kind, bad in BAD.items()}
    joined = itertools.cycle((True, False))
    given = collections.defaultdict(set)
    for name, option in pairs:
        kind = option["kind"]
        for bad in itertools.islice(turn.get(kind, ()), 3):
            form = ["--%s=%s" % (option["name"], bad)] if next(joined) else ["--" + option["name"], bad]
            text = refused(seep, name, *form)
            assert "--" + option["name"] in text, (form, text)
            assert not bad or bad in text, (form, text)
            given[kind].add(bad)
    assert all(given[kind] == set(bad) for kind, bad in BAD.items() if kind in given), given


def test_choices_name_the_nearest(seep, table):
    for name, command in table.items():
        for option in options(command):
            if option["kind"] != "choice":
                continue
            right = max(option["choices"], key=len)
            text = refused(seep, name, "--" + option["name"], right + "e")
            assert "'%s'" % right in text, text
            assert all(choice in text for choice in option["choices"])


def test_too_many_operands(seep):
    assert "'more'" in refused(seep, "info", "more")
    assert "'b'" in refused(seep, "help", "help", "b")


def test_report_needs_something(seep, table):
    if "report" not in table:
        pytest.skip("this build has no seep report")
    assert "FILE" in refused(seep, "report")
    assert "/no/such/file" in refused(seep, "report", "/no/such/file", status=1)
    assert "exclude" in refused(seep, "report", "--json", "--csv", "x")
    assert "--min-size" in refused(seep, "report", "--min-size", "2K", "--max-size=1K", "x")
    assert "--blocks" in refused(seep, "report", "--blocks", "--by", "function", "x")


def test_report_takes_all_good_values(seep, table):
    if "report" not in table:
        pytest.skip("this build has no seep report")
    good = ["--top", "0", "--top=5", "-T3", "-T", "3", "--min-size", "1", "--min-size=64K", "-z1k", "--max-size", "2MiB",
            "-Z", "1G", "--older", "5", "--older=10ns", "--older", "10us", "--older", "500ms", "--older", "2m", "--older", "1h",
            "--sort", "live", "-s", "peak", "--function", "^a(b|c)$", "--full-paths"]
    text = refused(seep, "report", *good, "/no/such/file", status=1)  # the options pass, the file is not there
    assert "/no/such/file" in text
    assert "--top" in refused(seep, "report", "--", "--top", status=1)  # after -- it is a file


def test_operands_and_options_may_mix(seep, table):
    if "report" not in table:
        pytest.skip("this build has no seep report")
    assert "/no/such/file" in refused(seep, "report", "/no/such/file", "--top", "3", status=1)


def test_messages_carry_no_control_characters(seep):
    text = refused(seep, "a\033[31m\nb\u202e")
    assert "\033" not in text and "\u202e" not in text
    assert r"a\x1b[31m\nb\u{202e}" in text
    text = refused(seep, "info", "--x\033[2J")
    assert "\033" not in text


@pytest.mark.parametrize("mode", ["record", "count", "log"])
def test_a_mode_as_a_command(seep, mode):
    assert refused(seep, mode, "./p") == "seep: unknown command '%s' (it is a mode: 'seep run --mode %s PROG')\n" % (mode, mode)


def test_bytes_that_are_not_utf8(seep):
    done = subprocess.run([os.fsencode(seep), b"\xff\xfe"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 2 and done.stderr.startswith(rb"seep: unknown command '\xff\xfe'"), done


# ---- output ----

COMMANDS_THAT_PRINT = [["help"], ["--version"], ["info"], ["info", "--json"], ["help", "--dump"], ["help", "info"]]


@pytest.mark.parametrize("args", COMMANDS_THAT_PRINT, ids=" ".join)
def test_full_disk(seep, args):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([seep, *args], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1
    assert done.stderr == f"seep: {messages.CANNOT_PRINT}No space left on device ({messages.MAKE_ROOM})\n".encode()


@pytest.mark.parametrize("args", COMMANDS_THAT_PRINT, ids=" ".join)
def test_closed_output(seep, args):
    done = subprocess.run(["/bin/sh", "-c", 'exec "$@" >&-', "sh", seep, *args], stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(b"seep: " + messages.CANNOT_PRINT.encode()), done


@pytest.mark.parametrize("args", COMMANDS_THAT_PRINT, ids=" ".join)
@pytest.mark.parametrize("ignored", [False, True], ids=["default", "ignored"])
def test_closed_pipe(seep, args, ignored):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([seep, *args], stdout=writer, stderr=subprocess.PIPE, timeout=60, restore_signals=not ignored)
    os.close(writer)
    if ignored:  # Python itself ignores SIGPIPE; so does the child then
        assert done.returncode == 1
        assert done.stderr == f"seep: {messages.CANNOT_PRINT}Broken pipe (the program that reads it has ended: see why)\n".encode()
    else:
        assert done.returncode == -13 and done.stderr == b"", done


def test_info(seep):
    text = call(seep, "info").stdout.decode()
    assert "libseep.so" in text and "glibc" in text and "ptrace scope" in text
    assert re.search(r"\n  programs of musl +with the same libseep.so", text) and "static programs" in text
    data = json.loads(call(seep, "info", "--json").stdout)
    assert data["seep"]["schema"] == 1
    for section in ("build", "machine", "tracing", "symbols"):
        for name, item in data[section].items():
            assert item["verdict"] in ("fact", "good", "bad"), name
            assert item["value"], name


def test_info_says_where_the_library_is_missing(seep, tmp_path):
    env = dict(os.environ, SEEP_LIBRARY=str(tmp_path / "no.so"))
    done = subprocess.run([seep, "info"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, timeout=60)
    assert done.returncode == 0 and b"NO: " in done.stdout and b"no.so" in done.stdout


def test_no_colour_without_a_terminal(seep):
    for args in COMMANDS_THAT_PRINT:
        assert b"\033" not in call(seep, *args).stdout


def test_a_format_of_events_is_shown_for_export_only(run, seep):
    """--help of report listed the format. A report has no events, so the error names the command that has them."""
    shown = {command: re.sub(r"\s+", " ", run(seep, command, "--help").stdout) for command in ("report", "run", "export")}
    assert ["lsan, parquet" in text for text in shown.values()] == [False, False, True]
    done = run(seep, "report", "--format", "parquet", "app.seep")
    assert done.returncode == 2 and "seep export --format parquet" in done.stderr, done
