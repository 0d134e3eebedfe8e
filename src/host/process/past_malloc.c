// SPDX-License-Identifier: BSD-2-Clause
// Modules that may call libc's own malloc, see past_malloc.h.
#include <stdlib.h>
#include <string.h>

#include "process/past_malloc.h"

#define SECTION_BYTES_MAX (8u << 20)
#define PIECE_BYTES       ((size_t)256 << 10)
#define OVERLAP_BYTES     32u // more than the longest name

// Each with the zero behind it. The ends of others: posix_memalign, pvalloc, __libc_malloc.
static const char *const names[] = {"malloc", "calloc", "realloc", "memalign", "aligned_alloc", "valloc"};

struct imports {
    bool exports_malloc;
    bool looks_up; // dlsym or dlvsym
};

static bool look_at_exported(void *context, const char *name, uint64_t address, uint64_t nr_bytes) {
    struct imports *imports = context;
    (void)address;
    (void)nr_bytes;
    imports->exports_malloc |= strcmp(name, "malloc") == 0;
    return !imports->exports_malloc;
}

static void look_at_called(void *context, const char *name) {
    struct imports *imports = context;
    imports->looks_up |= strcmp(name, "dlsym") == 0 || strcmp(name, "dlvsym") == 0;
}

static bool has_name(const char *bytes, size_t nr_bytes) {
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(names); i++)
        if (memmem(bytes, nr_bytes, names[i], strlen(names[i]) + 1))
            return true;
    return false;
}

// A section that cannot be read has none.
static bool is_in_section(const struct seep_elf_file *elf, const Elf64_Shdr *section, char *piece) {
    uint64_t size = SEEP_MIN(section->sh_size, (uint64_t)SECTION_BYTES_MAX);
    for (uint64_t at = 0; at < size; at += PIECE_BYTES - OVERLAP_BYTES) {
        size_t nr_bytes = (size_t)SEEP_MIN(size - at, (uint64_t)PIECE_BYTES);
        if (!seep_elf_read(elf, section->sh_offset + at, piece, nr_bytes))
            return false;
        if (has_name(piece, nr_bytes))
            return true;
    }
    return false;
}

struct seep_error *seep_past_malloc_find(const struct seep_elf_file *elf, bool *ret_is_past) {
    struct imports imports = {false};
    struct seep_error *err = seep_elf_dynamic(elf, look_at_exported, look_at_called, &imports);
    bool is_past = false;
    if (!err && !imports.exports_malloc && imports.looks_up) {
        char *piece = malloc(PIECE_BYTES);
        if (!piece)
            return seep_error_no_memory();
        for (uint32_t i = 0; i < elf->nr_sections && !is_past; i++) {
            const Elf64_Shdr *section = &elf->sections[i];
            if (section->sh_type == SHT_PROGBITS && section->sh_flags & SHF_ALLOC &&
                !(section->sh_flags & SHF_EXECINSTR))
                is_past = is_in_section(elf, section, piece);
        }
        free(piece);
    }
    if (!err)
        *ret_is_past = is_past;
    return err;
}
