# SPDX-License-Identifier: BSD-2-Clause
"""Reports keep to the width of the terminal, and lose no word by that."""
import os
import re
import subprocess

import pytest

import terminal
from small_programs import program_source


def on_terminal(columns, *command, status=0):
    environment = {"TERM": "xterm", "LC_ALL": "C.UTF-8", "HOME": "/proc/nonexistent", "NO_COLOR": "1"}
    return terminal.on_terminal(columns, *command, environment=environment, status=status)


def answers(text):
    """The lines of the answers, each with the lines that it goes on in."""
    found = re.findall(r"^(?:leaks|grows|frees|holds|peak|churn) {2,}\S.*(?:\n {9}\S.*)*$", text, re.M)
    assert found, text
    return found


@pytest.mark.parametrize("trace", ["v1-huge.seep", "v1-indexed.seep", "v1-family-cut.seep"])
def test_answers_are_wrapped(root, seep, trace):
    path = os.path.join(root, "tests", "golden", trace)
    narrow, wide = (answers(on_terminal(columns, str(seep), "report", path)) for columns in (80, 400))
    assert [re.sub(r"\s+", " ", answer) for answer in narrow] == [re.sub(r"\s+", " ", answer) for answer in wide]
    lines = [line for answer in narrow for line in answer.split("\n")]
    assert all(len(line) <= 80 for line in lines), lines
    if trace == "v1-huge.seep":
        assert len(lines) > len(narrow)


@pytest.mark.parametrize("columns", [40, 50, 80, 100])
@pytest.mark.parametrize("words", [["report", "v1-huge.seep"], ["report", "--by", "function", "v1-family-cut.seep"],
                                   ["diff", "v1-huge.seep", "v1-family-cut.seep"]])
def test_every_line_fits(root, seep, columns, words):
    words = [os.path.join(root, "tests", "golden", word) if word.endswith(".seep") else word for word in words]
    narrow, wide = (on_terminal(width, str(seep), *words) for width in (columns, 4000))
    assert narrow.split() == wide.split()
    # A word alone may be wider, and what comes next is there to be copied.
    over = [line for line in narrow.split("\n") if len(line) > columns and " " in line.strip() and not line.startswith(("next:", "      seep "))]
    assert not over
    assert any(len(line) > columns for line in wide.split("\n"))


@pytest.mark.parametrize("words", [["help"], ["help", "report"], ["info"], ["history", "recording-v2.seep"]])
def test_what_is_no_report_fits_too(root, seep, words):
    words = [os.path.join(root, "tests", "golden", word) if word.endswith(".seep") else word for word in words]
    narrow, wide = (on_terminal(width, str(seep), *words) for width in (80, 4000))
    over = [line for line in narrow.split("\n") if len(line) > 80 and " " in line.strip()]
    # Free memory is another at each look. Of lives, columns without a block are left out where not all have room.
    narrow, wide = ([re.sub(r"\d+", "N", word) for word in text.split() if not re.fullmatch(r"<\d+\w+|more|\.", word)]
                    for text in (narrow, wide))
    assert not over and narrow == wide


def test_names_of_a_plot_fit(seep, run, tmp_path):
    """Lines had 89 columns on a terminal of 80."""
    (tmp_path / "app.cpp").write_text(program_source("export_lambda_of_a_thread.cpp"))
    subprocess.run(["g++", "-g", "-O1", "-pthread", "-o", "app", "app.cpp"], check=True, cwd=tmp_path)
    run(seep, "run", "-q", "--mode", "record", "-o", "app.seep", "./app", cwd=tmp_path)
    narrow, wide = (on_terminal(width, str(seep), "plot", "--full-names", str(tmp_path / "app.seep")).rpartition("over time")[2]
                    for width in (50, 4000))
    assert max(map(len, narrow.split("\n"))) <= 50 < max(map(len, wide.split("\n"))), narrow
    assert narrow.split() == wide.split()


@pytest.mark.parametrize("columns", [40, 60])
@pytest.mark.parametrize("what", ["timeline", "sizes", "ages"])
def test_a_plot_fits(root, seep, columns, what):
    """Charts had at least 50 columns, bars 74, and titles had no limit. Bars without room beside one another stand below one another."""
    words = [str(seep), "plot", "--what", what, os.path.join(root, "tests", "golden", "recording-v2.seep" + ("@peak" if what == "ages" else ""))]
    narrow, wide = (on_terminal(width, *words) for width in (columns, 4000))
    over = [line for line in narrow.split("\n") if len(line) > columns and " " in line.strip()]
    assert not over and max(map(len, wide.split("\n"))) > columns, narrow
    if what == "timeline":
        return
    bars = re.compile(r"[▏▎▍▌▋▊▉█]")
    figures = [sorted(re.findall(r"[\d.,]+", " ".join(bars.sub("", line)[19:] for line in text.split("\n")[3:]))) for text in (narrow, wide)]
    assert figures[0] == figures[1], narrow


@pytest.mark.parametrize("columns", [40, 60, 80])
@pytest.mark.parametrize("way", ["--tree", "--tree=callers"])
def test_a_tree_fits(root, seep, columns, way):
    """Names have at least 16 columns. Branches that are too deep for the line are drawn where the room ends."""
    words = [str(seep), "report", way, "--top", "0", os.path.join(root, "tests", "golden", "v1-family.seep")]
    tree = on_terminal(columns, *words).split("\n\n")[1]
    over = [line for line in tree.split("\n")[1:] if len(line) > columns]
    assert not over and tree.count("\n") > 5, over


def test_messages_fit(seep):
    words = ["run", "-q", "--allocator", "glibc,glibc", "/bin/true"]
    narrow, wide = (on_terminal(width, str(seep), *words, status=2) for width in (80, 4000))
    assert narrow.split() == wide.split() and narrow.startswith("seep: ")
    assert max(map(len, wide.split("\n"))) > 80 >= max(map(len, narrow.split("\n"))), narrow


def test_tables_keep_their_columns_on_a_narrow_terminal(root, seep):
    def table(trace, head, *more):
        text = on_terminal(40, str(seep), "report", os.path.join(root, "tests", "golden", trace), *more)
        return re.search(r"^ *" + head + r" .*(?:\n.+)*", text, re.M)[0].split("\n")

    # The heads and the figures below them end in the same columns.
    totals = table("v1-scanned.seep", "totals")
    heads = [re.search(head, totals[0]).end() for head in ("count", "bytes")]
    for line in totals[1:3]:
        assert [match.end() for match in re.finditer(r"(?<= )[\d,]+", line)][:2] == heads, totals
    rows = table("v1-family.seep", "live bytes", "--by", "function")
    firsts = [line for line in rows[1:] if re.match(r" *[\d,]+ +[\d,]+ +<?[\d.]+%$", line)]
    assert len(firsts) > 5 and {len(line) for line in firsts} == {rows[0].index("share") + len("share")}, rows


@pytest.mark.parametrize("more", [[], ["--by", "function"], ["--kind", "lost"]])
def test_totals_and_classes_take_a_line_each(root, seep, more):
    words = [str(seep), "report", os.path.join(root, "tests", "golden", "v1-scanned.seep"), *more]
    narrow, wide = (on_terminal(width, *words) for width in (80, 4000))
    rows = [line for line in wide.split("\n") if re.match("  (still live|lost|indirectly lost|possibly lost|reachable) +[0-9]", line)]
    assert len(rows) == 5 and not set(rows) - set(narrow.split("\n")), narrow


def test_moments_of_a_history_are_told_apart(root, seep):
    text = on_terminal(120, str(seep), "history", os.path.join(root, "tests", "golden", "recording-v2.seep"), "--parts", "30")
    moments = [match[1] for match in re.finditer(r"^  ([\d.]+ \w+) +[\d,]+ ", text.split("\nmost live")[0], re.M)]
    assert len(moments) > 5 and len(set(moments)) == len(moments), text
    values = [float(moment.split()[0]) for moment in moments]
    steps = [b - a for a, b in zip(values, values[1:])]
    assert max(steps) - min(steps) <= 0.6 * max(steps), text


@pytest.mark.parametrize("columns", [40, 80])
def test_what_is_above_a_tree_fits(root, seep, columns):
    words = [str(seep), "report", "--tree", os.path.join(root, "tests", "golden", "v1-huge.seep")]
    narrow, wide = (on_terminal(width, *words).split("\n\n") for width in (columns, 4000))
    assert narrow[0].split() == wide[0].split() and max(map(len, wide[0].split("\n"))) > columns, wide
    title = narrow[1].split("%")[0].split("\n")
    assert not [line for line in narrow[0].split("\n") + title if len(line) > columns and " " in line.strip()], narrow


@pytest.mark.parametrize("way", ["--tree", "--tree=callers"])
def test_a_short_tree_has_the_programs_own_function(seep, tmp_path, way):
    source = tmp_path / "own.cpp"
    source.write_text(program_source("width_own.cpp"))
    subprocess.run(["g++", "-g", "-O0", "-o", "own", source.name], check=True, cwd=tmp_path)
    subprocess.run([seep, "run", "-q", "-o", "t.seep", "./own"], check=True, cwd=tmp_path)
    text = on_terminal(80, str(seep), "report", str(tmp_path / "t.seep"), way, "--sort", "bytes")
    assert "fill_all" in text and all(len(line) <= 80 for line in text.split("\n")), text


@pytest.mark.parametrize("columns", [60, 100, 300])
def test_what_a_command_is_fills_its_lines(seep, columns):
    """Its words were broken for 100 columns, and each line of them once more for fewer."""
    names = re.findall(r"^  (\w+)  ", on_terminal(100, str(seep), "help"), re.M)
    assert "replay" in names
    for name in names:
        about = re.search(r"^usage: (?:.|\n)*?\n\n(?![\w ]+:\n)((?:.+\n)+?)\n\w[\w ]*:\n", on_terminal(columns, str(seep), name, "--help"), re.M)
        if not about:
            continue
        lines = about[1].splitlines()
        for line, after in zip(lines, lines[1:]):
            if not line.startswith(" ") and not after.startswith(" ") and line[-1] not in ".:":
                assert len(line) + 1 + len(after.split()[0]) > min(columns, 100), (name, line, after)
            # A line of a list may go on below its own.
            assert line[-1] not in ".:" or not after.startswith("    "), (name, line, after)


@pytest.mark.parametrize("columns", [40, 80, 132])
def test_rows_of_sql_are_a_table(root, seep, run, columns):
    """Numbers at the right, texts cut where they have no room, which is told; in a pipe all of it."""
    trace = os.path.join(root, "tests", "golden", "recording-v2.seep")
    statement = "select id, text, length(text) from site_text order by id"
    shown = on_terminal(columns, str(seep), "sql", trace, statement).split("\n")
    piped = [line.split("\t") for line in run(seep, "sql", trace, statement).stdout.splitlines()]
    rows = shown[:len(piped)]
    assert len(piped) > 20 and piped[0] == ["id", "text", "length(text)"]
    assert all(len(line) <= columns for line in shown), shown
    assert {len(line) for line in rows} == {len(rows[0])}, rows
    cut = 0
    for line, (number, text, length) in zip(rows[1:], piped[1:]):
        assert line.split()[0] == number and line.endswith(" " + length), line
        shortened = line[rows[0].index("text"):-len("length(text)")].rstrip()
        assert shortened == text or (shortened.endswith("…") and text.startswith(shortened[:-1])), (line, text)
        cut += shortened != text
    assert ("%d values" % cut if cut else "") in " ".join(shown[len(piped):])


def test_rows_of_sql_without_room_are_groups(root, seep):
    trace = os.path.join(root, "tests", "golden", "recording-v2.seep")
    shown = on_terminal(40, str(seep), "sql", trace, "select * from site order by id limit 3")
    groups = [[line.split()[0] for line in group.split("\n") if line] for group in shown.split("\n\n")]
    assert len(groups) == 3 and groups[0] == groups[1] == groups[2] and "live_bytes" in groups[0], shown


def test_long_values_of_sql_are_not_all_kept(root, seep):
    """A thousand rows of 400,000 characters."""
    trace = os.path.join(root, "tests", "golden", "recording-v2.seep")
    rows = "with recursive c(n) as (select 1 union all select n + 1 from c limit 1000) select n, hex(zeroblob(200000)) h from c"
    shown = on_terminal(40, "/bin/sh", "-c", 'ulimit -v 300000; exec "$@"', "sh", str(seep), "sql", trace, rows).split("\n")
    assert [int(line.split()[0]) for line in shown[1:1001]] == list(range(1, 1001)) and shown[0].split() == ["n", "h"], shown
    assert all(len(line) <= 40 for line in shown[:1001]), shown


def test_progress_of_a_replay_counts_to_the_most(root, seep):
    """One line, which each round writes again; no round is beyond the number that it is said to be of."""
    trace = os.path.join(root, "tests", "golden", "recording-v2.seep")
    for words in (["--rounds", "3"], []):
        some = [] if words else ["/bin/sh", "-c", 'timeout --foreground -s INT 3 "$@" || [ $? = 124 ]', "sh"]  # of up to 200
        shown = on_terminal(100, *some, str(seep), "replay", trace, "--allocator", "glibc,glibc:glibc.malloc.tcache_count=0", *words)
        rounds = [(int(a), int(b)) for a, b in re.findall(r"\rround (\d+) of (\d+)", shown)]
        assert rounds and all(at <= most for at, most in rounds), rounds
        assert [at for at, _ in rounds] == list(range(len(rounds))) and "\nround" not in shown, rounds
        assert words or rounds[1][1] == 10, rounds
