#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""embed_packed.py NAME FILE HEADER [plain]: a C header that has FILE, an ELF file, as one LZMA stream as `NAME[]`, and its
size as `NAME_bytes`; with `plain`, FILE without sections, not packed."""
import sys

import lzma_header

name, source, header, *plain = sys.argv[1:]
with open(source, "rb") as file:
    content = file.read()
if plain:
    content = bytes(lzma_header.without_sections(content))
lzma_header.write(header, "embed_packed.py", name, len(content), content if plain else lzma_header.packed(content))
