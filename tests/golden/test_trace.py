# SPDX-License-Identifier: BSD-2-Clause
"""The saved trace: the reader in C against the reader in Python, and the exact words for broken files."""
import json
import os
import re
import resource
import stat
import struct
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import make_v1  # noqa: E402
import messages  # noqa: E402
import seep_reader  # noqa: E402

SESSIONS = ("empty", "tiny", "modules", "cut", "huge", "family", "large", "even", "mapped", "pooled", "indexed", "grown", "named", "scanned", "forked",
            "freed", "arrived", "several", "kernel", "noted", "foreign", "slabs", "lined", "given", "library")
# Golden files that are whole: what they hold is the session of that name still.
GOLDEN_WHOLE = ("empty", "tiny", "cut", "huge", "family", "even", "mapped", "pooled", "indexed", "grown", "named", "scanned", "forked",
                "freed", "arrived", "noted", "foreign", "several", "slabs", "lined", "given")

DAMAGED = "the file is damaged: copy it again from where it was made"
UPDATE = "it was made by a newer seep: update seep"
RECORD = "record it again"
AGAIN = "nothing of the trace is left: " + RECORD
MAKE = "make one with: seep run -o NAME.seep -- PROG"
IMPORT = "what another tool or 'seep run --mode log' wrote: seep import FILE --format NAME -o OUT.seep"
HEAPTRACK = "%s FILE; what heaptrack wrote: seep import FILE --format heaptrack -o OUT.seep"

NOT_A_TRACE = messages.NOT_A_TRACE
BEFORE_THE_FIRST = "before its first process is complete"
THIS_READS = "and this seep reads 1"
NOT_SO_MANY = "does not have the %d bytes that are promised"
TOO_MANY = "%d bytes are promised, too many for 1172 stored"
PARENT = "its parent is not below its own id"
NODE = "its node does not exist"
RANGE = "cut short, or a number is out of range"
COLUMNS = "the columns do not fit"
PROCESSES = "does not agree with the processes"
LEFT_OVER = "bytes left over: %d"
BEYOND_THE_INDEX = "a process beyond the index"
NO_MACHINE = "no machine is like that"
NO_MEMORY = "no memory is there"
INDEX_LENGTH = "its length is not at its end"

# Golden file -> the message after its name, and the hint.
BROKEN = {
    "header-cut": ("cut short in the file header, at offset 20", AGAIN),
    "section-cut": ("cut at offset 324, " + BEFORE_THE_FIRST, AGAIN),
    "section-header-cut": ("cut at offset 130, " + BEFORE_THE_FIRST, AGAIN),
    "stored-huge": ("cut at offset 390, " + BEFORE_THE_FIRST, AGAIN),
    "bad-checksum": ("section SITES at offset 362: wrong checksum", DAMAGED),
    "bad-header-checksum": ("wrong checksum of the file header at offset 0", DAMAGED),
    "bad-section-checksum": ("wrong checksum of a section header at offset 362", DAMAGED),
    "wrong-magic": (NOT_A_TRACE + "data", MAKE),
    "text-mode": (NOT_A_TRACE + "a trace changed by a transfer in text mode", "copy it again in binary mode"),
    "newer-major": ("trace format 2.0, " + THIS_READS, UPDATE),
    "major-0": ("trace format 0.0, " + THIS_READS, DAMAGED),
    "header-length": ("wrong length of the file header at offset 12", DAMAGED),
    "longer-record": ("section HEALTH at offset 130: " + LEFT_OVER % 1, DAMAGED),
    "longer-end": ("section END at offset 561: " + LEFT_OVER % 4, DAMAGED),
    "required-section": ("section of unknown type (28672) at offset 561 is needed to read the trace, and this seep "
                         "does not know it", UPDATE),
    "newer-section": ("section NODES (7) at offset 390 is of a version that this seep does not know", UPDATE),
    "newer-flag": ("section NODES (7) at offset 390 is stored in a way that this seep does not know", UPDATE),
    "end-sections": ("section END at offset 561: 3 sections are promised, and there are 10", DAMAGED),
    "end-length": ("section END at offset 561: ends at 5 by its own account, and at 609 by its place", DAMAGED),
    "after-end": ("section END at offset 561: 4 bytes follow the end", DAMAGED),
    "end-short": ("section END at offset 32: 8 bytes, and 16 are needed", DAMAGED),
    "no-process": ("no process in the trace", RECORD),
    "processes-lie": ("5 processes are promised, and there are 1", DAMAGED),
    "raw-too-short": ("section BLOCKS at offset 362: " + NOT_SO_MANY % 300021, DAMAGED),
    "raw-too-long": ("section BLOCKS at offset 362: " + NOT_SO_MANY % 300023, DAMAGED),
    "raw-differs": ("section NODES at offset 390: 6 bytes are stored, and 5 are promised", DAMAGED),
    "bomb": ("section BLOCKS at offset 362: " + TOO_MANY % 300033, DAMAGED),
    "bomb-64m": ("section BLOCKS at offset 362: " + TOO_MANY % 4611686018427387904,
                 DAMAGED),
    "not-zstd": ("section NODES at offset 390: cannot be decompressed", DAMAGED),
    "node-parent": ("section NODES at offset 390: element 1: " + PARENT, DAMAGED),
    "node-parent-1": ("section NODES at offset 390: element 1: " + PARENT, DAMAGED),
    "node-module": ("section NODES at offset 390: element 1: its module does not exist", DAMAGED),
    "node-kind": ("section NODES at offset 390: element 1: its kind does not exist", DAMAGED),
    "site-node": ("section SITES at offset 428: element 1: " + NODE, DAMAGED),
    "site-via": ("section SITES at offset 428: element 1: " + RANGE, DAMAGED),
    "row-cut": ("section SITES at offset 428: element 1: " + RANGE, DAMAGED),
    "number-of-65-bits": ("section NODES at offset 390: element 1: " + RANGE, DAMAGED),
    "thread-name": ("section THREADS at offset 473: element 0: its name is too long", DAMAGED),
    "thread-name-zero": ("section THREADS at offset 473: element 0: " + RANGE, DAMAGED),
    "module-path": ("section MODULES at offset 333: element 1: no path", DAMAGED),
    "module-build-id": ("section MODULES at offset 333: element 1: the build-id is too long", DAMAGED),
    "too-many": ("section NODES at offset 390: more elements than bytes for them", DAMAGED),
    "one-too-many": ("section NODES at offset 390: more elements than the 1 promised", DAMAGED),
    "one-too-few": ("section SITES at offset 390: element 1: " + NODE, DAMAGED),
    "first-id": ("section NODES at offset 390: does not continue where the one before ended", DAMAGED),
    "left-over": ("section NODES at offset 390: " + LEFT_OVER % 1, DAMAGED),
    "process-args": ("section PROCESS at offset 65: " + RANGE, DAMAGED),
    "process-promises": ("section PROCESS at offset 65: promises 1152921504606846976 elements in BLOCKS, and there "
                         "are 1", DAMAGED),
    "health-notes": ("section HEALTH at offset 130: " + RANGE, DAMAGED),
    "no-session": ("section PROCESS at offset 32: stands before the SESSION section", DAMAGED),
    "no-health": ("section TOTALS at offset 130: out of order", DAMAGED),
    "no-totals": ("section MODULES at offset 198: out of order", DAMAGED),
    "out-of-order": ("section SITES at offset 390: element 1: " + NODE, DAMAGED),
    "blocks-early": ("section THREADS at offset 516: out of order", DAMAGED),
    "process-twice": ("section PROCESS at offset 65: its HEALTH or TOTALS section is missing", DAMAGED),
    "session-twice": ("section SESSION at offset 65: out of order", DAMAGED),
    "block-site": ("section BLOCKS at offset 518: element 0: its site does not exist", DAMAGED),
    "block-thread": ("section BLOCKS at offset 518: element 0: its thread does not exist", DAMAGED),
    "block-address": ("section BLOCKS at offset 518: element 0: its address is out of range", DAMAGED),
    "block-shift": ("section BLOCKS at offset 518: " + COLUMNS, DAMAGED),
    "block-columns": ("section BLOCKS at offset 518: " + COLUMNS, DAMAGED),
    "block-column-left": ("section BLOCKS at offset 518: " + COLUMNS, DAMAGED),
    "block-order": ("section BLOCKS at offset 561: element 1: out of order", DAMAGED),
    "index-pid": ("section INDEX at offset 2462: " + PROCESSES, DAMAGED),
    "index-program": ("section INDEX at offset 2462: " + PROCESSES, DAMAGED),
    "index-beyond": ("section INDEX at offset 2462: " + BEYOND_THE_INDEX, DAMAGED),
    "platform-word": ("section PLATFORM at offset 563: " + NO_MACHINE, DAMAGED),
    "platform-machine": ("section PLATFORM at offset 563: " + NO_MACHINE, DAMAGED),
    "platform-cut": ("section PLATFORM at offset 563: " + RANGE, DAMAGED),
    "slabs-cut": ("section SLABS at offset 609: " + RANGE, DAMAGED),
    "lines-cut": ("section LINES at offset 563: " + RANGE, DAMAGED),
    "lines-module": ("section LINES at offset 563: a module that does not exist, or has its lines", DAMAGED),
    "lines-text": ("section LINES at offset 563: " + RANGE, DAMAGED),
    "lines-no-frames": ("section LINES at offset 563: " + RANGE, DAMAGED),
    "lines-same-place": ("section LINES at offset 563: " + RANGE, DAMAGED),
    "given-nowhere": ("section GIVEN at offset 563: " + NO_MEMORY, DAMAGED),
    "given-nothing": ("section GIVEN at offset 563: " + NO_MEMORY, DAMAGED),
    "given-beyond": ("section GIVEN at offset 563: " + NO_MEMORY, DAMAGED),
    "given-cut": ("section GIVEN at offset 563: " + RANGE, DAMAGED),
    "slabs-longer": ("section SLABS at offset 609: " + LEFT_OVER % 1, DAMAGED),
    "arrivals-cut": ("section ARRIVALS at offset 905: " + RANGE, DAMAGED),
    "arrivals-steps": ("section ARRIVALS at offset 905: " + RANGE, DAMAGED),
    "arrivals-none": ("section ARRIVALS at offset 905: " + RANGE, DAMAGED),
    "arrivals-number": ("section ARRIVALS at offset 905: the number of blocks that are left out is another one", DAMAGED),
    "arrivals-twice": ("section ARRIVALS at offset 973: out of order", DAMAGED),
    "held-cut": ("section HELD at offset 973: " + RANGE, DAMAGED),
    "held-kind": ("section HELD at offset 973: " + RANGE, DAMAGED),
    "held-many": ("section HELD at offset 973: " + RANGE, DAMAGED),
    "held-site": ("section HELD at offset 973: a site does not exist, or sites are not in order", DAMAGED),
    "held-twice": ("section HELD at offset 1104: out of order", DAMAGED),
    "arrivals-module": ("section ARRIVALS at offset 905: a module does not exist", DAMAGED),
    "index-text": ("section INDEX at offset 2462: a text that does not exist", DAMAGED),
    "index-short": ("section INDEX at offset 2462: " + INDEX_LENGTH, DAMAGED),
    "index-tail": ("section INDEX at offset 2462: " + INDEX_LENGTH, DAMAGED),
    "index-early": ("section INDEX at offset 1845: " + BEYOND_THE_INDEX, DAMAGED),
    "index-twice": ("section INDEX at offset 2550: out of order", DAMAGED),
    "index-first": ("section INDEX at offset 65: stands before the first PROCESS section", DAMAGED),
}

# Before, and behind, the numbers of what is shown.
CUT, OF_BLOCKS = "the trace was cut at offset %d and what precedes is shown: %s; blocks of this process".split(";")
# Golden file that can be read although something is odd -> the notes of its processes.
READABLE = {
    "blocks-cut": [[CUT % (452, "0 of 1" + OF_BLOCKS)]],
    "end-cut": [[CUT % (495, "1 of 1 processes")]],
    "family-cut": [[CUT % (5916, "4 of 5 processes")], [], [], [CUT % (5916, "0 of 30" + OF_BLOCKS)]],
    "family-cut-between": [[CUT % (2536, "2 of 5 processes")], []],
    "index-cut": [[CUT % (2153, "4 of 4 processes")], [], [], []],
    "newer-minor": [[]],
    "unknown-section": [[]],
    "type-0": [[]],
    "totals-lie": [["the totals saved in the trace differ from the sum over its sites: the sum is shown"]],
}

# Bytes that are no trace -> the message after the name, and the hint.
FOREIGN = {
    b"": (NOT_A_TRACE + "an empty file", MAKE),
    b"SEE": (NOT_A_TRACE + "text", IMPORT),
    b"hello\nworld\n": (NOT_A_TRACE + "text", IMPORT),
    b"\x7fELF\2\1\1" + b"\0" * 9000: (NOT_A_TRACE + "an ELF file",
                                     "to trace a program: seep run -o NAME.seep -- PROG"),
    b"\x28\xb5\x2f\xfd....": (NOT_A_TRACE + "compressed with zstd", "unpack it first: " + HEAPTRACK % "zstd -d"),
    b"\x1f\x8b\x08\x00": (NOT_A_TRACE + "compressed with gzip", "unpack it first: " + HEAPTRACK % "gunzip"),
    b"\xfd7zXZ\0": (NOT_A_TRACE + "compressed with xz", "unpack it first: unxz FILE"),
    b"\0\1\2\3": (NOT_A_TRACE + "data", MAKE),
}


@pytest.fixture(scope="module")
def tool(build):
    path = os.path.join(build, "tests", "golden", "make_traces")
    if not os.path.exists(path):
        pytest.fail("%s is not built: run 'make build', or set SEEP_BUILD" % path, pytrace=False)
    return path


def golden(name):
    return os.path.join(HERE, "v1-%s.seep" % name)


def run(*command, **more):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=120, check=False, **more)


def dump(tool, path):
    done = run(tool, "dump", path)
    assert done.returncode == 0, done.stdout
    return json.loads(done.stdout)


def dump_each(tool, paths):
    """For each path its JSON, or None where the tool refused it with the path, a message and a hint."""
    done = run(tool, "dump", *paths)
    assert done.returncode in (0, 1), done
    lines = done.stdout.decode().splitlines()
    found = []
    for path in paths:
        refused = lines[0].startswith("%s: " % path)
        found.append(None if refused else json.loads(lines[0]))
        lines = lines[1 + refused:]
    assert not lines and done.returncode == any(one is None for one in found), done
    return found


def as_in_json(value):
    """Numbers that JSON of make_traces writes as digits, and booleans of nodes as numbers."""
    if isinstance(value, dict):
        return {str(key): as_in_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_in_json(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and value > (1 << 63) - 1:
        return str(value)
    return value


def read(path):
    with open(path, "rb") as file:
        return seep_reader.read(file.read())


def assert_refused(tool, path, message, hint):
    done = run(tool, "dump", path)
    assert done.stdout.decode() == "%s: %s\n%s\n" % (path, message, hint)
    assert done.returncode == 1


@pytest.mark.parametrize("name", [name for name in SESSIONS if name != "given"])
def test_both_readers_agree(tool, tmp_path, name, sanitized):
    path = tmp_path / "x.seep"
    assert run(tool, "make", name, path).returncode == 0
    assert run(tool, "same", name, path).returncode == 0
    if sanitized and name == "large":
        return  # written and loaded: what the reader in Python sees is the same in the ordinary build
    theirs = read(path)
    assert theirs["cut"] is None
    assert dump(tool, path) == as_in_json(theirs["processes"])


def test_the_index_leads_to_each_process():
    """From the end of the file; each place has the sections of that process and no others."""
    with open(golden("indexed"), "rb") as file:
        data = file.read()
    rows = seep_reader.find_index(data)
    assert [row[:3] for row in rows] == [[200, "/bin/sh", "sh"], [201, "/bin/tool", "/bin/tool"], [202, "/bin/sh", None],
                                         [201, "/bin/tool", "/bin/tool"]]
    assert rows == seep_reader.read(data)["index"]
    with open(golden("tiny"), "rb") as file:
        assert seep_reader.find_index(file.read()) is None


def test_the_list_is_whole(tool):
    assert tuple(run(tool, "list").stdout.decode().split()) == SESSIONS


@pytest.mark.parametrize("name", GOLDEN_WHOLE)
def test_old_traces_read_the_same(tool, name):
    assert run(tool, "same", name, golden(name)).returncode == 0
    assert dump(tool, golden(name)) == as_in_json(read(golden(name))["processes"])


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_broken_file_is_refused(tool, name):
    message, hint = BROKEN[name]
    assert_refused(tool, golden(name), message, hint)
    with pytest.raises(seep_reader.BadTrace):
        read(golden(name))


@pytest.mark.parametrize("name", sorted(READABLE))
def test_odd_file_is_read(tool, name):
    ours, theirs = dump(tool, golden(name)), read(golden(name))
    assert [[note["text"] for note in process["health"]["notes"]] for process in ours] == READABLE[name]
    assert (theirs["cut"] is not None) == ("cut" in name)
    for process in ours + theirs["processes"]:
        process["health"]["notes"] = None
        process["health"]["flags"] &= (1 << 30) - 1  # above: what the notes are about
    assert ours == as_in_json(theirs["processes"])


def test_every_golden_file_is_in_a_table():
    names = {name[len("v1-"):-len(".seep")] for name in os.listdir(HERE) if re.match(r"v1-.*\.seep$", name)}
    assert names == set(GOLDEN_WHOLE) | set(BROKEN) | set(READABLE)


@pytest.mark.parametrize("content", sorted(FOREIGN), ids=lambda content: repr(content[:5]))
def test_foreign_file_is_named(tool, tmp_path, content):
    path = tmp_path / "x.seep"
    path.write_bytes(content)
    assert_refused(tool, path, *FOREIGN[content])


def test_directory_and_missing_file(tool, tmp_path):
    assert_refused(tool, tmp_path, "a directory, not a trace", messages.NAME_A_FILE)
    done = run(tool, "dump", tmp_path / "none.seep")
    assert done.returncode == 1
    assert done.stdout.decode() == "%s: cannot open: No such file or directory\n%s\n" % (
        tmp_path / "none.seep", "name a trace that 'seep run -o FILE PROG' has written, or the pid of a traced process")


def test_raw_dump_is_known(tool, tmp_path):
    path = tmp_path / "x.seep"
    path.write_bytes(b"SEEPRAW\n" + b"\0" * 8)
    done = run(tool, "dump", path)
    assert done.returncode == 1
    assert NOT_A_TRACE not in done.stdout.decode()


@pytest.mark.parametrize("name", ["tiny", "family"])
def test_every_cut_is_seen(tool, tmp_path, name):
    """At whatever byte a trace is cut: what both readers give is the same, and it is said."""
    with open(golden(name), "rb") as file:
        whole = file.read()
    lengths = range(0, len(whole), 1 if len(whole) < 1000 else 97)
    paths = [tmp_path / ("%d.seep" % length) for length in lengths]
    for length, path in zip(lengths, paths):
        path.write_bytes(whole[:length])
    for length, ours in zip(lengths, dump_each(tool, paths)):
        try:
            theirs = seep_reader.read(whole[:length])
        except seep_reader.BadTrace:
            assert ours is None, length
            continue
        assert ours is not None, length
        notes = [note["text"] for process in ours for note in process["health"]["notes"]]
        assert any(note.startswith(CUT.partition(" and ")[0] % theirs["cut"] + " ") for note in notes)
        assert len(ours) == len(theirs["processes"])
        assert [process["blocks"] for process in ours] == as_in_json(
            [process["blocks"] for process in theirs["processes"]])


def test_every_flipped_byte_is_seen(tool, tmp_path):
    """No byte of a trace can change without a message: everything is under a checksum."""
    with open(golden("tiny"), "rb") as file:
        whole = file.read()
    paths = [tmp_path / ("%d.seep" % at) for at in range(len(whole))]
    for at, path in enumerate(paths):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x20]) + whole[at + 1:])
    for at, ours in enumerate(dump_each(tool, paths)):
        assert ours is None, at
        with pytest.raises(seep_reader.BadTrace):
            read(paths[at])


def test_small_memory_is_enough_for_bombs(tool, sanitized):
    """What a section promises is never allocated before the bytes justify it."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))
    if sanitized:
        pytest.skip("AddressSanitizer needs more address space than this test gives")
    for name in ("bomb", "bomb-64m", "too-many", "process-promises", "process-args", "health-notes", "stored-huge"):
        done = run(tool, "dump", golden(name), preexec_fn=limit)
        assert done.stdout.decode().split("\n")[0] == "%s: %s" % (golden(name), BROKEN[name][0])


def test_sections_that_repeat_take_what_they_hold(tool, tmp_path, sanitized):
    """Thousands of small sections of one array, and marks from the latest to the first: neither memory nor time may
    go with the square of what is in the file."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
        if not sanitized:
            resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))

    def pieces(first, count):
        rows = b"".join(make_v1.leb(16 if i else first) + bytes((8, 1, 0, 2)) for i in range(count))
        return make_v1.Section(seep_reader.PIECES, make_v1.leb(count) + rows)

    def mark(moment):
        return make_v1.Section(seep_reader.MARKS, b"\2x" + make_v1.leb(2 * moment) + bytes(3))

    with open(golden("pooled"), "rb") as file:
        sections = make_v1.plain(file.read())
    pooled = [s for s in sections if s.kind < seep_reader.PIECES]
    path = tmp_path / "x.seep"
    count = 4000 if sanitized else 100000
    path.write_bytes(make_v1.trace(pooled + [pieces(16, 50000)] + [pieces(800000 + 16 * i, 1) for i in range(200)] +
                                   [mark(count - i) for i in range(count)]))
    done = run(tool, "dump", path, preexec_fn=limit)
    assert done.returncode == 0, done.stdout[-1000:]
    loaded = json.loads(done.stdout)[0]
    assert len(loaded["pieces"]) == 50200 and len(loaded["marks"]) == count
    assert [m[1] for m in loaded["marks"]] == list(range(1, count + 1))
    path.write_bytes(make_v1.trace(pooled + [pieces(32, 1), pieces(16, 1)]))
    done = run(tool, "dump", path)
    assert done.returncode == 1 and b"section PIECES" in done.stdout and b"out of order" in done.stdout


def test_wrong_frees_of_many_modules_take_no_product(seep, tmp_path):
    """Whether a module has a C++ runtime of its own is asked of each module once, and not for each wrong free."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
    count, at_new, at_free = 20000, b"\2\x0a", b"\0\x18"
    leb, sections = make_v1.leb, []
    with open(golden("tiny"), "rb") as file:
        plain = make_v1.plain(file.read())
    for section in plain:
        raw = section.stored
        if section.kind == seep_reader.PROCESS:
            raw = raw[:-6] + leb(count) + b"\1\2\1\0\1"
        elif section.kind == seep_reader.MODULES:
            more = ((b"/none/%05d" % i, b"\x80\x80\x80\2\x80@\x80@\0\1\0") for i in range(count - 1))
            raw = b"\1" + leb(count) + raw[2:] + b"".join(leb(len(path) + 1) + path + rest for path, rest in more)
        elif section.kind == seep_reader.SITES:
            raw = b"\1\2" + at_new + raw[4:] + at_free + bytes(8)
        sections.append(make_v1.Section(section.kind, raw))
    rows = b"".join(b"\1\1\2\1" + leb(4096 + 16 * i) + b"\x08" for i in range(count))
    sections.append(make_v1.Section(seep_reader.WRONG_RELEASES, leb(count) + rows))
    path = tmp_path / "x.seep"
    path.write_bytes(make_v1.trace(sections))
    done = run(seep, "report", path, preexec_fn=limit)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert done.stdout.count(b" freed by the wrong function") == count


# ---- Writing.


def test_file_is_private_and_nothing_is_left(tool, tmp_path):
    path = tmp_path / "x.seep"
    path.write_bytes(b"old")
    path.chmod(0o644)
    assert run(tool, "make", "tiny", path).returncode == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["x.seep"]
    assert run(tool, "same", "tiny", path).returncode == 0


def test_pipe_and_stdin(tool, tmp_path):
    made = run(tool, "make", "family", "-")
    assert made.returncode == 0
    assert run(tool, "same", "family", "-", input=made.stdout).returncode == 0
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with subprocess.Popen(["cat", str(fifo)], stdout=subprocess.PIPE) as cat:
        assert run(tool, "make", "family", fifo).returncode == 0
        assert cat.stdout.read() == made.stdout
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert run(tool, "make", "tiny", "/dev/null").returncode == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_link_stays_a_link(tool, tmp_path):
    target, link = tmp_path / "target.seep", tmp_path / "link.seep"
    target.write_bytes(b"old")
    link.symlink_to("target.seep")
    assert run(tool, "make", "tiny", link).returncode == 0
    assert link.is_symlink() and run(tool, "same", "tiny", target).returncode == 0
    target.unlink()
    done = run(tool, "make", "tiny", link)
    assert done.returncode == 1
    assert done.stdout.decode().startswith("%s: a symbolic link that leads nowhere" % link)
    assert link.is_symlink()


def test_full_disk_leaves_the_old_file(tool, tmp_path):
    """A file size limit stands in for the full disk: both refuse a write in the middle."""
    path = tmp_path / "x.seep"
    path.write_bytes(b"old")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
    # Python ignores SIGXFSZ; so does the tool then, and sees EFBIG.
    done = run(tool, "make", "modules", path, preexec_fn=limit, restore_signals=False)
    assert done.returncode == 1
    assert done.stdout.decode() == (messages.CANNOT_WRITE_TRACE % path + "File too large\n" +
                                    messages.FILES_AT_MOST % "97 KiB" + ": start it in a shell with a higher limit\n")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x.seep"]


def test_dev_full(tool):
    done = run(tool, "make", "modules", "/dev/full")
    assert done.returncode == 1
    assert done.stdout.decode() == (messages.CANNOT_WRITE_TRACE % "/dev/full" + "No space left on device\n" +
                                    messages.MAKE_ROOM + "\n")


def test_unwritable_places(tool, tmp_path):
    done = run(tool, "make", "tiny", tmp_path / "none" / "x.seep")
    assert done.returncode == 1
    assert done.stdout.decode() == ("%s: cannot make the trace in its directory: No such file or directory\n"
                                    "write to another place\n" % (tmp_path / "none" / "x.seep"))
    done = run(tool, "make", "tiny", tmp_path)
    assert done.stdout.decode() == "%s: is a directory\n%s with -o\n" % (tmp_path, messages.NAME_A_FILE)
    done = run(tool, "make", "tiny", "/proc/x.seep")
    assert done.returncode == 1


def test_no_process_no_file(tool, tmp_path):
    done = run(tool, "make", "nothing", tmp_path / "x.seep")
    assert done.returncode == 1
    assert done.stdout.decode().startswith("%s: nothing to save: no process was traced\n" % (tmp_path / "x.seep"))
    assert os.listdir(tmp_path) == []


def test_document_shows_the_tiny_file():
    """The worked example of the document is the golden file, byte by byte, but for compressed bytes."""
    with open(os.path.join(HERE, "..", "..", "docs", "trace-format.md"), encoding="utf-8") as file:
        lines = re.findall(r"^    ([0-9a-f]{4})  ((?:[0-9a-f]{2} {1,2})*[0-9a-f]{2})( \.\.\.)?(?:  |$)", file.read(), re.M)
    with open(golden("tiny"), "rb") as file:
        whole = file.read()
    shown, at, skipped = 0, 0, False
    for offset, words, dots in lines:
        data = bytes.fromhex(words)
        here = int(offset, 16)
        assert here == at or skipped
        assert whole[here:here + len(data)] == data, offset
        at, skipped = here + len(data), bool(dots)
        shown += len(data)
    assert at == len(whole) and shown > 450
    assert struct.unpack_from("<Q", whole, len(whole) - 8)[0] == len(whole)
