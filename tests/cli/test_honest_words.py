# SPDX-License-Identifier: BSD-2-Clause
"""What a report says where it knows less, or more, than one word: sites of several classes, killed programs, too few looks,
frees of what is no block, and gates that would pass in silence."""
import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))
import make_v1  # noqa: E402
import messages  # noqa: E402
from small_programs import program_source

MIXED = program_source("honest_words_mixed.c")
WRONG = program_source("honest_words_wrong.c")
MISMATCH = program_source("honest_words_mismatch.c")
CLASSES = program_source("honest_words_classes.cpp")


@pytest.fixture
def build(tmp_path):
    def make(name, source, *options, compiler="gcc"):
        path = tmp_path / (name + (".cc" if compiler == "g++" else ".c"))
        path.write_text(source)
        subprocess.run([compiler, "-g", "-O1", "-w", *options, "-o", name, str(path)], check=True, cwd=tmp_path)
        return "./" + name
    return make


def test_a_site_of_two_classes(run, seep, tmp_path, build):
    """One lost block does not make the others at its place lost."""
    done = run(seep, "run", "-o", "m.seep", build("mixed", MIXED))
    assert "100 bytes leaked in 1 block   100.0% of leaks  partly lost" in done.stderr
    assert "of it lost: 100 bytes in 1 block; reachable: 900 bytes in 9 blocks" in done.stderr
    site, = [s for s in json.loads(run(seep, "report", "--json", "m.seep").stdout)["sites"] if s["live_blocks"]]
    assert site["kind"] == "lost"
    holder, = site["held_by"]
    assert (holder["kind"], holder["blocks"]) == ("reachable", 9) and holder["text"].startswith("global void *kept["), holder
    assert "held by, the reachable: global void *kept[" in done.stderr
    assert site["kinds"] == {"lost": {"blocks": 1, "bytes": 100}, "reachable": {"blocks": 9, "bytes": 900}}
    table = list(csv.DictReader(io.StringIO(run(seep, "report", "--csv", "m.seep").stdout)))
    assert [row["kind"] for row in table if row["live_blocks"] == "10"] == ["lost"]
    table = csv.DictReader(io.StringIO(run(seep, "report", "--csv", "--blocks", "m.seep").stdout))
    assert sorted(row["kind"] for row in table) == ["lost"] + ["reachable"] * 9
    only = run(seep, "report", "--kind", "reachable", "m.seep").stdout
    assert "900 bytes live in 9 blocks" in only and "reachable" in only and "partly" not in only
    assert "held by: global void *kept[" in only


NO_CFI = "code without "


@pytest.mark.parametrize("option, share, meaning", [
    ("-DPLAIN", "25.0% of allocations, 75.0% of live bytes", NO_CFI),
    ("-DGO", "25.0% of allocations, 75.0% of live bytes", "Go switches stacks here"),
    ("-DMAPS", "of mappings, none of allocations", NO_CFI),
])
def test_the_share_of_stacks_that_are_cut(run, seep, tmp_path, option, share, meaning):
    """One site of four may have most of the memory: the report gives its allocations and live bytes. Advice for compilers of C
    is no use where Go's own assembly cuts."""
    (tmp_path / "cut.c").write_text(program_source("cut_shares.c"))
    bare = ["-DCUT", "-fno-asynchronous-unwind-tables", "-fomit-frame-pointer", "-c", "-o", "cut.o"]
    for options in bare, ["-g", "cut.o", "-o", "cut"]:  # Go's name is only in the symbols, which debug information precedes
        subprocess.run(["gcc", "-O2", "-fno-builtin", option, "cut.c", *options], check=True, cwd=tmp_path)
    done = run(seep, "run", "-o", "c.seep", "./cut")
    for text in done.stderr, run(seep, "report", "c.seep").stdout:
        assert " events, nothing lost, 1 stack cut: %s\n  cut 1 (no_cfi): %s" % (share, meaning) in text, text


@pytest.mark.parametrize("option", ["-shared-libgcc", "-static-libstdc++"])
def test_the_pool_of_the_cxx_library(run, seep, build, option):
    """It is called by its name and does not lead where the program holds something; the totals have it."""
    pool = "libstdc++'s emergency pool for exceptions"
    report = run(seep, "run", "-o", "p.seep", build("pool", program_source("honest_words_pool.cpp"), option, compiler="g++")).stderr
    found = json.loads(run(seep, "report", "--json", "p.seep").stdout)
    pool_bytes = found["totals"]["live_bytes"] - 2000
    assert found["totals"]["live_blocks"] == 21 and pool_bytes > 70000
    holds, = [finding for finding in found["findings"] if finding["kind"] == "holds"]
    assert holds["place"].startswith("main (pool.cc:") and "holds    %s\n" % holds["text"] in report, (holds, report)
    assert re.search(r" in 21 blocks: [\d.]+ KiB of libstdc\+\+'s emergency pool, all of the rest from main \(pool\.cc:\d+\); held by global [^;]*kept", holds["text"]), holds
    holders = re.findall(r"^ +\d+ +([\d,]+)   (global .*|" + re.escape(pool) + ": .*)$", report, re.M)
    assert [int(size.replace(",", "")) for size, _ in holders] == [2000, pool_bytes] and holders[1][1].startswith(pool), report
    assert "    %s, in each program that uses it\n" % pool in report
    # Of the saved trace, too.
    assert "   %s: " % pool in run(seep, "report", "p.seep").stdout


def test_each_holder_of_a_site(run, seep, build):
    """Of each class, that of most blocks first, with how many it holds."""
    done = run(seep, "run", "-o", "h.seep", build("holders", program_source("several_holders.c")))
    lines = [line.strip() for line in done.stderr.splitlines() if "held by (" in line]
    assert [line.split(" (several_holders")[0].split(" (holders")[0] for line in lines] == [
        "held by (4 blocks, indirectly lost): lost block of 8 B from make", "held by (1 block, possibly lost): global void *one",
        "held by (7 blocks, reachable): global void *many[]", "held by (3 blocks, reachable): global void *some[]",
        "held by (1 block, reachable): global void **few"], lines
    site, = [s for s in json.loads(run(seep, "report", "--json", "h.seep").stdout)["sites"] if s["held_by"] and len(s["held_by"]) > 1]
    assert [(holder["kind"], holder["blocks"]) for holder in site["held_by"]] == [
        ("indirect", 4), ("possible", 1), ("reachable", 7), ("reachable", 3), ("reachable", 1)]
    # Of some of its blocks it is not told how many each holds.
    only = run(seep, "report", "--kind", "reachable", "h.seep").stdout
    assert "held by (" not in only


def test_missing_lines_are_told(run, seep, tmp_path):
    """With all names and no line, and how to get them; with -g the report says nothing of it."""
    (tmp_path / "plain.c").write_text(program_source("honest_words_no_lines.c"))
    for options, lines in (["-O2"], 1), (["-O2", "-g"], 0):
        subprocess.run(["gcc", *options, "-o", "plain", "plain.c"], check=True, cwd=tmp_path)
        text = run(seep, "run", "-o", f"plain{lines}.seep", "./plain").stderr
        assert text.count("  no lines: plain (built without -g: build with -g, beside -O2 too)") == lines, text


def test_an_unrolled_loop_is_one_place(run, seep, tmp_path):
    """Four calls in the code, one in the source: one row. The trace keeps them apart, and without lines so does the report."""
    (tmp_path / "unrolled.c").write_text(program_source("unrolled.c"))
    for options, is_one in (["-O2", "-g"], True), (["-O2"], False):
        subprocess.run(["gcc", *options, "-o", "unrolled", "unrolled.c"], check=True, cwd=tmp_path)
        name = f"u{is_one}.seep"
        run(seep, "run", "-q", "-o", name, "./unrolled")
        sites = json.loads(run(seep, "report", "--json", name).stdout)["sites"]
        blocks = [site["live_blocks"] for site in sites if site["live_blocks"]]
        assert sum(blocks) == 12 and (len(blocks) == 1) == is_one, sites


HOLDS_MORE = program_source("honest_words_holds_more.c")


def test_retained_memory_is_of_all_blocks_or_not_told(run, seep, tmp_path, build):
    """Beside figures of some of a place's blocks it would be more than there is."""
    done = run(seep, "run", "-o", "h.seep", build("holds", HOLDS_MORE))
    assert "9,010 bytes live in 10 blocks" in done.stderr and "retains 29,010 bytes" in done.stderr, done.stderr
    some = run(seep, "report", "h.seep", "--min-size", "500", "--max-size", "1500").stdout
    assert "9,000 bytes live in  9 blocks" in some or "9,000 bytes live in 9 blocks" in some, some
    assert "retains" not in some, some


def test_the_order_is_by_what_is_shown(run, seep, tmp_path, build):
    """--sort leaked shows what leaked: of ten blocks, one."""
    run(seep, "run", "-q", "-o", "s.seep", build("mixed", MIXED))
    table = run(seep, "report", "s.seep", "--sort", "leaked", "--by", "function").stdout
    heading, row = [line.split() for line in table.splitlines() if "allocated bytes" in line or line.endswith("  main")]
    assert heading[:2] == ["leaked", "blocks"] and row[:3] == ["100", "1", "100.0%"], table
    assert "100 bytes leaked in 1 block" in run(seep, "report", "s.seep", "--sort", "leaked").stdout


@pytest.mark.parametrize("how, name, core", [("k", "SIGKILL", False), ("s", "SIGSEGV", True)])
def test_leaks_of_a_killed_program_are_not_known(run, seep, build, how, name, core):
    """Leaks that were not looked for are not told as none."""
    done = run(seep, "run", "-o", "k.seep", build("wrong", WRONG), how)
    assert re.search("^leaks +not known: %s " % name, done.stderr, re.M), done
    assert ("seep scan CORE --trace FILE" in done.stderr) == core


def test_a_second_free_is_not_unknown_too(run, seep, build):
    done = run(seep, "run", "-o", "w.seep", build("wrong", WRONG))
    whole = json.loads(run(seep, "report", "--json", "w.seep").stdout)
    assert [w["kind"] for w in whole["mismatches"]] == ["double_free"]
    assert "  unknown " not in done.stderr, done.stderr


def test_few_looks_give_no_verdict(run, seep, build):
    """And a gate with too few snapshots does not pass. On a busy machine the process may not have run between two
    looks; then the message says this instead of the number of snapshots."""
    program = build("waits", program_source("honest_words_few_looks.c"))
    done = run(seep, "run", "--interval", "50ms", "--count", "3", "-q", "-o", "few.seep", program)
    shown = run(seep, "growth", "few.seep")
    assert messages.TOO_FEW_SNAPSHOTS in shown.stdout or messages.TOO_FEW_LOOKS in shown.stdout, (done, shown)
    assert "cannot be told from so little" in shown.stdout
    assert "without bound" not in shown.stdout
    gate = run(seep, "growth", "--error-exitcode", "5", "few.seep")
    assert gate.returncode == 1 and "too few snapshots" in gate.stderr


def test_check_tells_of_its_own_status_and_of_wrong_releases(run, seep, require, build):
    require("g++")
    program = build("mismatch", MISMATCH, compiler="g++")
    done = run(seep, "check", "--max-mismatches", "9", program)
    assert done.returncode == 3
    assert re.search("^seep: check: passed; .*; 9 mismatches; ", done.stderr, re.M), done
    assert "seep: check: the program itself exited with 3\n" in done.stderr
    done = run(seep, "check", program)
    assert done.returncode == 1
    assert "seep: check: 9 blocks were %s, more than --max-mismatches 0\n" % messages.FREED_IN_A_WRONG_WAY in done.stderr


def test_both_result_files_are_tried(run, seep, tmp_path, build):
    done = run(seep, "check", "--junit", "/dev/full", "--sarif", "s.sarif", build("mixed", MIXED))
    assert done.returncode == 1 and "/dev/full" in done.stderr
    assert json.loads((tmp_path / "s.sarif").read_text())["version"] == "2.1.0"


@pytest.mark.parametrize("command, arguments, missing", [("diff", [], "OLD"), ("diff", ["a"], "NEW"), ("whois", ["1"], "ADDRESS"),
                                                         ("mark", [], "PID"), ("mark", ["1"], "NAME")])
def test_the_operand_that_is_missing(run, seep, command, arguments, missing):
    done = run(seep, command, *arguments)
    assert done.returncode == 2 and done.stderr.startswith("seep: %s: %s is missing" % (command, missing))


def test_a_place_that_is_not_there_is_said_at_the_start(run, libseep, tmp_path, build):
    """SEEP_OUT in no folder: once, and the trace lies where it would without the setting."""
    program = build("mixed", MIXED)
    done = run(program, env={"LD_PRELOAD": libseep, "SEEP_OUT": "missing/x.seep"})
    assert done.returncode == 0
    assert done.stderr == "libseep: SEEP_OUT: a file in an existing folder is wanted; %s\n" % messages.USES_THE_DEFAULT
    assert len(list(tmp_path.glob("seep.mixed.*.seep"))) == 1


def test_suppressions_for_constructors_and_static_functions(run, seep, require, tmp_path, build, undisturbed):
    """Debug information names constructors and functions of one file as the symbols of other tools do not."""
    require("g++")
    valgrind = require("valgrind")
    program = build("classes", CLASSES, compiler="g++")
    run(seep, "run", "-q", "-o", "c.seep", program)
    file = tmp_path / "valgrind.supp"
    file.write_text(run(seep, "report", "c.seep", "--gen-suppressions").stdout)
    assert "fun:_ZN3BoxC?Ev\n" in file.read_text()
    done = run(valgrind, "-q", "--leak-check=full", "--errors-for-leak-kinds=all", "--error-exitcode=9",
               "--suppressions=%s" % file, program)
    assert done.returncode == 0, done.stderr
    patterns = run(seep, "report", "c.seep", "--gen-suppressions=lsan").stdout
    assert "\nleak:^lose(int)$\nleak:^lose$\n" in patterns and "\nleak:^Box::Box()$\n" in patterns


def test_a_gate_does_not_pass_while_somebody_is_still_at_work(run, seep, build):
    program = build("leaves", program_source("honest_words_gate.c"))
    done = run(seep, "run", "-q", "-o", "left.seep", "--error-exitcode", "9", "--no-wait", program)
    assert done.returncode == 9 and "was still running when the program had ended" in done.stderr, done
    done = run(seep, "run", "-q", "-o", "left.seep", "--error-exitcode", "9", "--children", "ignore", program)
    assert (done.returncode, done.stderr) == (0, "")


def test_sampled_totals_say_how_sure_they_are(run, seep, require):
    done = run(seep, "run", "--sample", "4K", "-o", "s.seep", require("perl"), "-e", 'my @a = map { "x" x 300 } 1..20000')
    found = re.search(r"^totals +count +bytes   allocations estimated from ([\d,]+) samples: count ±\d+%, bytes ±\d+% \(one sigma\)$", done.stderr, re.M)
    whole = json.loads(run(seep, "report", "--json", "--top", "0", "s.seep").stdout)
    assert int(found[1].replace(",", "")) == sum(site["samples"] for site in whole["sites"]), done.stderr


def test_scan_of_a_saved_trace_shows_what_was_found(run, seep, build):
    run(seep, "run", "-q", "-o", "m.seep", build("mixed", MIXED))
    assert re.search(r"^  lost +1 +100 ", run(seep, "scan", "m.seep").stdout, re.M)
    run(seep, "run", "-q", "-o", "k.seep", build("wrong", WRONG), "k")
    done = run(seep, "scan", "k.seep")
    assert done.returncode == 1 and "it has no leak scan, and a trace has no memory to scan" in done.stderr
    done = run(seep, "scan", "m.seep", "--trace", "k.seep")
    assert done.returncode == 2 and "not a core file" in done.stderr


def test_a_wrong_release_of_a_kind_that_is_not_known(run, seep, tmp_path):
    """Of a newer seep, or damaged: it is not called a mismatch, and not (null)."""
    with open(GOLDEN / "v1-mapped.seep", "rb") as file:
        mapped = file.read()
    rows = b"".join(bytes((kind, 1, 1, 1, 16, 8)) for kind in (0, 99))
    (tmp_path / "w.seep").write_bytes(make_v1.change(mapped, make_v1.reader.WRONG_RELEASES, lambda _raw: b"\2" + rows))
    done = run(seep, "report", tmp_path / "w.seep")
    assert done.returncode == 0 and done.stdout.count("  1 × freed in a way that this seep does not know: 0x10") == 2


OF_PARENT = program_source("honest_words_of_parent.c")


def test_threads_say_whose_they_are(run, seep, tmp_path):
    (tmp_path / "of_parent.c").write_text(OF_PARENT)
    subprocess.run(["gcc", "-O0", "-w", "-pthread", "of_parent.c", "-o", "of_parent"], cwd=tmp_path, check=True)
    assert run(seep, "run", "-q", "-o", "x.seep", "./of_parent").returncode == 0
    text = run(seep, "report", "--by", "thread", "x.seep").stdout
    pids = [int(pid) for pid in re.findall(r"^ +(\d+) .* exit 0 ", text, re.MULTILINE)]
    assert len(pids) == 3 and "(tid 0" not in text
    for child in pids[1:]:
        assert "  busy (io) (of the parent, before the fork, in pid %d)\n" % child in text
        assert "  of_parent (tid %d and 1 before it or before the fork, in pid %d)\n" % (child, child) in text
    assert re.search(r"  busy \(io\) \(tid \d+, in pid %d\)\n" % pids[0], text)
    one = run(seep, "report", "--by", "thread", "--pid", pids[0], "x.seep").stdout
    assert "in pid" not in one and "  of_parent (tid %d)\n" % pids[0] in one
    same = run(seep, "diff", "--by", "thread", "--json", "x.seep", "x.seep").stdout
    assert [row for row in json.loads(same)["rows"] if row["live_bytes"]] == []


def test_half_a_result_is_not_left(run, seep, require, tmp_path, build):
    require("unshare")
    if run("unshare", "--mount", "true").returncode:
        pytest.skip("no mounts of its own here")
    (tmp_path / "full").mkdir()
    program = build("mixed", MIXED)
    for command, name, said in ((["run", "-o", "x.seep", "--report"], "report", "'seep report' of the trace makes it again"),
                                (["check", "--junit"], "junit", "run it again"),
                                (["check", "--sarif"], "sarif", "run it again")):
        done = run("unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=32k none full && head -c 32768 /dev/zero >full/fill;"
                   '"$@"; status=$?; ls full; exit $status', "sh", seep, *command, "full/" + name, program)
        assert done.returncode == 1 and done.stdout.split()[-1] == "fill", done
        lines = [line for line in done.stderr.splitlines() if line.startswith("seep: full/")]
        assert len(lines) == 1 and "full/%s: cannot write the" % name in lines[0] and said in lines[0], done.stderr
        assert "No space left on device" in lines[0]
    assert run(seep, "run", "-q", "-o", "x.seep", program).returncode == 0
    for asked in (["--since", "nomark", program], ["./missing"]):
        assert run(seep, "run", "-o", "x.seep", "--report", "empty", *asked).returncode and not (tmp_path / "empty").exists()


POSSIBLE = program_source("honest_words_possible.c")


def test_what_is_only_possibly_lost_is_no_leaking_program(run, seep, build, tmp_path):
    program = build("possible", POSSIBLE)
    assert run(seep, "run", "-q", "-o", "x.seep", "sh", "-c", "%s; true" % program).returncode == 0
    text = run(seep, "report", "x.seep").stdout
    assert re.search(r"\n  possibly lost +1 +300 ", text) and "leaking programs" not in text
    mappings = "\n" + messages.MAPPINGS
    assert mappings in text
    # Nothing that is mapped is lost.
    assert mappings not in run(seep, "report", "--kind", "lost", "x.seep").stdout


def test_what_could_not_be_tried_is_not_missing_in_the_kernel(run, seep, require):
    require("setpriv")
    done = run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", seep, "info")
    if done.returncode or "CAP_BPF " not in done.stdout:
        pytest.skip("the user nobody may not run it here, or it is built without BPF")
    lines = done.stdout.splitlines()
    assert not any("Linux 5.8" in line for line in lines), done.stdout
    assert "  BPF ring buffer      NO: could not be tried, for BPF programs cannot be loaded" in lines


def test_help_shows_what_a_command_takes(run, seep):
    text = run(seep, "diff", "--help").stdout
    for name in ("blocks", "rss", "gen-suppressions", "pid", "limit"):
        assert "--" + name not in text
        assert run(seep, "diff", "--" + name, *(["1"] if name in ("pid", "limit") else []), "a", "b").returncode == 2
    keys = re.search(r"--sort KEY .*: ((?:.*,\n)*.*)\n", text)[1].replace(",", " ").split()
    assert keys == ["live", "allocations", "bytes", "temporary"]
    for key in keys:
        assert "--sort" not in run(seep, "diff", "--sort", key, "a", "b").stderr
    text = run(seep, "check", "--help").stdout
    assert "seep.%e.%p.seep" not in text and "when blocks are lost, indirectly" not in text
    assert re.search(r"--report FILE .*\(default: none is written", text)


def test_program_selects_everywhere(run, seep, tmp_path, build):
    program = build("mixed", MIXED)
    done = run(seep, "run", "--program", "/mixed$", "--json", "--report", "-", "-o", "x.seep", "sh", "-c", "%s; true" % program)
    assert json.loads(done.stdout)["process"]["exe"].endswith("/mixed")
    assert run(seep, "run", "-q", "-o", "y.seep", program).returncode == 0
    report = json.loads(run(seep, "diff", "--program", "/mixed$", "--json", "x.seep", "y.seep").stdout)
    assert report["old"]["exe"] == report["new"]["exe"] and report["old"]["processes"] == 1
    assert report["changes"]["new"] == report["changes"]["gone"] == 0, report["changes"]
    done = run(seep, "diff", "--program", "/none$", "x.seep", "y.seep")
    assert done.returncode == 1 and "none" in done.stderr
    (tmp_path / "all.supp").write_text("leak:main\n")
    done = run(seep, "report", "--program", "/mixed$", "--suppressions", "all.supp", "x.seep")
    assert done.returncode == 0 and "by all.supp:1 " in done.stdout, done


def test_leaks_are_not_known_where_nobody_looked(run, seep, tmp_path, build):
    """The library alone writes no classes: their absence is no good sign."""
    program = build("mixed", MIXED)
    library = Path(seep).parent / "libseep.so"
    subprocess.run([program], cwd=tmp_path, check=True, env={"LD_PRELOAD": str(library), "SEEP_OUT": "alone.seep"})
    for options in ([], ["--by", "function"]):
        assert re.search("^leaks +not known: ", run(seep, "report", "alone.seep", *options).stdout, re.M), options
    first = json.loads(run(seep, "report", "alone.seep", "--json").stdout)["findings"][0]
    assert first["kind"] == "leaks" and first["text"].startswith("not known: "), first
    looked = run(seep, "run", "-o", "looked.seep", program).stderr
    assert "not known" not in looked and "leaks    100 B lost" in looked


def test_what_shows_who_holds(run, seep, build):
    """It points to nothing that is not there."""
    run(seep, "run", "-q", "-o", "m.seep", build("mixed", MIXED))

    def reachable(*options):
        text = run(seep, "report", "m.seep", *options).stdout
        return text, next(line for line in text.splitlines() if line.startswith("  reachable "))
    text, line = reachable()
    assert "held: see 'held by' below" in line and "held by, the reachable" in text
    text, line = reachable("--by", "function")
    assert "holders: --by site" in line and "top holders " not in text and "held by" not in text
    text, line = reachable("--kind", "lost")
    assert "holders: --kind reachable" in line and "held by" not in text


def test_a_time_needs_a_unit(run, seep, build):
    run(seep, "run", "-q", "-o", "m.seep", build("mixed", MIXED))
    assert "a time needs a unit: 1.5s, or 1.5ms" in run(seep, "report", "m.seep@1.5").stderr


def test_the_head_of_a_site_is_what_is_sorted_by(run, seep, build):
    run(seep, "run", "-q", "-o", "m.seep", build("mixed", MIXED))
    for sort, words in (("allocations", "10 allocations  100.0% of allocations"),
                        ("bytes", "1,000 bytes allocated in 10 allocations  100.0% of allocated bytes")):
        text = run(seep, "report", "m.seep", "--sort", sort).stdout
        assert "\n#1  " + words in text and "; 1,000 bytes live in 10 blocks" in text, text


def test_a_tree_begins_with_health(run, seep, build):
    """How names are cut: tests/golden/report-strange-tree.txt."""
    run(seep, "run", "-q", "-o", "m.seep", build("mixed", MIXED))
    assert run(seep, "report", "m.seep", "--tree").stdout.startswith("health: complete")
