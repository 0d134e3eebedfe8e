# SPDX-License-Identifier: BSD-2-Clause
"""seep connect on a saved trace: a transcript byte for byte, scripts, JSON, files, and what is said of wrong lines."""
import json
import os

import pytest

COMMANDS = ["status", "sites", "functions 5 blocks", "lines", "modules", "threads", "processes", "top 1", "stack 1", "stack 7",
            "blocks", "blocks 1 5", "scan", "leaks", "holders", "whois 0x5000", "whois zz", "mark x", "diff", "reset", "diff", "growth",
            "proc", "maps", "filter nothing", "sites", "filter", "set top 3", "set sort blocks", "set thread 42", "set thread 43",
            "set nonsense 1", "show", "pause", "show", "resume", "s", "nonsense", "sites x", '"open', "help scan", "blocks 1 > a > b", "sites >"]


@pytest.fixture
def trace(root):
    return os.path.join(root, "tests", "golden", "v1-tiny.seep")


def test_a_transcript(run, seep, root, trace):
    """With SEEP_GOLDEN_WRITE the file is written: read the difference."""
    said = ""
    for command in COMMANDS:
        done = run(seep, "connect", "-e", "mark x" if command == "mark x" else command, trace)
        said += "seep> %s\n%s" % (command, done.stdout)
        assert not done.stderr
    script = run(seep, "connect", "-f", "-", trace, input="\n".join(["set top 1", "set sort blocks", "filter leak", "show", "sites"]))
    said += "---- one session\n" + script.stdout
    path = os.path.join(root, "tests", "golden", "console-tiny.txt")
    if os.environ.get("SEEP_GOLDEN_WRITE"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(said)
    with open(path, encoding="utf-8") as file:
        assert said == file.read()


def test_json_is_a_line_an_answer(run, seep, trace):
    lines = [command for command in COMMANDS if ">" not in command]
    done = run(seep, "connect", "--json", "-f", "-", trace, input="\n".join(lines))
    assert done.returncode == 1  # some are wrong
    answers, at = [], 0
    text = done.stdout
    decoder = json.JSONDecoder()
    while at < len(text):  # whois is JSON of several lines
        answer, end = decoder.raw_decode(text, at)
        answers.append(answer)
        at = end + len(text[end:]) - len(text[end:].lstrip())
    by_name = {answer.get("command"): answer for answer in answers}
    assert by_name["status"]["live_bytes"] == 64 and by_name["status"]["state"] == "file"
    assert by_name["sites"]["command"] == "sites"
    assert any("error" in answer and "'open'" not in answer["error"] for answer in answers)
    assert len(answers) == len(lines)


def test_what_a_cut_recording_does_not_have_is_not_known(run, seep, root, tmp_path):
    with open(os.path.join(root, "tests", "golden", "recording-v2.seep"), "rb") as file:
        whole = file.read()
    (tmp_path / "cut.seep").write_bytes(whole[:len(whole) * 4 // 5])
    done = run(seep, "connect", "--json", "-e", "status; show", tmp_path / "cut.seep")
    status, shown = map(json.loads, done.stdout.splitlines())
    assert status["health"] == "incomplete" and shown["depth"] is None


def test_the_exit_status_of_scripts(run, seep, trace, tmp_path):
    assert run(seep, "connect", "-e", "status; sites 1", trace).returncode == 0
    assert run(seep, "connect", "-e", "status; nonsense; sites 1", trace).returncode == 1
    done = run(seep, "connect", "-e", "quit; nonsense", trace)
    assert done.returncode == 0 and not done.stdout
    done = run(seep, "connect", "-e", "filter 'a;b'; show", trace)
    assert "a;b" in done.stdout and done.returncode == 0
    script = tmp_path / "script"
    script.write_text("# what it is\nstatus\n\nsites 1 # one\n")
    done = run(seep, "connect", "-f", str(script), trace)
    assert done.returncode == 0 and done.stdout.count("live bytes") == 2
    missing = run(seep, "connect", "-f", "/nonexistent", trace)
    assert missing.returncode == 1 and "(name a file of commands, one a line, or - for standard input)" in missing.stderr


def test_an_answer_in_a_file(run, seep, trace, tmp_path):
    done = run(seep, "connect", "-e", "sites > 'the sites.txt'; dump > report.txt; status > /nonexistent/x", trace)
    assert done.returncode == 1 and "cannot write /nonexistent/x" in done.stdout
    assert "leak+0x1136" in (tmp_path / "the sites.txt").read_text()
    assert "health:" in (tmp_path / "report.txt").read_text()


def test_saving_keeps_what_is_there(run, seep, trace, tmp_path):
    (tmp_path / "x.seep").write_text("mine")
    done = run(seep, "connect", "-e", "save x.seep", trace)
    assert done.returncode == 0 and (tmp_path / "x.seep").read_text() == "mine"
    assert run(seep, "connect", "-e", "status", str(tmp_path / "x.2.seep")).returncode == 0


def test_a_report_names_what_can_be_typed_next(run, seep, trace):
    done = run(seep, "connect", "-e", "dump 1", trace)
    assert f"\nnext: seep report {trace} " in done.stdout and "the same with" not in done.stdout


@pytest.mark.parametrize("arguments, code, message", [
    ([], 2, "PID|FILE"),
    (["nothing.seep"], 1, "nothing.seep"),
    (["999999999"], 1, "no process"),
    (["-e", "1", "2", "3"], 2, "3"),
])
def test_wrong_use(run, seep, arguments, code, message):
    done = run(seep, "connect", *arguments)
    assert done.returncode == code and message in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_save_that_fails_names_no_option(run, seep, trace):
    """The hint advised -o, an option that save does not have."""
    done = run(seep, "connect", "-e", "save /nonexistent/x.seep", trace)
    assert done.returncode == 1 and "/nonexistent/x.seep" in done.stdout + done.stderr and " -o" not in done.stdout + done.stderr, done
