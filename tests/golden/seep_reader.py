# SPDX-License-Identifier: BSD-2-Clause
"""A second reader of *.seep files, written from docs/trace-format.md and sharing no code with seep.

read(bytes) gives a dict: {"cut": offset or None, "processes": [...], "sections": [(type, offset), ...],
"index": rows or None}.
What is wrong with a file is a BadTrace. Not made for speed.
"""
import ctypes
import ctypes.util
import struct
import zlib

MAGIC = b"SEEP\r\n\x1a\n"
MAJOR, MINOR = 1, 2
ZSTD, REQUIRED = 1, 2
(END, SESSION, PROCESS, HEALTH, TOTALS, MODULES, NODES, SITES, THREADS, THREAD_SITES, BLOCKS, LEAKS) = range(1, 13)
MAPPINGS, WRONG_RELEASES, ACCOUNT, POOLS, PIECES, MARKS, SNAPSHOTS = range(13, 20)
HOLDERS, CHAINS, LEADERS, NAMES, FIRST_RELEASES, ARRIVALS, PLATFORM, INDEX, HELD, SLABS, LINES, GIVEN = 20, 21, 22, 23, 24, 25, 29, 30, 33, 36, 37, 38
NR_ACCOUNT = 9
NR_LOST, NR_CUT, NR_VIA, NR_RELEASE, NR_SIZE_CLASS = 48, 8, 16, 8, 64
U64 = (1 << 64) - 1
NONE_U32 = (1 << 32) - 1


class BadTrace(Exception):
    pass


def _libzstd():
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    library.ZSTD_isError.restype = ctypes.c_uint
    library.ZSTD_isError.argtypes = [ctypes.c_size_t]
    return library


_zstd = None


def decompress(stored, raw_length):
    global _zstd
    _zstd = _zstd or _libzstd()
    room = ctypes.create_string_buffer(max(raw_length, 1))
    done = _zstd.ZSTD_decompress(room, raw_length, stored, len(stored))
    if _zstd.ZSTD_isError(done) or done != raw_length:
        raise BadTrace("zstd gives other than the promised bytes")
    return room.raw[:raw_length]


class Take:
    """Reads numbers from the bytes of a section."""

    def __init__(self, data, at=0, end=None):
        self.data, self.at, self.end = data, at, len(data) if end is None else end

    def left(self):
        return self.end - self.at

    def leb(self, limit=U64):
        at, data = self.at, self.data
        value = shift = 0
        while True:
            if at >= self.end or shift > 63:
                raise BadTrace("number is cut or too long")
            byte = data[at]
            at += 1
            if byte < 0x80:
                value |= byte << shift
                break
            value |= (byte & 0x7F) << shift
            shift += 7
        self.at = at
        if value > limit:
            raise BadTrace("number out of range")
        return value

    def u32(self):
        return self.leb(NONE_U32)

    def zz(self):
        value = self.leb()
        return (value >> 1) ^ -(value & 1)

    def add(self, base):
        """base plus a difference, modulo 2^64."""
        return (base + self.zz()) & U64

    def bool(self):
        return bool(self.leb(1))

    def bytes(self, length):
        if length > self.left():
            raise BadTrace("bytes are cut")
        self.at += length
        return self.data[self.at - length:self.at]

    def text(self):
        length = self.leb()
        if length == 0:
            return None
        data = self.bytes(length - 1)
        if 0 in data:
            raise BadTrace("zero byte in a text")
        return data.decode("latin-1")

    def some_text(self):
        text = self.text()
        if text is None:
            raise BadTrace("a text is missing")
        return text

    def list(self, places):
        values = [0] * places
        for i in range(self.leb()):
            at = min(i, places - 1)
            values[at] = min(values[at] + self.leb(), U64)
        return values

    def counters(self):
        allocations, allocated = self.leb(), self.leb()
        frees = (allocations - self.zz()) & U64
        freed = (allocated - self.zz()) & U64
        temporary, peak, largest = self.leb(), self.leb(), self.leb()
        smallest = (largest - self.zz()) & U64
        return [allocations, allocated, frees, freed, temporary, peak, smallest, largest]


# ---- The file.


def sections(data):
    """(type, offset, raw bytes) of every section before END; then ("cut", offset) where the file is cut."""
    if data[:4] != MAGIC[:4] or data[:8] != MAGIC[:len(data[:8])]:
        raise BadTrace("not a trace")
    if len(data) < 32:
        raise BadTrace("cut in the file header")
    major, minor, header_length, _zero, _zero2, crc = struct.unpack_from("<HHIQII", data, 8)
    if crc != zlib.crc32(data[:28]):
        raise BadTrace("file header: checksum")
    if major != MAJOR:
        raise BadTrace("major version %d" % major)
    if not 32 <= header_length <= len(data):
        raise BadTrace("file header: length")
    at, count = header_length, 0
    while True:
        if len(data) - at < 32:
            yield "cut", at, None
            return
        kind, version, flags, stored_length, raw_length, header_crc, crc = struct.unpack_from("<IHHQQII", data, at)
        if header_crc != zlib.crc32(data[at:at + 24]):
            raise BadTrace("section header: checksum")
        if stored_length > len(data) - at - 32:
            yield "cut", at, None
            return
        here, stored = at, data[at + 32:at + 32 + stored_length]
        at += 32 + stored_length
        count += 1
        if not 1 <= kind <= SNAPSHOTS and kind not in (HOLDERS, CHAINS, LEADERS, NAMES, FIRST_RELEASES, ARRIVALS, PLATFORM, INDEX, HELD, SLABS, LINES, GIVEN):
            if flags & REQUIRED:
                raise BadTrace("required section of unknown type %d" % kind)
            continue
        if version != 1 or flags & ~(ZSTD | REQUIRED):
            raise BadTrace("section %d: version or flags" % kind)
        if crc != zlib.crc32(stored):
            raise BadTrace("section %d: checksum" % kind)
        if raw_length > 64 << 20:
            raise BadTrace("section %d: too long" % kind)
        if flags & ZSTD:
            if raw_length > 256 * stored_length:
                raise BadTrace("section %d: too long" % kind)
            stored = decompress(stored, raw_length)
        elif raw_length != stored_length:
            raise BadTrace("section %d: raw length" % kind)
        if kind == END:
            if len(stored) < 16 or (len(stored) > 16 and minor <= MINOR):
                raise BadTrace("END: length")
            if struct.unpack_from("<QQ", stored) != (count, at) or at != len(data):
                raise BadTrace("END: does not agree with the file")
            return
        yield kind, here, stored


# ---- Sections of one record.


def process_of(take):
    process = {"pid": take.u32(), "ppid": take.u32(), "forked_from": take.u32(), "is_main": take.bool(),
               "exe": take.text() or "", "nr_args_all": take.u32()}
    process["args"] = [take.some_text() for _ in range(take.u32())]
    process["start_realtime_ns"] = take.zz()
    process["duration_ns"] = take.zz()
    kind = take.leb()
    process["exit_kind"] = kind if kind <= 3 else 0
    process["exit_value"] = take.zz()
    if not -(1 << 31) <= process["exit_value"] < 1 << 31:
        raise BadTrace("exit value")
    promised = {kind: take.leb() for kind in range(MODULES, BLOCKS + 1)}
    return process, promised


LEADS = ((1, "not traced: "), (4, "what is lost is not known: "))


def notes_of(take, minor, flags):
    """Code, flags and text of each; before minor version 2 the text begins with what the flags say."""
    notes = [{"code": 0, "flags": 0, "text": take.some_text()} for _ in range(take.leb())]
    for note in notes if minor >= 2 else ():
        note["code"], note["flags"] = take.u32(), take.u32() & 7
    for note in notes if minor < 2 else ():
        for flag, lead in LEADS:
            if note["text"].startswith(lead):
                note["flags"], note["text"] = flag, note["text"][len(lead):]
    if minor < 2 and notes and flags >> 31:
        notes[0]["flags"] |= 2
    return notes


def health_of(take, minor):
    health = {"events": take.leb(), "lost": take.list(NR_LOST), "cut": take.list(NR_CUT),
              "stacks_cut": take.leb(), "state": take.u32(), "passive_reason": take.u32(), "flags": take.u32(),
              "preempted_by": take.text(), "depth_limit": take.u32(), "sample_bytes": take.leb()}
    health["notes"] = notes_of(take, minor, health["flags"])
    return health


def totals_of(take, minor):
    totals = {"allocations": take.leb(), "allocated_bytes": take.leb(), "frees": take.leb(),
              "freed_bytes": take.leb(), "live_blocks": take.leb(), "live_bytes": take.leb(),
              "peak_bytes": take.leb(), "peak_exact": take.bool(), "peak_error_bytes": take.leb(),
              "temporary": take.leb(), "failed": take.leb(), "unknown_frees": take.leb()}
    totals["by_function"] = take.list(NR_VIA)
    totals["releases"] = take.list(NR_RELEASE)
    totals["size_class"] = take.list(NR_SIZE_CLASS)
    totals["inherited"] = [take.leb(), take.leb()] if minor >= 1 else [0, 0]
    return totals


# ---- Rows. Each takes the profile, the number that deltas are taken from, the id; gives row and next number.


def module_row(take, _profile, previous, _id):
    module = {"path": take.some_text(), "bias_rt": take.leb()}
    module["start_rt"] = take.add(module["bias_rt"])
    module["end_rt"] = take.add(module["start_rt"])
    module["first_seen_ns"], module["unloaded_ns"] = take.zz(), take.zz()
    module["build_id"] = take.bytes(take.leb(44)).hex()
    return module, previous


def node_row(take, profile, previous, node):
    back = take.leb()
    if back >= node:
        raise BadTrace("node %d: parent" % node)
    coded, offset = take.leb(), take.leb()
    parent, module, exact, kind = node - 1 - back, coded >> 3, coded >> 2 & 1, coded & 3
    if module >= len(profile["modules"]) or kind > 1 or (kind == 1 and parent):
        raise BadTrace("node %d: module or kind" % node)
    return [parent, module, offset, exact, kind], previous


def site_row(take, profile, previous, site):
    node = take.add(previous)
    if node >= len(profile["nodes"]):
        raise BadTrace("site %d: node" % site)
    return {"node": node, "via": take.u32(), "counters": take.counters()}, node


def thread_row(take, _profile, previous, thread):
    row = {"tid": take.u32(), "nr_owners": take.u32(), "name": take.text() or ""}
    if len(row["name"]) > 16:
        raise BadTrace("thread %d: name" % thread)
    for field in ("allocations", "allocated_bytes", "frees", "freed_bytes"):
        row[field] = take.leb()
    return row, previous


def thread_site_row(take, profile, previous, index):
    site, thread = previous + take.leb(), take.leb()
    before = profile["thread_sites"][-1][:2] if profile["thread_sites"] else [-1, -1]
    if site >= len(profile["sites"]) or thread >= len(profile["threads"]) or [site, thread] <= before:
        raise BadTrace("thread count %d: ids" % index)
    return [site, thread, take.counters()], site


ARRAYS = {
    MODULES: ("modules", 1, module_row),
    NODES: ("nodes", 1, node_row),
    SITES: ("sites", 1, site_row),
    THREADS: ("threads", 0, thread_row),
    THREAD_SITES: ("thread_sites", 0, thread_site_row),
}


def take_rows(kind, take, profile):
    name, _first, row_of = ARRAYS[kind]
    first, count = take.leb(), take.leb()
    if first != len(profile[name]):
        raise BadTrace("%s: first id" % name)
    previous = 0
    for index in range(first, first + count):
        row, previous = row_of(take, profile, previous, index)
        profile[name].append(row)
    if take.left():
        raise BadTrace("%s: bytes left over" % name)


def take_blocks(take, profile):
    first, count, shift = take.leb(), take.leb(), take.leb(63)
    blocks = profile["blocks"]
    if first != len(blocks):
        raise BadTrace("blocks: first id")
    lengths = [take.leb() for _ in range(5)]
    if sum(lengths) != take.left():
        raise BadTrace("blocks: columns")
    columns = []
    for length in lengths:
        columns.append(Take(take.data, take.at, take.at + length))
        take.at += length
    addresses, sizes, sites, threads, ages = columns
    address = age = 0
    for _ in range(count):
        address += addresses.leb() << shift
        site = sites.leb()
        thread = threads.leb() if lengths[3] else 0
        if lengths[4]:
            age = ages.add(age)
        if address > U64 or site >= len(profile["sites"]) or thread > len(profile["threads"]):
            raise BadTrace("blocks: ids")
        signed_age = age - (1 << 64) if age >> 63 else age
        if blocks and address < blocks[-1][0]:
            raise BadTrace("blocks: order")
        blocks.append([address, sizes.leb(), site, thread - 1 if thread else NONE_U32,
                       signed_age if lengths[4] else -1])
    if any(column.left() for column in columns):
        raise BadTrace("blocks: bytes left over in a column")


def leaks_of(take, profile):
    if "leaks" in profile:
        raise BadTrace("two LEAKS sections")
    leaks = {"pause_ns": take.zz(), "read_bytes": take.leb(), "unread_bytes": take.leb(), "nr_threads": take.u32()}
    count = take.leb()
    if count != len(profile["blocks"]):
        raise BadTrace("leaks: blocks")
    packed = take.bytes((count + 3) // 4)
    leaks["kinds"] = [1 + (packed[i // 4] >> 2 * (i % 4) & 3) for i in range(count)]
    leaks["held_by"] = {}
    for _ in range(take.leb()):
        site, text = take.leb(), take.text()
        if site >= len(profile["sites"]):
            raise BadTrace("leaks: site")
        leaks["held_by"][site] = text
    return leaks


def holders_of(take, profile):
    if "holders" in profile:
        raise BadTrace("two HOLDERS sections")
    nr_all, nr = take.leb(), take.leb()
    if not nr_all or nr > nr_all:
        raise BadTrace("holders: numbers")
    holders = [{"what": take.text(), "blocks": take.leb(), "bytes": take.leb()} for _ in range(nr)]
    for site in profile["sites"]:
        site["retained_bytes"] = take.leb()
    return holders


# By kind of link, what follows: id, at, off, vtable, text.
LINKS = {0: "t", 1: "ia", 2: "i", 3: "i", 4: "i", 5: "i", 6: "", 7: "", 8: "ao", 9: "ao", 10: "iaov", 11: "", 12: "a", 13: "a",
         14: "ia", 15: "i", 16: "ia"}


def chain_of(take, profile):
    chain = []
    for _ in range(take.leb()):
        head = take.leb()
        if head >> 2 not in LINKS:
            raise BadTrace("chains: kind")
        link = {"kind": head >> 2, "lost": head >> 1 & 1, "whole": head & 1}
        for field in LINKS[link["kind"]]:
            if field == "t":
                link["text"] = take.text()
            elif field == "v":
                link["vtable_module"] = take.leb()
                link["vtable"] = take.leb() if link["vtable_module"] else 0
            else:
                link[field] = take.leb()
        modules = [link["i"]] if link["kind"] == 1 else [link.get("vtable_module", 0)]
        if modules[0] >= len(profile["modules"]) or (link["kind"] == 10 and link["i"] >= len(profile["sites"])):
            raise BadTrace("chains: ids")
        if link["kind"] in (2, 4) and link["lost"]:
            link["lost"], link["at"] = 0, take.leb()
            link["frames"] = [{key: take.leb() for key in ("module", "address", "cfa", "sp", "bp", "reg")}
                              for _ in range(take.leb())]
            if not 1 <= len(link["frames"]) <= 4 or any(
                    not 0 < f["module"] < len(profile["modules"]) or (f["reg"] > 32 and f["reg"] != 255)
                    for f in link["frames"]):
                raise BadTrace("chains: frames")
        chain.append(link)
    if not 1 <= len(chain) <= 64:
        raise BadTrace("chains: length")
    return chain


def chains_of(take, profile):
    if "chains" in profile:
        raise BadTrace("two CHAINS sections")
    held, least = {}, 0
    for _ in range(take.leb()):
        site = take.leb()
        if not least <= site < len(profile["sites"]):
            raise BadTrace("chains: site")
        held[site] = chain_of(take, profile)
        least = site + 1
    nr = take.leb()
    if nr != len(profile.get("holders", [])):
        raise BadTrace("chains: holders")
    return {"sites": held, "holders": [chain_of(take, profile) for _ in range(nr)]}


def steps_of(take, profile, nr_blocks):
    steps = []
    for _ in range(take_number(take, 5)):
        step = [take.leb() for _ in range(5)]
        steps.append(step + [take.leb() if step[4] else 0])
        if not step[0] or step[4] >= len(profile["modules"]):
            raise BadTrace("arrivals: step")
    if steps and (len(steps) > 64 or nr_blocks > 4096 or sum(step[0] for step in steps) != nr_blocks):
        raise BadTrace("arrivals: numbers")
    return steps


def take_arrivals(take, profile):
    chains = profile.get("chains", {"sites": {}, "holders": []})
    arrivals_of(take, profile, list(chains["sites"].values()) + chains["holders"])


def take_held(take, profile):
    if "held" in profile:
        raise BadTrace("two HELD sections")
    profile["held"], least = [], (0, 0)
    for _ in range(take_number(take, 5)):
        site, kind, blocks, size, own = (take.leb() for _ in range(5))
        if not 2 <= kind <= 4 or not blocks or own > 1 or site >= len(profile["sites"]) or (site, kind) < least:
            raise BadTrace("held")
        chain = chain_of(take, profile) if own else None
        if own:
            arrivals_of(take, profile, [chain])
        profile["held"].append([site, kind, blocks, size, chain])
        least = (site, kind)


def arrivals_of(take, profile, chains):
    for link in [link for chain in chains for link in chain]:
        if link["kind"] == 10 and not link["whole"]:
            arrival = take.leb()
            if arrival:
                link["arrival"] = arrival
        elif link["kind"] == 12:
            steps = steps_of(take, profile, link["a"])
            if steps:
                link["steps"] = steps


def leaders_of(take, profile):
    if "leaders" in profile or "leaks" not in profile:
        raise BadTrace("LEADERS: twice, or without LEAKS")
    kinds, leaders = profile["leaks"]["kinds"], {}
    for block, kind in enumerate(kinds):
        further = take.zz() if kind == 2 else 0  # indirectly lost
        if further:
            if not 0 <= block + further < len(kinds) or kinds[block + further] != 1:  # lost
                raise BadTrace("leaders: block")
            leaders[block] = block + further
    return leaders


def index_of(take, length):
    """[[pid, executable, first argument, offset, length of its group], ...]"""
    texts = [None] + [take.some_text() for _ in range(take_number(take, 1))]
    nr, at, rows = take.leb(), take.leb(), []
    for _ in range(nr):
        pid, program, argument, bytes_ = take.u32(), take.leb(), take.leb(), take.leb()
        if not 1 <= program < len(texts) or argument >= len(texts):
            raise BadTrace("INDEX: text")
        rows.append([pid, texts[program], texts[argument], at, bytes_])
        at += bytes_
    if struct.unpack("<Q", take.bytes(8))[0] != length:
        raise BadTrace("INDEX: length")
    return rows


def find_index(data):
    """The same, and nothing else read: by what stands before the END section. None: there is no index."""
    end = len(data) - 48
    at = end - struct.unpack_from("<Q", data, end - 8)[0]
    if not 32 <= at <= end - 40 or struct.unpack_from("<I", data, at)[0] != INDEX:
        return None
    return index_of(Take(data, at + 32, end), end - at)


def check_index(rows, at, profiles, seen):
    starts = [offset for kind, offset in seen if kind == PROCESS] + [at]
    truth = [[p["process"]["pid"], p["process"]["exe"], (p["process"]["args"] or [None])[0], start, end - start]
             for p, start, end in zip(profiles, starts, starts[1:])]
    if rows != truth:
        raise BadTrace("INDEX: does not agree with the processes")


# ---- Processes.


def take_number(take, least):
    """A number of elements that follow, of at least so many bytes each."""
    nr = take.leb()
    if nr > take.left() // least:
        raise BadTrace("more elements than bytes for them")
    return nr


def take_mappings(take, profile):
    nr_sites = len(profile["sites"])
    profile["mapping_totals"] = [take.leb() for _ in range(5)]
    site = 0
    for i in range(take_number(take, 6)):
        further = take.leb()
        site += further
        if site >= nr_sites or (i and not further):
            raise BadTrace("mapping site out of range or order")
        profile["mapping_sites"].append([site] + [take.leb() for _ in range(5)])
    start = 0
    for _ in range(take_number(take, 5)):
        start += take.leb()
        length, of, kind, age = take.leb(), take.u32(), take.u32(), take.zz()
        if start + length > U64 or of >= nr_sites:
            raise BadTrace("mapping out of range")
        profile["mappings"].append([start, length, of, kind, age])


def take_wrong_releases(take, profile):
    for _ in range(take_number(take, 6)):
        row = [take.u32(), take.u32(), take.u32(), take.leb(), take.leb(), take.leb()]
        if max(row[1], row[2]) >= len(profile["sites"]):
            raise BadTrace("wrong release out of range")
        profile["wrong_releases"].append(row + [0])


def take_first_releases(take, profile):
    if take.leb() != len(profile["wrong_releases"]):
        raise BadTrace("first releases of other wrong releases")
    for row in profile["wrong_releases"]:
        row[6] = take.u32()
        if row[6] >= len(profile["sites"]):
            raise BadTrace("first release out of range")


def take_pools(take, profile):
    profile["pool_totals"] = [take.leb() for _ in range(3)]
    for _ in range(take_number(take, 4)):
        row = [take.leb(), take.text(), take.leb(), take.zz()]
        if row[2] >= len(profile["sites"]):
            raise BadTrace("pool out of range")
        profile["pools"].append(row)


def take_pieces(take, profile):
    address = 0
    for _ in range(take_number(take, 5)):
        address += take.leb()
        row = [address, take.leb(), take.leb(), take.leb(), take.zz()]
        if address > U64 or row[2] >= len(profile["sites"]) or row[3] > len(profile["pools"]):
            raise BadTrace("piece out of range")
        profile["pieces"].append(row)


def take_mark(take, profile):
    mark = [take.text(), take.zz(), take.u32(), take.bool(), []]
    site = 0
    for _ in range(take_number(take, 6)):
        further = take.leb()
        site += further
        if not further or site >= len(profile["sites"]):
            raise BadTrace("mark: site out of range or order")
        mark[4].append([site] + [take.leb() for _ in range(5)])
    profile["marks"].append(mark)


def take_snapshot(take, profile):
    snapshot = [take.zz(), take.leb(), take.leb(), []]
    profile["limit"] = [take.leb(), take.text()]
    if profile["snapshots"] and snapshot[0] <= profile["snapshots"][-1][0]:
        raise BadTrace("snapshots out of order")
    site = 0
    for _ in range(take_number(take, 3)):
        further = take.leb()
        site += further
        if not further or site >= len(profile["sites"]):
            raise BadTrace("snapshot: site out of range or order")
        snapshot[3].append([site, take.leb(), take.leb()])
    profile["snapshots"].append(snapshot)


def take_names(take, profile):
    module, nr, offset, names = take.leb(), take_number(take, 3), 0, []
    if not 0 < module < len(profile["modules"]) or "names" in profile["modules"][module] or not nr:
        raise BadTrace("names: module")
    for _ in range(nr):
        offset += take.leb()
        length, name = take.leb(), take.some_text()
        if not length or name is None or offset + length > U64:
            raise BadTrace("names: range")
        names.append([offset, length, name])
    profile["modules"][module]["names"] = names


def take_lines(take, profile):
    module, nr, offset, lines, texts = take.leb(), take_number(take, 5), 0, [], []

    def text():
        number = take.leb()
        if number > len(texts) + 1:
            raise BadTrace("lines: text")
        if number > len(texts):
            texts.append(take.some_text())
            if texts[-1] is None:
                raise BadTrace("lines: no text")
        return texts[number - 1] if number else None

    if not 0 < module < len(profile["modules"]) or "lines" in profile["modules"][module] or not nr:
        raise BadTrace("lines: module")
    for i in range(nr):
        further, frames = take.leb(), take.leb()
        offset += further
        if offset > U64 or (i and not further) or not 0 < frames <= 256:
            raise BadTrace("lines: place")
        lines.append([offset, [[text(), text(), take.u32()] for _ in range(frames)]])
    profile["modules"][module]["lines"] = lines


def take_platform(take, profile):
    platform = [take.leb(), take.leb(), take.bool()]
    if platform[0] > 0xffff or platform[1] not in (4, 8):
        raise BadTrace("platform")
    profile["process"]["platform"] = platform


def take_given(take, profile):
    start, size = take.leb(), take.leb()
    if not start or not size or start + size > U64:
        raise BadTrace("given")
    profile["process"]["given"] = [start, size]


def take_slabs(take, profile):
    for row in profile["thread_sites"]:
        slab_bytes = take.leb()
        if slab_bytes:
            row.append(slab_bytes)


def derive(profile):
    totals = profile["totals"]
    for field in ("allocations", "allocated_bytes", "frees", "freed_bytes", "live_blocks", "live_bytes", "temporary"):
        totals[field] = 0
    totals["by_function"] = [0] * NR_VIA

    def add(field, value):
        totals[field] = min(totals[field] + value, U64)

    for site in profile["sites"]:
        allocations, allocated, frees, freed, temporary = site["counters"][:5]
        site["live_blocks"] = max(0, allocations - frees)
        site["live_bytes"] = max(0, allocated - freed)
        if site is profile["sites"][0] or NR_VIA <= site["via"] < 32:
            continue
        add("allocations", allocations)
        add("allocated_bytes", allocated)
        add("frees", frees)
        add("freed_bytes", freed)
        add("temporary", temporary)
        add("live_blocks", site["live_blocks"])
        add("live_bytes", site["live_bytes"])
        via = site["via"] if site["via"] < NR_VIA else 0
        totals["by_function"][via] = min(totals["by_function"][via] + allocations, U64)
    health = profile["health"]
    totals["inherited"] = [min(totals["inherited"][0], totals["allocations"]),
                           min(totals["inherited"][1], totals["allocated_bytes"])]
    health["events"] = min(totals["allocations"] - totals["inherited"][0] + totals["frees"], U64)
    health["stacks_cut"] = min(sum(health["cut"]), U64)


ONE_RECORD = {MAPPINGS: take_mappings, WRONG_RELEASES: take_wrong_releases, POOLS: take_pools, PIECES: take_pieces,
              MARKS: take_mark, SNAPSHOTS: take_snapshot, NAMES: take_names,
              FIRST_RELEASES: take_first_releases, ARRIVALS: take_arrivals, PLATFORM: take_platform, HELD: take_held,
              SLABS: take_slabs, LINES: take_lines, GIVEN: take_given}


def new_profile(process, promised):
    return {"process": process, "promised": promised, "health": None, "totals": None,
            "modules": [{"path": "(no module)", "bias_rt": 0, "start_rt": 0, "end_rt": 0, "first_seen_ns": 0,
                         "unloaded_ns": -1, "build_id": ""}],
            "nodes": [[0, 0, 0, 0, 0]],
            "sites": [{"node": 0, "via": 0, "counters": [0, 0, 0, 0, 0, 0, U64, 0]}],
            "threads": [], "thread_sites": [], "blocks": [],
            "mapping_totals": [0] * 5, "mapping_sites": [], "mappings": [], "wrong_releases": [],
            "pool_totals": [0] * 3, "pools": [], "pieces": [], "marks": [],
            "snapshots": [], "limit": [0, None]}


def counts(profile):
    return {MODULES: len(profile["modules"]) - 1, NODES: len(profile["nodes"]) - 1,
            SITES: len(profile["sites"]) - 1, THREADS: len(profile["threads"]),
            THREAD_SITES: len(profile["thread_sites"]), BLOCKS: len(profile["blocks"])}


def read(data):
    minor = struct.unpack_from("<H", data, 10)[0] if len(data) >= 12 else 0
    profiles, seen, promised_processes, cut, last = [], [], None, None, 0

    def check_end(take):
        if take.left() and minor <= MINOR:
            raise BadTrace("bytes left over")

    index = None
    for kind, offset, raw in sections(data):
        if kind == "cut":
            cut = offset
            break
        if index is not None:
            raise BadTrace("a section behind the INDEX")
        seen.append((kind, offset))
        take = Take(raw)
        if kind == SESSION:
            if promised_processes is not None:
                raise BadTrace("two SESSION sections")
            promised_processes = take.leb()
            check_end(take)
        elif promised_processes is None:
            raise BadTrace("no SESSION section")
        elif kind == PROCESS:
            profiles.append(new_profile(*process_of(take)))
            check_end(take)
        elif kind == INDEX and profiles:
            index = index_of(take, 32 + len(raw))
            check_end(take)
            check_index(index, offset, profiles, seen)
        elif not profiles or (last == PROCESS) != (kind == HEALTH) or (last == HEALTH) != (kind == TOTALS) \
                or last > kind:
            raise BadTrace("sections out of order")
        elif kind == HEALTH:
            profiles[-1]["health"] = health_of(take, minor)
            check_end(take)
        elif kind == TOTALS:
            profiles[-1]["totals"] = totals_of(take, minor)
            check_end(take)
        elif kind == ACCOUNT:
            if "account" in profiles[-1]:
                raise BadTrace("two ACCOUNT sections")
            by_page = take.bool()
            profiles[-1]["account"] = [by_page] + [take.leb() for _ in range(4)] + take.list(NR_ACCOUNT)
            check_end(take)
        elif kind in ONE_RECORD:
            if last == kind and kind not in (PIECES, MARKS, SNAPSHOTS, NAMES, LINES):
                raise BadTrace("sections out of order")
            ONE_RECORD[kind](take, profiles[-1])
            check_end(take)
        elif kind == BLOCKS:
            take_blocks(take, profiles[-1])
        elif kind == LEAKS:
            profiles[-1]["leaks"] = leaks_of(take, profiles[-1])
            check_end(take)
        elif kind == HOLDERS:
            profiles[-1]["holders"] = holders_of(take, profiles[-1])
        elif kind == LEADERS:
            profiles[-1]["leaders"] = leaders_of(take, profiles[-1])
            check_end(take)
        elif kind == CHAINS:
            profiles[-1]["chains"] = chains_of(take, profiles[-1])
            check_end(take)
        else:
            take_rows(kind, take, profiles[-1])
        last = kind

    kept = []
    for profile in profiles:
        have, want = counts(profile), profile.pop("promised")
        if cut is None or profile is not profiles[-1]:
            if profile["totals"] is None or have != want:
                raise BadTrace("a process is not whole")
        elif profile["totals"] is None or any(have[kind] != want[kind] for kind in (MODULES, NODES, SITES)):
            continue
        derive(profile)
        kept.append(profile)
    if not kept:
        raise BadTrace("no whole process")
    if cut is None and promised_processes != len(kept):
        raise BadTrace("number of processes")
    return {"cut": cut, "processes": kept, "sections": seen, "index": index}


if __name__ == "__main__":
    import json
    import sys

    with open(sys.argv[1], "rb") as file:
        json.dump(read(file.read()), sys.stdout, indent=1)
