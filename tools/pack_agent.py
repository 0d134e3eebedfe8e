#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pack_agent.py AGENT HEADER: a C header that has a static ELF file, as one LZMA stream, for src/host/agent/packed_start.c."""
import struct
import sys

import lzma_header

PT_LOAD, PAGE = 1, 4096

source, header = sys.argv[1:]
with open(source, "rb") as file:
    content = bytearray(file.read())
wide = content[4] == 2
phoff = struct.unpack_from("<Q" if wide else "<I", content, 32 if wide else 28)[0]
phentsize, phnum = struct.unpack_from("<HH", content, 54 if wide else 42)
end, pages = phoff + phentsize * phnum, set()
for at in range(phoff, phoff + phentsize * phnum, phentsize):
    kind = struct.unpack_from("<I", content, at)[0]
    if kind != PT_LOAD:
        continue
    if wide:
        offset, address, _, in_file, in_memory = struct.unpack_from("<5Q", content, at + 8)
    else:
        offset, address, _, in_file, in_memory = struct.unpack_from("<5I", content, at + 4)
    end = max(end, offset + in_file)
    own = set(range(address // PAGE, (address + in_memory - 1) // PAGE + 1))
    assert not own & pages, "two segments share a page"
    pages |= own
del content[end:]  # names of sections, which nothing loads
lzma_header.write(header, "pack_agent.py", "packed_agent", len(content), lzma_header.packed(content))
