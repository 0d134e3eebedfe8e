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

static bool look_at_exported(void *context, const char *name, uint64_t address, uint64_t nr_bytes) {
    struct seep_imports *imports = context;
    (void)address;
    (void)nr_bytes;
    imports->exports_malloc |= strcmp(name, "malloc") == 0;
    return !imports->exports_malloc;
}

void seep_imports_note(struct seep_imports *imports, const char *name) {
    imports->looks_up |= strcmp(name, "dlsym") == 0 || strcmp(name, "dlvsym") == 0;
    imports->opens |= strcmp(name, "dlopen") == 0;
}

static void look_at_called(void *context, const char *name) {
    seep_imports_note(context, name);
}

// Texts that a file is asked for.
struct asked {
    const char *const *names;
    size_t nr_names;
    const char *prefix; // may stand before the name
    bool is_path;       // the text may be a path that ends with the name
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

// A section that cannot be read has none. `left`: bytes that are still read of the file.
static bool section_has(const struct seep_elf_file *elf, const Elf64_Shdr *section, char *piece,
                        uint64_t *left, const struct asked *asked) {
    uint64_t size = SEEP_MIN(SEEP_MIN(section->sh_size, (uint64_t)SECTION_BYTES_MAX), *left);
    *left -= size;
    bool has = false;
    for (uint64_t at = 0; at < size && !has; at += PIECE_BYTES - OVERLAP_BYTES) {
        size_t nr_bytes = (size_t)SEEP_MIN(size - at, (uint64_t)PIECE_BYTES);
        if (!seep_elf_read(elf, section->sh_offset + at, piece, nr_bytes))
            break;
        has = has_name(asked, piece, nr_bytes, !at);
    }
    return has;
}

static bool file_has(const struct seep_elf_file *elf, char *piece, const struct asked *asked) {
    uint64_t left = FILE_BYTES_MAX;
    bool has = false;
    for (uint32_t i = 0; i < elf->nr_sections && left && !has; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (section->sh_type == SHT_PROGBITS && section->sh_flags & SHF_ALLOC &&
            !(section->sh_flags & SHF_EXECINSTR))
            has = section_has(elf, section, piece, &left, asked);
    }
    return has;
}

// Whether all names of `asked` are among the constants. Few files have the first name, and the others are
// searched only in these files.
static struct seep_error *look_for_texts(const struct seep_elf_file *elf, const struct asked *asked,
                                         size_t nr_asked, bool *ret_has_all) {
    char *piece = malloc(PIECE_BYTES);
    if (!piece)
        return seep_error_no_memory();
    *ret_has_all = true;
    for (size_t i = 0; i < nr_asked && *ret_has_all; i++)
        *ret_has_all = file_has(elf, piece, &asked[i]);
    free(piece);
    return NULL;
}

// Whether the module imports the functions by which it can call libc's own functions, and has the names of
// `asked` among its constants. `opens`: dlopen must be among the imports.
static struct seep_error *find_past(const struct seep_elf_file *elf, struct seep_imports imports,
                                    const struct asked *asked, size_t nr_asked, bool opens,
                                    bool *ret_is_past) {
    struct seep_error *err =
        imports.is_known ? NULL : seep_elf_dynamic(elf, look_at_exported, look_at_called, &imports);
    bool is_past = false;
    if (!err && !imports.exports_malloc && imports.looks_up && (imports.opens || !opens))
        err = look_for_texts(elf, asked, nr_asked, &is_past);
    if (!err)
        *ret_is_past = is_past;
    return err;
}

struct seep_error *seep_past_malloc_find(const struct seep_elf_file *elf, bool *ret_is_past) {
    const struct asked asked = {.names = names, .nr_names = SEEP_ARRAY_SIZE(names), .prefix = "__libc_"};
    return find_past(elf, (struct seep_imports){false}, &asked, 1, false, ret_is_past);
}

struct seep_error *seep_past_free_find(const struct seep_elf_file *elf, const struct seep_imports *imports,
                                       bool *ret_is_past) {
    static const char *const names_of_libc[] = {"libc.so.6", "libc.so"};
    const struct asked asked[] = {
        {.names = names_of_libc, .nr_names = SEEP_ARRAY_SIZE(names_of_libc), .prefix = "", .is_path = true},
        {.names = names_of_free, .nr_names = SEEP_ARRAY_SIZE(names_of_free), .prefix = "__libc_"},
    };
    return find_past(elf, *imports, asked, SEEP_ARRAY_SIZE(asked), true, ret_is_past);
}
