#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""embed_packed.py NAME FILE HEADER [plain]: a C header that has FILE, by raw deflate, as `NAME[]`, and its size as
`NAME_bytes`; with `plain`, FILE as it is."""
import sys
import zlib

name, source, header, *plain = sys.argv[1:]
with open(source, "rb") as file:
    content = file.read()
packer = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
packed = content if plain else packer.compress(content) + packer.flush()
with open(header, "w", encoding="ascii") as file:
    file.write("// SPDX-License-Identifier: BSD-2-Clause\n// Made by tools/embed_packed.py.\n")
    file.write("enum { %s_bytes = %d };\nstatic const unsigned char %s[] = {\n" % (name, len(content), name))
    for at in range(0, len(packed), 24):
        file.write("    %s,\n" % ", ".join(str(byte) for byte in packed[at:at + 24]))
    file.write("};\n")
