# SPDX-License-Identifier: BSD-2-Clause
"""Programs whose segments do not lie one behind the other: of such a module the loader tells only the segment that a pc
is in, and its call-frame information is in another one. (Seen with chromium.)"""
import json
import subprocess

import report_json
from small_programs import program_source

SOURCE = program_source('segments.c')


def test_stacks_over_a_hole(run, seep, tmp_path):
    (tmp_path / "gap.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-o", "gap", "gap.c", "-Wl,--section-start=.text=0x4000000"],
                   check=True, cwd=tmp_path)
    done = run(seep, "run", "-q", "-o", "gap.seep", "./gap")
    assert done.returncode == 0, done
    report = report_json.spread(json.loads(run(seep, "report", "--json", "--top", "0", "gap.seep").stdout))
    assert report["health"]["complete"] is True and report["health"]["stacks_cut"] == 0
    stacks = [[frame["function"] for frame in site["stack"]] for site in report["sites"] if site["size_max"] == 77]
    assert sorted(stack.index("main") for stack in stacks) == [3, 4]
    assert all(stack[-1] == "_start" and set(stack[:stack.index("main")]) == {"deep"} for stack in stacks)
