#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""drop_sections.py PROGRAM OUT: a copy of an ELF program without its sections, which no loader needs."""
import os
import sys

import lzma_header

source, out = sys.argv[1:]
with open(source, "rb") as file:
    content = lzma_header.without_sections(file.read())
with open(out, "wb") as file:
    file.write(content)
os.chmod(out, 0o755)
