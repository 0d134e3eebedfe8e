// SPDX-License-Identifier: BSD-2-Clause
//
// The notes of an ELF file, of a core or of sysfs. Both classes of ELF have the same layout of notes; names
// and contents are aligned to 4. Bytes that may be damaged are fit to be read.
#ifndef SEEP_PROCESS_ELF_NOTES_H
#define SEEP_PROCESS_ELF_NOTES_H

#include "core/attr.h"

// Points into the bytes that the notes are read from.
struct seep_elf_note {
    uint32_t type;
    const char *name; // not always NUL-terminated
    uint32_t name_bytes;
    const unsigned char *bytes; // the contents
    uint32_t nr_bytes;
};

// The note at *at, which is then behind it and never beyond nr_bytes. false: no whole note is there. The
// padding behind the last note may be missing.
bool seep_elf_note_next(const unsigned char *bytes, uint64_t nr_bytes, uint64_t *at,
                        struct seep_elf_note *ret_note);
// Whether the name is this one, with its NUL.
bool seep_elf_note_is_of(const struct seep_elf_note *note, const char *name);
// The GNU build-id, cut to `room` bytes; returns its bytes. 0: there is none.
uint32_t seep_elf_notes_build_id(const unsigned char *bytes, uint64_t nr_bytes, uint8_t *ret_id,
                                 uint32_t room);

#endif
