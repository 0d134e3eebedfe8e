// SPDX-License-Identifier: BSD-2-Clause
// Programs that read the instructions of another program from its files, and run these themselves.
#ifndef SEEP_SOURCE_ATTACH_EMULATOR_H
#define SEEP_SOURCE_ATTACH_EMULATOR_H

// The kernel shows a breakpoint in each mapping of a file that has a probe. An emulator takes that for an
// instruction of its program, which ends with SIGTRAP.
#define SEEP_EMULATOR_FORMAT                                                                                 \
    "%s takes the breakpoints of the probes for the program's own, and ends it with SIGTRAP"

// What users call it; NULL: the program is none. `path`: of its file.
const char *seep_emulator_name(const char *path);

#endif
