# SPDX-License-Identifier: BSD-2-Clause
"""Writes a raw dump again as a process of the other byte order would have written it. Written from docs/image-format.md
alone, as raw_image.py is, so that it shares no code with the tool's decoder."""
import struct

from raw_image import DIRECTORY, HEADER, LOSSES, PAGE, PAGES, THREAD, THREADS, Image

ELEMENTS = {
    1: '6QI44s',  # modules
    2: 'QII',  # nodes
    3: '4I',  # sites
    4: THREAD.format.lstrip('='),
    5: '4Q',  # odd blocks
    6: 'I',  # directory
    8: 'QQIIQ',  # mappings
    9: 'II5Q',  # mapping sites
    10: '4I3Q',  # misuses
    11: '3QII',  # custom pools
    12: '3Q4I',  # pieces
    13: 'QQII',  # regions
}
MARK = 'IIQIIQ'


class Foreign:
    def __init__(self, path):
        self.image = Image(path)
        self.pages = {at: bytearray(page) for at, page in self.image.pages.items()}

    def patch(self, offset, text):
        for i in range(0, len(text)):
            page = (offset + i) // PAGE * PAGE
            if page in self.pages:
                self.pages[page][(offset + i) % PAGE] = text[i]

    def swap(self, offset, form):
        """One struct; where its page is a hole there is nothing to swap."""
        size = struct.calcsize('=' + form)
        text = self.image.read(offset, size)
        if any(text):
            self.patch(offset, struct.pack('>' + form, *struct.unpack('<' + form, text)))

    def swap_array(self, offset, form, end):
        size = struct.calcsize('=' + form)
        for page in sorted(self.pages):
            if page + PAGE <= offset or page >= end:
                continue
            first = max(0, page - offset) // size
            for at in range(offset + first * size, min(page + PAGE, end), size):
                if at >= page and at + size <= end:
                    self.swap(at, form)

    def swap_marks(self, area):
        offset, _, used = area
        at = 0
        while at < used:
            record = struct.unpack('=' + MARK, self.image.read(offset + at, 32))
            self.swap(offset + at, MARK)
            at += record[0]

    def swap_pages(self):
        """All that something refers to, by what it is."""
        pages = self.image.areas[PAGES][0]

        def swap_pages(page, form, size):
            self.swap_array(pages + page * PAGE, form, pages + page * PAGE + size)

        tables = [
            (THREAD.unpack(self.image.element(THREADS, THREAD.size, t))[4], 65536)
            for t in range(self.image.areas[THREADS][2])
        ] + [(page, 40 * 1024) for page in self.image.peaks]
        for table, size in tables:
            if not table:
                continue
            for page in struct.unpack('=16384I', self.image.page(table, 65536)):
                if page:
                    swap_pages(page, 'Q', size)
            swap_pages(table, 'I', 65536)
        offset, size, _ = self.image.areas[DIRECTORY]
        planes = 1 + sum(self.image.flags >> bit & 1 for bit in (3, 4, 6))
        leaf_bytes = planes * (8 << self.image.leaf_shift - self.image.granule_shift)
        for at in sorted(p for p in self.image.pages if offset <= p < offset + size):
            for page in struct.unpack('=1024I', self.image.pages[at]):
                if page:
                    swap_pages(page, 'Q', leaf_bytes)

    def write(self, path, machine, word_bytes):
        for kind, form in ELEMENTS.items():
            offset, size, _ = self.image.areas[kind]
            self.swap_array(offset, form, offset + size)
        for kind in (14, 15):
            self.swap_marks(self.image.areas[kind])
        self.swap_pages()
        offset, size, _ = self.image.areas[LOSSES]
        self.swap_array(offset, 'Q', offset + size)
        for i in range(len(self.image.areas)):
            self.swap(self.image.areas_off + i * 32, '3Q2I')
        fields = list(HEADER.unpack(self.image.read(0, HEADER.size)))
        fields[3:6] = 2, word_bytes, machine
        self.patch(0, struct.pack('>' + HEADER.format.lstrip('='), *fields))
        with open(path, 'wb') as file:
            file.write(struct.pack('>QII', 0x0A57415250454553, 1, 0))
            for at, page in sorted(self.pages.items()):
                file.write(struct.pack('>QQ', at, PAGE) + page)
            file.write(struct.pack('>QQ', (1 << 64) - 1, len(self.pages) * PAGE))
