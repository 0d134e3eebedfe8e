# SPDX-License-Identifier: BSD-2-Clause
"""A forked child has its parent's mappings, and its image has them too; what the parent freed in a wrong way is the
parent's alone. (Seen with apt-cache: the child's image counted mappings that it did not have.)"""
import json
import platform
import subprocess

import pytest
from harness import need, root_only
import report_json
from small_programs import program_source

SOURCE = program_source('fork_mappings.c')


def test_mappings_of_a_forked_child(run, seep, tmp_path):
    (tmp_path / "p.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O0", "-o", "p", "p.c"], check=True, cwd=tmp_path)
    done = run(seep, "run", "-q", "-o", "p.seep", "./p")
    assert done.returncode == 0, done
    parent, child = report_json.spread(json.loads(run(seep, "report", "--json", "p.seep").stdout))["processes"]
    assert parent["health"]["complete"] is True and child["health"]["complete"] is True
    MiB = 1 << 20

    def live(process):
        return sorted(site["live_bytes"] if "live_bytes" in site else site["mapped_bytes"] - site["unmapped_bytes"]
                      for site in process["mappings"]["sites"] if site["stack"][0]["function"] == "map")

    totals = child["mappings"]["totals"]
    assert (totals["maps"], totals["mapped_bytes"], totals["unmapped_bytes"]) == (3, 13 * MiB, MiB)  # two were there at the fork
    assert sum(live(child)) == 12 * MiB and totals["live"] == 2
    totals = parent["mappings"]["totals"]
    assert (totals["maps"], totals["mapped_bytes"], totals["unmapped_bytes"]) == (3, 7 * MiB, 6 * MiB)
    assert sum(live(parent)) == MiB and totals["live"] == 1


def test_a_child_that_only_unmaps_has_an_image(run, seep, tmp_path):
    """(Seed 53000028 of the random programs: the child was taken for one that does nothing.)"""
    (tmp_path / "u.c").write_text(program_source('fork_mappings_only_unmaps.c'))
    subprocess.run(["gcc", "-g", "-O0", "-o", "u", "u.c"], check=True, cwd=tmp_path)
    done = run(seep, "run", "-q", "-o", "u.seep", "./u")
    assert done.returncode == 0, done
    parent, child = report_json.spread(json.loads(run(seep, "report", "--json", "u.seep").stdout))["processes"]
    assert child["process"]["origin"] == "fork" and child["health"]["notes"] == ["began with the live blocks of its fork parent"]
    assert [process["mappings"]["totals"]["live"] for process in (parent, child)] == [1, 0]
    inherited = child["totals"]  # 100 bytes of the parent's, and nothing of its own
    assert (inherited["allocations"], inherited["live_bytes"], inherited["frees"]) == (1, 100, 0), inherited


WRONG = program_source('fork_mappings_wrong.cpp')


def test_wrong_releases_of_a_parent_are_its_own(run, seep, tmp_path):
    (tmp_path / "w.cpp").write_text(WRONG)
    subprocess.run(["g++", "-g", "-O0", "-w", "-o", "w", "w.cpp"], check=True, cwd=tmp_path)
    done = run(seep, "run", "-q", "-o", "w.seep", "./w")
    assert done.returncode == 0, done
    processes = report_json.spread(json.loads(run(seep, "report", "--json", "w.seep").stdout))["processes"]
    assert [[(wrong["count"], wrong["size"]) for wrong in process["mismatches"]] for process in processes] == [[(1, 100)], [(1, 200)]]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the address is that of programs for x86-64")
def test_no_mapping_is_left_at_address_0(run, seep, tmp_path):
    """Root may map page 0. The child asks what of its memory is there by mapping it, and leaves nothing behind."""
    need("setarch")
    root_only()
    (tmp_path / "f.c").write_text(program_source("fork_mappings_first.c"))
    subprocess.run(["gcc", "-O0", "-no-pie", "-fno-pie", "-o", "f", "f.c"], check=True, cwd=tmp_path)
    done = run("setarch", "-R", seep, "run", "-q", "-o", "f.seep", "./f")
    assert (done.returncode, done.stdout) == (0, "400000 1\n"), done
