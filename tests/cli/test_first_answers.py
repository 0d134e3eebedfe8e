# SPDX-License-Identifier: BSD-2-Clause
"""What is said first: the owner before what it held, each figure once, and no message without its file."""
import json
import os
import re
import shlex
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

import messages
import sarif
import terminal
from small_programs import built_program, program_source


@pytest.fixture(scope="module")
def lost(tmp_path_factory, seep):
    """A program, and its trace."""
    folder = tmp_path_factory.mktemp("first")
    (folder / "first.c").write_text(program_source("first_answers.c"))
    subprocess.run(["gcc", "-g", "-O0", "-fno-builtin", "-o", "first", "first.c"], check=True, cwd=folder)
    subprocess.run([seep, "run", "-q", "-o", "first.seep", "./first"], check=True, cwd=folder)
    return folder


def on_terminal(columns, *argv):
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return terminal.on_terminal(columns, *argv, environment=dict(environment, NO_COLOR="1"))


def test_a_check_lists_the_owner_first(run, seep, lost):
    done = run(seep, "check", lost / "first")
    leaks = re.findall(r"leak \d of \d: (.*)\n(?:    (with .*)\n)?    (\w+) ", done.stderr)
    assert [place for _, _, place in leaks][:2] == ["lose_owner", "lose_three"] and leaks[-1][2] == "leaf", done
    assert leaks[0][:2] == ("400 bytes in 1 block, lost, by malloc", "with what only it leads to: 50,400 bytes in 51 blocks")


def test_what_hangs_under_a_lost_block_names_it(run, seep, lost):
    shown = run(seep, "report", "--kind", "indirect", lost / "first.seep").stdout
    assert re.search(r"^leaks .* from leaf \(first.c:\d+\), which a lost block from lose_owner \(first.c:\d+\) leads to$", shown, re.M), shown


def test_who_called_what_only_makes_the_lost_block_is_named(run, seep, tmp_path):
    (tmp_path / "called_by.c").write_text(program_source("called_by.c"))
    subprocess.run(["gcc", "-g", "-O0", "-fno-builtin", "-o", "called_by", "called_by.c"], check=True, cwd=tmp_path)
    shown = run(seep, "run", "-o", "called_by.seep", "./called_by", cwd=tmp_path).stderr
    assert re.search(r"^leaks .* from make \(called_by.c:4\), called by lose_name \(called_by.c:8\)$", shown, re.M), shown


def test_the_first_line_names_the_next_place_too(run, seep, lost):
    shown = run(seep, "report", lost / "first.seep").stdout
    assert re.search(r"^leaks .* of it from lose_owner \(first.c:\d+\), [\d.]+% from lose_three \(first.c:\d+\)$", shown, re.M), shown


def test_a_place_of_thousands_of_stacks_has_all_its_bytes(run, seep, tmp_path):
    """Only so many stacks are looked at one by one: of 3,000 stacks of one line the report told a third."""
    program = built_program("first_many_stacks.c", tmp_path, "-g", "-O0", "-fno-builtin")
    shown = run(seep, "run", "-o", "many.seep", program, cwd=tmp_path).stderr
    most = r"75\.0% of it from keep \(.*\), called by descend \(.*\), 75\.0% of that for often \(.*\), 25\.0% from main \(.*\)"
    assert re.search(rf"^leaks .* {most}$", shown, re.M), shown
    assert re.search(r"^holds .*, 75\.0% from keep \(.*\), 25\.0% from main \(.*\)$", shown, re.M), shown


def test_code_without_names_has_callers(run, seep, tmp_path):
    """All blocks of a stripped program are from the one function that calls malloc: who called it tells more."""
    program = built_program("first_many_stacks.c", tmp_path, "-s", "-O0", "-fno-builtin")
    shown = run(seep, "run", "-o", "many.seep", program, cwd=tmp_path).stderr
    place = r"first_many_stacks\+0x[0-9a-f]+"
    assert re.search(rf"^leaks .* 75\.0% of it from {place}, called by {place}, [\d.]+% of that for {place}, 25\.0% from {place}$", shown, re.M), shown


def test_no_byte_is_retained_twice(run, seep, lost):
    """Nodes of a list, and the data under them, are from one line: the sum of what each retains says nothing."""
    shown = run(seep, "report", "--top", "0", lost / "first.seep").stdout
    (row,) = [part for part in shown.split("\n#") if " lose_list (" in part]
    assert "leaked in 20 blocks" in row and "retains" not in row, row


@pytest.fixture(scope="module")
def shim(tmp_path_factory, seep):
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(program_source("shim_holder.c"))
    subprocess.run(["gcc", "-g", "-O0", "-fno-builtin", "-o", "shim", "shim.c"], check=True, cwd=folder)
    subprocess.run([seep, "run", "-q", "-o", "shim.seep", "sh", "-c", "exec ./shim"], check=True, cwd=folder)
    return folder


def test_a_shell_that_executed_the_program_does_not_lead(run, seep, shim):
    """The shell's blocks were gone at the exec. The report said that they are held, and before the program's own blocks."""
    report = json.loads(run(seep, "report", "--json", shim / "shim.seep").stdout)
    first, program = sorted(report["processes"], key=lambda one: not one["process"]["went_on"])
    assert first["process"]["went_on"] and first["totals"]["live_bytes"] > program["totals"]["live_bytes"] == 100
    shown = run(seep, "report", shim / "shim.seep").stdout
    assert re.search(r"^holds +100 B in 1 block, all from hold \(shim.c:\d+\)", shown, re.M), shown
    assert re.search(r"^peak +[\d.]+ KiB in shim, pid %d, all from hold \(shim.c:\d+\)" % program["process"]["pid"], shown, re.M), shown
    assert re.search(r"^leaks +nothing is lost; not scanned: 1 process that went on by exec$", shown, re.M), shown
    assert " hold (shim.c:" in shown.split("\n#1 ")[1].split("\n#2 ")[0], shown


def test_the_peak_of_several_is_the_highest_of_one(run, seep, lost, shim, tmp_path):
    """The report had no line `peak` for several processes."""
    run(seep, "run", "-q", "-o", "both.seep", "sh", "-c", "%s; %s; :" % (lost / "first", shim / "shim"), cwd=tmp_path)
    processes = json.loads(run(seep, "report", "--json", tmp_path / "both.seep").stdout)["processes"]
    highest = max(processes, key=lambda one: one["totals"]["peak_bytes"])
    shown = run(seep, "report", tmp_path / "both.seep").stdout
    (found,) = re.findall(r"^peak +[\d.]+ KiB in (\w+), pid (\d+)[,:]", shown, re.M)
    assert found == ("first", str(highest["process"]["pid"])), shown
    assert not re.search(r"^peak ", run(seep, "report", "--min-size", "50", tmp_path / "both.seep").stdout, re.M)


def test_a_stripped_program_says_what_helps(run, seep, lost, tmp_path):
    subprocess.run(["strip", "-o", tmp_path / "bare", lost / "first"], check=True)
    shown = run(seep, "run", "-o", "bare.seep", "./bare", cwd=tmp_path).stderr
    assert re.search(r"^  no symbols: bare \(.*; run a build that is not stripped\)$", shown, re.M), shown
    assert "no symbols" not in run(seep, "report", lost / "first.seep").stdout


@pytest.mark.parametrize("columns", [30, 40, 80])
def test_lines_end_at_a_narrow_terminal(seep, lost, columns):
    shown = on_terminal(columns, seep, "report", str(lost / "first.seep"))
    for line in shown.splitlines():
        assert len(line) <= columns or line.startswith(("next: ", "      seep ")) or " " not in line.strip(), line
    if columns == 80:
        (heading,) = [line for line in shown.splitlines() if re.match(r"leaks +blocks +bytes ", line)]
        assert heading.endswith(" read"), heading


@pytest.mark.parametrize("args, message", [
    (["1", "--", "./first"], "seep: " + messages.BAD_INTERVAL % "./first" + " (a duration, as in 5s; to start a program and trace it, "
                             "name no PID: seep attach -- ./first)\n"),
    (["1", "-o", "app.seep"], "seep: -o: bad value 'app.seep' (a number of milliseconds; --output FILE saves the trace)\n"),
])
def test_what_attach_does_not_take(run, seep, args, message):
    done = run(seep, "attach", *args)
    assert (done.returncode, done.stderr) == (2, message), done


def test_a_full_disk_is_told_with_the_file(run, seep, lost):
    done = run(seep, "export", "--format", "json", "-o", "/dev/full", lost / "first.seep")
    assert done.returncode == 1 and done.stderr.startswith("seep: %s: No space left" % (messages.CANNOT_WRITE_REPORT % "/dev/full")), done


@pytest.mark.parametrize("program, why", [("/nonexistent/app", "not found"), ("/etc/passwd", "cannot be executed")])
def test_a_program_that_cannot_be_run_has_files_too(run, seep, tmp_path, program, why):
    """No server takes the files of an earlier run for this one's."""
    (tmp_path / "j.xml").write_text("<testsuites/>")
    done = run(seep, "check", "--junit", "j.xml", "--sarif", "s.json", program)
    assert done.returncode in (126, 127), done
    root = xml.etree.ElementTree.parse(tmp_path / "j.xml").getroot()
    assert root.get("errors") == "1" and why in root.find(".//error").get("message")
    whole = json.loads((tmp_path / "s.json").read_text())
    sarif.check(whole)
    assert whole["runs"][0]["invocations"][0]["executionSuccessful"] is False


def test_a_process_is_one_line(seep, root):
    """In 80 columns its program stands in the line of its figures."""
    shown = on_terminal(80, seep, "report", os.path.join(root, "tests", "golden", "v1-forked.seep"))
    (heading,) = [line for line in shown.splitlines() if " live blocks " in line]
    assert heading.endswith(" program") and heading.split()[0] == "pid", shown


def built(folder, name):
    (folder / (name + ".c")).write_text(program_source(name + ".c"))
    subprocess.run(["gcc", "-g", "-O0", "-fno-builtin", "-o", name, name + ".c"], check=True, cwd=folder)
    return "./" + name


def findings_of(run, seep, trace):
    whole = json.loads(run(seep, "report", "--json", trace).stdout)
    return {finding["kind"]: finding for finding in whole["findings"]}, [note["code"] for note in whole["health"]["notes"]]


def test_lost_cycles_are_named(run, seep, tmp_path):
    """Before, blocks that point to one another were lost with "no pointer to it anywhere". One that points to itself is no
    cycle, nor is one with a part that is pointed to, as the head of a std::map is (by all, which looks like an allocator's header)."""
    program = built(tmp_path, "first_cycle")
    run(seep, "run", "-q", "-o", "pairs.seep", program)
    found, codes = findings_of(run, seep, "pairs.seep")
    assert "lost_cycles" in codes and messages.CYCLES in found["leaks"]["text"], found
    assert found["leaks"]["value"] == 48 * 208, found
    assert re.search(r"^  note: 3 lost blocks ", run(seep, "report", "pairs.seep").stdout, re.M)
    run(seep, "run", "-q", "-o", "alone.seep", program, "0")
    found, codes = findings_of(run, seep, "alone.seep")
    assert found["leaks"]["value"] == 42 * 208 and "lost_cycles" not in codes and messages.CYCLES not in found["leaks"]["text"], found
    run(seep, "run", "-q", "--mode", "record", "-o", "record.seep", program)
    assert "lost_cycles" in findings_of(run, seep, "record.seep")[1]
    past = json.loads(run(seep, "report", "--json", "--at", "peak", "record.seep").stdout)  # which no scan has seen
    assert "lost_cycles" not in [note["code"] for note in past["health"]["notes"]], past["health"]
    run(seep, "run", "-q", "-o", "many.seep", program, "1000")
    assert re.search(r"^  note: 1,000 lost blocks ", run(seep, "report", "many.seep").stdout, re.M)


def test_the_buffer_of_stdout_is_not_what_the_program_holds(run, seep, tmp_path):
    """And the holder is named at once."""
    run(seep, "run", "-q", "-o", "stdio.seep", built(tmp_path, "first_stdio"))
    found, _ = findings_of(run, seep, "stdio.seep")
    for kind in ("holds", "peak"):
        assert found[kind]["place"].startswith("open_session ("), found
        assert found[kind]["place_value"] == 640 and messages.STDIO_BUFFERS in found[kind]["text"], found
    assert re.search(r"; held by global struct session \*sessions \(first_stdio.c:\d+\)", found["holds"]["text"]), found
    shown = run(seep, "report", "stdio.seep").stdout
    holders = shown.split("\ntop holders")[1].split("\n\n")[0]
    assert holders.index("sessions") < holders.index("stdout"), shown


def test_a_program_that_holds_nothing_of_its_own(run, seep, tmp_path):
    """What the libraries hold is named, and what is left of the peak is the program's, however little."""
    source = tmp_path / "only.cpp"
    source.write_text(program_source("first_only_stdio.cpp"))
    subprocess.run(["g++", "-g", "-O1", "-o", "only", source.name], check=True, cwd=tmp_path)
    run(seep, "run", "-q", "-o", "only.seep", "./only")
    found, _ = findings_of(run, seep, "only.seep")
    assert messages.STDIO_BUFFERS + messages.NOTHING_ELSE in found["holds"]["text"], found
    assert found["peak"]["place"].startswith("main (") and messages.NOTHING_ELSE not in found["peak"]["text"], found
    of_program = found["peak"]["text"].split(messages.STDIO_BUFFERS)[1]
    assert float(re.search(r"([\d.]+)%", of_program)[1]) > 50, found
    shown = run(seep, "report", "--sort", "temporary", "only.seep").stdout
    assert "#1" not in shown and "\nnext: seep report only.seep --sort allocations " in shown, shown


@pytest.mark.parametrize("name, word", [("-dash.seep", "./-dash.seep"), ("it's 1.seep", "it's 1.seep")])
def test_a_shell_reads_the_file_in_commands_to_copy(run, seep, lost, tmp_path, monkeypatch, name, word):
    monkeypatch.chdir(tmp_path)
    shutil.copy(lost / "first.seep", name)
    command = re.search(r"^next: (seep .*?)   \(", run(seep, "report", "--", name).stdout, re.M)[1]
    words = shlex.split(command)
    assert words[:3] == ["seep", "report", word], command
    assert run(seep, *words[1:]).returncode == 0, command
    for arguments, hint in ((["html"], "seep html FILE -o page.html"), (["shrink"], "seep shrink FILE -o small.seep"),
                            (["import", "--format", "log"], "seep import FILE --format log -o out.seep")):
        done = run(seep, *arguments, "--", name)
        assert done.returncode == 2
        assert shlex.split(re.search(r"\((.*)\)$", done.stderr)[1]) == [word if at == "FILE" else at for at in hint.split()]
    done = run(seep, "serve", f"./{name}")
    assert shlex.split(re.search(r"(seep serve --http .*)\)$", done.stderr)[1])[3:] == [f"./{name}"], done.stderr
    done = run(seep, "connect", "-e", f'save "{name}"', f"./{name}")
    assert shlex.split(done.stdout.split("saved: ")[1])[:2] == ["seep", "report"], done.stdout
    saved = shlex.split(done.stdout.split("saved: ")[1])[2]
    assert run(seep, "report", saved).returncode == 0, done.stdout


@pytest.mark.parametrize("name, word", [("-dash.seep", "./-dash.seep"), ("it's 1.seep", "it's 1.seep")])
def test_a_shell_reads_the_file_in_hints_of_scan_and_replay(run, seep, tmp_path, monkeypatch, name, word):
    monkeypatch.chdir(tmp_path)
    run(seep, "run", "-q", "--scan", "no", "--mode", "record", "-o", f"./{name}", built(tmp_path, "empty_main"))
    for command, hint in (("scan", r"(seep scan CORE --trace .*)\)$"), ("replay", r"\('(seep report .*)' says if")):
        done = run(seep, command, "--", name)
        assert shlex.split(re.search(hint, done.stderr)[1])[-1] == word, done.stderr


def test_rows_of_zeros_are_left_out(run, seep, tmp_path):
    """But for what is lost, which is asked first."""
    run(seep, "run", "-q", "-o", "stdio.seep", built(tmp_path, "first_stdio"))
    shown = run(seep, "report", "stdio.seep").stdout
    classes = re.findall(r"^  ([a-z ]+?) {2,}\d", shown.split("\nleaks  ")[-1].split("\n\n")[0], re.M)
    assert classes == ["lost", "reachable"], shown
    assert not re.search("^  temporary", shown, re.M), shown


def test_a_block_that_holds_only_itself_is_no_holder(run, seep, tmp_path):
    """Several pointers lead to it. It stood among the holders, with a chain of some 200 characters."""
    run(seep, "run", "-q", "-o", "twice.seep", built(tmp_path, "first_held_twice"))
    shown = run(seep, "report", "twice.seep").stdout
    (holders,) = re.findall(r"\ntop holders .*\n((?:  .*\n)+)", shown)
    assert re.fullmatch(r" +10 +4,000   block of 400 B .*, held by several: global struct node \*(list|last_list) .*\n"
                        r"  \(and 1 more that holds less, or only one block\)\n", holders), holders
    found, _ = findings_of(run, seep, "twice.seep")
    assert "held by" not in found["holds"]["text"], found  # 50,000 of 54,000 bytes are of the other


@pytest.mark.parametrize("command, is_told", [("diff", True), ("report", True), ("sql", True), ("top", False), ("mark", False)])
def test_an_option_for_a_file_that_a_command_lacks(run, seep, command, is_told):
    """-o is what other commands write to. "unknown option '-o' in '-o'" said nothing of it."""
    done = run(seep, command, "-o", "out", "a", "b")
    assert done.returncode == 2 and done.stderr.startswith(f"seep: {command}: unknown option '-o' ("), done
    assert (messages.WRITES_TO_STDOUT in done.stderr) == is_told, done
    assert "'-x' in '-xo' (" in run(seep, command, "-xo", "out", "a", "b").stderr


def test_a_diff_names_buffers_of_stdio(run, seep, tmp_path):
    """It named the function that wrote first."""
    for name in ("empty_main", "first_stdio"):
        run(seep, "run", "-q", "-o", f"{name}.seep", built(tmp_path, name))
    shown = run(seep, "diff", "empty_main.seep", "first_stdio.seep").stdout
    assert re.search(rf"^changed  .* more live: .* from {messages.STDIO_BUFFERS} \(new\)", shown, re.M), shown


def test_sites_of_one_line_are_told_apart_by_what_it_calls(run, seep, tmp_path):
    """Main is the caller of all. They were "from _start", each."""
    (tmp_path / "alike.cpp").write_text(program_source("names_alike.cpp"))
    subprocess.run(["g++", "-g", "-O1", "-o", "alike", "alike.cpp"], check=True, cwd=tmp_path)
    run(seep, "run", "-q", "--mode", "record", "-o", "alike.seep", "./alike")
    shown = run(seep, "history", "--top", "0", "alike.seep").stdout
    told = set(re.findall(r"\(alike.cpp:\d+\), site \d+, (from|in) (\S+)", shown))
    assert told and not any("_start" in name for _, name in told) and any(how == "in" and name.startswith("std::") for how, name in told), shown


def test_no_table_of_nothing(run, seep, tmp_path):
    """By function only a row with the sum was there."""
    run(seep, "run", "-q", "-o", "empty.seep", built(tmp_path, "first_stdio"))
    shown = run(seep, "report", "--by", "function", "--sort", "temporary", "empty.seep").stdout
    assert "(all" not in shown and "--top 0 shows them" in shown, shown


@pytest.fixture(scope="module")
def arena(tmp_path_factory, seep):
    """The trace of a program with an arena and a list."""
    folder = tmp_path_factory.mktemp("arena")
    subprocess.run([seep, "run", "-q", "-o", "arena.seep", built(folder, "first_arena")], check=True, cwd=folder)
    return folder / "arena.seep"


def test_who_fills_an_arena_is_named(run, seep, arena):
    """The first line named only the line that makes the chunks."""
    found, _ = findings_of(run, seep, arena)
    for kind in ("holds", "peak"):
        assert re.search(r" from new_chunk \(first_arena.c:12\), 90\.0% of that for parse_tree \(first_arena.c:27\)(;|$)",
                         found[kind]["text"]), found


def test_blocks_of_a_list_are_one_link(run, seep, arena):
    """The chain had each block with its place, in up to 650 columns."""
    sites = json.loads(run(seep, "report", "--json", arena).stdout)["sites"]
    (chain,) = [held["text"] for site in sites if site["size_max"] == 5000 for held in site["held_by"]]
    assert re.search(r" -> 4 blocks of 21 to 24 B \(struct node\) from add_node \(first_arena.c:43\) \.next"
                     r" -> block of 20 B \(struct node\) from add_node \(first_arena.c:43\) \.payload$", chain), chain


def test_a_block_that_grows_by_realloc(run, seep, tmp_path):
    """The bytes of the line `churn` are those that realloc copies."""
    run(seep, "run", "-q", "-o", "grows.seep", built(tmp_path, "first_realloc"))
    found, _ = findings_of(run, seep, "grows.seep")
    assert re.search(r" from add_line \(first_realloc.c:6\), by realloc: 191 MiB in all, at most 195 KiB at once$",
                     found["churn"]["text"]), found


def test_a_block_that_grows_by_realloc_beside_many_others(run, seep, tmp_path):
    """Where no place has half of the allocations, the place with most of the bytes is named. There was no such line."""
    run(seep, "run", "-q", "-o", "grows.seep", built(tmp_path, "first_realloc"), "beside")
    found, _ = findings_of(run, seep, "grows.seep")
    assert re.fullmatch(r"99\.\d% of the 19\d MiB allocated in all from add_line \(first_realloc.c:\d+\), by realloc: "
                        r"at most 195 KiB at once", found["churn"]["text"]), found
    assert found["churn"]["value"] > 100000, found


@pytest.mark.parametrize("known, own, text", [
    ("6000", "6000", r"11\.7 KiB in 2 blocks, the largest part 50\.0% from keep_own .*"),
    ("9000", "1000", r"9\.77 KiB in 2 blocks, 90\.0% suppressed, 10\.0% from keep_own .*")])
def test_suppressed_blocks_are_among_all_that_is_held(run, seep, tmp_path, known, own, text):
    """The blocks that are not suppressed counted as all, and the place of a small rest as the largest part of all. A scan would
    find the blocks reachable, which is no leak to suppress."""
    (tmp_path / "known.supp").write_text("leak:keep_known\n")
    run(seep, "run", "-q", "--scan", "no", "-o", "part.seep", built(tmp_path, "first_suppressed"), known, own)
    whole = json.loads(run(seep, "report", "--json", "--suppressions", tmp_path / "known.supp", "part.seep").stdout)
    (holds,) = [finding["text"] for finding in whole["findings"] if finding["kind"] == "holds"]
    assert re.fullmatch(text, holds), holds
    assert sum(site["live_bytes"] for site in whole["sites"]) == int(known) + int(own)
