# SPDX-License-Identifier: BSD-2-Clause
"""A second reader of recordings, by docs/trace-format.md alone: the events of a trace, chunk by chunk."""
import collections
import ctypes
import ctypes.util
import struct

EVENTS = 27
ALLOCATION, FREE, KEPT = 1, 2, 8
NEAR = 0x20

Event = collections.namedtuple('Event', 'stamp address size site slot kind')
Chunk = collections.namedtuple('Chunk', 'pid start begin end net most events')


def unzstd(stored, raw_bytes):
    zstd = ctypes.CDLL(ctypes.util.find_library('zstd') or 'libzstd.so.1')
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    raw = ctypes.create_string_buffer(max(raw_bytes, 1))
    done = zstd.ZSTD_decompress(raw, ctypes.c_size_t(raw_bytes), stored, ctypes.c_size_t(len(stored)))
    assert done == raw_bytes, (done, raw_bytes)
    return raw.raw[:raw_bytes]


def sections(data):
    """(type, raw bytes) of each whole section."""
    assert data[:8] == b'SEEP\r\n\x1a\n'
    at = struct.unpack_from('<I', data, 12)[0]
    while at + 32 <= len(data):
        kind, _, flags, stored, raw = struct.unpack_from('<IHHQQ', data, at)
        if at + 32 + stored > len(data):
            return
        body = data[at + 32 : at + 32 + stored]
        if kind == EVENTS:
            yield unzstd(body, raw) if flags & 1 else body
        at += 32 + stored


class Numbers:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def leb(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def zz(self):
        value = self.leb()
        return value >> 1 ^ -(value & 1)


def decode(raw):
    head = Numbers(raw)
    pid, start, nr = head.leb(), head.zz(), head.leb()
    begin, end = (head.leb(), head.leb()), (head.leb(), head.leb())
    net, most = head.zz(), head.zz()
    lengths = [head.leb() for _ in range(7)]
    columns, at = [], head.at
    for length in lengths:
        columns.append(Numbers(raw[at : at + length]))
        at += length
    assert at == len(raw)
    kinds, stamps, slots, sites, sizes, addresses, backs = columns
    mask = 4095
    next_site, size_of, freed = [0] * 4096, [0] * 4096, collections.defaultdict(lambda: [0, [0] * 16])
    site = address = stamp = slot = 0
    events = []
    for i in range(nr):
        kind = kinds.leb()
        stamp += stamps.zz()
        slot_code = slots.leb()
        slot = slot_code - 1 if slot_code else slot
        if kind & NEAR:
            other = events[i - backs.leb()]
            event = Event(stamp, other.address, other.size, other.site, slot, kind & ~NEAR)
        else:
            code = sites.leb()
            this = code - 1 if code else next_site[site & mask]
            code = sizes.leb()
            size = code - 1 if code else size_of[this & mask]
            guesses = freed[min((size + 23) // 16, 127)]
            code = addresses.leb()
            if code:
                high, low = (code - 1) >> 4, (code - 1) & 15
                where = (address + ((high >> 1 ^ -(high & 1)) << 4 | low)) % 2**64
            else:
                where = guesses[1][(guesses[0] - 1) % 16] if guesses[0] else 0
            event = Event(stamp, where, size, this, slot, kind)
        events.append(event)
        guesses = freed[min((event.size + 23) // 16, 127)]
        if FREE <= event.kind < FREE + 5:
            guesses[1][guesses[0] % 16] = event.address
            guesses[0] += 1
        else:
            next_site[site & mask] = event.site
            size_of[event.site & mask] = event.size
            if guesses[0] and guesses[1][(guesses[0] - 1) % 16] == event.address:
                guesses[0] -= 1
            site, address = event.site, event.address
    assert all(column.at == len(column.data) for column in columns)
    return Chunk(pid, start, begin, end, net, most, events)


def chunks(path):
    return [decode(raw) for raw in sections(path.read_bytes())]
