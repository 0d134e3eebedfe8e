# SPDX-License-Identifier: BSD-2-Clause
"""seep whois: what is at an address of a running process and of a saved trace; wrong use."""
import contextlib
import json
import re
import subprocess
from pathlib import Path

import pytest

import messages
import schema
from small_programs import program_source

SOURCE = program_source("whois.c")


@contextlib.contextmanager
def waiting(folder, libseep, **settings):
    """(pid, addresses by name) of a program that waits."""
    (folder / "cached.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O0", "-w", "cached.c", "-o", "cached"], cwd=folder, check=True, timeout=120)
    environment = {"PATH": "/usr/bin:/bin", "LD_PRELOAD": libseep, "SEEP_OUT": str(folder / "left.seep"),
                   "MALLOC_PERTURB_": "0", **settings}
    process = subprocess.Popen([str(folder / "cached")], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE)
    words = process.stdout.readline().split()
    assert process.stdout.readline() == b"ready\n"
    names = ("table", "item", "freed", "text", "local", "main")
    yield int(words[0]), dict(zip(names, (int(word, 16) for word in words[1:])))
    process.kill()
    process.stdout.close()
    process.wait(60)


@pytest.fixture(scope="module")
def traced(tmp_path_factory, libseep):
    with waiting(tmp_path_factory.mktemp("whois"), libseep) as pid_and_addresses:
        yield pid_and_addresses


def ask(run, seep, who, address, *options):
    done = run(seep, "whois", who, hex(address), *options)
    assert done.returncode == 0, done
    return done.stdout


SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "whois.schema.json").read_text(encoding="utf-8"))


def answer(run, seep, who, address, *options):
    got = json.loads(ask(run, seep, who, address, "--json", *options))
    assert not schema.check(got, SCHEMA, SCHEMA)
    return got


def test_a_block_and_who_points_to_it(run, seep, traced):
    pid, at = traced
    whole = answer(run, seep, pid, at["table"])
    assert whole["place"] == "block" and whole["process"]["pid"] == pid
    block = whole["block"]
    assert (int(block["address"], 16), block["size"], block["offset"]) == (at["table"], 72, 0)
    assert block["kind"] == "reachable" and block["via"] == "calloc" and block["age_s"] is None
    assert block["held_by"] == "global struct cache *cache (cached.c:6) in cached"
    assert block["type"] == "struct cache" and answer(run, seep, pid, at["item"])["block"]["type"] is None
    assert (block["retained_blocks"], block["retained_bytes"]) == (4, 72 + 100 + 101 + 102)
    assert block["stack"][0]["function"] == "fill" and block["stack"][0]["line"] == 9

    inside = answer(run, seep, pid, at["item"] + 40)["block"]
    assert (int(inside["address"], 16), inside["size"], inside["offset"]) == (at["item"], 102, 40)
    of_table = [p for p in inside["pointers"] if p["from"].startswith("block of 72 B from fill (cached.c:9)")]
    assert [(p["from"][-5:], int(p["address"], 16) - at["table"], p["offset"]) for p in of_table] == [
        ("+0x18", 24, 0), ("+0x28", 40, 7)]
    few = answer(run, seep, pid, at["item"], "--top", "1")["block"]
    assert len(few["pointers"]) == 1 and few["pointers_left_out"] == len(inside["pointers"]) - 1


def test_text(run, seep, traced):
    pid, at = traced
    text = ask(run, seep, pid, at["item"] + 40)
    assert "40 bytes into the block at %s" % hex(at["item"]) in text and "reachable" in text
    assert "block of 72 B from fill (cached.c:9) +0x28 -> +0x7" in text
    assert re.search(r"allocated by:\n    fill \(cached.c:11\) \[cached\]\n    main ", text)
    assert "more (--top 0 shows all)" in ask(run, seep, pid, at["item"], "--top", "1")


def test_what_is_no_block(run, seep, traced):
    pid, at = traced
    for address, place, words in ((at["freed"], "free", messages.IN_NO_BLOCK + "; "),
                                  (at["text"] + 8, "data", "global char text[8] (cached.c:7) in cached"),
                                  (at["local"], "stack", "stack of thread %d" % pid),
                                  (at["main"], "code", "main+0x0 in "),
                                  *((address, "nothing", "no memory is mapped there") for address in (0x10, (1 << 64) - 1))):
        whole = answer(run, seep, pid, address)
        assert whole["place"] == place and words in whole["what"] and whole["block"] is None, whole
        assert whole["freed"] is None
        assert words in ask(run, seep, pid, address)


@pytest.mark.parametrize("age", ["0", "1"])
def test_what_was_a_block(age, run, seep, libseep, tmp_path):
    with waiting(tmp_path, libseep, SEEP_FREE_STACKS="1", SEEP_AGE=age) as (pid, at):
        whole = answer(run, seep, pid, at["freed"])
        freed = whole["freed"]
        assert (whole["place"], whole["block"]) == ("free", None)
        assert (int(freed["address"], 16), freed["size"], freed["offset"]) == (at["freed"] - 600, 5000, 600)
        assert (freed["via"], freed["released_via"], freed["cut"], freed["release_cut"]) == ("malloc", "free", None, None)
        lines = SOURCE.splitlines()
        for stack, line in ((freed["stack"], "    void *freed = malloc(5000);"), (freed["release_stack"], "    free(freed);")):
            assert (stack[0]["function"], lines[stack[0]["line"] - 1]) == ("main", line)
        text = ask(run, seep, pid, at["freed"])
        assert "\n  was 600 bytes into a block of 5,000 bytes at %s\n\nfreed here, by free:\n    main (cached.c:" % hex(at["freed"] - 600) in text
        assert "\nallocated by malloc:\n    main (cached.c:" in text
        for name in ("table", "item", "text", "local", "main"):
            assert answer(run, seep, pid, at[name])["freed"] is None
        assert answer(run, seep, pid, at["freed"] - 600 + 5000)["freed"] is None


def test_of_a_saved_trace(run, seep, traced, tmp_path):
    pid, at = traced
    assert run(seep, "snap", pid, "-o", "now.seep").returncode == 0
    block = answer(run, seep, "now.seep", at["item"] + 40)["block"]
    assert (block["size"], block["offset"], block["kind"], block["pointers"]) == (102, 40, None, None)
    assert block["stack"][0]["function"] == "fill"
    assert run(seep, "scan", pid, "-o", "scanned.seep").returncode == 0
    assert answer(run, seep, "scanned.seep", at["item"])["block"]["kind"] == "reachable"
    assert answer(run, seep, "now.seep", 0x10)["place"] == "unknown"


def test_wrong_use(run, seep, traced):
    pid, at = traced
    for operands, status, words in (([], 2, "PID is missing"), ([pid], 2, "is missing"), ([pid, "zz"], 2, "bad value 'zz'"),
                                    ([pid, "-1"], 2, ""), ([pid, "0x1", "2"], 2, "unexpected argument"),
                                    ([pid, "0x10000000000000000"], 2, "bad value"), ([pid, ""], 2, "bad value"),
                                    (["none.seep", "0x1"], 1, "none.seep"), ([1 << 30, "0x1"], 1, "process"),
                                    (["--top", "x", pid, "0x1"], 2, "--top")):
        done = run(seep, "whois", *operands)
        assert done.returncode == status, done
        assert words in done.stderr and done.stderr.count("\n") == 1 and not done.stdout, done.stderr


def test_the_schema_is_not_lenient(run, seep, traced):
    pid, at = traced
    got = answer(run, seep, pid, at["table"])
    for key in got["block"]:
        assert schema.check({**got, "block": {k: v for k, v in got["block"].items() if k != key}}, SCHEMA, SCHEMA), key
    for wrong in ({"place": "somewhere"}, {"what": 1}, {"more": 1}, {"address": "12"}):
        assert schema.check({**got, **wrong}, SCHEMA, SCHEMA), wrong
