# SPDX-License-Identifier: BSD-2-Clause
"""A second reader of the heap image and of its raw dump, written from layout.h and raw.h alone. It knows no symbols:
sums, the heap map, and losses. test_raw_image.py holds it against the tool and the witness."""
import struct

PAGE = 4096
STRINGS, MODULES, NODES, SITES, THREADS, ODD, DIRECTORY, PAGES, MAPPINGS, MAP_SITES, MISUSES, *_, LOSSES = range(17)
HEADER = struct.Struct('=QIIBBHIQIHH' + '5IiQQQ' + 'QQIIQ' + '4IQ' + '3Q8QQQ' + '64Q3Q' + '2Q2I' + '5Q' + '8QQ5Q')
THREAD = struct.Struct('=II16sQQqqqQ8QQ6Q64QQ4Q2QQ')
VIAS = [
    'none',
    'malloc',
    'calloc',
    'realloc',
    'reallocarray',
    'posix_memalign',
    'aligned_alloc',
    'memalign',
    'valloc',
    'pvalloc',
    'operator new',
    'operator new[]',
    'inherited',
    *[''] * 3,
    'mmap',
    'mremap',
    'brk',
    'sbrk',
    'seep_pool_alloc',
    'seep_pool_resize',
    *[''] * 2,
    'free',
    'realloc',
    'operator delete',
    'operator delete[]',
]


class Image:
    """The pages of a raw dump that are there; all others read as zero."""

    def __init__(self, path):
        data = path.read_bytes()
        magic, version, reserved = struct.unpack_from('=QII', data)
        assert (magic, version, reserved) == (0x0A57415250454553, 1, 0), path
        self.pages, at, total = {}, 16, 0
        while True:
            offset, size = struct.unpack_from('=QQ', data, at)
            at += 16
            if offset == (1 << 64) - 1:
                assert size == total and at == len(data), 'the end record is wrong'
                break
            assert offset % PAGE == 0 and size % PAGE == 0 and at + size <= len(data)
            for i in range(0, size, PAGE):
                assert offset + i not in self.pages, 'records overlap'
                self.pages[offset + i] = data[at + i : at + i + PAGE]
            at += size
            total += size
        self.read_header()

    def read(self, offset, size):
        """Bytes of the image; pages that are not there are zero."""
        first, last = offset // PAGE * PAGE, (offset + size + PAGE - 1) // PAGE * PAGE
        text = b''.join(self.pages.get(at, bytes(PAGE)) for at in range(first, last, PAGE))
        return text[offset - first : offset - first + size]

    def read_header(self):
        h = HEADER.unpack(self.read(0, HEADER.size))
        assert h[0] == 0x0A474D4950454553 and h[1] == 2
        self.flags, self.areas = h[6], {}  # kind: (offset, size, used)
        self.areas_off, nr_areas, area_bytes = h[8:11]
        assert h[2] >= HEADER.size
        for i in range(nr_areas):
            *area, kind, element = struct.unpack('=3Q2I', self.read(self.areas_off + i * area_bytes, 32))
            self.areas[kind] = tuple(area)
        self.pid, _, _, self.state, _, self.exit_code = h[11:17]
        self.granule_shift, self.leaf_shift, self.dir_bits = h[25:28]
        self.peaks = h[-14:-6:4]
        self.lost = struct.unpack(f'={self.areas[LOSSES][2]}Q', self.read(*self.areas[LOSSES][:2]))

    def element(self, area, size, index):
        return self.read(self.areas[area][0] + index * size, size)

    def page(self, page, size):
        assert page != 0
        return self.read(self.areas[PAGES][0] + page * PAGE, size)

    def site_vias(self):
        return [struct.unpack('=4I', self.element(SITES, 16, i))[1] for i in range(self.areas[SITES][2])]

    def totals(self):
        """Sums over threads and sites, and by function."""
        sums = dict.fromkeys(('allocations', 'allocated_bytes', 'frees', 'freed_bytes', 'temporary'), 0)
        by, unknown = {}, 0
        vias = self.site_vias()
        for t in range(self.areas[THREADS][2]):
            thread = THREAD.unpack(self.element(THREADS, THREAD.size, t))
            unknown += thread[8]
            if not thread[4]:
                continue
            chunks = struct.unpack('=16384I', self.page(thread[4], 65536))
            for c, page in enumerate(chunks):
                if not page:
                    continue
                for k, counters in enumerate(struct.iter_unpack('=8Q', self.page(page, 65536))):
                    if not any(counters):
                        continue
                    via = VIAS[vias[c * 1024 + k]]
                    by[via] = by.get(via, 0) + counters[0]
                    for name, value in zip(sums, counters):
                        sums[name] += value & (1 << 61) - 1  # above: how its blocks may be freed
        return {**sums, 'by_function': {k: v for k, v in by.items() if v}, 'unknown_frees': unknown}

    def mappings(self):
        """Live mappings as (start, bytes, via), by address."""
        slots = (struct.unpack('=QQIIQ', self.element(MAPPINGS, 32, i)) for i in range(self.areas[MAPPINGS][2]))
        vias = self.site_vias()
        return sorted((start, size, VIAS[vias[site]]) for start, size, site, _, _ in slots if start)

    def mapping_totals(self):
        """Maps, mapped bytes, unmaps, unmapped bytes, peak: of all, and summed over the sites."""
        rows = [struct.unpack('=II5Q', self.element(MAP_SITES, 48, i))[2:] for i in range(self.areas[MAP_SITES][2])]
        return rows[0], tuple(sum(column) for column in zip(*rows[1:]))

    def first_releases(self):
        """Where blocks that were freed twice were freed first: (via of the block, via of that release or None,
        size)."""
        slots = (struct.unpack('=4I3Q', self.element(MISUSES, 40, i)) for i in range(self.areas[MISUSES][2]))
        vias = self.site_vias()
        return sorted((VIAS[vias[slot[1]]], VIAS[vias[slot[3]]] if slot[3] else None, slot[6]) for slot in slots if slot[0] == 2)

    def misuses(self):
        """(kind, via of the block, via of the release, count)."""
        slots = (struct.unpack('=4I3Q', self.element(MISUSES, 40, i)) for i in range(self.areas[MISUSES][2]))
        vias = self.site_vias()
        return sorted((slot[0], VIAS[vias[slot[1]]], VIAS[vias[slot[2]]], slot[4]) for slot in slots if slot[0])

    def blocks(self):
        """All live blocks as (address, size)."""
        offset, size, _ = self.areas[DIRECTORY]
        leaf_entries = 1 << (self.leaf_shift - self.granule_shift)
        found = []
        for at in sorted(p for p in self.pages if offset <= p < offset + size):
            for i, leaf in enumerate(struct.unpack('=1024I', self.pages[at])):
                if leaf:
                    slot = (at - offset) // 4 + i
                    found += self.leaf_blocks(slot, leaf, leaf_entries)
        odd = self.areas[ODD]
        for i in range(odd[1] // 32):
            start = odd[0] + i * 32
            if start // PAGE * PAGE in self.pages or (start + 31) // PAGE * PAGE in self.pages:
                address, length, _, _ = struct.unpack('=4Q', self.read(start, 32))
                if address:
                    found.append((address, length))
        return sorted(found)

    def leaf_blocks(self, slot, leaf, leaf_entries):
        base, plane = (slot >> 1) << self.leaf_shift, slot & 1
        start = self.areas[PAGES][0] + leaf * PAGE
        for at in range(start, start + leaf_entries * 8, PAGE):
            page = self.pages.get(at)
            if not page:
                continue
            for k, (entry,) in enumerate(struct.iter_unpack('=Q', page)):
                if entry >> 38:
                    index = (at - start) // 8 + k
                    sub = entry >> 37 & 1 if self.granule_shift == 5 else 0
                    yield (base + (index << self.granule_shift) + sub * 16 + plane * 8, entry & (1 << 37) - 1)
