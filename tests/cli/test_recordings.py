# SPDX-License-Identifier: BSD-2-Clause
"""Commands that read recordings: right use, wrong use, and what they say of files that have no events."""
import ctypes
import fcntl
import json
import os
import pty
import select
import shutil
import signal
import pathlib
import re
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = TESTS / "golden"
sys.path.insert(0, str(TESTS / "live"))
sys.path.insert(0, str(TESTS))
import messages  # noqa: E402
import report_json  # noqa: E402
from recording import EVENTS, all_sections, chunks, sections  # noqa: E402
from small_programs import program_source  # noqa: E402


def made(build, folder, *options):
    trace = folder / "ls.seep"
    subprocess.run([os.path.join(build, "seep"), "run", "-q", *options, "-o", trace, "--", "/bin/ls", "/"], check=True,
                   stdout=subprocess.DEVNULL)
    return trace


@pytest.fixture(scope="module")
def recording(build, tmp_path_factory):
    return made(build, tmp_path_factory.mktemp("recording"), "--mode", "record")


@pytest.fixture(scope="module")
def plain(build, tmp_path_factory):
    return made(build, tmp_path_factory.mktemp("plain"))


def one_line(done, status, *words):
    assert done.returncode == status and done.stderr.count("\n") == 1, done
    for word in words:
        assert word in done.stderr, done


def test_history(run, seep, recording, plain):
    done = run(seep, "history", recording)
    assert done.returncode == 0 and "until" in done.stdout and "lived" in done.stdout, done
    (process,) = json.loads(run(seep, "history", recording, "--json", "--parts", "3").stdout)["processes"]
    assert len(process["timeline"]) == 3
    one_line(run(seep, "history", plain), 1, messages.NO_HISTORY, "--mode record")
    one_line(run(seep, "history", "/nonexistent.seep"), 1, "/nonexistent.seep")
    one_line(run(seep, "history", recording, "--parts", "0"), 2, "--parts")


@pytest.fixture(scope="module")
def brief(build, tmp_path_factory):
    """brief_peak.c, as name of option to trace."""
    folder = tmp_path_factory.mktemp("brief")
    (folder / "brief_peak.c").write_text(program_source("brief_peak.c"))
    subprocess.run(["gcc", "-g", "-O1", "brief_peak.c", "-o", "brief_peak"], check=True, cwd=folder)
    traces = {}
    for name, options in {"recorded": ("--mode", "record"), "snapshots": ("--interval", "60ms"), "plain": ()}.items():
        traces[name] = folder / (name + ".seep")
        subprocess.run([os.path.join(build, "seep"), "run", "-q", *options, "-o", traces[name], "--", "./brief_peak"], check=True,
                       cwd=folder)
    return traces


def test_history_has_what_was_high_within_a_part(run, seep, brief):
    """14 MiB that are are freed before the end are the most of the part and of their site."""
    text = run(seep, "history", brief["recorded"], "--parts", "1").stdout
    assert "peak 15.0 MiB" in text.splitlines()[0], text
    assert re.search(r"highest in each part, by site\n  14\.0 MiB +█ +brief \(", text), text
    # Two sites of one line: each with its number and who called.
    assert re.search(r"take \(brief_peak.c:\d+\), site \d+, from left \(", text), text
    assert re.search(r"take \(brief_peak.c:\d+\), site \d+, from right \(", text), text
    (process,) = json.loads(run(seep, "history", brief["recorded"], "--json", "--parts", "1").stdout)["processes"]
    (site,) = [site for site in process["sites"] if site["place"].startswith("brief (")]
    assert site["live"] == [[0, 0, 0, 14 << 20]], site
    assert max(part["most_bytes"] for part in process["timeline"]) == (15 << 20) + 1024


def test_history_of_snapshots_says_so_and_goes_to_the_end(run, seep, brief):
    text = run(seep, "history", brief["snapshots"]).stdout
    assert "peak 15.0 MiB; at" in text.splitlines()[0] and "snapshots and the end" in text.splitlines()[0], text
    assert "highest" not in text and "at each snapshot, by site" in text, text
    (process,) = json.loads(run(seep, "history", brief["snapshots"], "--json").stdout)["processes"]
    whole = json.loads(run(seep, "report", brief["snapshots"], "--json").stdout)
    end = process["timeline"][-1]
    assert (end["live_blocks"], end["live_bytes"]) == (2, (1 << 20) + 1024), end
    assert len(process["timeline"]) == len(whole["growth"]["snapshots"]) + 1
    times = [part["until_s"] for part in process["timeline"]]
    assert times == sorted(times) and abs(times[-1] - whole["process"]["duration_s"]) < 1e-6, (times, whole["process"])


def test_plot_of_a_recording_has_the_exact_peak(run, seep, brief, tmp_path):
    """Held for less than is between two of the 400 moments: 14 MiB, freed at once, in a run of hundreds of ms."""
    (tmp_path / "at_once.c").write_text(program_source("at_once.c"))
    subprocess.run(["gcc", "-g", "-O1", "at_once.c", "-o", "at_once"], check=True, cwd=tmp_path)
    for _ in range(9):  # a program that waits for a processor holds them for longer
        assert run(seep, "run", "-q", "--mode", "record", "-o", "at_once.seep", "--", "./at_once").returncode == 0
        line = run(seep, "plot", "at_once.seep").stdout.splitlines()[1]
        if "at most 15.0 MiB live" not in line:
            break
    assert "at most 1.00 MiB live" in line and line.endswith("; the peak was 15.0 MiB"), line
    assert "peak" not in run(seep, "plot", "at_once.seep", "--function", "keep").stdout.splitlines()[1]


def test_the_peak_of_a_recording_is_exact(run, seep, tmp_path):
    """In the report of the whole as at the moment of the peak, by site too, and in a child that began with blocks."""
    (tmp_path / "threads.c").write_text(program_source("recordings_threads.c"))
    subprocess.run(["gcc", "-g", "-O1", "-pthread", "threads.c", "-o", "threads"], check=True, cwd=tmp_path)
    assert run(seep, "run", "-q", "--mode", "record", "-o", "threads.seep", "--", "./threads").returncode == 0
    whole = json.loads(run(seep, "report", "threads.seep", "--json", "--top", "0").stdout)["processes"]
    peak = json.loads(run(seep, "report", "threads.seep", "--json", "--top", "0", "--at", "peak").stdout)["processes"]
    assert len(whole) == 2 and whole[1]["totals"]["peak_bytes"] == 6000
    for all_of, then in zip(whole, peak):
        assert all_of["totals"]["peak_exact"] and all_of["totals"]["peak_error_bytes"] == 0
        assert all_of["totals"]["peak_bytes"] == then["totals"]["peak_bytes"] == then["totals"]["live_bytes"]
        held = sorted(site["live_bytes"] for site in then["sites"] if site["live_bytes"])
        assert sorted(site["at_peak_bytes"] for site in all_of["sites"] if site["at_peak_bytes"]) == held
        assert all(site["peak_bytes"] >= site["at_peak_bytes"] for site in all_of["sites"])
    text = run(seep, "report", "threads.seep", "--pid", str(whole[0]["process"]["pid"])).stdout
    assert re.search(r"^  peak  [^,]*[\d,]+   [\d.]+ KiB$", text, re.M), text


def test_times_after_the_end_are_the_end(run, seep, brief):
    """They are said to be, and no block is older than the run."""
    for trace in ("recorded", "snapshots"):
        for source in ((brief[trace], "--at", "5s"), (f"{brief[trace]}@5s",)):
            done = run(seep, "report", *source)
            assert done.returncode == 0 and re.search(r"5s is after the end, at \d+ ms: this is what there was then", done.stdout), done
    whole = json.loads(run(seep, "report", brief["recorded"], "--at", "5s", "--json", "--blocks").stdout)
    ages = [block["age_s"] for site in whole["sites"] for block in site["blocks"]]
    assert len(ages) == 2 and max(ages) <= whole["process"]["duration_s"] + 0.05, ages
    assert "leaks" not in [finding["kind"] for finding in whole["findings"]], whole["findings"]  # the report of the end has them
    done = run(seep, "report", brief["snapshots"], "--at", "130ms")
    said = re.search(r"snapshot \d+ of \d+, at (\d+) ms: only what was live", done.stdout)
    assert done.returncode == 0 and said and int(said[1]) <= 130, done
    done = run(seep, "report", brief["recorded"], "--at", "100ms")
    assert done.returncode == 0 and "1.00 MiB" in done.stdout, done


def test_plot_offers_what_the_trace_has(run, seep, brief):
    done = run(seep, "plot", brief["plain"])
    one_line(done, 1, "what was live over time", "--mode record", "--what sizes, or --what flame -o OUT.svg")
    assert "--what ages" not in done.stderr, done
    for what in (("sizes",), ("flame", "-o", "flame.svg")):
        assert run(seep, "plot", brief["plain"], "--what", *what).returncode == 0, what
    assert run(seep, "plot", brief["plain"], "--what", "ages").returncode == 1


def test_next_command_keeps_what_its_figures_are_of(run, seep, brief):
    """The moment, the processes and the stacks stay; what it suggests takes the place of what was given."""
    done = run(seep, "report", brief["recorded"], "--at", "100ms", "--function", "main|left", "--top", "1")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("next: ")]
    assert " --at 100ms --function 'main|left' --" in line and "--top 1" not in line, line
    import shlex
    command = shlex.split(line[len("next: "):line.rindex("   (")])
    again = run(seep, *command[1:])
    assert again.returncode == 0 and "1,048,576" in again.stdout.replace("1.00 MiB", "1,048,576"), again
    line = run(seep, "report", brief["recorded"], "--at", "peak", "--top", "1").stdout.split("next: ")[1]
    assert "--at peak" in line and line.count("--top") == 1 and "--top 0" in line, line


def test_kinds_in_the_document_are_those_of_events(run, seep, root):
    names = re.search(r"release_names\[SEEP_RELEASE_NR\] = {(.*?)};", (pathlib.Path(root) / "src/host/profile/profile.c").read_text(), re.S)
    kinds = {"allocation", "kept", *re.findall(r'"([^"]+)"', names[1])}
    text = (pathlib.Path(root) / "docs/sql.md").read_text()
    told = re.search(r"`kind` is (.*?)\. ", text, re.S)[1]
    # Those of a block are of other words, and the sentence names nothing else.
    assert {" ".join(kind.split()) for kind in re.findall(r"`([^`]+)`", told)} == kinds
    if "without" not in run(seep, "sql", "/dev/null", "select 1").stderr:
        for statement in re.findall(r"kind = '([^']+)'", text):
            assert statement in kinds, statement


@pytest.fixture
def rows(run, seep):
    """rows(trace, statement): what `seep sql` answers."""
    if "without" in run(seep, "sql", "/dev/null", "select 1").stderr:
        pytest.skip("seep was built without SQLite")

    def answered(trace, statement):
        done = run(seep, "sql", trace, "--json", statement)
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    return answered


def totals(run, seep, trace, *options):
    done = run(seep, "report", "--json", *options, trace)
    assert done.returncode == 0, done
    return json.loads(done.stdout)["totals"]


def test_sql_of_events(run, seep, rows, recording):
    of = totals(run, seep, recording)
    ((counts),) = rows(recording, "select sum(kind = 'allocation') a, sum(kind not in ('allocation', 'kept')) f,"
                    " sum(case kind when 'allocation' then size end) s from event")
    assert (counts["a"], counts["f"], counts["s"]) == (of["allocations"], of["frees"], of["allocated_bytes"])
    # What is asked of time, site and address goes into the walk: it must not change what is found.
    (ends,) = rows(recording, "select min(at_ns) a, max(at_ns) b, max(address) m from event")
    middle = (ends["a"] + ends["b"]) // 2
    for asked, plain in ((f"at_ns > {middle}", f"at_ns + 0 > {middle}"), (f"at_ns <= {middle}", f"at_ns + 0 <= {middle}"),
                         (f"at_ns between {middle} and {middle + 1000000}", f"at_ns + 0 between {middle} and {middle + 1000000}"),
                         (f"at_s > {middle / 1e9}", f"at_ns > {middle}"), (f"at_s < {middle / 1e9}", f"at_ns < {middle}"),
                         (f"at_s between {middle / 1e9} and {middle / 1e9 + 0.001}", f"at_s + 0 between {middle / 1e9} and {middle / 1e9 + 0.001}"),
                         (f"at_s = {ends['a'] / 1e9}", f"at_ns = {ends['a']}"), ("at_s > 1e300", "at_ns > 1e300"), ("at_s < 'a'", "at_ns < 'a'"),
                         ("site = 1", "site + 0 = 1"), (f"address = {ends['m']}", f"address + 0 = {ends['m']}"),
                         (f"address > {ends['m'] - 4096}", f"address + 0 > {ends['m'] - 4096}"), ("process = 0", "process + 0 = 0")):
        assert len({str(rows(recording, f"select count(*) n, sum(size) from event where {where}"))
                    for where in (asked, plain)}) == 1, asked
    for column in ("at_ns", "at_s"):  # only the chunks of that time are read
        (plan,) = rows(recording, f"explain query plan select 1 from event where {column} > 1 and {column} < 2")
        assert re.search(r"VIRTUAL TABLE INDEX 0:\w\w$", plan["detail"]), plan
    assert rows(recording, "select count(*) n from event join site on site.id = event.site where via = 'malloc'")[0]["n"] > 0
    (blocks,) = rows(recording, "select count(*) n, sum(size) s from block")
    assert (blocks["n"], blocks["s"]) == (of["live_blocks"], of["live_bytes"] if of["live_blocks"] else None)


def test_outputs_without_a_health_line_say_what_is_missing(run, seep, recording, tmp_path):
    """A recording that was cut: sql, history, exports and pictures tell so on stderr, in one line, as report does on stdout."""
    whole = pathlib.Path(recording).read_bytes()
    (tmp_path / "cut.seep").write_bytes(whole[:len(whole) * 3 // 4])
    for words in (["sql", "FILE", "select count(*) from event"], ["history", "FILE"], ["export", "--format", "folded", "FILE"], ["plot", "FILE"]):
        done = run(seep, *[str(tmp_path / "cut.seep") if word == "FILE" else word for word in words])
        assert done.returncode == 0 and re.fullmatch(r"seep: process \S+ \(\d+\) is incomplete: .*\n", done.stderr), (words, done)
        done = run(seep, *[str(recording) if word == "FILE" else word for word in words])
        assert done.returncode == 0 and done.stderr == "", (words, done)
    for form in ("json", "json1", "tree"):  # these say it themselves
        done = run(seep, "export", "--format", form, str(tmp_path / "cut.seep"))
        assert done.returncode == 0 and done.stderr == "", (form, done)
        assert re.search('INCOMPLETE|"complete": ?false', done.stdout), (form, done)


def test_sql_reads_no_names_for_events(run, seep, rows, brief):
    """Debug information is unpacked when a statement reads sites: what is asked of times is answered at once."""
    trace = brief["recorded"]
    libc = ctypes.CDLL(None)
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    in_open = 0x20
    assert watch >= 0 and libc.inotify_add_watch(watch, os.fsencode(trace.parent / "brief_peak"), in_open) >= 0

    def was_opened():
        try:
            return bool(os.read(watch, 4096))
        except BlockingIOError:
            return False

    try:
        assert rows(trace, "select count(*) n from event where at_ns < 1000000000")[0]["n"] > 0
        assert not was_opened()
        assert any("main" in row["text"] for row in rows(trace, "select text from site_text"))
        assert was_opened()
    finally:
        os.close(watch)


def test_sql_names_of_others_in_all_forms(run, seep, rows, plain, tmp_path):
    """A name has escape sequences and bytes that are not UTF-8. None of them reaches a terminal unescaped, and JSON is valid."""
    name = b"ev\x1b[31m\xff\nil"
    shutil.copy("/bin/true", os.fsencode(tmp_path) + b"/" + name)
    trace = tmp_path / "evil.seep"
    done = subprocess.run([seep, "run", "-q", "-o", trace, os.fsencode(tmp_path) + b"/" + name], check=False)
    assert done.returncode == 0
    asked = 'select name as "a\x1b[1m", 9e999 as most, -9e999 as least from process'
    for form in ([], ["--csv"], ["--json"]):
        done = subprocess.run([seep, "sql", trace, *form, asked], stdout=subprocess.PIPE, check=True)
        text = done.stdout.decode()
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f]", text), text
        if form != ["--json"]:
            assert text.splitlines()[0].startswith("a\\x1b[1m") and len(text.splitlines()) == 2, text
    (row,) = json.loads(text)
    assert row == {"a\x1b[1m": name.decode(errors="replace"), "most": float("inf"), "least": -float("inf")}


def test_sql_forms_prompt_and_wrong_use(run, seep, rows, recording, plain):
    done = run(seep, "sql", plain, "--csv", "select 1 as a, 'x,y' as b")
    assert done.stdout == 'a,b\n1,"x,y"\n', done
    assert "CREATE TABLE event" in run(seep, "sql", plain, ".schema").stdout
    one_line(run(seep, "sql", plain, "select count(*) n from event"), 1, "no events", "--mode record")
    assert rows(plain, "select count(*) n from site natural join site_text")[0]["n"] > 0
    done = run(seep, "sql", plain, input="select 1;\nselect\n 2;\n")
    assert done.stdout.split() == ["1", "1", "2", "2"], done
    names = [row["name"] for row in rows(plain, ".tables")]
    assert names == sorted(names) and {"event", "site", "block", "site_text"} < set(names), names
    done = run(seep, "sql", plain, "--csv", input="select 1;\n.quit\nselect 2;\n")
    assert done.returncode == 0 and done.stdout.split() == ["1", "1"] and not done.stderr, done
    one_line(run(seep, "sql", plain, ".help"), 2, "'.help'", ".tables", ".quit")
    one_line(run(seep, "sql", plain, "select wrong from site"), 2, "no such column", ".schema")
    one_line(run(seep, "sql", plain, "select * from sites"), 2, "sites", "meta, process, ", "site, ", "event;", ".schema")
    one_line(run(seep, "sql", "/nonexistent.seep", "select 1"), 1, "/nonexistent.seep")
    one_line(run(seep, "sql", plain, "vacuum into '/nonexistent/x'"), 1, "a place that can be written")


def test_events_joined_with_themselves(run, seep, rows, tmp_path):
    """Each walk over the events has its own place in the file: of several chunks the outer one went on where the inner one was."""
    done, trace = imported(run, seep, tmp_path, "".join("malloc\t8\t0x%x\n" % (i * 16) for i in range(1, 9001)), "log")
    assert done.returncode == 0 and len(list(chunks(trace))) > 1, done
    join = "select a.address / 16000 n from event a cross join event b on b.address = a.address where a.address % 16000 = 0"
    assert [row["n"] for row in rows(trace, join)] == list(range(1, 10))


def test_events_of_two_calls_in_one_line(run, seep, rows, tmp_path):
    """They are one row of `site`, and each event has its number."""
    (tmp_path / "two.c").write_text(program_source("two_calls_in_one_line.c"))
    subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "two.c", "-o", "two"], check=True, cwd=tmp_path)
    assert run(seep, "run", "-q", "--mode", "record", "-o", "two.seep", "./two").returncode == 0
    found = rows("two.seep", "select site, count(*) nr, sum(size) bytes from event where kind = 'allocation' group by 1")
    assert [(row["nr"], row["bytes"]) for row in found if row["site"] is not None] == [(2, 300)] and len(found) == 1, found
    (site,) = rows("two.seep", "select id, allocations from site")
    assert (site["id"], site["allocations"]) == (found[0]["site"], 2)


def tells_of_moved_chunks(run, seep, trace, last=-1):
    data = trace.read_bytes()
    found = [of for of in all_sections(data) if of.kind == EVENTS]
    first, last = found[0], found[last]
    assert first.at < last.at
    trace.write_bytes(data[: first.at] + data[last.at : last.end] + data[first.end : last.at] + data[first.at : first.end] + data[last.end :])
    done = run(seep, "history", trace)
    assert "out of order: events from there on are not known" in done.stderr, done.stderr


def test_chunks_that_were_moved_are_told_of(run, seep, tmp_path):
    """Each of them is good by its checksum: their times say that they do not follow one another."""
    trace, program = tmp_path / "a.seep", "import os; os.environ; [str(i) for i in range(150000)]"
    done = run(seep, "run", "-q", "--scan", "no", "--mode", "record", "-o", trace, "--", "/usr/bin/env", "PYTHONMALLOC=malloc",
               "/usr/bin/python3", "-c", program)
    assert done.returncode == 0, done
    tells_of_moved_chunks(run, seep, trace)


def test_ctrl_c_at_the_prompt(run, seep, rows, recording):
    """It ends the statement, and drops a line that is not finished; the session goes on."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen([seep, "sql", recording], stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""

    def until(what, interrupt=False):
        nonlocal said
        while what not in said:
            if select.select([ours], [], [], 0.05)[0]:
                said += os.read(ours, 65536)
            elif interrupt:
                child.send_signal(signal.SIGINT)
        said = said.split(what, 1)[1]

    until(b"seep> ")
    os.write(ours, b"with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n;\n")
    until(b"sql: interrupted", interrupt=True)
    os.write(ours, b"select 'wrong'\n")
    until(b"...> ")
    until(b"seep> ", interrupt=True)
    os.write(ours, b"select 6 * 7;\n")
    until(b"42")
    os.write(ours, b".quit\n")
    assert child.wait(60) == 0
    os.close(ours)


def test_ctrl_c_as_soon_as_there_is_a_prompt(seep, recording, tmp_path):
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    if subprocess.run(["strace", "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("strace cannot trace here")
    ours, theirs = pty.openpty()
    slow = ["strace", "-D", "-o", tmp_path / "calls", "-e", "trace=write", "-e", "inject=write:delay_exit=300000"]
    child = subprocess.Popen([*slow, seep, "sql", recording], stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    while b"seep> " not in said:
        said += os.read(ours, 65536)
    child.send_signal(signal.SIGINT)
    os.write(ours, b".quit\n")
    assert child.wait(60) == 0
    os.close(ours)


def test_shrink(run, seep, rows, recording, plain, tmp_path):
    small = tmp_path / "small.seep"
    done = run(seep, "shrink", recording, "-o", small)
    of = totals(run, seep, recording)
    assert done.returncode == 0 and "%d of " % of["live_blocks"] in done.stderr.replace(",", ""), done
    assert totals(run, seep, small) == of
    # Shrunk again, and together with what it came from, it is the same.
    for sources in ([small], [small, recording], [recording, small]):
        again = tmp_path / "again.seep"
        done = run(seep, "shrink", *sources, "-q", "-o", again)
        assert (done.returncode, done.stderr) == (0, ""), done
        assert len(rows(again, "select * from event")) == of["live_blocks"]
    hidden = tmp_path / "hidden.seep"
    assert run(seep, "shrink", recording, "-q", "--anonymize", "-o", hidden).returncode == 0
    text = run(seep, "report", "--json", hidden).stdout
    assert "module1" in text and "libc" not in text and "/bin/ls" not in text
    one_line(run(seep, "shrink", recording), 2, "-o")
    one_line(run(seep, "shrink", plain, "-o", small), 1, "no events")


def test_shrink_joins_parts(run, seep, rows, recording, tmp_path):
    """A part of it, and then all of it: what the part has is not counted twice."""
    whole = recording.read_bytes()
    part = tmp_path / "part.seep"
    part.write_bytes(whole[: len(whole) // 2])
    both = tmp_path / "both.seep"
    done = run(seep, "shrink", part, recording, "-o", both)
    assert done.returncode == 0, done
    assert totals(run, seep, both) == totals(run, seep, recording)
    assert len(rows(both, "select * from event")) == totals(run, seep, recording)["live_blocks"]


def test_events_as_log_and_table(run, seep, root, recording, plain, tmp_path):
    log, again, family = tmp_path / "events.log", tmp_path / "again.seep", tmp_path / "family.seep"
    program = tmp_path / "family"
    subprocess.run(["gcc", "-O2", "-w", "-D_GNU_SOURCE", os.path.join(root, "tests/programs/family.c"), "-o", program], check=True)
    done = run(seep, "run", "-q", "--scan", "no", "--mode", "record", "-o", family, "--", program)
    assert done.returncode == 0, done
    for trace in (family, recording):  # `family` has each function, also those with an alignment
        assert run(seep, "export", trace, "--events", "log", "-o", log).returncode == 0
        done = run(seep, "import", log, "--format", "log", "-o", again)
        assert done.returncode == 0, done
        of, read = totals(run, seep, trace), totals(run, seep, again)
        for key in ("allocations", "allocated_bytes", "frees", "freed_bytes", "live_blocks", "live_bytes"):
            assert read[key] == of[key], (key, trace)
    lines = run(seep, "export", recording, "--events", "csv").stdout.splitlines()
    assert lines[0].startswith("at_ns,process,thread,event,address,size,site") and len(lines) > of["allocations"] + of["frees"]
    lines = run(seep, "export", recording, "--events", "csv", "--anonymize").stdout
    assert "module1" in lines and "libc" not in lines
    one_line(run(seep, "export", plain, "--events", "csv"), 1, "no events")


@pytest.mark.parametrize("version", [1, 2])
def test_recordings_of_each_encoding_are_read(run, seep, version):
    """A recording that a seep of then made: the events are what they were, by both readers."""
    trace = GOLDEN / f"recording-v{version}.seep"
    assert [of for of, _ in sections(trace.read_bytes())] == [version]
    done = run(seep, "export", "--events", "csv", trace)
    assert done.returncode == 0 and done.stdout == (GOLDEN / f"recording-v{version}.csv").read_text()
    (chunk,) = chunks(trace)
    rows = [line.split(",")[4:7] for line in done.stdout.splitlines()[1:]]
    assert rows == [[hex(event.address), str(event.size), str(event.site)] for event in chunk.events] and len(rows) == 56


def imported(run, seep, tmp_path, text, name, *options):
    (tmp_path / "input").write_text(text)
    trace = tmp_path / "imported.seep"
    done = run(seep, "import", tmp_path / "input", "--format", name, "-o", trace, *options)
    return done, trace


def test_import_of_text(run, seep, tmp_path):
    """Each format with a block that stays, one that goes, one that is resized, and a free that is invented."""
    texts = {
        "mprof": "malloc\t64\tA0\nfree\tA0\ncalloc\t2\t10\tb0\nrealloc\tb0\t200\tc0\nfree\tFF\nsome other text\n",
        "mmleak": "0xa0 0x401000 100\n0xa0 0x401100\n0xb0 0x401000 32\n0xb0 0x401010\n0xc0 0x401010 512\n0xdd 0x401100\n",
        "mtrace": "= Start\n@ ./app:[0x117c] + 0xa0 0x64\n@ ./app:(main+0x5)[0x118d] - 0xa0\n+ 0xb0 0x20\n@ ./app:[0x1] < 0xb0\n"
                  "@ ./app:[0x1] > 0xc0 0x200\n@ ./app:[0x2] - 0xdd\n= End\n",
        "log": "malloc\t100\t0xa0\nfree\t0xa0\t-\ncalloc\t2 16\t0xb0\nrealloc\t0xb0 512\t0xc0\nfree\t0xdd\t-\n",
        "heaptrack": "v 10300 3\nX ./app x\ns 4 main\ns 5 ./app\ni 401000 2 1\nt 1 0\na 64 1\na 20 1\na 200 0\nc 5\n+ 0\n- 0\nc a\n+ 1\n- 1\n"
                     "+ 2\n- 0\n",
    }
    for name, text in texts.items():
        done, trace = imported(run, seep, tmp_path, text, name)
        line = next(i for i, row in enumerate(text.splitlines(), 1) if "free\tFF" in row or "0xdd" in row or (i == 17 and row == "- 0"))
        assert done.returncode == 0 and "1 free of blocks that the file does not allocate left out (line %d)" % line in done.stderr, (name, done)
        assert "does not allocate are left out: 1, line %d" % line in run(seep, "report", trace).stdout, name
        of = totals(run, seep, trace)
        assert (of["allocations"], of["frees"], of["live_blocks"], of["live_bytes"]) == (3, 2, 1, 512), name
        at_peak = totals(run, seep, trace, "--at", "peak")  # its last event
        assert (at_peak["live_bytes"], at_peak["temporary"], of["temporary"]) == (512, 2, 2), name
    assert "main" in run(seep, "report", trace, "--sort", "allocations").stdout  # heaptrack has names
    for name, cut in (("mmleak", "0xe0 0x4010"), ("mtrace", "@ ./app:[0x1] + 0xe0 0x4"), ("mprof", "malloc\t64\tE"), ("heaptrack", "+ 0")):
        text = texts[name] + cut
        done, trace = imported(run, seep, tmp_path, text, name)
        assert "; line %d, the last one, left out: it has no end and may be cut" % len(text.splitlines()) in done.stderr, (name, done)
        assert totals(run, seep, trace)["allocations"] == 3, name
    assert "its last line, %d, has no end and is left out" % len(text.splitlines()) in run(seep, "report", trace).stdout
    done, _ = imported(run, seep, tmp_path, "0xb0 0x4010", "mmleak")
    one_line(done, 1, "last line has no end")
    for name, text in (("mmleak", "0xa0 0x401000 10x\n"), ("mtrace", "hello\n"), ("heaptrack", "hello\n"), ("mprof", "malloc\tzz\t1\n"),
                       ("log", "nothing\n"), ("heaptrack", "v 10300 3\n+ 7\n"), ("heaptrack", "v 10300 9\n")):
        done, trace = imported(run, seep, tmp_path, text, name)
        one_line(done, 1, "input")
        trace.unlink(missing_ok=True)
    # Which file is at fault depends on whether any line was of the format.
    for text, said in (("hello\n", "--format"), ("+ 0xa0 0x10\n+ 0x@ ./app:[0x1] + 0xb0 0x20\n", "several processes")):
        done, _ = imported(run, seep, tmp_path, text, "mtrace")
        one_line(done, 1, said)
    text, maps = "0xa0 0x401000 100\n", tmp_path / "maps"
    maps.write_text("00500000-00501000 r-xp 00001000 08:01 5 /b\n00401000-00402000 r-xp 00001000 08:01 7 /a\n")
    done, trace = imported(run, seep, tmp_path, text, "mmleak", "--maps", maps)
    assert done.returncode == 0 and "[a]" in run(seep, "report", trace).stdout, done
    for place in (tmp_path / "input", maps):  # neither is replaced by the trace
        before = place.read_bytes()
        one_line(run(seep, "import", tmp_path / "input", "--format", "mmleak", "--maps", maps, "-o", place), 2, messages.INPUT_OF_IT)
        assert place.read_bytes() == before
    one_line(run(seep, "import", tmp_path / "input", "--format", "mtrace", "--maps", maps, "-o", tmp_path / "out"), 2, "--maps", "leave it out")
    one_line(run(seep, "import", tmp_path / "input", "-o", "x"), 2, "--format")
    one_line(run(seep, "import", tmp_path / "input", "--format", "log"), 2, "-o")
    for place in (tmp_path / "nothing", tmp_path):
        one_line(run(seep, "import", place, "--format", "log", "-o", tmp_path / "x"), 1, "name the file that the other tool")


def test_import_that_is_killed_leaves_nothing(seep, tmp_path):
    """All that was given is in the pipe or read; the pipe has less room, so the trace was begun."""
    given = b"@ a:[0x10] + 0x%x 0x10\n"
    with subprocess.Popen([seep, "import", "-", "--format", "mtrace", "-o", tmp_path / "new.seep"], stdin=subprocess.PIPE,
                          env=dict(os.environ, TMPDIR=str(tmp_path))) as tool:
        fcntl.fcntl(tool.stdin, fcntl.F_SETPIPE_SZ, 4096)
        tool.stdin.write(b"= Start\n" + b"".join(given % (16 * i) for i in range(1, 4096)))
        tool.stdin.flush()
        tool.kill()
    assert not list(tmp_path.iterdir())


def test_import_names_lines_of_another_kind(run, seep, tmp_path):
    """What a program wrote between the lines, or a line that no format has, is counted and named; a damaged line is refused."""
    texts = {
        "log": "malloc\t100\t0xa0\ngarbage\nfoo\tbar\tbaz\nmalloc\t1\t0xb0\t0.5\t7\tapp+0x10\nfree\t0xa0\t-\nrealloc\t0xb0 ?\t(nil)\n"
               "hellomalloc\t1\t0xc0\nmalloc\t18446744073709551615\t0xd0\n",
        "mprof": "malloc\t64\tA0\nsome text\n\t\nfree\tA0\ncalloc\t1\t1\tb0\nstrange\t1\nx\n",
        "heaptrack": "v 10300 3\nhello\nno\nI 1000 10\n# remark\na 64 0\na 1 0\n+ 0\n- 0\n+ 1\nzz\nyy\n",
    }
    for name, text in texts.items():
        lines = [i for i, row in enumerate(text.splitlines(), 1) if not re.match(r"(malloc|free|calloc|realloc|v|I|#|a|[+]|-)[\t ](?!184)", row)]
        assert len(lines) == 4, (name, lines)
        done, trace = imported(run, seep, tmp_path, text, name)
        of = totals(run, seep, trace)
        assert done.returncode == 0 and (of["allocations"], of["frees"], of["live_bytes"]) == (2, 1, 1), (name, done, of)
        said = "%d, %d, %d and others" % tuple(lines[:3])
        assert "4 lines not of the imported format left out (lines %s)" % said in done.stderr, done
        assert "format are left out: 4, lines " + said in run(seep, "report", trace).stdout, name
    for line in ("free\t0xa0\tgarbage", "free\t0xa0", "malloc\t1\t0xb0 more", "malloc\t1 0xb0", "malloc\t1\t0xb0x", "realloc\t0xa0 ?\t0xb0"):
        done, _ = imported(run, seep, tmp_path, "malloc\t100\t0xa0\n" + line + "\n", "log")
        one_line(done, 1, "line 2 is not of the imported format")


def test_import_tells_lines_of_several_processes(run, seep, tmp_path):
    """A block that is handed out while it is live is named: no line has the number of its process."""
    for name, lines in (("log", ["malloc\t100\t0xa0", "malloc\t1\t0xb0", "malloc\t20\t0xa0", "free\t0xb0\t-", "malloc\t8\t0xb0"]),
                        ("mtrace", ["+ 0xa0 0x64", "+ 0xb0 0x1", "+ 0xa0 0x14", "- 0xb0", "+ 0xb0 0x8"])):
        done, trace = imported(run, seep, tmp_path, "\n".join(lines) + "\n", name)
        of = totals(run, seep, trace)
        assert done.returncode == 0 and (of["live_blocks"], of["live_bytes"]) == (2, 28), (name, of)
        assert "1 block handed out again without a free (line 3): several processes" in done.stderr, (name, done)
        assert "again without a free count as freed: 1, line 3" in run(seep, "report", trace).stdout, name
        done, trace = imported(run, seep, tmp_path, "\n".join(lines[:2] + lines[3:]) + "\n", name)
        report = report_json.loads(run(seep, "report", trace, "--json").stdout)
        assert done.stderr == "seep: 4 events\n" and "events_strange" not in report_json.codes(report), (name, done)


ONE_HASH = ["8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ"]  # their FNV-1a is the same


def test_import_tells_modules_with_one_hash_apart(run, seep, tmp_path):
    """The two paths have the same FNV-1a hash."""
    hashes = set()
    for path in ONE_HASH:
        value = 0xCBF29CE484222325
        for byte in path.encode():
            value = (value ^ byte) * 0x100000001B3 % 2**64
        hashes.add(value)
    assert len(hashes) == 1
    blocks = [*ONE_HASH, "other", *reversed(ONE_HASH)]
    text = "".join("@ %s:[0x10] + 0x%x 0x%x\n" % (path, 0x1000 * (i + 1), 1 << i) for i, path in enumerate(blocks))
    done, trace = imported(run, seep, tmp_path, text, "mtrace")
    assert done.returncode == 0, done
    report = json.loads(run(seep, "report", trace, "--by", "module", "--json").stdout)
    assert {row["key"]: row["live_bytes"] for row in report["groups"]} == {ONE_HASH[0]: 1 + 16, ONE_HASH[1]: 2 + 8, "other": 4}, report


def test_modules_with_one_hash_cost_no_search(run, seep, require, tmp_path, undisturbed):
    """The second module is found by as many instructions as the first. Before, it was compared with all modules that came after it."""
    valgrind = require("valgrind")
    instructions = []
    for sought in ONE_HASH:
        paths = [*ONE_HASH, *("other%015d" % i for i in range(3000)), *[sought] * 3000]
        (tmp_path / "input").write_text("".join("@ %s:[0x10] + 0x%x 0x1\n" % (path, 0x1000 * (i + 1)) for i, path in enumerate(paths)))
        done = run(valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", seep, "import", tmp_path / "input", "--format", "mtrace",
                   "-o", tmp_path / "imported.seep")
        assert done.returncode == 0 and "seep: 6,002 events\n" in done.stderr, done
        instructions.append(int(re.search(r"refs: +([\d,]+)", done.stderr).group(1).replace(",", "")))
    assert instructions[1] < 1.5 * instructions[0], instructions


def test_import_of_packed_files(run, seep, tmp_path):
    text = "".join("malloc\t%d\t0x%x\n" % (i, i * 16 + 16) for i in range(70000))
    for tool, suffix in (("gzip", "gz"), ("zstd", "zst")):
        if not shutil.which(tool):
            print("skipped: no " + tool)
            continue
        packed = tmp_path / ("log." + suffix)
        packed.write_bytes(subprocess.run([tool, "-c"], input=text.encode(), stdout=subprocess.PIPE, check=True).stdout)
        done = run(seep, "import", packed, "--format", "log", "-o", tmp_path / "out.seep")
        assert done.returncode == 0, done
        assert totals(run, seep, tmp_path / "out.seep")["allocations"] == 70000
        if tool == "zstd":  # files that are not the tool's own recording
            small = tmp_path / "small.seep"
            assert run(seep, "shrink", tmp_path / "out.seep", "-o", small).returncode == 0
            for trace, last in ((tmp_path / "out.seep", -1), (small, -2)):  # the last of shrunk ones has no events
                assert "out of order" not in run(seep, "history", trace).stderr
                tells_of_moved_chunks(run, seep, trace, last)
        packed.write_bytes(packed.read_bytes()[:-20] + b"x" * 20)
        assert run(seep, "import", packed, "--format", "log", "-o", tmp_path / "bad.seep").returncode in (0, 1)


def test_import_of_heaptrack_itself(run, seep, require, tmp_path):
    """Functions, lines and inlined functions are those that heaptrack_print shows, where the program is gone, too."""
    require("heaptrack")
    source, program, trace = tmp_path / "inlined.c", tmp_path / "inlined", tmp_path / "h.seep"
    source.write_text(program_source("inlined_calls.c"))
    assert run(require("cc"), "-g", "-O2", "-o", program, source).returncode == 0
    done = run("heaptrack", "-o", str(tmp_path / "h"), program)
    (file,) = [file for file in tmp_path.iterdir() if file.name.startswith("h.") and file.suffix in (".zst", ".gz")]
    program.unlink()
    assert run(seep, "import", file, "--format", "heaptrack", "-o", trace).returncode == 0
    printed = run("heaptrack_print", "-f", str(file)).stdout
    text = run(seep, "report", trace).stdout
    # heaptrack 1.5 writes an inlined function as main::middle::inner; earlier ones as inner.
    assert re.search(r"\b(main::middle::)?inner \(inlined\.c:4\) \[inlined\] \(inlined\)\n"
                     r" +(main::)?middle \(inlined\.c:8\) \[inlined\] \(inlined\)\n"
                     r" +main \(inlined\.c:11\) \[inlined\]\n", text), text
    assert "without -g" not in text, text
    frames = json.loads(run(seep, "report", "--format", "json", "--full-paths", trace).stdout)["frames"]
    lines = [(frame["function"], frame["file"], frame["line"]) for frame in frames if frame["line"]]
    assert len(lines) > 3
    for line in lines:
        assert re.search(r"%s\n +at %s:%d\n" % tuple(re.escape(part) if isinstance(part, str) else part for part in line), printed), (line, printed)
    assert "calls to allocation functions: %d " % totals(run, seep, trace)["allocations"] in printed, (done, printed[-500:])
