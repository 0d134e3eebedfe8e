# SPDX-License-Identifier: BSD-2-Clause
"""seep export: each format, opened by a program that is not ours where there is one, its totals compared with the report."""
import csv
import gzip
import html
import json
import os
import re
import subprocess
from xml.etree import ElementTree

import pytest
import messages
from small_programs import program_source

SOURCE = program_source("export.c")


@pytest.fixture(scope="module")
def trace(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    (folder / "app.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O0", "-fno-builtin", "-o", "app", "app.c"], check=True, cwd=folder)
    subprocess.run([os.path.join(build, "seep"), "run", "-q", "-o", "app.seep", "./app"], check=True, cwd=folder)
    return folder / "app.seep"


@pytest.fixture
def export(run, seep, trace, tmp_path):
    """export(format, ...): the path of the file that seep wrote."""

    def export_to(name, *options):
        path = tmp_path / ("out." + name)
        done = run(seep, "export", str(trace), "--format", name, "-o", str(path), *options)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done
        return path
    return export_to


@pytest.fixture
def totals(run, seep, trace):
    return json.loads(run(seep, "report", "--json", str(trace)).stdout)["totals"]


def test_folded(export, totals):
    for sort, key in (("live", "live_bytes"), ("allocations", "allocations"), ("temporary", "temporary")):
        lines = export("folded", "--sort", sort).read_text().splitlines()
        stacks = [line.rpartition(" ") for line in lines]
        assert sum(int(value) for _, _, value in stacks) == totals[key] > 0
        assert any(stack.endswith("main;hold;leaf") for stack, _, _ in stacks) == (sort != "temporary")


def call(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                          env=dict(os.environ, LC_ALL="C.UTF-8"))
    assert done.returncode == 0, done
    return done.stdout.decode()


def number(text):
    return int(text.replace(",", ""))


def test_pprof(export, totals, require):
    """go tool pprof reads it, by default live bytes; each type of sample adds up to the report's total."""
    go = require("go")
    path = export("pprof")
    assert "Type: inuse_space" in call(go, "tool", "pprof", "-top", path)
    for kind, key in (("alloc_objects", "allocations"), ("alloc_space", "allocated_bytes"), ("inuse_objects", "live_blocks"),
                      ("inuse_space", "live_bytes")):
        raw = call(go, "tool", "pprof", "-raw", "-sample_index=" + kind, path)
        names = re.search(r"Samples:\n(.*)\n", raw).group(1).split()
        column = [name.split("/")[0] for name in names].index(kind)
        samples = raw[raw.index("Samples:"):raw.index("Locations")].splitlines()[2:]
        assert sum(int(line.split(":")[0].split()[column]) for line in samples if ":" in line) == totals[key] > 0
    traces = call(go, "tool", "pprof", "-traces", path)
    assert re.search(r"leaf\n\s+hold\n\s+main\n", traces), traces  # innermost first
    lines = call(go, "tool", "pprof", "-list", "^main$", path)
    assert "7000B" in lines or "6.84kB" in lines


def test_pprof_by_protoc(export, require):
    """The same by a reader of protobuf that knows nothing of pprof: every field is well formed."""
    protoc = require("protoc")
    done = subprocess.run([protoc, "--decode_raw"], input=gzip.decompress(export("pprof").read_bytes()), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()
    assert '6: "inuse_space"' in text and '6: "hold"' in text


def text_format(text):
    """What protoc prints of a message: {field: [values]}, nested."""
    stack = [{}]
    for line in text.splitlines():
        line = line.strip()
        if line.endswith("{"):
            stack.append({})
            stack[-2].setdefault(line[:-2], []).append(stack[-1])
        elif line == "}":
            stack.pop()
        else:
            key, _, value = line.partition(": ")
            stack[-1].setdefault(key, []).append(value[1:-1] if value[0] == "\"" else int(value))
    return stack[0]


def test_otlp(export, totals, require):
    """By protoc, with the fields of the published schema: sums are the report's, indexes fit, a stack leads to its names."""
    protoc, schema = require("protoc"), os.path.join(os.path.dirname(__file__), "profiles.proto")
    done = subprocess.run([protoc, "--decode=ProfilesData", "-I" + os.path.dirname(schema), schema], input=export("otlp").read_bytes(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    assert not re.search(rb"^ *\d+:", done.stdout, re.M), "a field that the schema does not have"
    data = text_format(done.stdout.decode())
    (dictionary,), (resource,) = data["dictionary"], data["resource_profiles"]
    texts = dictionary["string_table"]
    assert texts[0] == "" and len(set(texts)) == len(texts)
    for table in ("mapping_table", "location_table", "function_table", "link_table", "attribute_table", "stack_table"):
        assert dictionary[table][0] == {}, table  # number 0 is nothing

    def names(stack):
        locations = [dictionary["location_table"][at] for at in dictionary["stack_table"][stack]["locations"]]
        return [texts[dictionary["function_table"][at["lines"][0]["function"][0]]["name"][0]] for at in locations]
    attributes = {at["key"][0]: at["value"][0] for at in resource["resource"][0]["attributes"]}
    assert attributes["service.name"] == {"string_value": ["app"]} and attributes["process.pid"]["int_value"][0] > 0
    sums, leaves = {}, set()
    for profile in resource["scope_profiles"][0]["profiles"]:
        kind = texts[profile["sample_type"][0]["type"][0]]
        sums[kind] = sum(sample["values"][0] for sample in profile.get("samples", []))
        leaves |= {tuple(names(sample["stack"][0])[:3]) for sample in profile.get("samples", [])}
    assert list(sums)[0] == "inuse_space" and sums.pop("lost_space") == 77
    assert sums == {"inuse_space": totals["live_bytes"], "inuse_objects": totals["live_blocks"],
                    "alloc_space": totals["allocated_bytes"], "alloc_objects": totals["allocations"]}
    assert ("leaf", "hold", "main") in leaves


def test_sqlite(export, totals, require):
    sqlite3 = require("sqlite3")
    path = export("sqlite", "--blocks")

    def ask(question):
        return call(sqlite3, path, question).strip()
    assert ask("pragma integrity_check") == "ok" and ask("pragma foreign_key_check") == ""
    for key in ("live_blocks", "live_bytes", "allocations", "allocated_bytes", "frees", "freed_bytes", "temporary"):
        assert ask("select sum(%s) from site" % key) == ask("select %s from process" % key) == str(totals[key])
    assert ask("select sum(size), count(*) from block") == "%d|%d" % (totals["live_bytes"], totals["live_blocks"])
    assert ask("select group_concat(function, '<') from (select function from site_frame where site = (select id from site "
               "where live_blocks = 30) order by depth limit 3)") == "leaf<hold<main"


def test_callgrind(export, totals, require):
    """The sum is the report's, not doubled by the calls."""
    annotate = require("callgrind_annotate")
    text = call(annotate, "--auto=no", export("callgrind"))
    (line,) = [line for line in text.splitlines() if "PROGRAM TOTALS" in line]
    figures = [number(word) for word in re.findall(r"[\d,]+(?= \()", line)]
    assert figures == [totals[key] for key in ("live_bytes", "live_blocks", "allocated_bytes", "allocations", "temporary")]
    own = {function: cost for cost, function in re.findall(r"^ *([\d,]+) \(.*app\.c:(\w+) \[", text, re.M)}
    assert number(own["leaf"]) + number(own["main"]) == totals["live_bytes"]
    inclusive = call(annotate, "--auto=no", "--inclusive=yes", export("callgrind"))
    assert re.search(r"^\s*%s \(100\.0%%\).*app\.c:main" % format(totals["live_bytes"], ","), inclusive, re.M)


def test_massif(export, totals, require):
    text = call(require("ms_print"), export("massif"))
    assert "100.00%% (%sB) (heap allocation functions)" % format(totals["live_bytes"], ",") in text
    assert re.search(r"->\d\d\.\d\d% \(3,000B\) 0x[0-9a-fA-F]+: hold \(app\.c:\d+\)", text), text
    assert re.search(r"Detailed snapshots: \[1 \(peak\), 2\]", text), text


def test_heaptrack(export, totals, require):
    text = call(require("heaptrack_print"), "-f", export("heaptrack"))
    assert "calls to allocation functions: %d " % totals["live_blocks"] in text
    leaked = re.search(r"total memory leaked: ([\d.]+)K", text).group(1)
    assert abs(float(leaked) * 1000 - totals["live_bytes"]) <= 5 + 0.005 * totals["live_bytes"], text


def test_dot(export, totals, require):
    text = export("dot").read_text()
    assert "9.84 KiB" in text and call(require("dot"), "-Tsvg", export("dot")).count("<polygon") >= 4


def test_dhat(export, totals):
    """By the rules of dh_view.js: which keys there are, that indexes fit, and the sums."""
    data = json.loads(export("dhat").read_text())
    assert data["dhatFileVersion"] == 2 and data["mode"] == "heap" and data["ftbl"][0] == "[root]"
    for key in ("verb", "bklt", "bkacc", "tu", "Mtu", "tuth", "cmd", "pid", "te", "tg"):
        assert key in data
    points = data["pps"]
    for point in points:
        assert set(point) == {"tb", "tbk", "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk", "fs"}
        assert all(0 < frame < len(data["ftbl"]) for frame in point["fs"])
        assert point["eb"] <= point["mb"] <= point["tb"]
    for short, key in (("tb", "allocated_bytes"), ("tbk", "allocations"), ("eb", "live_bytes"), ("ebk", "live_blocks")):
        assert sum(point[short] for point in points) == totals[key]


def test_speedscope(export, totals):
    """By the rules of its schema: frames open and close in order, values do not go back, indexes fit; and the sums."""
    data = json.loads(export("speedscope", "--sort", "allocations").read_text())
    assert data["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = data["shared"]["frames"]
    found, stacks = {}, {}
    for profile in data["profiles"]:
        assert profile["type"] == "evented" and profile["unit"] in ("bytes", "none") and profile["startValue"] == 0
        opened, before = [], 0
        for event in profile["events"]:
            if event["at"] > before:
                path = tuple(frames[frame]["name"] for frame in opened)
                stacks[profile["name"], path] = stacks.get((profile["name"], path), 0) + event["at"] - before
            assert event["at"] >= before
            before = event["at"]
            if event["type"] == "O":
                opened.append(event["frame"])
            else:
                assert event["type"] == "C" and opened.pop() == event["frame"]
        assert not opened and before == profile["endValue"]
        found[profile["name"]] = profile["endValue"]
    assert next(iter(found)) == "allocations"
    assert found["allocations"] == totals["allocations"] and found["live bytes"] == totals["live_bytes"]
    folded = {}
    for line in export("folded", "--sort", "allocations").read_text().splitlines():
        stack, _, value = line.rpartition(" ")
        names = tuple(stack.split(";"))
        folded[names] = folded.get(names, 0) + int(value)
    assert {path: value for (name, path), value in stacks.items() if name == "allocations"} == folded
    assert any(path[-3:] == ("main", "hold", "leaf") for path in folded)


def test_markdown(export):
    text = export("md").read_text()
    assert text.startswith("### Memory of `app`") and "| 1 | 6.84 KiB | 1 | 69.5% |" in text
    assert "    hold (app.c:" in text


def test_quickfix_leads_vim_to_the_line(export, require, tmp_path):
    """What is lost, as vim's :cfile understands it: the file, the line, and that it is an error."""
    vim = require("vim")
    path = export("quickfix")
    line = path.read_text()
    assert re.fullmatch(r"/.*/app\.c:\d+: error: 77 B in 1 block lost, allocated in leaf by malloc\n", line), line
    said = tmp_path / "said"
    call(vim, "-es", "-N", "-u", "NONE", "-c", "cfile " + str(path), "-c",
         "call writefile([bufname(getqflist()[0].bufnr) . ':' . getqflist()[0].lnum], '%s')" % said, "-c", "qa!")
    name, _, number_ = said.read_text().strip().rpartition(":")
    assert os.path.basename(name) == "app.c" and "malloc(size)" in SOURCE.splitlines()[int(number_) - 1]


def test_quickfix_leads_emacs_to_the_line(export, require, tmp_path):
    """The same as M-x compile and next-error understand it."""
    emacs = require("emacs")
    path = export("quickfix")
    said = tmp_path / "said"
    script = tmp_path / "visit.el"
    script.write_text("""(setq made (compile "cat '%s'"))
(while (get-buffer-process made) (accept-process-output nil 0.1))
(next-error)
(with-current-buffer (window-buffer (selected-window))
  (write-region (format "%%s:%%d" (buffer-file-name) (line-number-at-pos)) nil "%s"))
""" % (path, said))
    call(emacs, "-Q", "--batch", "-l", str(script))
    name, _, number_ = said.read_text().strip().rpartition(":")
    assert os.path.basename(name) == "app.c" and "malloc(size)" in SOURCE.splitlines()[int(number_) - 1]


def test_peak_is_that_of_the_process(run, seep, trace, export):
    """--sort peak weighs sites by what they held when the process held most, so that the sum means something."""
    sites = json.loads(run(seep, "report", "--json", str(trace)).stdout)["sites"]
    wanted = sum(site["at_peak_bytes"] for site in sites)
    assert wanted == sum(point["gb"] for point in json.loads(export("dhat").read_text())["pps"])
    lines = export("folded", "--sort", "peak").read_text().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == wanted > 0


def test_hostile_names_stay_names(run, seep, build, require, tmp_path):
    """Names that are HTML, quotes, newlines, escapes and separators: each consumer reads the whole file, with the report's sums."""
    trace = str(tmp_path / "hostile.seep")
    call(os.path.join(build, "tests", "web", "page_traces"), "hostile", trace)
    totals = json.loads(run(seep, "report", "--json", trace).stdout)["totals"]
    raw, deceiving = re.compile("[\x00-\x08\x0b-\x1f\x7f]"), re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\U000e0000-\U000e0fff]")

    def export(name):
        path = tmp_path / ("out." + name)
        done = run(seep, "export", trace, "--format", name, "-o", str(path))
        assert (done.returncode, done.stderr) == (0, ""), done
        return path
    formats = ("text", "tree", "folded", "csv", "md", "dot", "massif", "callgrind", "dhat", "speedscope", "json", "json1", "quickfix")
    for name in formats:
        assert not deceiving.search(export(name).read_text(encoding="utf-8")), name
    for words in (["diff", trace, trace, "--json"], ["report", trace, "--json", "--by", "function"],
                  ["connect", trace, "--json", "-e", "sites 0; functions 0; modules; processes; dump"]):
        said = run(seep, *words)
        assert said.returncode == 0 and not deceiving.search(said.stdout), words
    names = {frame["function"] for frame in json.loads(export("json").read_text())["frames"]}
    assert "\x9b31mred\x7f\u200b\U000e0041" in names
    for name in ("text", "tree", "folded", "csv", "md", "dot", "massif", "callgrind", "dhat", "speedscope", "json"):
        assert not raw.search(export(name).read_text(encoding="utf-8")), name
    assert sum(int(line.rpartition(" ")[2]) for line in export("folded").read_text().splitlines()) == totals["live_bytes"] > 0
    assert call(require("sqlite3"), export("sqlite"), "pragma integrity_check; select sum(live_bytes) from site") == "ok\n%d\n" % totals["live_bytes"]
    annotated = call(require("callgrind_annotate"), "--auto=no", export("callgrind"))
    assert re.search(r"^ *%s \(100\.0%%\).*PROGRAM TOTALS" % format(totals["live_bytes"], ","), annotated, re.M)
    assert "100.00%% (%sB)" % format(totals["live_bytes"], ",") in call(require("ms_print"), export("massif"))
    drawn = call(require("dot"), "-Tsvg", export("dot"))
    assert ElementTree.fromstring(drawn).tag.endswith("svg") and "&lt;script&gt;ran=1" in drawn
    samples = call(require("go"), "tool", "pprof", "-raw", "-sample_index=inuse_space", export("pprof"))
    assert "inuse_space/bytes" in samples
    assert sum(point["eb"] for point in json.loads(export("dhat").read_text())["pps"]) == totals["live_bytes"]
    rows = list(csv.DictReader(export("csv").open(encoding="utf-8", newline="")))
    assert sum(int(row["live_bytes"]) for row in rows if row["row"] == "site") == totals["live_bytes"]


def test_same_as_report(run, seep, trace, export):
    for name in ("json", "csv", "folded"):
        assert run(seep, "report", str(trace), "--format", name).stdout == export(name).read_text()
    for alias, name in (("--json", "json"), ("--json=1", "json1"), ("--json=2", "json"), ("--csv", "csv")):
        assert run(seep, "report", str(trace), alias).stdout == export(name).read_text()


def test_wrong_use(run, seep, trace):
    for options, words in ((["--format", "foldde"], "did you mean 'folded'?"), ([], "--format is missing"),
                           (["--format", "folded", "--by", "file"], "leave --by out"),
                           (["--format", "json", "--csv"], messages.EXCLUDE)):
        done = run(seep, "export", str(trace), *options)
        assert done.returncode == 2 and done.stdout == "" and words in done.stderr, done


def test_a_file_is_replaced_as_a_whole_or_stays(run, seep, trace, tmp_path):
    path = tmp_path / "kept"
    path.write_text("before")
    assert run(seep, "export", str(trace), "--format", "csv", "--older", "1h", "-o", str(path)).returncode != 0
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["kept"]
    done = run(seep, "export", str(trace), "--format", "csv", "-o", str(tmp_path / "missing" / "file"))
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    done = run(seep, "export", str(trace), "--format", "csv", "-o", "/dev/full")
    assert done.returncode == 1 and "No space left" in done.stderr
    assert run(seep, "export", str(trace), "--format", "csv", "-o", str(path)).returncode == 0
    assert path.read_text().startswith("row,") and os.listdir(tmp_path) == ["kept"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_tree(run, seep, trace, totals):
    """The lines below a line, and "itself", add up to it; both directions have the whole."""
    def tree_of(*options):
        return run(seep, "report", str(trace), *options).stdout.partition("\n\n")[2].splitlines()  # below its health
    down = tree_of("--tree", "--sort", "bytes")
    assert down[0].startswith("allocated bytes: 10.3 KiB, from callers")
    assert [line.split("─ ")[-1] for line in down[2:]] == ["(itself)", "hold > leaf", "leaf", "leaf"] or \
        [line.split("─ ")[-1] for line in down[2:]] == ["(itself)", "hold > leaf", "leaf"], down
    counted = tree_of("--tree", "--sort", "allocations", "--top", "0")
    parts = [number(line.split()[0]) for line in counted[1:]]
    assert parts[0] == totals["allocations"] == sum(parts[1:])
    up = tree_of("--tree=callers", "--sort", "allocations", "--top", "0")
    roots = [line for line in up[1:] if "─" not in line]
    assert sum(number(line.split()[0]) for line in roots) == totals["allocations"]
    assert roots[0].split()[2] == "leaf" and any("hold > main > " in line for line in up)
    assert all(len(line) <= 120 for line in down + up)
    refused = run(seep, "report", str(trace), "--tree", "--by", "file")
    assert refused.returncode == 2 and "--tree needs the stacks of sites" in refused.stderr


def test_info_lists_the_formats(run, seep):
    text = run(seep, "info").stdout
    (formats,) = re.findall(r"^  formats +(.*)$", text, re.M)
    assert {"pprof", "folded", "json", "tree"} <= set(formats.split())


def test_big_traces_are_taken(run, seep, build, tmp_path):
    """15,000 sites 80 deep: what grows with depth times sites is the fault of the format, not of JSON."""
    made = run(os.path.join(build, "tests", "golden", "big_trace"), str(tmp_path / "big.seep"), "15000", "80")
    assert made.returncode == 0, made
    report = run(seep, "report", "--json", str(tmp_path / "big.seep")).stdout
    data = json.loads(report)
    assert len(data["sites"]) == 15000 and len(report) < 15e6
    assert len(json.loads(run(seep, "report", "--json", "--top", "7", str(tmp_path / "big.seep")).stdout)["sites"]) == 7


def writes(command, output):
    """How often it called write(): as the kernel counts for a process that has ended and was not waited for."""
    with open(output, "wb") as file, subprocess.Popen(command, stdout=file, stdin=subprocess.DEVNULL) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with open("/proc/%d/io" % process.pid, encoding="ascii") as counters:
            (calls,) = re.findall(r"^syscw: (\d+)$", counters.read(), re.M)
    assert process.returncode == 0, command
    return int(calls)


def test_large_outputs_are_written_in_large_parts(run, seep, build, tmp_path):
    trace, out = str(tmp_path / "big.seep"), str(tmp_path / "out")
    assert run(os.path.join(build, "tests", "golden", "big_trace"), trace, "15000", "80").returncode == 0
    for words in (["report", "--json", trace], ["report", "--format", "folded", trace], ["diff", "--json", trace, trace]):
        calls = writes([seep] + words, out)
        assert os.path.getsize(out) > 3e6 and calls < os.path.getsize(out) / 32768 + 30, (words, calls)
    kept = str(tmp_path / "kept")
    calls = writes([seep, "export", "--format", "folded", "-o", kept, trace], out)
    assert os.path.getsize(kept) > 3e6 and calls < os.path.getsize(kept) / 32768 + 30, calls


def test_names_that_can_be_read(run, seep, build, tmp_path):
    """std::string for what it stands for and no default arguments; frames of the C++ library in one line; all of it on demand."""
    (tmp_path / "names.cpp").write_text(program_source("export_names_that_can_be_read.cpp"))
    subprocess.run(["g++", "-g", "-O0", "-o", "names", "names.cpp"], check=True, cwd=tmp_path)
    done = run(seep, "run", "-o", "names.seep", "./names", cwd=tmp_path)
    assert done.returncode == 0
    trace = str(tmp_path / "names.seep")
    text = run(seep, "report", trace).stdout
    assert "fill(std::vector<std::string> const&) (names.cpp:" in text, text
    frames = [line for line in text.splitlines() if line.startswith("      ") and " [names]" in line]
    assert any(" below)" in line for line in frames), text
    assert not any("std::allocator" in line or "__cxx11" in line for line in frames), text
    full = run(seep, "report", "--full-names", "--full-stacks", trace).stdout
    assert "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >" in full and " below)" not in full
    assert full.count("\n") > text.count("\n")
    names = {frame["function"] for frame in json.loads(run(seep, "report", "--json", trace).stdout)["frames"]}
    assert any("std::allocator" in name for name in names if name)  # programs have whole names
    assert "fill(std::vector<std::string> const&)" in run(seep, "report", "--format", "folded", trace).stdout
    block = re.search(r"block (0x[0-9a-f]+) ", run(seep, "report", "--blocks", "--function", "fill", trace).stdout)[1]
    for words in (["whois", trace, block], ["connect", trace, "-e", "functions"], ["top", "--once", "--by", "functions", trace]):
        shown = run(seep, *words).stdout
        assert "fill(std::vector<std::string> const&)" in shown and "__cxx11" not in shown, shown


def test_a_lambda_called_by_the_library(run, seep, tmp_path):
    """Templates of the C++ library around a lambda have no "std::" in their names: their file says what they are. Before, a
    file that was shown without its folders did not, and each stood in the stack; md named one as the place."""
    (tmp_path / "app.cpp").write_text(program_source("export_lambda_of_a_thread.cpp"))
    subprocess.run(["g++", "-g", "-O1", "-pthread", "-o", "app", "app.cpp"], check=True, cwd=tmp_path)
    assert run(seep, "run", "-o", "app.seep", "./app", cwd=tmp_path).returncode == 0
    trace = str(tmp_path / "app.seep")
    text = run(seep, "report", trace, "--top", "0").stdout
    assert "pool::work() (app.cpp:" in text and re.search(r"std::thread::_State_impl<.*_M_run\(\).* \(\+\d+ below\)$", text, re.M), text
    assert "__invoke" not in text, text
    assert "__invoke" in run(seep, "report", trace, "--top", "0", "--full-stacks").stdout
    rows = [line for line in run(seep, "export", "--format", "md", trace).stdout.splitlines() if line.startswith("| ")]
    assert any("app.cpp:" in row for row in rows) and not any("std_thread.h" in row for row in rows), rows


def test_names_are_elided_as_little_as_tells_them_apart(run, seep, tmp_path):
    """Of names that come to the same when they are elided, each stood whole, up to 900 columns: in trees, flame graphs and
    the reports between. Frames of the C++ library are one line in those, too."""
    (tmp_path / "alike.cpp").write_text(program_source("names_alike.cpp"))
    subprocess.run(["g++", "-g", "-O1", "-o", "alike", "alike.cpp"], check=True, cwd=tmp_path)
    done = run(seep, "run", "--interval", "100ms", "-o", "alike.seep", "./alike", cwd=tmp_path)
    between = done.stderr.split("\nhealth: ")[0]
    assert " stacks with outstanding allocations:" in between and re.search(r" \(\+\d+ below\)$", between, re.M), between
    assert "std::allocator_traits" not in between, between
    trace = str(tmp_path / "alike.seep")
    unfolded = run(seep, "run", "--interval", "100ms", "--full-stacks", "-o", "again.seep", "./alike", cwd=tmp_path).stderr
    tree = run(seep, "report", "--tree", trace).stdout
    run(seep, "plot", "--what", "flame", "-o", str(tmp_path / "alike.svg"), trace)
    flame = html.unescape((tmp_path / "alike.svg").read_text())
    for text in (between, unfolded, tree, flame):
        names = re.findall(r"std::[\w:<>, *&…()]+", text)
        assert names and max(map(len, names)) < 180, max(names, key=len)
    assert "std::allocator_traits" in unfolded, unfolded
    allocate = "std::__new_allocator"  # where all stacks of the C++ library end
    assert allocate not in tree and "push_back(" in tree, tree
    assert allocate in run(seep, "report", "--tree", "--full-stacks", trace).stdout
    folded, whole = (run(seep, "report", "--tree=callers", "--top", "0", trace, *more).stdout for more in ((), ("--full-stacks",)))
    assert " > std::" in whole and " > std::" not in folded, folded
    # Both are there, and no name stands for two.
    made = set(re.findall(r"std::vector<keys::[^(]*push_back\([^)]*\)(?: #\d)?", run(seep, "report", "--full-stacks", trace).stdout))
    assert len(made) == 2, made
