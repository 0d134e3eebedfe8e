# SPDX-License-Identifier: BSD-2-Clause
"""A small reader of Parquet, written from its specification and from nothing of src: flat tables without nulls."""
import struct

from libraries import unzstd


class Bytes:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, nr):
        piece = self.data[self.at:self.at + nr]
        assert len(piece) == nr, 'cut'
        self.at += nr
        return piece

    def number(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self):
        value = self.number()
        return value >> 1 ^ -(value & 1)


def thrift(data):
    """A struct of the compact protocol: field number -> value."""
    fields, last = {}, 0
    while True:
        head = data.take(1)[0]
        if not head:
            return fields
        last = last + (head >> 4) if head >> 4 else data.signed()
        fields[last] = thrift_value(data, head & 15)


def thrift_value(data, kind):
    if kind in (1, 2):
        return kind == 1
    if kind == 3:
        return data.take(1)[0]
    if kind in (4, 5, 6):
        return data.signed()
    if kind == 8:
        return data.take(data.number())
    if kind in (9, 10):
        head = data.take(1)[0]
        nr = head >> 4 if head >> 4 < 15 else data.number()
        return [thrift_value(data, head & 15) for _ in range(nr)]
    assert kind == 12, kind
    return thrift(data)


def bits(data, nr, width):
    """Values of so many bits, the lowest first."""
    whole = int.from_bytes(data.take((nr * width + 7) // 8), 'little')
    mask = (1 << width) - 1
    if width and width % 8 == 0:  # a shift of a very long number for each would take for ever
        size = width // 8
        raw = whole.to_bytes(nr * size, 'little')
        return [int.from_bytes(raw[i * size:(i + 1) * size], 'little') for i in range(nr)]
    values = []
    for at in range(0, nr, 64):
        piece = whole >> at * width & (1 << 64 * width) - 1
        values += [piece >> i * width & mask for i in range(min(64, nr - at))]
    return values


def hybrid(data, nr, width):
    """Runs of one value, and runs of packed ones."""
    values = []
    while len(values) < nr:
        head = data.number()
        if head & 1:
            values += bits(data, (head >> 1) * 8, width)
        else:
            values += [int.from_bytes(data.take((width + 7) // 8), 'little')] * (head >> 1)
    return values[:nr]


def deltas(data):
    block, minis, nr, value = data.number(), data.number(), data.number(), data.signed()
    values = [value]
    while len(values) < nr:
        least = data.signed()
        widths = data.take(minis)
        for width in widths:
            if len(values) >= nr:
                break
            for step in bits(data, block // minis, width):
                value = (value + least + step + (1 << 63)) % (1 << 64) - (1 << 63)
                values.append(value)
    return values[:nr]


def plain(data, kind, nr):
    if kind == 2:
        return list(struct.unpack('<%dq' % nr, data.take(8 * nr)))
    assert kind == 6, kind
    return [data.take(struct.unpack('<I', data.take(4))[0]).decode() for _ in range(nr)]


def read_column(raw, meta):
    """(values, statistics): dictionary page, then data pages."""
    data = Bytes(raw, meta.get(11) or meta[9])
    assert meta[4] == 6, 'not zstd'
    dictionary, values = None, []
    while len(values) < meta[5]:
        head = thrift(data)
        page = Bytes(unzstd(data.take(head[3]), head[2]))
        if head[1] == 2:
            dictionary = plain(page, meta[1], head[7][1])
            continue
        nr, encoding = head[5][1], head[5][2]
        if encoding == 5:
            values += deltas(page)
        elif encoding == 0:
            values += plain(page, meta[1], nr)
        else:
            assert encoding == 8, encoding
            values += [dictionary[i] for i in hybrid(page, nr, page.take(1)[0])]
    assert len(values) == meta[5]
    return values


def read(path):
    """(names, types, columns by name, groups' metadata)."""
    with open(path, 'rb') as file:
        raw = file.read()
    assert raw[:4] == raw[-4:] == b'PAR1'
    length = struct.unpack('<I', raw[-8:-4])[0]
    meta = thrift(Bytes(raw, len(raw) - 8 - length))
    root, *elements = meta[2]
    assert root[5] == len(elements)
    names = [element[4].decode() for element in elements]
    columns = {name: [] for name in names}
    for group in meta.get(4, []):
        assert len(group[1]) == len(names)
        for name, element, chunk in zip(names, elements, group[1]):
            assert [part.decode() for part in chunk[3][3]] == [name]
            values = read_column(raw, chunk[3])
            assert len(values) == group[3]
            if 12 in chunk[3]:
                least, most = (struct.unpack('<q', chunk[3][12][i])[0] for i in (6, 5))
                assert (least, most) == (min(values), max(values)), name
            if element.get(6) == 14:  # unsigned
                values = [value % (1 << 64) for value in values]
            columns[name] += values
    assert all(len(column) == meta[3] for column in columns.values())
    return names, elements, columns, meta.get(4, [])
