# SPDX-License-Identifier: BSD-2-Clause
"""The leaks of several processes in the text report: sums once, then who leaks, then who holds the rest."""
import json
import re
import subprocess
import report_json
from small_programs import program_source

SOURCE = program_source('leaks_of_processes.c')


def section(text, heading):
    """The rows below a heading: (blocks, bytes, what)."""
    body = text.split("\n" + heading, 1)[1].split("\n\n", 1)[0]
    rows = [re.match(r"  (.{15}) +([\d,]+) +([\d,]+)   (.*)", line) for line in body.splitlines()[1:]]
    return {(row[1].strip() or row[4]): (int(row[2].replace(",", "")), int(row[3].replace(",", ""))) for row in rows if row}


def test_leaks_of_several_processes(run, seep, tmp_path):
    (tmp_path / "p.c").write_text(SOURCE)
    for name, lost in (("much", 7), ("little", 2), ("clean", 0)):
        subprocess.run(["gcc", "-O0", f"-DLOST={lost}", "-o", name, "p.c"], check=True, cwd=tmp_path)
    done = run(seep, "run", "-o", "all.seep", "--report", "report", "sh", "-c", "./much; ./much; ./little; ./clean; true")
    assert done.returncode == 0, done
    text = (tmp_path / "report").read_text()
    processes = json.loads(run(seep, "report", "--json", "all.seep").stdout)["processes"]
    assert text.count("\nleaks, all ") == 1 and "5 of 5 processes scanned" in text
    classes = section(text, "leaks, all ")
    for word, key in (("lost", "lost"), ("indirectly lost", "indirect"), ("possibly lost", "possible"), ("reachable", "reachable")):
        assert classes.get(word, (0, 0)) == (sum(p["leaks"][key]["blocks"] for p in processes), sum(p["leaks"][key]["bytes"] for p in processes))
    leakers = section(text, "leaking programs ")
    assert leakers["much, 2 processes"] == (14, 1400)
    little = [what for what in leakers if what.startswith("little, pid ")]
    assert len(little) == 1 and leakers[little[0]] == (2, 200)
    assert not any(what.startswith("clean") for what in leakers)
    holders = section(text, "top holders ")
    assert holders["global kept in much, in 2 processes"] == (2, 10000)
    assert any(re.fullmatch(r"global kept in clean, in pid \d+", what) for what in holders)


def test_one_process_is_as_it_was(run, seep, tmp_path):
    (tmp_path / "p.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O0", "-DLOST=3", "-o", "one", "p.c"], check=True, cwd=tmp_path)
    done = run(seep, "run", "-o", "one.seep", "--report", "report", "./one")
    assert done.returncode == 0, done
    text = (tmp_path / "report").read_text()
    assert section(text, "leaks            ")["lost"] == (3, 300) and "KiB read" in text
    assert "leaking programs" not in text and section(text, "top holders ")["global kept in one"] == (1, 5000)


def test_kind_where_not_every_process_was_scanned(run, seep, tmp_path):
    (tmp_path / "p.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O0", "-DLOST=3", "-o", "some", "p.c"], check=True, cwd=tmp_path)
    # The shell ends by a signal: nobody looks at it.
    done = run(seep, "run", "-q", "-o", "some.seep", "bash", "-c", "./some; kill -9 $$")
    assert done.returncode == 137, done
    report = json.loads(run(seep, "report", "--json", "--kind", "lost", "some.seep").stdout)
    scanned = [process["leaks"] is not None for process in report["processes"]]
    assert scanned.count(True) == 1 and len(scanned) > 1
    lost = [(site["live_blocks"], site["live_bytes"]) for process in report["processes"] for site in process["sites"]]
    assert lost == [(3, 300)]


ENDED = program_source('leaks_of_processes_ended.c')


def test_children_that_a_signal_ended_are_one_line(run, seep, tmp_path):
    """Nobody could look at them: the report says so, once for all."""
    (tmp_path / "p.c").write_text(ENDED)
    subprocess.run(["gcc", "-O0", "-fno-builtin", "-o", "p", "p.c"], check=True, cwd=tmp_path)
    done = run(seep, "run", "-o", "t.seep", "--report", "report", "./p")
    assert done.returncode == 0, done
    processes = report_json.loads(run(seep, "report", "--json", "t.seep").stdout)["processes"]
    unseen = [note for process in processes for note in process["health"]["notes"] if note.code == "scan_no_exit"]
    assert len(unseen) == 5 and len(set(unseen)) == 1, unseen
    assert "  note: 5 processes: %s\n" % unseen[0] in (tmp_path / "report").read_text()


IDLE = program_source('leaks_of_processes_idle.c')


def test_children_without_a_heap_operation_have_no_image(run, seep, tmp_path):
    """Of six children one allocates: that one is in the report, with its end."""
    (tmp_path / "p.c").write_text(IDLE)
    subprocess.run(["gcc", "-O0", "-fno-builtin", "-o", "p", "p.c"], check=True, cwd=tmp_path)
    assert run(seep, "run", "-q", "-o", "t.seep", "./p").returncode == 0
    processes = json.loads(run(seep, "report", "--json", "t.seep").stdout)["processes"]
    assert [p["process"]["exit"] for p in processes] == [{"code": 0}, {"code": 3}]
    assert all(p["health"]["complete"] for p in processes)


TITLES = program_source('titles.c')


def test_workers_are_told_apart_by_their_titles(run, seep, tmp_path):
    (tmp_path / "p.c").write_text(TITLES)
    subprocess.run(["gcc", "-O0", "-o", "shop", "p.c"], check=True, cwd=tmp_path)
    done = run(seep, "run", "-q", "-o", "shop.seep", "./shop", "an argument", "and another that is long enough")
    assert done.returncode == 0, done
    processes = [one["process"] for one in json.loads(run(seep, "report", "--json", "shop.seep").stdout)["processes"]]
    assert sorted(one["args"] for one in processes[1:]) == [["shop: worker 1"], ["shop: worker 2"]], processes
    assert processes[0]["args"] == ["./shop", "an argument", "and another that is long enough"]
    text = run(seep, "report", "--by", "process", "shop.seep").stdout
    for number in (1, 2):
        assert re.search(rf"\n +{number},000 .* \d+ shop: worker {number} \({tmp_path}/shop\)\n", text), text
    assert " shop: worker 2 (fork)\n" in run(seep, "report", "shop.seep").stdout
