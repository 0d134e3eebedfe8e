// SPDX-License-Identifier: BSD-2-Clause
// Reads the notes of ELF files, see elf_notes.h. Source: elf(5), "Notes"; NT_GNU_BUILD_ID of GNU ld.
#include <elf.h>
#include <string.h>

#include "process/elf_notes.h"

bool seep_elf_note_next(const unsigned char *bytes, uint64_t nr_bytes, uint64_t *at,
                        struct seep_elf_note *ret_note) {
    Elf64_Nhdr header;
    if (nr_bytes - *at < sizeof(header))
        return false;
    memcpy(&header, bytes + *at, sizeof(header));
    uint64_t name = *at + sizeof(header);
    uint64_t name_bytes = ((uint64_t)header.n_namesz + 3) & ~UINT64_C(3);
    uint64_t content_bytes = ((uint64_t)header.n_descsz + 3) & ~UINT64_C(3);
    if (name_bytes > nr_bytes - name || header.n_descsz > nr_bytes - name - name_bytes)
        return false;
    *ret_note = (struct seep_elf_note){.type = header.n_type,
                                       .name = (const char *)bytes + name,
                                       .name_bytes = header.n_namesz,
                                       .bytes = bytes + name + name_bytes,
                                       .nr_bytes = header.n_descsz};
    *at = SEEP_MIN(name + name_bytes + content_bytes, nr_bytes);
    return true;
}

bool seep_elf_note_is_of(const struct seep_elf_note *note, const char *name) {
    size_t bytes = strlen(name) + 1;
    return note->name_bytes == bytes && memcmp(note->name, name, bytes) == 0;
}

uint32_t seep_elf_notes_build_id(const unsigned char *bytes, uint64_t nr_bytes, uint8_t *ret_id,
                                 uint32_t room) {
    struct seep_elf_note note;
    for (uint64_t at = 0; seep_elf_note_next(bytes, nr_bytes, &at, &note);)
        if (note.type == NT_GNU_BUILD_ID && seep_elf_note_is_of(&note, "GNU")) {
            uint32_t nr = SEEP_MIN(note.nr_bytes, room);
            memcpy(ret_id, note.bytes, nr);
            return nr;
        }
    return 0;
}
