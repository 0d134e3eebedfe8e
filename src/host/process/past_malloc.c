// SPDX-License-Identifier: BSD-2-Clause
// Modules that may call libc's own malloc, see past_malloc.h.
#include <stdlib.h>
#include <string.h>

#include "process/past_malloc.h"

#define SECTION_BYTES_MAX (8u << 20)
#define FILE_BYTES_MAX    (32u << 20) // all sections may be the same bytes
#define PIECE_BYTES       ((size_t)256 << 10)
#define OVERLAP_BYTES     32u // more than the longest name

static const char *const names[] = {
    "malloc", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc", "valloc", "pvalloc",
};

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

// Whether the text that ends with the name at `start` is nothing but that name, or "__libc_" and that name.
static bool is_name(const char *bytes, const char *start) {
    static const char libc[] = {'_', '_', 'l', 'i', 'b', 'c', '_'};
    if ((size_t)(start - bytes) >= sizeof(libc) && memcmp(start - sizeof(libc), libc, sizeof(libc)) == 0)
        start -= sizeof(libc);
    return start == bytes || !start[-1];
}

// A text at the start of a piece counts only in the first piece of a section. In a later piece it may be the
// end of a longer text, and the piece before has it as a whole.
static bool has_name(const char *bytes, size_t nr_bytes, bool is_first) {
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(names); i++) {
        size_t length = strlen(names[i]) + 1;
        const char *end = bytes + nr_bytes, *from = is_first ? bytes : bytes + 1;
        for (const char *at = from; at < end && (at = memmem(at, (size_t)(end - at), names[i], length)); at++)
            if (is_name(bytes, at))
                return true;
    }
    return false;
}

// A section that cannot be read has none. `left`: bytes that are still read of the file.
static bool is_in_section(const struct seep_elf_file *elf, const Elf64_Shdr *section, char *piece,
                          uint64_t *left) {
    uint64_t size = SEEP_MIN(SEEP_MIN(section->sh_size, (uint64_t)SECTION_BYTES_MAX), *left);
    *left -= size;
    for (uint64_t at = 0; at < size; at += PIECE_BYTES - OVERLAP_BYTES) {
        size_t nr_bytes = (size_t)SEEP_MIN(size - at, (uint64_t)PIECE_BYTES);
        if (!seep_elf_read(elf, section->sh_offset + at, piece, nr_bytes))
            return false;
        if (has_name(piece, nr_bytes, !at))
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
        uint64_t left = FILE_BYTES_MAX;
        for (uint32_t i = 0; i < elf->nr_sections && !is_past && left; i++) {
            const Elf64_Shdr *section = &elf->sections[i];
            if (section->sh_type == SHT_PROGBITS && section->sh_flags & SHF_ALLOC &&
                !(section->sh_flags & SHF_EXECINSTR))
                is_past = is_in_section(elf, section, piece, &left);
        }
        free(piece);
    }
    if (!err)
        *ret_is_past = is_past;
    return err;
}
