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

static const char *const names_of_free[] = {"free", "cfree"};

struct imports {
    bool exports_malloc;
    bool looks_up; // dlsym or dlvsym
    bool opens;    // dlopen
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
    imports->opens |= strcmp(name, "dlopen") == 0;
}

// Texts that a file is asked for.
struct asked {
    const char *const *names;
    size_t nr_names;
    const char *prefix; // may stand before the name
    bool is_path;       // the text may be a path that ends with the name
    bool is_found;
};

// Whether the text that ends with the name at `start` is nothing but that name, or the prefix and that name.
static bool is_name(const struct asked *asked, const char *bytes, const char *start) {
    size_t length = strlen(asked->prefix);
    if ((size_t)(start - bytes) >= length && memcmp(start - length, asked->prefix, length) == 0)
        start -= length;
    return start == bytes || !start[-1] || (asked->is_path && start[-1] == '/');
}

// A text at the start of a piece counts only in the first piece of a section. In a later piece it may be the
// end of a longer text, and the piece before has it as a whole.
static bool has_name(const struct asked *asked, const char *bytes, size_t nr_bytes, bool is_first) {
    for (size_t i = 0; i < asked->nr_names; i++) {
        const char *name = asked->names[i], *end = bytes + nr_bytes, *from = is_first ? bytes : bytes + 1;
        size_t length = strlen(name) + 1;
        for (const char *at = from; at < end && (at = memmem(at, (size_t)(end - at), name, length)); at++)
            if (is_name(asked, bytes, at))
                return true;
    }
    return false;
}

static bool has_all(const struct asked *asked, size_t nr_asked) {
    for (size_t i = 0; i < nr_asked; i++)
        if (!asked[i].is_found)
            return false;
    return true;
}

// A section that cannot be read has none. `left`: bytes that are still read of the file.
static void look_at_section(const struct seep_elf_file *elf, const Elf64_Shdr *section, char *piece,
                            uint64_t *left, struct asked *asked, size_t nr_asked) {
    uint64_t size = SEEP_MIN(SEEP_MIN(section->sh_size, (uint64_t)SECTION_BYTES_MAX), *left);
    *left -= size;
    for (uint64_t at = 0; at < size && !has_all(asked, nr_asked); at += PIECE_BYTES - OVERLAP_BYTES) {
        size_t nr_bytes = (size_t)SEEP_MIN(size - at, (uint64_t)PIECE_BYTES);
        if (!seep_elf_read(elf, section->sh_offset + at, piece, nr_bytes))
            return;
        for (size_t i = 0; i < nr_asked; i++)
            asked[i].is_found = asked[i].is_found || has_name(&asked[i], piece, nr_bytes, !at);
    }
}

// Whether all that is asked for is among the constants.
static struct seep_error *look_for_texts(const struct seep_elf_file *elf, struct asked *asked,
                                         size_t nr_asked, bool *ret_has_all) {
    char *piece = malloc(PIECE_BYTES);
    if (!piece)
        return seep_error_no_memory();
    uint64_t left = FILE_BYTES_MAX;
    for (uint32_t i = 0; i < elf->nr_sections && left && !has_all(asked, nr_asked); i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (section->sh_type == SHT_PROGBITS && section->sh_flags & SHF_ALLOC &&
            !(section->sh_flags & SHF_EXECINSTR))
            look_at_section(elf, section, piece, &left, asked, nr_asked);
    }
    free(piece);
    *ret_has_all = has_all(asked, nr_asked);
    return NULL;
}

// Whether the module has what it needs to call libc's own functions, and names those that are asked for.
// `opens`: it needs dlopen, too.
static struct seep_error *find_past(const struct seep_elf_file *elf, struct asked *asked, size_t nr_asked,
                                    bool opens, bool *ret_is_past) {
    struct imports imports = {false};
    struct seep_error *err = seep_elf_dynamic(elf, look_at_exported, look_at_called, &imports);
    bool is_past = false;
    if (!err && !imports.exports_malloc && imports.looks_up && (imports.opens || !opens))
        err = look_for_texts(elf, asked, nr_asked, &is_past);
    if (!err)
        *ret_is_past = is_past;
    return err;
}

struct seep_error *seep_past_malloc_find(const struct seep_elf_file *elf, bool *ret_is_past) {
    struct asked asked = {.names = names, .nr_names = SEEP_ARRAY_SIZE(names), .prefix = "__libc_"};
    return find_past(elf, &asked, 1, false, ret_is_past);
}

struct seep_error *seep_past_free_find(const struct seep_elf_file *elf, bool *ret_is_past) {
    static const char *const names_of_libc[] = {"libc.so.6", "libc.so"};
    struct asked asked[] = {
        {.names = names_of_libc, .nr_names = SEEP_ARRAY_SIZE(names_of_libc), .prefix = "", .is_path = true},
        {.names = names_of_free, .nr_names = SEEP_ARRAY_SIZE(names_of_free), .prefix = "__libc_"},
    };
    return find_past(elf, asked, SEEP_ARRAY_SIZE(asked), true, ret_is_past);
}
