# SPDX-License-Identifier: BSD-2-Clause
"""A second reader of recordings, by docs/trace-format.md alone: the events of a trace, chunk by chunk."""
import collections
import struct

from libraries import unzstd

EVENTS, GIVEN = 27, 38
ALLOCATION, FREE, KEPT = 1, 2, 8
NEAR = 0x20

Event = collections.namedtuple('Event', 'stamp address size site slot kind')
Section = collections.namedtuple('Section', 'kind version flags raw at end')
Chunk = collections.namedtuple('Chunk', 'pid start begin end net most events')


def all_sections(data):
    """Each whole section of the file, whatever its kind."""
    assert data[:8] == b'SEEP\r\n\x1a\n'
    at = struct.unpack_from('<I', data, 12)[0]
    while at + 32 <= len(data):
        kind, version, flags, stored, raw = struct.unpack_from('<IHHQQ', data, at)
        if at + 32 + stored > len(data):
            return
        yield Section(kind, version, flags, raw, at, at + 32 + stored)
        at += 32 + stored


def sections(data):
    """(version, raw bytes) of each whole section of events."""
    for section in all_sections(data):
        if section.kind == EVENTS:
            body = data[section.at + 32 : section.end]
            yield section.version, unzstd(body, section.raw) if section.flags & 1 else body


def damage(data, at):
    """The same bytes with one changed in the contents of the section that begins there."""
    return data[: at + 40] + bytes([data[at + 40] ^ 0x55]) + data[at + 41 :]


class Numbers:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

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


def decode(version, raw):
    head = Numbers(raw)
    pid, start, nr = head.leb(), head.zz(), head.leb()
    begin, end = (head.leb(), head.leb()), (head.leb(), head.leb())
    net, most = head.zz(), head.zz()
    lengths = [head.leb() for _ in range(7 if version == 1 else 15)]
    columns, at = [], head.at
    for length in lengths:
        columns.append(Numbers(raw[at : at + length]))
        at += length
    assert at == len(raw)
    events = (first_version if version == 1 else second_version)(columns, nr)
    assert all(column.at == len(column.data) for column in columns)
    return Chunk(pid, start, begin, end, net, most, events)


def first_version(columns, nr):
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
    return events


def block_bytes(size):
    return 32 if size < 9 else (size + 23 & ~15) % 2**64


def class_of(size):
    units = block_bytes(size) >> 4
    if units < 64:
        return units
    power = units.bit_length() - 1
    return min(64 + (power - 6) * 4 + (units >> power - 2 & 3), 127)


class Lane:
    """What is known of the threads with the same lowest three bits of the slot."""

    def __init__(self):
        self.freed, self.last_of, self.stride_of = (collections.defaultdict(kind) for kind in (list, int, int))
        self.address = self.behind = self.last_freed = self.behind_freed = self.site = self.site_before = self.number = 0


def second_version(columns, nr):
    (operations, stamps, free_stamps, far_stamps, slots, sites, sizes, sizes_low, addresses, addresses_low, frees, frees_low, odd, backs,
     backs_low) = columns
    lanes = [Lane() for _ in range(8)]
    after_two, after_one, size_of = [0] * 16384, [0] * 4096, [0] * 4096
    stamp = slot = 0
    events, allocations = [], []

    def number(high, low):
        return high.leb() << 8 | low.byte()

    def step(high, low):
        code = number(high, low)
        return (code >> 1 ^ -(code & 1)) * 16

    def site_and_size(lane):
        code = sites.leb()
        pair = ((lane.site * 0x9E3779B1 ^ lane.site_before * 0x85EBCA6B) & 0xFFFFFFFF) >> 18
        site = (after_two[pair], after_one[lane.site & 4095])[code] if code < 2 else code - 2
        code = sizes.leb()
        return site, (code - 1 << 8 | sizes_low.byte()) if code else size_of[site & 4095], pair

    for _ in range(nr):
        operation = operations.byte()
        if operation & 0x80:
            slot = slots.leb()
        lane = lanes[slot & 7]
        since = (free_stamps if operation & 0x40 else stamps).byte()
        stamp += far_stamps.zz() if since == 255 else since
        if operation & 0x40:
            how, kind = operation >> 3 & 7, FREE + (operation & 7)
            if how < 3:
                which = (len(allocations) - number(backs, backs_low) if how == 0 else lane.number + 1 if how == 1 else lane.number - 1)
                assert 1 <= which <= len(allocations)
                other, lane.number = allocations[which - 1], which
                address, size, site = other.address, other.size, other.site
            else:
                site, size, _ = site_and_size(lane)
                address = (lane.behind_freed if how == 3 else lane.last_freed + (step(frees, frees_low) if how == 4 else odd.zz())) % 2**64
            lane.freed[class_of(size)] = lane.freed[class_of(size)][-15:] + [address]
            lane.last_freed, lane.behind_freed = address, (address + block_bytes(size)) % 2**64
            events.append(Event(stamp, address, size, site, slot, kind))
            continue
        site, size, pair = site_and_size(lane)
        group, how = class_of(size), operation & 31
        if how < 16:
            address = lane.freed[group].pop(-1 - how)
        elif how == 16:
            address = lane.behind
        elif how == 17:
            address = lane.last_of[group] + lane.stride_of[group]
        elif how == 18:
            address = lane.address + step(addresses, addresses_low)
        elif how == 19:
            address = lane.last_of[group] + step(addresses, addresses_low)
        else:
            assert how == 20  # seldom: a step that is no multiple of 16
            address = lane.address + odd.zz()
        address %= 2**64
        after_two[pair] = after_one[lane.site & 4095] = site
        size_of[site & 4095] = size
        lane.stride_of[group] = address - lane.last_of[group]
        lane.last_of[group] = lane.address = address
        lane.behind = (address + block_bytes(size)) % 2**64
        lane.site_before, lane.site = lane.site, site
        events.append(Event(stamp, address, size, site, slot, KEPT if operation & 0x20 else ALLOCATION))
        allocations.append(events[-1])
    return events


def chunks(path):
    return [decode(version, raw) for version, raw in sections(path.read_bytes())]
