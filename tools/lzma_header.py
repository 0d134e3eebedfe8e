# SPDX-License-Identifier: BSD-2-Clause
"""Writes bytes as one LZMA stream into a C header, for src/host/agent/unlzma.c."""
import lzma
import struct

EM_ARM = 40


def packed(content):
    """The LZMA stream of an ELF file. Calls of Thumb code are packed with target addresses, because these repeat."""
    filters = [{"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "lc": 3, "lp": 1, "pb": 1, "dict_size": 1 << 20,
                "mf": lzma.MF_BT2}]
    if struct.unpack_from("<H", content, 18)[0] == EM_ARM:
        filters.insert(0, {"id": lzma.FILTER_ARMTHUMB})
    return lzma.compress(bytes(content), lzma.FORMAT_RAW, filters=filters)


def write(header, tool, name, nr_bytes, held):
    with open(header, "w", encoding="ascii") as file:
        file.write(f"// SPDX-License-Identifier: BSD-2-Clause\n// Made by tools/{tool}.\n")
        file.write(f"enum {{ {name}_bytes = {nr_bytes} }};\nstatic const unsigned char {name}[] = {{\n")
        for at in range(0, len(held), 24):
            file.write(f"    {', '.join(str(byte) for byte in held[at:at + 24])},\n")
        file.write("};\n")
