#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""embed.py NAME FILE HEADER: writes a C header that has the bytes of FILE as `static const char NAME[]`, with a zero behind."""
import sys

name, source, header = sys.argv[1:]
with open(source, "rb") as file:
    content = file.read()
# Octal escapes of three digits: none runs into the byte behind it.
escaped = [chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else "\\%03o" % byte for byte in content]
with open(header, "w", encoding="ascii") as file:
    file.write("// SPDX-License-Identifier: BSD-2-Clause\n// Made by tools/embed.py.\nstatic const char %s[] =\n" % name)
    for at in range(0, len(escaped), 100):
        file.write('    "%s"\n' % "".join(escaped[at:at + 100]))
    file.write("    ;\n")
