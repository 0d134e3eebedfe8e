#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the first inputs of tests/fuzz/fuzz_cfi.c: small objects with call-frame information, one for
each kind of rule and the rarer forms, and a few expressions. Usage: make_cfi_seeds.py DIRECTORY"""

import struct
import sys
from pathlib import Path

START = 0x400000  # layout 1 of the fuzz target
CODE = START + 0x1000
PC = CODE + 8


def leb(value):
    out = b""
    while not -64 <= value <= 63:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value & 0x7F])


def entry(content, wide):
    content += bytes(-len(content) % 4)  # DW_CFA_nop
    if wide:
        return struct.pack("<IQ", 0xFFFFFFFF, len(content)) + content
    return struct.pack("<I", len(content)) + content


def cfi(program, augmentation=b"zR", cie_program=b"\x0c\x07\x08\x90\x01", version=1, wide=False, absolute=False):
    """.eh_frame_hdr with a table of one, a CIE and an FDE."""
    header = bytes([1, 0x1B, 0x03, 0x3B]) + struct.pack("<iI", 16, 1)
    at = len(header) + 8
    data = b""
    for letter in augmentation[1:].decode():
        if letter == "R":
            data += b"\x00" if absolute else b"\x1b"
        elif letter == "L":
            data += b"\x1b"
        elif letter == "P":
            data += b"\x9b" + struct.pack("<i", 0x100)
    sizes = b"\x08\x00" if version == 4 else b""
    cie = struct.pack("<IB", 0, version) + augmentation + b"\0" + sizes + leb(1) + leb(-8) + b"\x10"
    cie = entry(cie + leb(len(data)) + data + cie_program, wide)
    fde_at = at + len(cie)
    pointer_at = fde_at + (12 if wide else 4)
    fde = struct.pack("<I", pointer_at - at)
    if absolute:
        fde += struct.pack("<QQ", CODE, 0x100)
    else:
        fde += struct.pack("<iI", CODE - START - (pointer_at + 4), 0x100)
    fde = entry(fde + b"\0" + program, wide)
    return header + struct.pack("<ii", CODE - START, fde_at) + cie + fde


def head(layout, seed, pc):
    return struct.pack("<BBHi", layout, seed, 0, pc - START)


def block(content):
    return leb(len(content)) + content


SIGNAL = (
    b"\x0f" + block(b"\x77" + leb(160) + b"\x06") + b"\x10\x10" + block(b"\x77" + leb(168))
    + b"\x10\x06" + block(b"\x77" + leb(120)) + b"\x10\x07" + block(b"\x77" + leb(160))
)
OBJECTS = {
    "sp": cfi(b"\x41\x0e\x10\x86\x02\x44\x0e\x40\x0a\x45\x0e\x08\x0b"),
    "bp": cfi(b"\x41\x0e\x10\x86\x02\x43\x0d\x06\x83\x03\x8c\x04", augmentation=b"zPLR"),
    "realigned": cfi(b"\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00"),
    "signal": cfi(SIGNAL, augmentation=b"zRS"),
    "end": cfi(b"\x07\x10"),
    "plt": cfi(b"\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"),
    "wide": cfi(b"\x02\x04\x0e\x20\x03\x01\x00\x0e\x28\x04\x01\x00\x00\x00\x0e\x30", wide=True),
    "absolute": cfi(b"\x01" + struct.pack("<Q", CODE + 4) + b"\x0e\x20", absolute=True, version=4),
    "rare": cfi(b"\x05\x03\x02\x11\x0c\x7e\x14\x0d\x02\x15\x0e\x7f\x09\x0f\x0a\x2f\x03\x01\x2e\x10\x12\x06\x7e\x13\x7d"
                b"\x08\x03\x06\x10\xd0\x16\x03\x02\x77\x08\x2d", version=3),
}
EXPRESSIONS = {
    "loop": b"\x3f\x31\x1c\x12\x28\xfa\xff",
    "memory": b"\x77\x08\x06\x77\x05\x94\x04\x22\x73\x00\x27",
    "constants": b"\x08\x01\x09\xff\x0a\x01\x02\x0b\xff\xff\x0c\x01\x02\x03\x04\x10\x80\x01\x11\x7f\x22\x1c\x1e\x21\x1a\x27",
}


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in OBJECTS.items():
        (folder / f"{name}.bin").write_bytes(head(1, 2, PC) + content)
    for name, content in EXPRESSIONS.items():
        (folder / f"expression_{name}.bin").write_bytes(head(5, 2, PC) + content)


if __name__ == "__main__":
    main()
