# SPDX-License-Identifier: BSD-2-Clause
"""Writes bytes as one LZMA stream into a C header, for src/host/agent/unlzma.c."""
import lzma
import struct

EM_ARM = 40


def without_sections(content):
    """An ELF file of 32 or 64 bits, little-endian, up to its last segment: loaders need no sections."""
    content = bytearray(content)
    wide = content[4] == 2
    phoff, = struct.unpack_from("<Q" if wide else "<I", content, 32 if wide else 28)
    phentsize, phnum = struct.unpack_from("<HH", content, 54 if wide else 42)
    end = phoff + phentsize * phnum
    for at in range(phoff, end, phentsize):
        if wide:
            offset, _, _, in_file = struct.unpack_from("<4Q", content, at + 8)
        else:
            offset, _, _, in_file = struct.unpack_from("<4I", content, at + 4)
        end = max(end, offset + in_file)
    struct.pack_into("<Q" if wide else "<I", content, 40 if wide else 32, 0)
    struct.pack_into("<HH", content, 60 if wide else 48, 0, 0)
    return content[:end]


def with_targets(content):
    """Calls and jumps of Thumb code (BL, B.W) with target addresses in place of distances, because targets repeat."""
    code, at = bytearray(content), 0
    while at + 4 <= len(code):
        if code[at + 1] & 0xF8 != 0xF0 or code[at + 3] & 0xB8 != 0xB8:
            at += 2
            continue
        to = (code[at + 1] & 7) << 19 | code[at] << 11 | (code[at + 3] & 7) << 8 | code[at + 2]
        to = (2 * to + at + 4 & 0x7FFFFF) >> 1
        code[at:at + 4] = to >> 11 & 0xFF, 0xF0 | to >> 19 & 7, to & 0xFF, code[at + 3] & 0xF8 | to >> 8 & 7
        at += 4
    return code


def packed(content):
    """The LZMA stream of an ELF file."""
    if struct.unpack_from("<H", content, 18)[0] == EM_ARM:
        content = with_targets(content)
    return lzma.compress(bytes(content), lzma.FORMAT_RAW, filters=[{
        "id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "lc": 3, "lp": 1, "pb": 1, "dict_size": 1 << 20, "mf": lzma.MF_BT2,
        "nice_len": 48}])


def write(header, tool, name, nr_bytes, held):
    with open(header, "w", encoding="ascii") as file:
        file.write(f"// SPDX-License-Identifier: BSD-2-Clause\n// Made by tools/{tool}.\n")
        file.write(f"enum {{ {name}_bytes = {nr_bytes} }};\nstatic const unsigned char {name}[] = {{\n")
        for at in range(0, len(held), 24):
            file.write(f"    {', '.join(str(byte) for byte in held[at:at + 24])},\n")
        file.write("};\n")
