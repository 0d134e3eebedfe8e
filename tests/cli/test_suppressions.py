# SPDX-License-Identifier: BSD-2-Clause
"""--suppressions and --gen-suppressions on real programs, and what is generated given to the tools whose words it is
in. The languages themselves are tests/unit/test_suppress.c."""
import json
import os
import re
import select
import signal
import subprocess
import time

import pytest

import messages
import schema
from small_programs import program_source

C_SOURCE = program_source("suppressions_c.c")

CXX_SOURCE = program_source("suppressions_cxx.cpp")


def compile_program(folder, name, source, compiler, *flags):
    path = folder / (name + (".cpp" if compiler == "g++" else ".c"))
    path.write_text(source)
    subprocess.run([compiler, "-g", "-O1", "-fno-omit-frame-pointer", "-o", str(folder / name), str(path), *flags], check=True)
    return str(folder / name)


@pytest.fixture(scope="module")
def traces(seep, tmp_path_factory):
    """(folder, trace of the C program, trace of the C++ program)"""
    folder = tmp_path_factory.mktemp("suppressions")
    made = [folder]
    for name, source, compiler in (("keep", C_SOURCE, "gcc"), ("shop", CXX_SOURCE, "g++")):
        program = compile_program(folder, name, source, compiler)
        trace = str(folder / (name + ".seep"))
        subprocess.run([seep, "run", "-q", "-o", trace, program], check=True, timeout=60)
        made.append(trace)
    return made


def suppressed(run, seep, trace, text, tmp_path):
    """{line: (blocks, bytes)} that the text takes of the trace, and the JSON report."""
    file = tmp_path / "a.supp"
    file.write_text(text)
    done = run(seep, "report", trace, "--json", "--suppressions", str(file))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    return {r["line"]: (r["blocks"], r["bytes"]) for r in report["suppressions"]["rules"] if r["line"]}, report


def entry(*lines):
    return "{\n  name\n  Memcheck:Leak\n  " + "\n  ".join(lines) + "\n}\n"


@pytest.mark.parametrize("text, taken", [
    ("leak:keep_name", (3, 96)),
    ("leak:^keep_tab*$", (1, 700)),
    ("leak:keep_inlined", (1, 50)),
    ("leak:keep.c", (5, 846)),
    ("leak:/keep$", (5, 846)),
    ("leak:nothing", (0, 0)),
    (entry("fun:malloc", "fun:strdup", "fun:keep_name"), (3, 96)),
    (entry("fun:malloc", "...", "fun:work", "fun:main"), (4, 146)),
    (entry("fun:calloc", "fun:keep_*", "obj:*/keep"), (1, 700)),
    (entry("fun:malloc", "fun:keep_inlined", "fun:around"), (1, 50)),
    (entry("...", "src:keep.c", "fun:main"), (5, 846)),
    (entry("fun:keep_name"), (0, 0)),
])
def test_lines_take_blocks(run, seep, traces, tmp_path, root, text, taken):
    lines, report = suppressed(run, seep, traces[1], text + "\n", tmp_path)
    assert lines == {1: taken}
    # Figures stay; what is taken is told beside them.
    with open(os.path.join(root, "docs", "report.schema.json"), encoding="utf-8") as file:
        rules = json.load(file)
    assert schema.check(report, rules, rules) == []
    assert sum(site["live_bytes"] for site in report["sites"]) == report["totals"]["live_bytes"]
    assert sum(site.get("suppressed", {"bytes": 0})["bytes"] for site in report["sites"]) == taken[1]


@pytest.mark.parametrize("text, taken", [
    ("leak:shop::Order* shop::make<shop::Order>(int)", 8),
    ("leak:_ZN4shop4make", 8),
    ("leak:^shop::Order::Order", 4),
    (entry("fun:_Znwm", "fun:_ZN4shop4makeINS_5OrderEEEPT_i"), 8),  # 4, and what only those lead to
    (entry("fun:operator new*", "...", "fun:_ZN4shop5OrderC?Ei"), 4),
    (entry("fun:_Znw*", "...", "fun:*shop::make<shop::Order>(int)"), 8),
])
def test_names_of_cxx_match_mangled_and_readable(run, seep, traces, tmp_path, text, taken):
    lines, _ = suppressed(run, seep, traces[2], text + "\n", tmp_path)
    assert lines[1][0] == taken


def test_text_report_tells_what_each_line_did(run, seep, traces, tmp_path):
    file = tmp_path / "b.supp"
    file.write_text("leak:keep_name\nleak:nothing\n{\n n\n Memcheck:Cond\n fun:x\n}\n")
    done = run(seep, "report", traces[1], "--suppressions", str(file))
    assert done.returncode == 0, done.stderr
    assert re.search(r"^suppressed +blocks +bytes +by$", done.stdout, re.M), done.stdout
    assert re.search(r"^ +3 +96 +%s:1  leak:keep_name$" % re.escape(str(file)), done.stdout, re.M), done.stdout
    assert "  unused: %s:2  leak:nothing\n" % file in done.stdout
    assert "  skipped: 1 entry about other errors than leaks\n" in done.stdout
    assert "keep_name (" not in done.stdout and "keep_table (" in done.stdout
    without = "  without a scan these figures include reachable blocks\n"
    assert without not in done.stdout
    unscanned = str(tmp_path / "unscanned.seep")
    assert run(seep, "run", "-q", "--scan", "no", "-o", unscanned, str(traces[0] / "keep")).returncode == 0
    done = run(seep, "report", unscanned, "--suppressions", str(file))
    assert "leak:keep_name\n" + without in done.stdout, done.stdout


def test_error_exitcode_counts_what_is_left(run, seep, traces, tmp_path):
    program = str(traces[0] / "keep")
    file = tmp_path / "all.supp"
    for text, status in (("leak:work", 0), ("leak:keep_name", 7), ("leak:keep_name\nleak:keep_table\nleak:around", 0)):
        file.write_text(text)
        for scan in ("yes", "no"):
            done = run(seep, "run", "-q", "-o", "/dev/null", "--error-exitcode", "7", "--scan", scan, "--suppressions",
                       str(file), program)
            assert done.returncode == status, (text, scan, done)


def test_several_files_and_their_errors(run, seep, traces, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("leak:keep_name\n")
    two.write_text("\nleek:x\n")
    done = run(seep, "report", traces[1], "--suppressions", str(one), "--suppressions=%s" % two)
    assert done.returncode == 1 and not done.stdout
    assert done.stderr.startswith("seep: %s:2: 'leek:x' is no suppression" % two) and done.stderr.count("\n") == 1
    two.write_text("leak:keep_table\n")
    done = run(seep, "report", traces[1], "--json", "--suppressions", str(one), "--suppressions", str(two))
    assert [r["blocks"] for r in json.loads(done.stdout)["suppressions"]["rules"]] == [3, 1]
    for bad, words, hint in ((tmp_path / "none", "No such file", "(check its path; "), (tmp_path, "Is a directory", "in it)\n")):
        done = run(seep, "run", "-q", "--suppressions", str(bad), "true")
        assert done.returncode == 1 and words in done.stderr and done.stderr.count("\n") == 1, done.stderr
        assert hint in done.stderr, done.stderr


def test_wrong_use(run, seep, traces):
    for options, words in ((["--json"], messages.EXCLUDE), (["--by", "function"], "leave --by out")):
        done = run(seep, "report", traces[1], "--gen-suppressions", *options)
        assert done.returncode == 2 and words in done.stderr
    done = run(seep, "report", traces[1], "--gen-suppressions=other")
    assert done.returncode == 2 and "one of valgrind, lsan" in done.stderr


@pytest.mark.parametrize("which", ["valgrind", "lsan"])
@pytest.mark.parametrize("program", [1, 2])
def test_what_is_generated_takes_all(run, seep, traces, tmp_path, which, program):
    done = run(seep, "report", traces[program], "--gen-suppressions=" + which)
    assert done.returncode == 0 and done.stdout
    lines, report = suppressed(run, seep, traces[program], done.stdout, tmp_path)
    # what is reachable needs no suppression
    left = report["leaks"]["reachable"]["blocks"]
    assert sum(blocks for blocks, _ in lines.values()) == report["totals"]["live_blocks"] - left, done.stdout
    assert not any(report["leaks"][kind]["blocks"] for kind in ("lost", "indirect", "possible"))


@pytest.mark.parametrize("program", [1, 2])
def test_valgrind_takes_what_is_generated(run, seep, require, traces, tmp_path, program, undisturbed):
    valgrind = require("valgrind")
    file = tmp_path / "generated.supp"
    file.write_text(run(seep, "report", traces[program], "--gen-suppressions").stdout)
    binary = str(traces[0] / ("keep" if program == 1 else "shop"))
    check = [valgrind, "--leak-check=full", "--show-leak-kinds=all", "--errors-for-leak-kinds=all", "--error-exitcode=9"]
    assert run(*check, binary).returncode == 9
    done = run(*check, "--suppressions=%s" % file, binary)
    assert done.returncode == 0, done.stderr


# Functions that have other names in other tools: of one file, lambdas, arguments that are templates.
NAMES_SOURCE = program_source("suppressions_names.cpp")


@pytest.mark.parametrize("source, compiler, flags", [
    (C_SOURCE, "gcc", "-g"), (C_SOURCE, "clang", "-g"), (CXX_SOURCE, "g++", "-g"), (CXX_SOURCE, "clang++", "-g"),
    (NAMES_SOURCE, "g++", "-g"), (NAMES_SOURCE, "g++", "-g0"), (NAMES_SOURCE, "clang++", "-g"),
], ids=["c-gcc", "c-clang", "shop-gcc", "shop-clang", "names-gcc", "names-gcc-symbols", "names-clang"])
def test_leak_sanitizer_takes_what_is_generated(run, seep, require, tmp_path, source, compiler, flags):
    """Also that of another compiler than built what was traced: their symbolizers write names in their own ways."""
    plain = compile_program(tmp_path, "plain", source, "gcc" if source == C_SOURCE else "g++", "-std=c++17" if source != C_SOURCE else "-w")
    file = tmp_path / "generated.supp"
    assert run(seep, "run", "-q", "-o", "plain.seep", plain).returncode == 0
    file.write_text(run(seep, "report", "plain.seep", "--gen-suppressions=lsan").stdout)
    binary = str(tmp_path / "leaky")
    done = run(require(compiler), "-w", flags, "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
               "-fsanitize=leak", "-o", binary,
               str(tmp_path / ("plain.c" if source == C_SOURCE else "plain.cpp")), timeout=120)
    if done.returncode:
        pytest.skip("no LeakSanitizer here: " + done.stderr[-200:])
    env = {"LSAN_OPTIONS": "fast_unwind_on_malloc=0"}
    if compiler.startswith("clang"):
        env["LSAN_SYMBOLIZER_PATH"] = require("llvm-symbolizer")
    plain = run(binary, env=env)
    if "does not work under ptrace" in plain.stderr or "LeakSanitizer has encountered a fatal error" in plain.stderr:
        pytest.skip("LeakSanitizer cannot run here: " + plain.stderr.strip().splitlines()[-1])
    assert plain.returncode == 23, plain.stderr
    env["LSAN_OPTIONS"] += ":suppressions=%s" % file
    done = run(binary, env=env)
    assert done.returncode == 0, file.read_text() + done.stdout + done.stderr


SHARED_SOURCE = program_source("suppressions_shared.c")


def test_a_generated_line_names_what_no_other_leak_has(run, seep, tmp_path):
    """`make` is in all stacks: a line about it for one of them would hide the others."""
    program = compile_program(tmp_path, "shared", SHARED_SOURCE, "gcc")
    trace = str(tmp_path / "shared.seep")
    assert run(seep, "run", "-q", "-o", trace, program).returncode == 0
    text = run(seep, "report", trace, "--gen-suppressions=lsan").stdout
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert sorted(lines) == ["leak:^common$", "leak:^first$", "leak:^other$", "leak:^possibly$", "leak:^second$"], text
    assert ("# 17 bytes in 1 block, lost\n# no function is in these stacks alone: it takes 13 bytes in 1 other block, too\n"
            "leak:^other$\n") in text
    assert "# 24 bytes in 2 blocks, lost\nleak:^common$\n" in text and "# 802 bytes in 4 blocks, lost\nleak:^second$\n" in text
    # of what a filter shows, too, the others count
    for kind, line in (("possible", "leak:^possibly$"), ("lost", "leak:^second$")):
        done = run(seep, "report", trace, "--gen-suppressions=lsan", "--kind", kind)
        assert line in done.stdout.splitlines() and "leak:^make$" not in done.stdout
    taken, _ = suppressed(run, seep, trace, "leak:^possibly$\n", tmp_path)
    assert taken == {1: (1, 300)}


def test_a_generated_entry_is_there_once(run, seep, tmp_path):
    program = compile_program(tmp_path, "shared", SHARED_SOURCE, "gcc")
    trace = str(tmp_path / "shared.seep")
    assert run(seep, "run", "-q", "-o", trace, program).returncode == 0
    text = run(seep, "report", trace, "--gen-suppressions").stdout
    entries = re.findall(r"^\{\n.*?^\}\n", text, re.M | re.S)
    assert len(set(entries)) == len(entries) == 6, text
    assert "# 802 bytes in 4 blocks, lost\n{\n" in text and "# 300 bytes in 1 block, possible\n{\n" in text


# ---- what the program says itself ----

OWN_SOURCE = program_source("suppressions_own.c")
CONSTANT = 'return "leak:leak_known\\n# comment\\nleak:unused\\n";'


POINTER = 'static const char *volatile text = "leak:leak_known"; return text;'


@pytest.mark.parametrize("body, compiler, flags", [
    (CONSTANT, "gcc", "-O0"), (CONSTANT, "gcc", "-O2 -fcf-protection=full"), (CONSTANT, "gcc", "-O0 -no-pie -fno-pie"),
    (CONSTANT, "gcc", "-O2 -no-pie -fno-pie -mcmodel=large"), (CONSTANT, "clang", "-O0 -no-pie -fno-pie"),
    (CONSTANT, "g++", "-O1 -fPIC -rdynamic"), (POINTER, "gcc", "-O0"), (POINTER, "clang", "-O0 -no-pie -fno-pie"),
    (POINTER, "gcc", "-O2 -no-pie -fno-pie -mcmodel=large"), (POINTER, "clang", "-O2 -no-pie -fno-pie -mcmodel=large"),
])
def test_default_suppressions_are_read(run, seep, require, tmp_path, compiler, flags, body):
    source = tmp_path / ("own.cpp" if compiler == "g++" else "own.c")
    source.write_text(OWN_SOURCE.replace("BODY", body))
    subprocess.run([require(compiler), "-g", "-o", "own", source.name, *flags.split()], check=True, cwd=str(tmp_path))
    done = run(seep, "run", "--report", "-", "--json", "-o", "/dev/null", str(tmp_path / "own"))
    used = {rule["name"]: rule for rule in json.loads(done.stdout)["suppressions"]["rules"]}
    assert used["leak:leak_known"]["bytes"] == 100 and used["leak:leak_known"]["line"] == 1, used
    assert used["leak:leak_known"]["file"] == "__lsan_default_suppressions in own"
    if body == CONSTANT:
        assert used["leak:unused"]["line"] == 3 and used["leak:unused"]["blocks"] == 0


def test_default_suppressions_can_be_left_out(run, seep, tmp_path):
    (tmp_path / "own.c").write_text(OWN_SOURCE.replace("BODY", CONSTANT))
    subprocess.run(["gcc", "-g", "-o", "own", "own.c"], check=True, cwd=str(tmp_path))
    for options, leaked in (([], "10 bytes in 1 block"), (["--no-default-suppressions"], "110 bytes in 2 blocks")):
        done = run(seep, "check", "-q", *options, str(tmp_path / "own"))
        assert done.returncode == 1 and "seep: check: %s leaked" % leaked in done.stderr, done.stderr


def test_the_console_counts_leaks_as_the_report_does(run, seep, tmp_path):
    """Also its second report, and nothing of it is saved."""
    (tmp_path / "own.c").write_text(OWN_SOURCE.replace("BODY", CONSTANT))
    subprocess.run(["gcc", "-g", "-o", "own", "own.c"], check=True, cwd=str(tmp_path))
    trace, saved = tmp_path / "own.seep", tmp_path / "saved.seep"
    run(seep, "run", "-q", "-o", str(trace), str(tmp_path / "own"))
    leaks = [json.loads(run(seep, "report", "--json", str(trace)).stdout)["suppressions"]["rules"][0]["bytes"]]
    told = run(seep, "connect", "--json", "-e", "dump; dump; save %s" % saved, str(trace)).stdout
    decoder, at = json.JSONDecoder(), 0
    for _ in range(2):
        report, at = decoder.raw_decode(told, at)
        leaks.append(report["suppressions"]["rules"][0]["bytes"])
        at += 1
    leaks.append(json.loads(run(seep, "report", "--json", str(saved)).stdout)["suppressions"]["rules"][0]["bytes"])
    assert leaks == [100] * 4


UNUSED = "seep: check: unused: "
NOT_RUN = "does more than return a constant text: it is not run"


@pytest.mark.parametrize("body, note", [
    ('return getenv("NOTHING");', NOT_RUN),
    ('static char text[40] = "leak:x"; text[5] = (char)rand(); return text;', NOT_RUN),
    ('static char text[40]; __builtin_strcpy(text, "leak:leak_known"); return text;', NOT_RUN),
    ('return "leek:x";', "__lsan_default_suppressions in own:1: 'leek:x' is no suppression"),
    ('return "garbage here\\nleak:leak_known\\n";', "__lsan_default_suppressions in own:1: 'garbage here' is no suppression"),
])
def test_default_suppressions_that_cannot_be_read(run, seep, tmp_path, body, note):
    (tmp_path / "own.c").write_text(OWN_SOURCE.replace("BODY", body))
    subprocess.run(["gcc", "-g", "-O1", "-o", "own", "own.c"], check=True, cwd=str(tmp_path))
    done = run(seep, "run", "-o", "own.seep", str(tmp_path / "own"))
    assert done.returncode == 0 and note in done.stderr, done.stderr
    assert note in run(seep, "report", "own.seep").stdout
    assert any(note in said["text"] for said in json.loads(run(seep, "report", "--json", "own.seep").stdout)["health"]["notes"])
    for more, status in (([], 1), (["--max-leaked", "1K"], 0)):
        done = run(seep, "check", *more, str(tmp_path / "own"))
        lines = [line for line in done.stderr.splitlines() if line.startswith("seep: check: note: own: ")]
        assert done.returncode == status and len(lines) == 1 and note in lines[0], done.stderr
    assert run(seep, "check", "-q", "--max-leaked", "1K", str(tmp_path / "own")).stderr == ""
    assert "note:" not in run(seep, "check", "--no-default-suppressions", str(tmp_path / "own")).stderr


@pytest.mark.parametrize("flags, found", [(["-rdynamic"], True), ([], False)])
def test_default_suppressions_of_a_stripped_program(run, seep, tmp_path, flags, found):
    """What it exports is known still; what is gone cannot be told from what never was."""
    body = 'static char text[40]; __builtin_strcpy(text, "leak:x"); return text;'
    (tmp_path / "own.c").write_text(OWN_SOURCE.replace("BODY", body))
    subprocess.run(["gcc", "-O1", "-s", *flags, "-o", "own", "own.c"], check=True, cwd=str(tmp_path))
    done = run(seep, "check", str(tmp_path / "own"))
    assert (NOT_RUN in done.stderr) == found, done.stderr


# ---- what took nothing ----


def test_check_tells_unused_suppressions_in_a_line(run, seep, tmp_path):
    (tmp_path / "own.c").write_text(OWN_SOURCE.replace("BODY", CONSTANT))
    subprocess.run(["gcc", "-g", "-o", "own", "own.c"], check=True, cwd=str(tmp_path))
    (tmp_path / "a.supp").write_text("leak:nothing\nleak:leak_new\n" + entry("fun:malloc", "fun:nobody"))

    def unused(*command):
        done = run(seep, "check", *command)
        return [line for line in done.stderr.splitlines() if "unused" in line], done

    lines, done = unused("--suppressions", "a.supp", "./own")
    assert done.returncode == 0 and lines == [UNUSED + "a.supp:1  leak:nothing; a.supp:3  name"], done
    # a failed check tells it, too; a quiet one that passes nothing
    again, done = unused("--no-default-suppressions", "--suppressions", "a.supp", "./own")
    assert again == lines and done.returncode == 1
    assert unused("-q", "--suppressions", "a.supp", "./own")[1].stderr == ""
    assert not unused("./own")[0]  # what the program itself says, and what is built in, is not the user's
    (tmp_path / "b.supp").write_text("".join("leak:nobody%d\n" % i for i in range(5)))
    assert unused("--suppressions", "b.supp", "./own")[0] == [
        UNUSED + "b.supp:1  leak:nobody0; b.supp:2  leak:nobody1; b.supp:3  leak:nobody2; "
        "2 more, which --report FILE --json lists"]
    lines, done = unused("--suppressions", "a.supp", "--junit", "j.xml", "--sarif", "s.sarif", "./own")
    assert "leak:nothing" not in (tmp_path / "j.xml").read_text() + (tmp_path / "s.sarif").read_text()


def test_unused_means_in_no_process(run, seep, tmp_path):
    """The two programs leak by different functions."""
    for name, function in (("one", "leak_one"), ("two", "leak_two")):
        (tmp_path / (name + ".c")).write_text(OWN_SOURCE.replace("BODY", CONSTANT).replace("leak_new", function))
        subprocess.run(["gcc", "-g", "-o", name, name + ".c"], check=True, cwd=str(tmp_path))
    (tmp_path / "a.supp").write_text("leak:leak_one\nleak:leak_two\nleak:leak_three\n")
    done = run(seep, "check", "--suppressions", "a.supp", "sh", "-c", "./one; ./two; true")
    assert done.returncode == 0 and UNUSED + "a.supp:3  leak:leak_three\n" in done.stderr, done.stderr


def test_the_mark_of_utf_8_is_no_suppression(run, seep, tmp_path):
    (tmp_path / "own.c").write_text(OWN_SOURCE.replace("BODY", CONSTANT))
    subprocess.run(["gcc", "-g", "-o", "own", "own.c"], check=True, cwd=str(tmp_path))
    (tmp_path / "a.supp").write_bytes(b"\xef\xbb\xbfleak:leak_new\r\n")
    done = run(seep, "check", "--suppressions", "a.supp", "./own")
    assert done.returncode == 0 and "suppressed: 110 bytes in 2 blocks; " in done.stderr, done.stderr


# ---- what is built in ----


GLIB = {"gobject types"}


@pytest.mark.parametrize("arguments", [("list", "/usr"), ("info", "/usr/bin")])
def test_each_built_in_rule_is_used_by_real_programs(run, seep, require, tmp_path, arguments):
    """And said with its reason and what it took; nothing of GLib is lost."""
    trace = str(tmp_path / "gio.seep")
    assert run(seep, "run", "-q", "-o", trace, require("gio"), *arguments).returncode == 0
    report = json.loads(run(seep, "report", "--json", trace).stdout)
    rules = {rule["name"]: rule for rule in report["suppressions"]["rules"] if rule["file"] == "built in"}
    assert set(rules) >= GLIB, rules
    assert all(rule["blocks"] > 0 and rule["reason"] for rule in rules.values()), rules
    assert report["leaks"]["lost"]["blocks"] == report["leaks"]["indirect"]["blocks"] == 0
    text = run(seep, "report", trace).stdout
    for rule in rules.values():
        assert re.search(r"^ +%s +%s +built in  %s \(%s\)$" % (
            "{:,}".format(rule["blocks"]), "{:,}".format(rule["bytes"]), re.escape(rule["name"]), re.escape(rule["reason"])), text, re.M)


def test_types_that_glib_makes_at_start_need_no_rule(run, seep, require, tmp_path):
    """A scan knows the headers of these types."""
    trace = str(tmp_path / "gio.seep")
    assert run(seep, "run", "-q", "-o", trace, require("gio"), "version").returncode == 0
    leaks = json.loads(run(seep, "report", "--json", "--no-default-suppressions", trace).stdout)["leaks"]
    assert leaks["reachable"]["blocks"] > 100 and leaks["possible"]["blocks"] == 0, leaks


# What keeps something of the C and C++ runtime by pointers into the middle, and loses something by the same functions,
# which stays a leak: (rule, source, flags, whether it needs the names of the C library's own functions).
KEEPERS = {
    "thread": ("segments of loaded code", program_source("suppressions_program.c"), ["gcc", "-pthread"], True),
    "emulated": ("emulated thread-local variables", program_source("suppressions_emulated.c"), ["clang", "-femulated-tls"], False),
}
# Rules that other tests need: of a libc without names, and of tcmalloc (live/test_allocator_choice.py).
ELSEWHERE = {"segments of loaded code, by a loader without names", "the first extension of tcmalloc"}
OF_32_BITS = {"exceptions that are held", "strings of the old ABI"}
# What a scan knows: trees of tsearch, of which most of these are, and in 64-bit programs exceptions.
KNOWN = {
    "tree": (None, program_source("suppressions_program_2.c"), ["gcc"], False),
    "environment": (None, program_source("suppressions_program_3.c"), ["gcc"], False),
    "semaphores": (None, program_source("suppressions_program_4.c"), ["gcc", "-pthread"], False),
    "conversions": (None, program_source("suppressions_program_5.c"), ["gcc"], False),
    "exception": (None, program_source("suppressions_program_6.cpp"), ["g++"], False),
    "message": (None, program_source("suppressions_program_7.cpp"), ["g++"], False),
}
LOSES = {"tree", "conversions"}
OF_THE_LOADER = {"conversions": 2}  # it opens a library, for which there is a rule


def test_each_built_in_rule_has_a_program_that_needs_it(root):
    with open(os.path.join(root, "src/host/analysis/suppress_defaults.c"), encoding="utf-8") as file:
        names = re.findall(r'"\{\\n(.+?)\\nMemcheck:Leak', file.read())
    assert sorted(names) == sorted(GLIB | ELSEWHERE | OF_32_BITS | {rule for rule, *_ in KEEPERS.values()})


def kept_by_runtime(run, seep, require, tmp_path, name, wrap=()):
    """(what the program keeps without the built-in list, with it, the rules that took something)"""
    _, source, (compiler, *flags), _ = (KEEPERS | KNOWN)[name]
    program = tmp_path / (name + (".cpp" if compiler == "g++" else ".c"))
    program.write_text(source)
    subprocess.run([require(compiler), "-g", "-O1", "-o", name, program.name, *flags], check=True, cwd=tmp_path)
    done = run(*wrap, seep, "run", "-q", "-o", name + ".seep", "./" + name)
    assert done.returncode == 0, done.stderr
    plain, report = [json.loads(run(*wrap, seep, "report", "--json", *more, name + ".seep").stdout)
                     for more in (["--no-default-suppressions"], [])]
    return plain["leaks"], report["leaks"], {rule["name"]: rule for rule in report.get("suppressions", {"rules": []})["rules"]}


@pytest.mark.parametrize("name", KEEPERS)
def test_what_the_runtime_keeps_is_suppressed(run, seep, require, tmp_path, name):
    rule, _, _, needs_names = KEEPERS[name]
    plain, leaks, rules = kept_by_runtime(run, seep, require, tmp_path, name)
    if needs_names and rule not in rules and not os.path.isdir("/usr/lib/debug/.build-id"):
        pytest.skip("no debug information of the C library (libc6-dbg)")
    assert rules[rule]["blocks"] > 0 and rules[rule]["reason"] and rules[rule]["file"] == "built in", rules
    assert plain["possible"]["blocks"] > 0 and [leaks[kind]["blocks"] for kind in ("lost", "indirect", "possible")] == [0, 0, 0], (plain, leaks)


@pytest.mark.parametrize("name", KNOWN)
def test_what_a_scan_knows_needs_no_rule(run, seep, require, tmp_path, name):
    """And what is lost by the same functions is a leak."""
    plain, _, _ = kept_by_runtime(run, seep, require, tmp_path, name)
    assert plain["reachable"]["blocks"] > 1 and plain["possible"]["blocks"] == OF_THE_LOADER.get(name, 0), plain
    assert plain["lost"]["blocks"] == (name in LOSES), plain
    done = run(seep, "check", "--kind", "lost,indirect,possible", "./" + name)
    assert done.returncode == (name in LOSES), done.stderr


def test_what_a_nameless_libc_keeps_is_suppressed(run, seep, require, tmp_path):
    """Few machines have the debug information of the C library; only what it exports has names then."""
    wrap = ["env", "SEEP_DEBUG_DIR=%s" % tmp_path]
    plain, leaks, rules = kept_by_runtime(run, seep, require, tmp_path, "thread", wrap)
    assert plain["possible"]["blocks"] > 0 and leaks["possible"]["blocks"] == 0, rules
    assert "segments of loaded code, by a loader without names" in rules


def test_curl_leaks_nothing_that_is_possibly_lost(run, seep, require):
    """It opens libraries, as every second program does."""
    done = run(seep, "check", "--kind", "lost,indirect,possible", require("curl"), "--version")
    assert done.returncode == 0 and "suppressed: " in done.stderr, done.stderr


# What of libstdc++ and glibc is made once and kept: locales, facets, streams, regex, threads, exceptions.
RUNTIME = program_source("suppressions_runtime.cpp")


def test_libstdcxx_keeps_nothing_in_a_way_that_needs_a_rule(run, seep, tmp_path):
    (tmp_path / "runtime.cpp").write_text(RUNTIME)
    subprocess.run(["g++", "-std=c++17", "-O1", "-pthread", "runtime.cpp", "-o", "runtime"], cwd=tmp_path, check=True, timeout=120)
    trace = str(tmp_path / "runtime.seep")
    assert run(seep, "run", "-q", "-o", trace, str(tmp_path / "runtime")).returncode == 0
    report = json.loads(run(seep, "report", "--json", "--no-default-suppressions", trace).stdout)
    leaks = report["leaks"]
    assert leaks["reachable"]["blocks"] > 50 and [leaks[kind]["blocks"] for kind in ("lost", "indirect", "possible")] == [0, 0, 0]
    assert run(seep, "check", str(tmp_path / "runtime")).returncode == 0


def test_what_glib_keeps_is_suppressed(run, seep, require, tmp_path):
    """`gio monitor` waits for ever with the usual types and slices of GLib made."""
    process = subprocess.Popen([seep, "run", "-q", "-o", "/dev/null", require("gio"), "monitor", str(tmp_path)],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        (tmp_path / "changed").write_text("")
        deadline = time.monotonic() + 60
        file = tmp_path / "changed"
        while not select.select([process.stdout], [], [], 0.1)[0]:  # it says so once it watches
            assert time.monotonic() < deadline and process.poll() is None
            file.write_text(file.read_text() + "x")
        children = "/proc/%d/task/%d/children" % (process.pid, process.pid)
        with open(children, encoding="ascii") as pids:
            pid = pids.read().split()[0]
        plain = json.loads(run(seep, "scan", "--json", "--no-default-suppressions", pid).stdout)
        report = json.loads(run(seep, "scan", "--json", pid).stdout)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    assert "suppressions" not in plain and plain["leaks"]["possible"]["blocks"] > 0
    rules = report["suppressions"]["rules"]
    assert {rule["file"] for rule in rules} == {"built in"} and {rule["line"] for rule in rules} == {None}
    assert "gobject types" in [rule["name"] for rule in rules] and all(rule["reason"] for rule in rules)
    assert report["leaks"]["suppressed"]["blocks"] == sum(rule["blocks"] for rule in rules)
    assert report["leaks"]["suppressed"]["blocks"] > 0
    assert report["leaks"]["possible"]["blocks"] + report["leaks"]["suppressed"]["blocks"] == plain["leaks"]["possible"]["blocks"]


def test_no_generated_rule_names_an_allocator(run, seep, tmp_path):
    """The loader's own malloc is the innermost function of what dlopen keeps: as a rule it would take every leak."""
    (tmp_path / "opens.c").write_text(program_source("suppressions_opens.c"))
    subprocess.run(["gcc", "-g", "-o", "opens", "opens.c", "-ldl"], check=True, cwd=tmp_path)
    assert run(seep, "run", "-q", "-o", "opens.seep", "./opens").returncode == 0
    rules = run(seep, "report", "opens.seep", "--gen-suppressions=lsan", "--no-default-suppressions").stdout
    lines = [line for line in rules.splitlines() if not line.startswith("#")]
    assert "# " in rules and not any(line.startswith(("leak:^malloc", "leak:^calloc", "leak:^realloc")) for line in lines), rules


def test_an_entry_takes_its_own_stack_only(run, seep, require, tmp_path, undisturbed):
    """`...` for the C library's frames would take what their caller allocates by itself, and copies of functions have
    their own names in Valgrind."""
    valgrind = require("valgrind")
    (tmp_path / "c.c").write_text(program_source("suppressions_clones.c"))
    subprocess.run(["gcc", "-g", "-O2", "-D_GNU_SOURCE", "-fno-inline", "-o", "c", "c.c"], check=True, cwd=tmp_path)
    assert run(seep, "run", "-q", "-o", "c.seep", "./c").returncode == 0
    entries = re.findall(r"^\{\n.*?^\}\n", run(seep, "report", "--gen-suppressions", "c.seep").stdout, re.M | re.S)
    assert len(entries) == 5
    text = "".join(entries)
    symbols = subprocess.run(["nm", "c"], check=True, cwd=tmp_path, capture_output=True, text=True).stdout
    clones = re.findall(r" t (of_(?:part|constant)\..*)", symbols)
    assert clones and all("   fun:%s\n" % name in text for name in clones), (clones, text)
    assert re.search(r"   \.\.\.\n   obj:\*libc\.so\*\n   fun:make_owner\n", text), text
    for entry in entries:
        (tmp_path / "one.supp").write_text(entry)
        done = run(valgrind, "--leak-check=full", "--show-leak-kinds=all", "--suppressions=one.supp", "./c")
        assert re.search(r"suppressed: [\d,]+ bytes in 1 blocks", done.stderr), (entry, done.stderr)
