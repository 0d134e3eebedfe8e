#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pack_agent.py AGENT HEADER: a C header that has a static ELF file, as one LZMA stream, for src/host/agent/packed_start.c."""
import lzma
import struct
import sys

EM_ARM, PT_LOAD, PAGE = 40, 1, 4096

source, header = sys.argv[1:]
with open(source, "rb") as file:
    content = bytearray(file.read())
wide = content[4] == 2
machine = struct.unpack_from("<H", content, 18)[0]
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
filters = [{"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "lc": 3, "lp": 1, "pb": 1, "dict_size": 1 << 20}]
if machine == EM_ARM:
    filters.insert(0, {"id": lzma.FILTER_ARMTHUMB})
packed = lzma.compress(bytes(content), lzma.FORMAT_RAW, filters=filters)
with open(header, "w", encoding="ascii") as file:
    file.write("// SPDX-License-Identifier: BSD-2-Clause\n// Made by tools/pack_agent.py.\n")
    file.write("enum { packed_agent_bytes = %d };\nstatic const unsigned char packed_agent[] = {\n" % len(content))
    for at in range(0, len(packed), 24):
        file.write("    %s,\n" % ", ".join(str(byte) for byte in packed[at:at + 24]))
    file.write("};\n")
