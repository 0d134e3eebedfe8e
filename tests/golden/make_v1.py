#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the golden traces of format 1, v1-*.seep, from what make_traces saves.

They are committed and stay as they are: a seep that changes the format must still read them, or refuse
them with the same words. Run this again only to add files: make_v1.py BUILD/tests/golden/make_traces
"""
import os
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import seep_reader as reader  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
GOOD = ("empty", "tiny", "cut", "huge", "family", "even", "mapped", "pooled", "indexed", "grown", "named", "scanned", "forked",
        "freed", "arrived", "noted", "foreign", "several", "slabs", "lined", "given")


def make(tool, name):
    path = os.path.join(HERE, "v1-%s.seep" % name)
    if not os.path.exists(path):
        subprocess.run([tool, "make", name, path], check=True)
        os.chmod(path, 0o644)
    with open(path, "rb") as file:
        return file.read()


def leb(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class Section:
    """A section as a table of what its header says; made plain (not compressed) when not told otherwise."""

    def __init__(self, kind, raw, version=1, flags=0, raw_length=None, stored_length=None, crc=None):
        self.kind, self.stored, self.version, self.flags = kind, raw, version, flags
        self.raw_length, self.stored_length, self.crc = raw_length, stored_length, crc

    def bytes(self):
        length = len(self.stored)
        head = struct.pack("<IHHQQ", self.kind, self.version, self.flags,
                           length if self.stored_length is None else self.stored_length,
                           length if self.raw_length is None else self.raw_length)
        crc = zlib.crc32(self.stored) if self.crc is None else self.crc
        return head + struct.pack("<II", zlib.crc32(head), crc) + self.stored


def header(major=1, minor=0, extra=b""):
    head = reader.MAGIC + struct.pack("<HHIQI", major, minor, 32 + len(extra), 0, 0)
    return head + struct.pack("<I", zlib.crc32(head)) + extra


def trace(sections, head=None, end_sections=None, end_bytes=None, end_extra=b"", tail=b""):
    data = (head or header()) + b"".join(section.bytes() for section in sections)
    count = len(sections) + 1 if end_sections is None else end_sections
    length = len(data) + 48 + len(end_extra) if end_bytes is None else end_bytes
    return data + Section(reader.END, struct.pack("<QQ", count, length) + end_extra).bytes() + tail


def plain(data):
    return [Section(kind, raw) for kind, _offset, raw in reader.sections(data)]


def change(data, kind, replace):
    """The file with section `kind` replaced by what replace(raw) gives: bytes, or a Section, or None."""
    sections = []
    for section in plain(data):
        if section.kind == kind:
            section = replace(section.stored)
            if isinstance(section, bytes):
                section = Section(kind, section)
        if section is not None:
            sections.append(section)
    return trace(sections)


def offset_of(data, kind, nth=0):
    return [offset for at, offset, _raw in reader.sections(data) if at == kind][nth]


def broken_containers(tiny, family):
    sections = plain(tiny)
    whole = trace(sections)
    yield "header-cut", tiny[:20]
    yield "section-cut", tiny[:offset_of(tiny, reader.NODES) + 35]
    yield "section-header-cut", tiny[:offset_of(tiny, reader.HEALTH) + 10]
    yield "blocks-cut", tiny[:offset_of(tiny, reader.BLOCKS) + 40]
    yield "end-cut", tiny[:-1]
    yield "family-cut", family[:offset_of(family, reader.BLOCKS, 2) + 33]
    yield "family-cut-between", family[:offset_of(family, reader.PROCESS, 2)]
    yield "bad-checksum", tiny[:-0x90] + bytes([tiny[-0x90] ^ 1]) + tiny[-0x8f:]
    yield "bad-header-checksum", tiny[:16] + b"\1" + tiny[17:]
    at = offset_of(tiny, reader.SITES) + 8
    yield "bad-section-checksum", tiny[:at] + b"\xff" + tiny[at + 1:]
    yield "wrong-magic", b"SEEK" + tiny[4:]
    yield "text-mode", tiny.replace(b"\r\n", b"\n", 1)
    yield "newer-major", trace(sections, header(major=2))
    yield "major-0", trace(sections, header(major=0))
    yield "header-length", header()[:12] + b"\xff\xff\xff\xff" + header()[16:28] + \
        struct.pack("<I", zlib.crc32(header()[:12] + b"\xff\xff\xff\xff" + header()[16:28])) + whole[32:]
    known = {reader.TOTALS: b"\0\0"}  # what minor version 1 appended, which the tiny trace does not have
    longer = [Section(s.kind, s.stored + known.get(s.kind, b"") + (b"\7new" if s.kind <= reader.TOTALS else b""))
              for s in sections]
    yield "newer-minor", trace(longer + [Section(77, b"what?", version=9)], header(minor=3, extra=b"x" * 9),
                               end_extra=b"more")
    yield "longer-record", trace([Section(s.kind, s.stored + (b"x" if s.kind == reader.HEALTH else b""))
                                  for s in sections])
    yield "longer-end", trace(sections, end_extra=b"more")
    yield "unknown-section", trace(sections[:4] + [Section(0x10000, b"\0" * 99, flags=0x8000)] + sections[4:])
    yield "required-section", trace(sections + [Section(0x7000, b"", flags=reader.REQUIRED)])
    yield "type-0", trace(sections + [Section(0, b"")])
    yield "newer-section", change(tiny, reader.NODES, lambda raw: Section(reader.NODES, raw, version=2))
    yield "newer-flag", change(tiny, reader.NODES, lambda raw: Section(reader.NODES, raw, flags=4))
    yield "end-sections", trace(sections, end_sections=3)
    yield "end-length", trace(sections, end_bytes=5)
    yield "after-end", whole + b"tail"
    yield "end-short", header() + Section(reader.END, b"\0" * 8).bytes()
    yield "no-process", trace([Section(reader.SESSION, b"\0")])
    yield "processes-lie", change(tiny, reader.SESSION, lambda raw: b"\5")


def broken_lengths(tiny, even):
    """even's BLOCKS are zstd: (stored bytes, raw length)."""
    at = offset_of(even, reader.BLOCKS)
    stored_length, raw_length = struct.unpack_from("<QQ", even, at + 8)
    packed = even[at + 32:at + 32 + stored_length]

    def blocks(**fields):
        return change(even, reader.BLOCKS, lambda raw: Section(reader.BLOCKS, packed, flags=reader.ZSTD, **fields))

    yield "raw-too-short", blocks(raw_length=raw_length - 1)
    yield "raw-too-long", blocks(raw_length=raw_length + 1)
    yield "bomb", blocks(raw_length=256 * len(packed) + 1)
    yield "bomb-64m", blocks(raw_length=1 << 62)
    yield "not-zstd", change(tiny, reader.NODES, lambda raw: Section(reader.NODES, raw, flags=reader.ZSTD))
    yield "raw-differs", change(tiny, reader.NODES, lambda raw: Section(reader.NODES, raw, raw_length=5))
    yield "stored-huge", change(tiny, reader.NODES,
                                lambda raw: Section(reader.NODES, raw, stored_length=(1 << 64) - 1))


def broken_contents(tiny):
    r = reader
    yield "node-parent", change(tiny, r.NODES, lambda raw: b"\1\1" + leb((1 << 64) - 1) + raw[3:])
    yield "node-parent-1", change(tiny, r.NODES, lambda raw: b"\1\1\1" + raw[3:])
    yield "node-module", change(tiny, r.NODES, lambda raw: raw[:3] + leb(2 << 3) + raw[4:])
    yield "node-kind", change(tiny, r.NODES, lambda raw: raw[:3] + leb(1 << 3 | 3) + raw[4:])
    yield "site-node", change(tiny, r.SITES, lambda raw: raw[:2] + leb(4) + raw[3:])
    yield "site-via", change(tiny, r.SITES, lambda raw: raw[:3] + leb(1 << 32) + raw[4:])
    yield "thread-name", change(tiny, r.THREADS, lambda raw: raw[:4] + leb(18) + b"n" * 17 + raw[9:])
    yield "thread-name-zero", change(tiny, r.THREADS, lambda raw: raw[:6] + b"\0" + raw[7:])
    yield "module-path", change(tiny, r.MODULES, lambda raw: raw[:2] + b"\0" + raw[12:])
    yield "module-build-id", change(tiny, r.MODULES, lambda raw: raw[:-3] + leb(45) + b"b" * 45)
    yield "too-many", change(tiny, r.NODES, lambda raw: raw[:1] + leb(1 << 40) + raw[2:])
    yield "one-too-many", change(tiny, r.NODES, lambda raw: raw[:1] + b"\2" + raw[2:] + raw[2:])
    yield "one-too-few", change(tiny, r.NODES, lambda raw: None)
    yield "first-id", change(tiny, r.NODES, lambda raw: b"\2" + raw[1:])
    yield "left-over", change(tiny, r.NODES, lambda raw: raw + b"\0")
    yield "row-cut", change(tiny, r.SITES, lambda raw: raw[:-1] + b"\x80")
    yield "number-of-65-bits", change(tiny, r.NODES, lambda raw: raw[:4] + b"\x80" * 9 + b"\2")
    yield "process-args", change(tiny, r.PROCESS, lambda raw: raw[:15] + leb(1 << 31) + raw[16:])
    yield "process-promises", change(tiny, r.PROCESS, lambda raw: raw[:-1] + leb(1 << 60))
    yield "health-notes", change(tiny, r.HEALTH, lambda raw: raw[:-1] + leb(1 << 60))
    yield "no-health", change(tiny, r.HEALTH, lambda raw: None)
    yield "no-totals", change(tiny, r.TOTALS, lambda raw: None)
    yield "no-session", change(tiny, r.SESSION, lambda raw: None)
    yield "totals-lie", change(tiny, r.TOTALS, lambda raw: b"\2" + raw[1:])
    yield "out-of-order", trace([s for s in plain(tiny) if s.kind != r.NODES] +
                                [s for s in plain(tiny) if s.kind == r.NODES])
    yield "blocks-early", trace([s for s in plain(tiny) if s.kind != r.THREADS] +
                                [s for s in plain(tiny) if s.kind == r.THREADS])
    yield "process-twice", trace([s for s in plain(tiny) for _ in range(2 if s.kind == r.PROCESS else 1)])
    yield "session-twice", trace([s for s in plain(tiny) for _ in range(2 if s.kind == r.SESSION else 1)])
    one = b"\0\1"
    yield "block-site", change(tiny, r.BLOCKS, lambda raw: one + b"\0\1\1\1\0\0" + b"\1\1\2")
    yield "block-thread", change(tiny, r.BLOCKS, lambda raw: one + b"\0\1\1\1\1\0" + b"\1\1\1\2")
    yield "block-shift", change(tiny, r.BLOCKS, lambda raw: one + b"\x40\1\1\1\0\0" + b"\1\1\1")
    yield "block-address", change(tiny, r.BLOCKS, lambda raw: one + b"\x3f\1\1\1\0\0" + b"\2\1\1")
    yield "block-columns", change(tiny, r.BLOCKS, lambda raw: one + b"\0\1\1\2\0\0" + b"\1\1\1")
    yield "block-column-left", change(tiny, r.BLOCKS, lambda raw: one + b"\0\1\2\1\0\0" + b"\1\1\1\1")
    two = change(tiny, r.PROCESS, lambda raw: raw[:-1] + b"\2")
    halves = [Section(r.BLOCKS, one + b"\0\1\1\1\0\0" + b"\5\1\1"),
              Section(r.BLOCKS, b"\1\1" + b"\0\1\1\1\0\0" + b"\4\1\1")]
    yield "block-order", trace([s for s in plain(two) if s.kind != r.BLOCKS] + halves)


def index_of(sections, pids=None, beyond=0, tail=0, exe=None):
    """An INDEX that fits, but for what is said."""
    at, groups = 32, []
    for section in sections:
        if section.kind == reader.PROCESS:
            groups.append([reader.process_of(reader.Take(section.stored))[0], at, 0])
        if groups:
            groups[-1][2] += len(section.bytes())
        at += len(section.bytes())
    texts = []
    rows = b""
    for i, (process, _offset, length) in enumerate(groups):
        row = leb(pids[i] if pids else process["pid"])
        for text in (exe or process["exe"], process["args"][0] if process["args"] else None):
            if text is not None and text not in texts:
                texts.append(text)
            row += leb(0 if text is None else texts.index(text) + 1)
        rows += row + leb(length + (beyond if i == len(groups) - 1 else 0))
    raw = leb(len(texts)) + b"".join(leb(len(text) + 1) + text.encode() for text in texts)
    raw += leb(len(groups)) + leb(groups[0][1]) + rows
    return Section(reader.INDEX, raw + struct.pack("<Q", 32 + len(raw) + 8 + tail))


def broken_arrivals(arrived):
    r = reader
    steps = b"\2" + b"\5\30\10\1\0"

    def with_raw(replace):
        sections = [Section(s.kind, replace(s.stored) if s.kind == r.ARRIVALS else s.stored) for s in plain(arrived)]
        return trace(sections, header(minor=1))

    def with_steps(other):
        return with_raw(lambda raw: raw.replace(steps, other, 1))
    yield "arrivals-cut", with_raw(lambda raw: raw[:3])
    yield "arrivals-steps", with_steps(b"\101" + steps[1:])
    yield "arrivals-none", with_steps(b"\2\0" + steps[2:])
    yield "arrivals-number", with_steps(b"\2\6" + steps[2:])
    yield "arrivals-module", with_steps(steps[:-1] + b"\11\1")
    yield "arrivals-twice", trace([one for s in plain(arrived) for one in ([s, s] if s.kind == r.ARRIVALS else [s])], header(minor=1))


def broken_platforms(foreign):
    def with_raw(raw):
        return trace([Section(s.kind, raw if s.kind == reader.PLATFORM else s.stored) for s in plain(foreign)], header(minor=2))
    yield "platform-word", with_raw(b"\24\5\1")
    yield "platform-machine", with_raw(b"\200\200\4\4\1")
    yield "platform-cut", with_raw(b"\24\4")


def broken_indexes(indexed):
    sections = [s for s in plain(indexed) if s.kind != reader.INDEX]
    whole = index_of(sections)
    yield "index-cut", indexed[:offset_of(indexed, reader.INDEX) + 40]
    yield "index-pid", trace(sections + [index_of(sections, pids=[200, 201, 202, 203])])
    yield "index-program", trace(sections + [index_of(sections, exe="/bin/other")])
    yield "index-beyond", trace(sections + [index_of(sections, beyond=1)])
    yield "index-text", trace(sections + [Section(reader.INDEX, b"\0" + whole.stored[whole.stored.index(b"tool") + 4:])])
    yield "index-short", trace(sections + [Section(reader.INDEX, whole.stored[:-8])])
    yield "index-tail", trace(sections + [index_of(sections, tail=1)])
    last = max(i for i, s in enumerate(sections) if s.kind == reader.PROCESS)
    yield "index-early", trace(sections[:last] + [whole] + sections[last:])
    yield "index-twice", trace(sections + [whole, whole])
    yield "index-first", trace([sections[0], whole] + sections[1:])


def broken_held(several):
    def changed(change):
        sections = [Section(s.kind, change(s.stored) if s.kind == reader.HELD else s.stored) for s in plain(several)]
        return trace(sections, header(minor=1))

    yield "held-kind", changed(lambda raw: raw[:2] + b"\1" + raw[3:])
    yield "held-site", changed(lambda raw: raw[:1] + b"\x7e" + raw[2:])
    yield "held-cut", changed(lambda raw: raw[:-1])
    yield "held-many", changed(lambda raw: b"\x7f" + raw[1:])
    yield "held-twice", trace([one for s in plain(several) for one in ([s, s] if s.kind == reader.HELD else [s])], header(minor=1))


def broken_slabs(slabs):
    def with_raw(raw):
        return trace([Section(s.kind, raw if s.kind == reader.SLABS else s.stored) for s in plain(slabs)], header(minor=2))
    yield "slabs-cut", with_raw(b"")
    yield "slabs-longer", with_raw(b"\140\1")


def broken_lines(lined):
    (good,) = [s for s in plain(lined) if s.kind == reader.LINES]

    def changed(raw):
        return trace([Section(s.kind, raw if s.kind == reader.LINES else s.stored) for s in plain(lined)], header(minor=2))
    yield "lines-cut", changed(good.stored[:-1])
    yield "lines-module", changed(b"\2" + good.stored[1:])
    yield "lines-text", changed(b"\1\1\0\1\2\0\0")
    yield "lines-no-frames", changed(b"\1\1\0\0\0\0\0")
    yield "lines-same-place", changed(b"\1\2" + b"\0\1\0\0\0" * 2)


def broken_given(given):
    def with_raw(raw):
        return trace([Section(s.kind, raw if s.kind == reader.GIVEN else s.stored) for s in plain(given)], header(minor=2))
    yield "given-nowhere", with_raw(b"\0\1")
    yield "given-nothing", with_raw(b"\1\0")
    yield "given-beyond", with_raw(b"\2" + b"\xff" * 9 + b"\1")
    yield "given-cut", with_raw(b"\1")


def seeds(good):
    """Small files without compression, so that a fuzzer's change of a byte changes a number."""
    for name in ("empty", "tiny", "cut", "huge"):
        yield name, trace(plain(good[name]))
    yield "family", trace(plain(good["family"])[:19])
    yield "packed", good["tiny"]
    yield "no-exe", change(trace(plain(good["tiny"])), reader.PROCESS,
                           lambda raw: raw.replace(b"\n/bin/leak", b"\0", 1))
    yield "named", trace(plain(good["named"]))
    yield "freed", trace(plain(good["freed"]))
    yield "arrived", trace(plain(good["arrived"]), header(minor=1))
    yield "several", trace(plain(good["several"]), header(minor=1))
    yield "foreign", trace(plain(good["foreign"]), header(minor=2))
    yield "slabs", trace(plain(good["slabs"]), header(minor=2))
    yield "lined", trace(plain(good["lined"]), header(minor=2))
    yield "given", trace(plain(good["given"]), header(minor=2))
    sections = [s for s in plain(good["indexed"]) if s.kind != reader.INDEX]
    yield "indexed", trace(sections + [index_of(sections)])
    yield "unknown", trace([Section(200, b"?")] + plain(good["tiny"]), header(minor=9, extra=b"later"))
    yield "raw", b"SEEPRAW\n\1\0\0\0\0\0\0\0"


def main():
    tool = sys.argv[1]
    good = {name: make(tool, name) for name in GOOD}
    broken = list(broken_containers(good["tiny"], good["family"]))
    broken += broken_lengths(good["tiny"], good["even"])
    broken += broken_contents(good["tiny"])
    broken += broken_indexes(good["indexed"])
    broken += broken_arrivals(good["arrived"])
    broken += broken_held(good["several"])
    broken += broken_platforms(good["foreign"])
    broken += broken_slabs(good["slabs"])
    broken += broken_lines(good["lined"])
    broken += broken_given(good["given"])
    corpus = os.path.join(HERE, "..", "fuzz", "corpus", "trace")
    os.makedirs(corpus, exist_ok=True)
    files = [(os.path.join(HERE, "v1-%s.seep" % name), data) for name, data in broken]
    files += [(os.path.join(corpus, name), data) for name, data in seeds(good)]
    for path, data in files:
        if not os.path.exists(path):
            with open(path, "wb") as file:
                file.write(data)


if __name__ == "__main__":
    main()
