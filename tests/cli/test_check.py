# SPDX-License-Identifier: BSD-2-Clause
"""seep check: budgets, the baseline, what it writes for CI servers and code hosts, and that it never passes on a guess."""
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

import messages
import report_json
import sarif
from small_programs import program_source

NOT_SURE = "seep: check: not sure: "
ANNOTATION = "::error title=seep check is not sure::"
NOT_A_BASELINE = "not a baseline of seep"
# Leaks 5 blocks of 100 bytes in read_order, 1 of 30 in read_name; frees everything else. The stack is overwritten
# and nothing is printed, so that what is lost is what is live.
SOURCE = program_source("check.c")


def compile_program(folder, source=SOURCE, name="app", flags=()):
    path = folder / (name + ".c")
    path.write_text(source)
    subprocess.run(["gcc", "-g", "-O1", "-pthread", "-o", str(folder / name), path.name, *flags], check=True, cwd=str(folder))
    return str(folder / name)


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    return compile_program(tmp_path_factory.mktemp("check"))


def last_lines(done):
    return [line for line in done.stderr.splitlines() if line.startswith("seep: check: ")]


def test_nothing_leaked(run, seep, app, tmp_path):
    done = run(seep, "check", app, "clean", cwd=tmp_path)
    assert done.returncode == 0, done
    assert re.fullmatch(r"seep: check: passed; nothing leaked; peak 48\.8 KiB, [1-9] allocations?\n", done.stderr)
    assert os.listdir(tmp_path) == []  # no trace, unless asked for
    done = run(seep, "check", "-q", app, "clean")
    assert done.returncode == 0 and done.stderr == ""


def test_passed_is_the_last_word(run, seep, app, tmp_path):
    done = run(seep, "check", "--junit", tmp_path / "junit.xml", "--sarif", "/dev/full", app, "clean")
    assert done.returncode == 1 and "passed" not in done.stderr
    assert "/dev/full: cannot write the SARIF file" in done.stderr


def test_the_status_of_the_program_is_kept(run, seep, app):
    done = run(seep, "check", app, "exit")
    assert done.returncode == 3 and "passed" in done.stderr
    assert run(seep, "check", "--max-peak", "10", app, "exit").returncode == 1
    assert run(seep, "check", "/nonexistent/program").returncode == 127


def test_a_leak_fails(run, seep, app):
    done = run(seep, "check", app, cwd=os.path.dirname(app))
    assert done.returncode == 1, done
    assert last_lines(done) == ["seep: check: 530 bytes in 6 blocks leaked, more than --max-leaked 0"]
    # First what is broken, then each leak with its stack, a frame a line.
    lines = [re.sub(r"__strdup", "strdup", line) for line in done.stderr.splitlines()]  # libc may have debug information
    assert [re.sub(r":\d+\)", ":N)", line) for line in lines] == [
        last_lines(done)[0],
        "leak 1 of 2: 500 bytes in 5 blocks, lost, by malloc",
        "    read_order (app.c:N)",
        "    main (app.c:N)",
        "leak 2 of 2: 30 bytes in 1 block, lost, by malloc",
        "    strdup [libc.so.6]",
        "    read_name (app.c:N)",
        "    main (app.c:N)"]
    assert run(seep, "check", "--error-exitcode", "77", app).returncode == 77
    quiet = run(seep, "check", "-q", app)
    assert quiet.returncode == 1 and quiet.stderr.splitlines() == last_lines(done)


@pytest.mark.parametrize("options, broken", [
    (["--max-leaked", "530"], []),
    (["--max-leaked", "529"], ["530 bytes in 6 blocks leaked, more than --max-leaked 529"]),
    (["--max-leaked", "1K", "--max-peak", "50000"], []),
    (["--max-leaked", "1K", "--max-peak", "49999"], ["peak of 50,000 bytes (app, pid N), more than --max-peak 49,999"]),
    (["--max-leaked", "1K", "--max-allocations", "7"], []),
    (["--max-allocations", "6", "--max-peak", "1"],
     ["530 bytes in 6 blocks leaked, more than --max-leaked 0", "peak of 50,000 bytes (app, pid N), more than --max-peak 1",
      "7 allocations, more than --max-allocations 6"]),
])
def test_budgets(run, seep, app, options, broken):
    done = run(seep, "check", *options, app)
    lines = [re.sub(r"pid \d+", "pid N", line[len("seep: check: "):]) for line in last_lines(done)]
    if broken:
        assert done.returncode == 1 and lines == broken
    else:
        assert done.returncode == 0 and len(lines) == 1 and lines[0].startswith("passed; leaked 530 bytes in 6 blocks;")


def test_filters_on_stacks_hold(run, seep, app):
    for options, leaked in ((["--function", "read_name"], 30), (["--file", r"app\.c$"], 530), (["--module", "/app$"], 530),
                            (["--module", "libc"], 530), (["--function", "strdup"], 30)):
        done = run(seep, "check", *options, app)
        assert (done.returncode, "%d bytes" % leaked in done.stderr) == (1, True), done


@pytest.mark.parametrize("options, passes", [
    (["--function", "reed_name"], False),
    (["--file", r"other\.c$"], False),
    (["--module", "nothing"], False),
    (["--function", "read_name", "--file", r"other\.c$"], False),
    (["--function", "^main$"], True),  # it frees what it allocates
    (["--module", r"libc\.so"], True),
])
def test_a_filter_that_nothing_passes_is_no_success(run, seep, app, options, passes):
    done = run(seep, "check", *options, app, "clean")
    assert done.returncode == (0 if passes else 1), done
    assert (messages.CHECK_NOTHING_PASSES in done.stderr) != passes, done


def test_filters_of_the_report_do_not_pretend(run, seep, app):
    for option in (["--program", "/app$"], ["--pid", "1"], ["--thread", "x"], ["--min-size", "1M"], ["--max-size", "1"], ["--older", "1h"], ["--since", "start"]):
        done = run(seep, "check", *option, app)
        assert done.returncode == 2 and done.stderr.startswith(f"seep: {option[0]} "), done


def test_a_filter_takes_nothing_out_of_the_baseline(run, seep, app, tmp_path):
    known = ["check", "--baseline", str(tmp_path / "leaks.txt")]
    assert run(seep, *known, "--update-baseline", app).returncode == 0
    done = run(seep, *known, "--function", "read_name", "--update-baseline", app)
    assert done.returncode == 2 and "of the whole run" in done.stderr, done
    done = run(seep, *known, "--function", "read_name", app)
    assert done.returncode == 0 and messages.CHECK_GONE not in done.stderr, done


def test_suppressions_come_first(run, seep, app, tmp_path):
    (tmp_path / "a.supp").write_text("leak:read_order\n")
    done = run(seep, "check", "--suppressions", str(tmp_path / "a.supp"), "--max-leaked", "30", app)
    assert done.returncode == 0
    assert "passed; leaked 30 bytes in 1 block; suppressed: 500 bytes in 5 blocks; peak" in done.stderr


# ---- baseline ----


def test_baseline(run, seep, app, tmp_path):
    baseline = str(tmp_path / "leaks.txt")
    done = run(seep, "check", "--baseline", baseline, app)
    assert done.returncode == 1 and "No such file" in done.stderr and "--update-baseline makes it" in done.stderr
    done = run(seep, "check", "--baseline", baseline, "--update-baseline", app)
    assert done.returncode == 0 and "leaks.txt: 2 known leaks" in done.stderr
    with open(baseline, encoding="utf-8") as file:
        text = file.read()
    assert text.endswith("\n30 bytes in 1 block, malloc\n    [libc.so]\n    read_name (app.c) [program]\n    main (app.c) [program]\n"
                         "\n500 bytes in 5 blocks, malloc\n    read_order (app.c) [program]\n    main (app.c) [program]\n"), text
    done = run(seep, "check", "--baseline", baseline, app)
    assert done.returncode == 0 and "nothing leaked; in the baseline: 530 bytes in 6 blocks;" in done.stderr
    # One block more than that.
    done = run(seep, "check", "--baseline", baseline, app, "more")
    assert done.returncode == 1
    assert last_lines(done) == ["seep: check: 100 bytes in 1 block leaked beyond the baseline, more than --max-leaked 0"]
    assert "leak 1 of 1: 100 bytes in 1 block" in done.stderr
    assert "beyond the baseline, which accepts 500 bytes in 5 blocks of it" in done.stderr
    # What is gone is said, and is no failure.
    done = run(seep, "check", "--baseline", baseline, app, "clean")
    assert done.returncode == 0 and f"2 entries {messages.CHECK_GONE}" in done.stderr
    assert "--update-baseline" not in done.stderr
    # Edited by hand: any amount.
    with open(baseline, "w", encoding="utf-8") as file:
        file.write(text.replace("500 bytes in 5 blocks", "any bytes in any blocks"))
    assert run(seep, "check", "--baseline", baseline, app, "more").returncode == 0


def test_an_update_says_what_it_takes_out(run, seep, app, tmp_path):
    baseline = str(tmp_path / "leaks.txt")
    other = compile_program(tmp_path, SOURCE.replace("read_order", "read_parcel"), "other")
    update = ["check", "--baseline", baseline, "--update-baseline"]
    assert "leaks.txt: 2 known leaks\n" in run(seep, *update, app).stderr
    assert "leaks.txt: 2 known leaks: 0 added, 0 taken out\n" in run(seep, *update, app).stderr
    assert "leaks.txt: 2 known leaks: 2 added, 2 taken out\n" in run(seep, *update, other).stderr
    assert "leaks.txt: 0 known leaks: 0 added, 2 taken out\n" in run(seep, *update, other, "clean").stderr


def test_an_update_replaces_baselines_alone(run, seep, app, tmp_path):
    """A mistaken name must not cost the user a file."""
    named, update = tmp_path / "app.c", ["check", "--baseline", str(tmp_path / "app.c"), "--update-baseline", app]
    for text in (program_source("empty_main.c").encode(), b"\x7fELF\0\0"):
        named.write_bytes(text)
        done = run(seep, *update)
        assert (done.returncode, done.stdout, named.read_bytes()) == (1, "", text), done  # nor was it started
        assert done.stderr.count("\n") == 1 and NOT_A_BASELINE in done.stderr and messages.NAME_ANOTHER in done.stderr
    for text in ("", "# seep baseline 0\n", "# seep baseline 1\n<<<<<<< HEAD\n"):
        named.write_text(text)
        assert run(seep, *update).returncode == 0
        assert named.read_text().startswith("# seep baseline 1\n")


def test_baseline_survives_lines_that_move(run, seep, app, tmp_path):
    baseline = str(tmp_path / "leaks.txt")
    assert run(seep, "check", "--baseline", baseline, "--update-baseline", app).returncode == 0
    other = compile_program(tmp_path, SOURCE.replace("/* FILLER */", "\n" * 40 + "int filler(int i) { return i * 3; }"))
    done = run(seep, "check", "--baseline", baseline, other)
    assert done.returncode == 0, done.stderr


def test_baseline_holds_under_another_name(run, seep, app, tmp_path):
    baseline = tmp_path / "leaks.txt"
    assert run(seep, "check", "--baseline", str(baseline), "--update-baseline", app).returncode == 0
    other = shutil.copy(app, tmp_path / "renamed")
    assert run(seep, "check", "--baseline", str(baseline), str(other)).returncode == 0
    # One that was written when entries had the name of the file.
    baseline.write_text(baseline.read_text().replace("[program]", "[app]"))
    for program in (app, str(other)):
        done = run(seep, "check", "--baseline", str(baseline), program)
        assert done.returncode == 0, done.stderr
    # A library of that name is none of the program's.
    baseline.write_text(baseline.read_text().replace("read_order (app.c) [app]", "read_order (app.c) [app.so]"))
    assert run(seep, "check", "--baseline", str(baseline), app).returncode == 1


@pytest.mark.parametrize("text, words", [
    ("", ": an empty file is no baseline"),
    ("leak:foo\n", ":1: " + NOT_A_BASELINE),
    ("# seep baseline 2\n", ":1: a baseline of another version of seep"),
    ("# seep baseline 1\n\n12 bytes of 1 block, malloc\n", ":3: '12 bytes of 1 block, malloc' does not begin an entry"),
    ("# seep baseline 1\n    main\n", ":2: a line of a stack without an entry before it"),
])
def test_baseline_errors_name_the_line(run, seep, app, tmp_path, text, words):
    (tmp_path / "leaks.txt").write_text(text)
    done = run(seep, "check", "--baseline", str(tmp_path / "leaks.txt"), app)
    assert done.returncode == 1 and done.stderr.startswith("seep: %s%s" % (tmp_path / "leaks.txt", words)), done.stderr
    assert done.stderr.count("\n") == 1


# ---- what it writes ----


def suites_of(path):
    root = xml.etree.ElementTree.parse(str(path)).getroot()
    assert root.tag == "testsuites"
    suites = root.findall("testsuite")
    for suite in suites:
        assert int(suite.get("skipped")) == len(suite.findall(".//skipped"))
    for key, tag in (("failures", "failure"), ("errors", "error")):
        assert int(root.get(key)) == len(root.findall(".//" + tag)) == sum(int(s.get(key)) for s in suites)
    assert int(root.get("tests")) == len(root.findall(".//testcase")) == sum(int(s.get("tests")) for s in suites)
    return suites


def cases_of(suite):
    return {case.get("name"): [child.tag for child in case] for case in suite.findall("testcase")}


def test_junit(run, seep, app, tmp_path):
    file = tmp_path / "out.xml"
    options = ["check", "--junit", str(file), "--max-peak", "1M", "--max-allocations", "1000"]
    assert run(seep, *options, app, "clean").returncode == 0
    suite, = suites_of(file)
    assert suite.get("name") == "app"
    assert cases_of(suite) == {"traced": [], "leaks": [], "mismatches": [], "peak": [], "allocations": [], "exit": []}
    assert run(seep, *options, app, cwd=os.path.dirname(app)).returncode == 1
    suite, = suites_of(file)
    assert cases_of(suite) == {"traced": [], "leaks": ["failure"], "mismatches": [], "peak": [], "allocations": [], "exit": []}
    failure = suite.find(".//failure")
    assert failure.get("message") == "530 bytes in 6 blocks leaked" and "read_order (app.c:" in failure.text
    strange = b"a<b>&\"'\x01\x1b\xff"
    subprocess.run([seep, *options, app, strange], stderr=subprocess.PIPE, timeout=120)
    suite, = suites_of(file)
    command = [p.get("value") for p in suite.findall(".//property") if p.get("name") == "command"][0]
    assert command.endswith(" a<b>&\"'\ufffd\ufffd\ufffd")


# Reads a SARIF file into the types of a Go package that were generated from the standard's JSON schema. A property that the
# schema does not have, or one of another type, is an error.
SARIF_READER = """
package main
import ("encoding/json"; "fmt"; "os"; "github.com/haya14busa/go-sarif/sarif")
func main() {
	file, err := os.Open(os.Args[1])
	if err != nil { panic(err) }
	decoder := json.NewDecoder(file)
	decoder.DisallowUnknownFields()
	var log sarif.Sarif
	if err := decoder.Decode(&log); err != nil { fmt.Println(err); os.Exit(1) }
	for _, run := range log.Runs {
		for _, result := range run.Results { fmt.Println(*result.RuleID, *result.Message.Text) }
	}
}
"""
GO_PACKAGES = "/usr/share/gocode"


def without_bags(value):
    """Without property bags, which may have anything (section 3.8)."""
    if isinstance(value, dict):
        return {key: without_bags(inner) for key, inner in value.items() if key != "properties"}
    return [without_bags(inner) for inner in value] if isinstance(value, list) else value


def test_sarif_is_read_by_types_made_from_the_schema(run, seep, build, app, require, tmp_path):
    require("go")
    if not os.path.exists(GO_PACKAGES + "/src/github.com/haya14busa/go-sarif"):
        pytest.skip("golang-github-haya14busa-go-sarif-dev is not installed")
    (tmp_path / "read.go").write_text(SARIF_READER)
    environment = {**os.environ, "GOPATH": GO_PACKAGES, "GO111MODULE": "off", "GOFLAGS": "", "GOCACHE": os.path.join(build, "go-cache"),
                   "GOTOOLCHAIN": "local"}
    subprocess.run(["go", "build", "-o", "read", "read.go"], check=True, cwd=str(tmp_path), env=environment, timeout=300)
    file = tmp_path / "out.sarif"
    # With everything that there may be: a baseline, a budget, a process that is not sure.
    run(seep, "check", "--baseline", str(tmp_path / "leaks.txt"), "--update-baseline", app)
    for options in ((), ("--max-peak", "1"), ("--baseline", str(tmp_path / "leaks.txt"), "--max-peak", "1"), ("--sample", "1K")):
        run(seep, "check", "--sarif", str(file), *options, app, "more", cwd=os.path.dirname(app))
        file.write_text(json.dumps(without_bags(json.loads(file.read_text()))))
        done = subprocess.run([str(tmp_path / "read"), str(file)], stdout=subprocess.PIPE, text=True, timeout=60, check=False)
        assert done.returncode == 0 and ("leak" in done.stdout or options[:1] == ("--sample",)), (options, done)
    # It would notice.
    file.write_text(file.read_text().replace('"runs"', '"laps"', 1))
    assert subprocess.run([str(tmp_path / "read"), str(file)], stdout=subprocess.DEVNULL, timeout=60, check=False).returncode == 1


def test_sarif(run, seep, app, tmp_path):
    file = tmp_path / "out.sarif"
    baseline = str(tmp_path / "leaks.txt")
    where = os.path.dirname(app)
    assert run(seep, "check", "--sarif", str(file), app, "clean", cwd=where).returncode == 0
    log = json.loads(file.read_text())
    sarif.check(log)
    assert log["runs"][0]["results"] == []
    assert run(seep, "check", "--sarif", str(file), "--max-peak", "1", app, cwd=where).returncode == 1
    log = json.loads(file.read_text())
    sarif.check(log)
    results = log["runs"][0]["results"]
    assert [r["ruleId"].split("/")[0] for r in results] == ["leak", "leak", "budget"]
    place = results[0]["locations"][0]
    assert place["physicalLocation"]["artifactLocation"] == {"uri": "app.c", "uriBaseId": "SRCROOT"}
    assert SOURCE.splitlines()[place["physicalLocation"]["region"]["startLine"] - 1].startswith("OUT read_order")
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "read_order"
    assert [f["location"]["logicalLocations"][0]["fullyQualifiedName"] for f in results[0]["stacks"][0]["frames"]][:2] == [
        "read_order", "main"]
    prints = [r["partialFingerprints"] for r in results[:2]]
    # With a baseline: what is known, and what is new.
    run(seep, "check", "--baseline", baseline, "--update-baseline", app)
    assert run(seep, "check", "--baseline", baseline, "--sarif", str(file), app, "more", cwd=where).returncode == 1
    log = json.loads(file.read_text())
    sarif.check(log)
    results = log["runs"][0]["results"]
    assert [(r["baselineState"], r["level"]) for r in results] == [("updated", "error"), ("unchanged", "note")]
    assert [r["partialFingerprints"] for r in results] == prints


def test_github_annotations(run, seep, app):
    done = run(seep, "check", "--github", app, cwd=os.path.dirname(app))
    lines = [line for line in done.stderr.splitlines() if line.startswith("::")]
    assert lines[0] == "::error title=seep check::530 bytes in 6 blocks leaked, more than --max-leaked 0"
    assert re.fullmatch(r"::error file=app\.c,line=\d+,title=memory leak::500 bytes in 5 blocks, [\w ]+, by malloc%0A"
                        r"  read_order \(app\.c:\d+\)%0A  main \(app\.c:\d+\)", lines[1]), lines[1]
    assert len(lines) == 3
    assert "::" not in run(seep, "check", "--github", app, "clean").stderr


def test_all_lines_of_a_leak_are_named(run, seep, tmp_path):
    """A baseline has no lines, so stacks that differ in lines only are one leak. All lines are needed to mend the leak."""
    (tmp_path / "app.c").write_text(program_source("check_lines.c"))
    subprocess.run(["gcc", "-g", "-O1", "-o", "app", "app.c"], check=True, cwd=tmp_path)
    done = run(seep, "check", "--sarif", "out.sarif", "--junit", "out.xml", "--github", "./app")
    line = 1 + program_source("check_lines.c").splitlines().index("    void *p = malloc(300); USE(p);")
    at = [f"    of these 800 bytes in 4 blocks at app.c:{line + 1}", f"    of these 80 bytes in 4 blocks at app.c:{line + 3}"]
    text = [row for row in done.stderr.splitlines() if "::" not in row]
    assert [row for row in text if row.startswith("    of these")] == at, done.stderr
    assert text[text.index(at[0]) - 2] == f"    order (app.c:{line})"
    assert text[text.index(at[1]) - 2] == f"    order (app.c:{line + 2})"
    assert done.stderr.count(f"%0A  of these 800 bytes in 4 blocks at app.c:{line + 1}") == 1
    failure, = (tmp_path / "out.xml").read_text().split("</failure>")[:-1]
    assert all(row in failure for row in at)
    [ran] = json.loads((tmp_path / "out.sarif").read_text())["runs"]
    assert [[stack["frames"][0]["location"]["physicalLocation"]["region"]["startLine"] for stack in result["stacks"]]
            for result in ran["results"]] == [[line, line + 1], [line - 2] * 2]
    sarif.check({"version": "2.1.0", "runs": [ran]})
    # What held the peak is told so, too.
    done = run(seep, "check", "--max-leaked", "1M", "--max-peak", "1", "--sarif", "out.sarif", "--junit", "out.xml", "--github", "./app")
    assert [row for row in done.stderr.splitlines() if row.startswith("    of these")] == at, done.stderr
    assert done.stderr.count(f"%0A  of these 800 bytes in 4 blocks at app.c:{line + 1}") == 1
    failure, = (tmp_path / "out.xml").read_text().split("</failure>")[:-1]
    assert all(row in failure for row in at)
    [ran] = json.loads((tmp_path / "out.sarif").read_text())["runs"]
    assert [stack["frames"][0]["location"]["physicalLocation"]["region"]["startLine"] for stack in ran["results"][-1]["stacks"]] == \
        [line, line + 1, line - 2, line - 2]
    sarif.check({"version": "2.1.0", "runs": [ran]})
    # Beyond a baseline that accepts a part, the amounts of the lines are not known.
    run(seep, "check", "-q", "--baseline", "leaks.txt", "--update-baseline", "./app")
    leaks = (tmp_path / "leaks.txt").read_text()
    (tmp_path / "leaks.txt").write_text(leaks.replace("2000 bytes in 8 blocks", "1900 bytes in 7 blocks"))
    done = run(seep, "check", "--baseline", "leaks.txt", "./app")
    assert done.returncode == 1 and done.stderr.splitlines()[-1] == f"    at app.c:{line + 1}, too", done.stderr


@pytest.mark.parametrize("marked, environment", [("project/.git", {}), (None, {"GITHUB_WORKSPACE": "project"}),
                                                 (None, {"CI_PROJECT_DIR": "project/"})])
def test_files_are_named_from_the_projects_folder(run, seep, app, tmp_path, marked, environment):
    """GitHub and readers of SARIF look a file up from there. CTest runs a test in the folder of the build."""
    build, log = tmp_path / "project" / "build", tmp_path / "out.sarif"
    build.mkdir(parents=True)
    if marked:
        (tmp_path / marked).mkdir()
    (tmp_path / "project" / "src").mkdir()
    (tmp_path / "project" / "src" / "app.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O0", "-o", "app", str(tmp_path / "project" / "src" / "app.c")], check=True, cwd=build)
    places = {"GITHUB_WORKSPACE": None, "CI_PROJECT_DIR": None, **{name: tmp_path / value for name, value in environment.items()}}
    done = run(seep, "check", "--github", "--sarif", str(log), "./app", cwd=build, env=places)
    assert done.returncode == 1
    assert [line.split(",")[0] for line in done.stderr.splitlines() if ",line=" in line] == ["::error file=src/app.c"] * 2
    [ran] = json.loads(log.read_text())["runs"]
    assert ran["originalUriBaseIds"]["SRCROOT"]["uri"] == f"file://{tmp_path}/project/"
    assert ran["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "src/app.c", "uriBaseId": "SRCROOT"}


# ---- frees in a wrong way, and who held the peak ----

WRONG = program_source("check_wrong.cpp")


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "wrong.cc").write_text(WRONG)
    subprocess.run(["g++", "-g", "-O1", "-w", "-o", "wrong", "wrong.cc"], check=True, cwd=folder)
    return str(folder / "wrong")


def test_a_mismatch_fails(run, seep, wrong, tmp_path):
    junit, sarif_file = tmp_path / "out.xml", tmp_path / "out.sarif"
    done = run(seep, "check", "--junit", str(junit), "--sarif", str(sarif_file), "--github", wrong, cwd=os.path.dirname(wrong))
    assert done.returncode == 1
    assert [re.sub(r":\d+\)", ":N)", line) for line in done.stderr.splitlines() if not line.startswith("::")] == [
        "seep: check: 2 blocks were %s, more than --max-mismatches 0" % messages.FREED_IN_A_WRONG_WAY,
        "mismatch 1 of 2: 1 block of operator new[] freed by free",
        "    wrong() (wrong.cc:N)",
        "    main (wrong.cc:N)",
        "  from operator new[]",
        "    wrong() (wrong.cc:N)",
        "    main (wrong.cc:N)",
        "mismatch 2 of 2: 1 block of operator new[] freed by free",
        "    wrong() (wrong.cc:N)",
        "    main (wrong.cc:N)",
        "  from operator new[]",
        "    wrong() (wrong.cc:N)",
        "    main (wrong.cc:N)"]
    assert done.stderr.count("title=wrong free::1 block of operator new[] freed by free") == 2
    suite, = suites_of(junit)
    assert cases_of(suite) == {"traced": [], "leaks": [], "mismatches": ["failure"], "exit": []}
    assert "wrong() (wrong.cc:" in suite.find(".//failure").text
    log = json.loads(sarif_file.read_text())
    sarif.check(log)
    for result in log["runs"][0]["results"]:
        assert (result["ruleId"], result["level"]) == ("free/mismatch", "error")
        line = result["locations"][0]["physicalLocation"]["region"]["startLine"]
        assert "free(p)" in WRONG.splitlines()[line - 1]
        assert [stack["message"]["text"] for stack in result["stacks"]] == ["freed here", "allocated here"]
    done = run(seep, "check", "--max-mismatches", "2", wrong)
    assert done.returncode == 0 and "; 2 mismatches;" in done.stderr


def test_a_broken_peak_names_who_held_it(run, seep, wrong, tmp_path):
    junit, sarif_file = tmp_path / "out.xml", tmp_path / "out.sarif"
    done = run(seep, "check", "--max-mismatches", "2", "--max-peak", "100K", "--junit", str(junit), "--sarif", str(sarif_file),
               "--github", wrong, cwd=os.path.dirname(wrong))
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert re.fullmatch(r"seep: check: peak of [\d,]+ bytes \(wrong, pid \d+\), more than --max-peak 102,400", lines[0])
    assert re.fullmatch(r"at the peak: 200,100 bytes in 100 blocks, 7\d\.\d% of it, by operator new", lines[1])
    assert re.fullmatch(r"    std::vector<.*\(…\) \[templates of the C\+\+ library\]", lines[2]) and lines[3].startswith("    fill() (wrong.cc:")
    assert re.search(r"^::error file=wrong\.cc,line=8,title=memory peak::at the peak: 200,100 bytes", done.stderr, re.M)
    suite, = suites_of(junit)
    assert "fill() (wrong.cc:8)" in suite.find(".//failure").text
    log = json.loads(sarif_file.read_text())
    sarif.check(log)
    result, = [r for r in log["runs"][0]["results"] if r["ruleId"] == "budget/peak"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 8


# ---- several processes, threads ----


def test_leaks_of_children_count(run, seep, app, tmp_path):
    file = tmp_path / "out.xml"
    done = run(seep, "check", "--junit", str(file), app, "children")
    assert done.returncode == 1
    assert last_lines(done) == ["seep: check: 200 bytes in 2 blocks leaked, more than --max-leaked 0"]
    assert re.search(r"in 2 processes: app \(pid \d+\) 100 bytes, app \(pid \d+\) 100 bytes", done.stderr)
    suites = suites_of(file)
    assert [suite.get("name") for suite in suites] == ["app", "app #2", "app #3"]
    assert [cases_of(suite)["leaks"] for suite in suites] == [[], ["failure"], ["failure"]]
    done = run(seep, "check", "--children", "ignore", app, "children")
    assert done.returncode == 0, done.stderr


def test_leaks_of_threads_count(run, seep, app):
    done = run(seep, "check", app, "threads")
    assert done.returncode == 1
    # glibc keeps stacks and thread control blocks of threads that ended: not lost, but maybe live.
    assert re.search(r"^leak \d of \d: 600 bytes in 6 blocks, [\w ]+, by malloc\n +read_order", done.stderr, re.M)


# ---- never on a guess ----


def test_what_was_not_traced_does_not_pass(run, seep, tmp_path):
    static = compile_program(tmp_path, name="still", flags=["-static"])
    file = tmp_path / "out.xml"
    log = tmp_path / "out.sarif"
    done = run(seep, "check", "--junit", str(file), "--sarif", str(log), "--github", static, "clean")
    assert done.returncode == 1
    assert re.search("^" + NOT_SURE + r"still \(pid \d+\): not traced: .*stat", done.stderr, re.M), done.stderr
    assert ANNOTATION + "still" in done.stderr and "passed" not in done.stderr
    suite, = suites_of(file)
    assert cases_of(suite)["traced"] == ["error"]
    run_ = json.loads(log.read_text())["runs"][0]
    sarif.check({"version": "2.1.0", "runs": [run_]})
    assert run_["invocations"][0]["executionSuccessful"] is False


# Its argument says of which classes it leaves a block: 1 lost, 2 possibly lost, 4 reachable.
CLASSES = program_source("check_classes.c")


def test_a_leak_is_the_same_for_run_and_check(run, seep, tmp_path, sanitized):
    program = compile_program(tmp_path, CLASSES, "classes", ("-fno-builtin-malloc",))
    ways = [((), 1), (("--kind", "lost,indirect,possible"), 3), (("--kind", "possible"), 2), (("--kind", "reachable"), 4),
            (("--scan", "no"), 7)]
    for options, leaks in ways:
        for of in (0, 7) if sanitized else range(8):
            as_run = run(seep, "run", "-q", "-o", "/dev/null", "--error-exitcode", "9", *options, program, str(of)).returncode
            as_check = run(seep, "check", "-q", "--error-exitcode", "9", *options, program, str(of)).returncode
            assert as_run == as_check == (9 if of & leaks else 0), (options, of)


def test_samples_do_not_pass(run, seep, app):
    done = run(seep, "check", "--sample", "1K", app, "clean")
    assert done.returncode == 1 and "only samples were recorded" in done.stderr


def test_a_baseline_is_not_made_of_a_guess(run, seep, app, tmp_path):
    baseline = tmp_path / "leaks.txt"
    done = run(seep, "check", "--sample", "1K", "--baseline", str(baseline), "--update-baseline", app)
    assert done.returncode == 1 and "not updated" in done.stderr and not baseline.exists()


def test_a_crash_is_the_status(run, seep, app):
    done = run(seep, "check", "--max-leaked", "1M", app, "abort")
    assert done.returncode in (1, 128 + 6)
    assert (done.returncode == 1) == ("not sure" in done.stderr)
    assert (done.returncode != 1) == ("the program itself was ended by SIGABRT: this run fails\n" in done.stderr)


# ---- wrong use ----


@pytest.mark.parametrize("options, status, words", [
    (["--update-baseline"], 2, "--update-baseline: which one?"),
    (["--junit", "/nonexistent/a.xml"], 1, "cannot write the JUnit file"),
    (["--junit", "/"], 1, "/: cannot write the JUnit file: Is a directory"),
    (["--sarif", "/"], 1, "/: cannot write the SARIF file: Is a directory"),
    (["--baseline", "/", "--update-baseline"], 1, "/: cannot write the baseline: Is a directory"),
    (["--sarif", "/nonexistent/a.sarif"], 1, "cannot write the SARIF file"),
    (["--max-leaked", "-1"], 2, "--max-leaked"),
    (["--max-peak", "1Q"], 2, "--max-peak"),
    (["--kind", "gone"], 2, "--kind: unknown value 'gone'"),
])
def test_wrong_use(run, seep, tmp_path, options, status, words):
    ran = tmp_path / "ran"
    done = run(seep, "check", *options, "touch", str(ran))
    assert done.returncode == status and words in done.stderr and done.stderr.count("\n") == 1, done
    assert not ran.exists()


# ---- who could not be looked at ----

UNSEEN = program_source("check_unseen.c")


@pytest.fixture(scope="module")
def unseen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unseen")
    (folder / "unseen.c").write_text(UNSEEN)
    subprocess.run(["gcc", "-O0", "-g", "-o", "unseen", "unseen.c"], check=True, cwd=str(folder))
    return str(folder / "unseen")


@pytest.mark.parametrize("words, code", [(["killed", "9"], "scan_no_exit"), (["killed", "15"], "scan_no_exit"), (["call"], "scan_no_exit"),
                                         (["filter"], "scan_unreachable")])
def test_who_was_not_looked_at_does_not_pass(run, seep, unseen, tmp_path, words, code):
    """What it leaked is not known: neither nothing nor all that it held."""
    trace = tmp_path / "t.seep"
    done = run(seep, "run", "-q", "-o", trace, "--error-exitcode", "9", unseen, *words)
    assert done.returncode == 9 and messages.ENDED_EARLY + ", its leaks are not known" in done.stderr
    whole = report_json.loads(run(seep, "report", "--json", trace).stdout)
    (seen, note), = [(process, note) for process in whole.get("processes", [whole]) for note in process["health"]["notes"] if note.code == code]
    assert seen["leaks"] is None, seen
    why = note.partition(": ")[2]  # behind what follows from it
    assert why, note
    done = run(seep, "check", "--junit", str(tmp_path / "j.xml"), unseen, *words)
    assert done.returncode == 1 and NOT_SURE + "unseen (pid " in done.stderr and why in done.stderr, done
    # Only processes that the program started are not sure: without these the check is sure.
    alone = run(seep, "check", "--children", "ignore", unseen, *words)
    assert ("--children ignore" in done.stderr) == (NOT_SURE not in alone.stderr), (done, alone)
    assert " leaked" not in done.stderr and "passed" not in done.stderr
    suites = xml.etree.ElementTree.parse(str(tmp_path / "j.xml")).getroot()
    assert [case for case in suites.iter("testcase") if case.get("name") == "traced" and case.find("error") is not None]
    leaks = [case.find("skipped") for case in suites.iter("testcase") if case.get("name") == "leaks"]
    assert [case for case in leaks if case is not None and why in case.get("message")]


def test_one_reason_of_several_processes_is_said_once(run, seep, unseen):
    shell = "for way in filter call filter filter; do $0 $way; done"
    done = run(seep, "check", "--github", "sh", "-c", shell, unseen)
    assert done.returncode == 1 and done.stderr.count(NOT_SURE + "unseen (pid ") == 2, done
    assert len(re.findall("^" + NOT_SURE + r"unseen \(pid \d+; and 2 more\): ", done.stderr, re.M)) == 1
    said = re.findall("^" + ANNOTATION + "unseen(.*?): ", done.stderr, re.M)
    assert sorted(said) == ["", " (3 processes)"]


@pytest.mark.parametrize("way", ["filter", "call"])
def test_without_a_scan_what_is_live_counts(run, seep, unseen, way):
    done = run(seep, "check", "--scan", "no", unseen, way)
    assert done.returncode == 1 and "5,000 bytes in 1 block leaked" in done.stderr and "not sure" not in done.stderr


def test_a_frame_without_a_name_has_its_place(run, seep, app, tmp_path):
    subprocess.run(["strip", "-o", str(tmp_path / "stripped"), app], check=True)
    done = run(seep, "check", str(tmp_path / "stripped"))
    places = re.findall(r"\[stripped\+(0x[0-9a-f]+)\]", done.stderr)
    assert done.returncode == 1 and places, done
    named = subprocess.run(["addr2line", "-f", "-e", app, *places], check=True, stdout=subprocess.PIPE).stdout.decode()
    assert "main" in named.split(), named


def test_one_line_to_mend_in_all_outputs(run, seep, tmp_path):
    """The caller of a wrapper, and the owner of lost blocks before what hangs under them."""
    source = program_source("check_owner.cpp")
    line = {word: next(i for i, text in enumerate(source.splitlines(), 1) if "// the " + word in text)
            for word in ("wrapper's caller", "owner")}
    (tmp_path / "owner.cpp").write_text(source)
    subprocess.run(["g++", "-g", "-O1", "-o", "owner", "owner.cpp"], check=True, cwd=tmp_path)
    done = run(seep, "check", "--github", "--sarif", "s.json", "-o", "t.seep", "./owner", cwd=tmp_path)
    assert done.returncode == 1, done
    caller = "owner.cpp,line=%d,title=memory leak::300 bytes" % line["wrapper's caller"]
    assert "::error file=" + caller in done.stdout + done.stderr, done
    results = json.loads((tmp_path / "s.json").read_text())["runs"][0]["results"]
    (place,) = [one["locations"][0]["physicalLocation"] for one in results if one["properties"]["bytes"] == 300]
    assert place["region"]["startLine"] == line["wrapper's caller"], place
    for form in ("quickfix", "md"):
        assert "owner.cpp:%d" % line["wrapper's caller"] in run(seep, "report", "t.seep", "--format", form, cwd=tmp_path).stdout, form
    report = run(seep, "report", "t.seep", cwd=tmp_path).stdout
    assert re.search(r"^leaks +16\d KiB lost in 121 blocks, 99\.\d%% of it from make_shapes\S* \(owner.cpp:%d\)$" % line["owner"], report, re.M), report
    first, second = report.split("\n#1 ")[1].split("\n#2 ")[:2]
    assert re.search(r"leaks 16\d,\d{3} bytes in 120 blocks", first) and "  lost\n" in first, first
    assert "160,000 bytes leaked" in second and "indirectly lost" in second, second
