# SPDX-License-Identifier: BSD-2-Clause
"""The first allocation of a process may come from inside of libc, under a lock of its own: newlocale() allocates with
the lock of the locale. What the library does at its start must not take or give back such a lock. (Seen with curl, whose
libp11-kit calls newlocale() before anything else allocates: setlocale() then waited for ever.)"""
import json
import subprocess

import report_json
from small_programs import program_source

LIBRARY = program_source('locale_lock_library.c')
PROGRAM = program_source('locale_lock_program.c')


def test_first_allocation_under_the_lock_of_the_locale(run, seep, tmp_path):
    (tmp_path / "library.c").write_text(LIBRARY)
    (tmp_path / "program.c").write_text(PROGRAM)
    for command in (["-shared", "-fPIC", "-o", "libearly_locale.so", "library.c"],
                    ["-o", "program", "program.c", "libearly_locale.so", "-Wl,-rpath,$ORIGIN", "-ldl"]):
        subprocess.run(["gcc", "-g", *command], check=True, cwd=str(tmp_path))
    program = str(tmp_path / "program")
    assert run(program).stdout == "none made\n"
    done = run(seep, "run", "-o", "/dev/null", "--json", "--report", str(tmp_path / "report"), program, timeout=60)
    assert done.returncode == 0 and done.stdout == "none made\n", done
    report = report_json.spread(json.loads((tmp_path / "report").read_text()))
    assert report["health"]["complete"] is True
    # The test is about that allocation: it must have been the first that was recorded.
    assert any("__newlocale" in [frame["function"] for frame in site["stack"]][:2] or
               "newlocale" in [frame["function"] for frame in site["stack"]][:2] for site in report["sites"])
