# SPDX-License-Identifier: BSD-2-Clause
"""A program with a malloc of its own calls that one, whatever is preloaded: the report must not call itself complete."""
import json
import re
import subprocess

import pytest
import report_json
from small_programs import program_source

COVERS = [
    ('a static allocator that exports malloc', 'declared', 'test_own_malloc_is_said',
     "the program calls its own; 'seep attach' sees it"),
    ('a malloc over that of glibc', 'covered', 'test_names_of_libc',
     "of the program, by `__libc_malloc` and the like, `__libc_valloc` too: these names are hooks"),
]

SOURCE = program_source('own_malloc.c')


@pytest.mark.parametrize("flags", [[], ["-rdynamic"]], ids=["as it is", "all names exported"])
def test_own_malloc_is_said(run, seep, tmp_path, flags):
    (tmp_path / "own.c").write_text(SOURCE)
    subprocess.run(["gcc", "-fno-builtin", *flags, "-o", "own", "own.c"], check=True, cwd=tmp_path)
    done = run(seep, "run", "-o", "own.seep", "--report", "report", "./own")
    assert (done.returncode, done.stdout) == (3, "text\n" * 10)
    text = (tmp_path / "report").read_text()
    assert text.startswith("health: INCOMPLETE")
    assert re.search(f"^ +not covered: .* {re.escape(str(tmp_path))}/own, ", text, re.M), text
    report = report_json.spread(json.loads(run(seep, "report", "--json", "own.seep").stdout))
    assert report["health"]["complete"] is False
    assert run(seep, "check", "./own").returncode != 3  # never passes for a program without leaks


@pytest.mark.parametrize("flags", [["-DOWN"], []], ids=["own malloc", "direct calls"])
def test_names_of_libc(run, seep, tmp_path, flags):
    """What calls glibc's allocator by names of its own is seen, and counts once."""
    (tmp_path / "own.c").write_text(program_source('own_malloc_over_libc.c'))
    subprocess.run(["gcc", "-O0", "-fno-builtin", *flags, "-o", "own", "own.c"], check=True, cwd=tmp_path)
    assert run(seep, "run", "-q", "-o", "own.seep", "./own").returncode == 0
    report = report_json.spread(json.loads(run(seep, "report", "--json", "own.seep").stdout))
    totals, leaks = report["totals"], report["leaks"]
    assert report["health"]["complete"] is True
    assert (totals["allocations"], totals["frees"], totals["unknown_frees"]) == (11, 8, 0), totals
    assert leaks["lost"] == {"blocks": 3, "bytes": 1001 + 1002 + 1003}, leaks


NAMES = ["malloc(size_t a)", "calloc(size_t a, size_t b)", "realloc(void *a, size_t b)"]


def test_malloc_of_one_library_over_another(run, seep, tmp_path):
    """A library's malloc calls another library, which calls glibc's by name: each block counts once, and its free is right."""
    for source, prefix, under in (("under.c", "under_", "__libc_"), ("over.c", "", "under_")):
        lines = ["#include <stddef.h>", f"void {under}free(void *); void {prefix}free(void *a) {{ {under}free(a); }}"]
        for name in NAMES:
            call = name.split("(")[0] + ("(a)" if "b)" not in name else "(a, b)")
            lines += [f"void *{under}{name};", f"void *{prefix}{name} {{ return {under}{call}; }}"]
        (tmp_path / source).write_text("\n".join(lines))
    (tmp_path / "main.c").write_text(program_source("three_calls.c"))
    for command in (["-shared", "-fPIC", "-o", "libunder.so", "under.c"],
                    ["-shared", "-fPIC", "-o", "libover.so", "over.c", "./libunder.so", "-Wl,-rpath,$ORIGIN"],
                    ["-o", "main", "main.c", "-Wl,--no-as-needed", "./libover.so", "-Wl,-rpath,$ORIGIN"]):
        subprocess.run(["gcc", "-fno-builtin", "-w", *command], check=True, cwd=tmp_path)
    assert run(seep, "run", "-q", "-o", "main.seep", "./main").returncode == 0
    process = report_json.spread(json.loads(run(seep, "report", "--json", "main.seep").stdout))
    totals = process["totals"]
    assert (totals["allocations"], totals["frees"], totals["unknown_frees"]) == (30, 30, 0), totals
    assert process["mismatches"] == []


def test_two_lives_of_one_process_are_one_line(run, seep, tmp_path):
    (tmp_path / "own.c").write_text(SOURCE + program_source('own_malloc_again.c'))
    subprocess.run(["gcc", "-w", "-fno-builtin", "-o", "own", "own.c"], check=True, cwd=tmp_path)
    done = run(seep, "run", "-o", "own.seep", "--report", "report", "./own")
    assert (done.returncode, done.stdout) == (3, "text\n" * 10)
    assert len(json.loads(run(seep, "report", "--json", "own.seep").stdout)["processes"]) == 2
    lines = [line for line in (tmp_path / "report").read_text().splitlines() if "not covered: pid" in line]
    assert len(lines) == 1, lines


def test_own_malloc_that_works_from_main_on(run, seep, libseep, tmp_path):
    """The loader allocates the message of a look-up that fails: before main there is none."""
    (tmp_path / "late.c").write_text(program_source('own_malloc_late.c'))
    subprocess.run(["gcc", "-w", "-fno-builtin", "-o", "late", "late.c"], check=True, cwd=tmp_path)
    for command in (["./late"], ["env", f"LD_PRELOAD={libseep}", "./late"], [seep, "run", "-q", "-o", "t", "./late"]):
        done = run(*command)
        assert (done.returncode, done.stdout) == (5, "works\n"), command


def test_preloaded_malloc_is_ours(run, seep, tmp_path):
    """The same malloc in a library that the program is linked with comes after ours: nothing is missing."""
    (tmp_path / "own.c").write_text(SOURCE)
    (tmp_path / "main.c").write_text(program_source('own_malloc_main.c'))
    for command in (["-shared", "-fPIC", "-fno-builtin", "-Dmain=run", "-o", "libown.so", "own.c"],
                    ["-o", "linked", "main.c", "libown.so", "-Wl,-rpath,$ORIGIN"]):
        subprocess.run(["gcc", *command], check=True, cwd=tmp_path)
    done = run(seep, "run", "-o", "linked.seep", "--report", "report", "./linked")
    assert (done.returncode, done.stdout) == (3, "text\n" * 10)
    report = report_json.spread(json.loads(run(seep, "report", "--json", "linked.seep").stdout))
    assert report["health"]["complete"] is True and report["totals"]["live_blocks"] >= 10


def test_address_of_malloc_in_a_fixed_program(run, seep, tmp_path):
    """There the address of malloc is a jump in the program itself: it leads to ours, and nothing is missing."""
    (tmp_path / "fixed.c").write_text(program_source('own_malloc_fixed_address.c'))
    subprocess.run(["gcc", "-no-pie", "-fno-pic", "-o", "fixed", "fixed.c"], check=True, cwd=tmp_path)
    symbols = subprocess.run(["readelf", "-W", "--dyn-syms", "fixed"], check=True, cwd=tmp_path, capture_output=True, text=True).stdout
    (malloc,) = [line.split() for line in symbols.splitlines() if " malloc" in line]
    assert malloc[6] == "UND" and int(malloc[1], 16) != 0  # what the test is about
    done = run(seep, "run", "-q", "-o", "fixed.seep", "./fixed")
    assert (done.returncode, done.stdout) == (0, "1\n")
    report = report_json.spread(json.loads(run(seep, "report", "--json", "fixed.seep").stdout))
    assert report["health"]["complete"] is True
    assert [site["size_max"] for site in report["sites"] if site["stack"][0]["function"] == "main"] == [10]


READER = program_source('own_malloc_reader.c')


def test_file_that_is_only_read(run, seep, tmp_path):
    """Who maps a program to read it, as for its debug information, does not call the malloc in it."""
    (tmp_path / "own.c").write_text(SOURCE)
    (tmp_path / "reader.c").write_text(READER)
    subprocess.run(["gcc", "-fno-builtin", "-static", "-o", "own", "own.c"], check=True, cwd=tmp_path)
    subprocess.run(["gcc", "-fno-builtin", "-o", "reader", "reader.c"], check=True, cwd=tmp_path)
    done = run(seep, "run", "-q", "-o", "reader.seep", "./reader", "own")
    assert done.returncode == 0, done.stderr
    report = report_json.spread(json.loads(run(seep, "report", "--json", "reader.seep").stdout))
    assert report["health"]["complete"] is True and report["health"]["notes"] == []
    assert report["totals"]["live_blocks"] == 1 and report["leaks"]["reachable"]["blocks"] == 1
