// SPDX-License-Identifier: BSD-2-Clause
// Functions beside malloc, see jemalloc_own.h.
#include <elf.h>
#include <string.h>

#include "scan/jemalloc_own.h"

#define SEGMENTS_MAX 64
#define ENTRIES_MAX  128
#define NAMES_MAX    ((uint64_t)8 << 20) // of one module's names
#define PIECE_BYTES  4096u
#define NAME_BYTES   32u // more than any of `names`

// How names of functions begin that allocate or free, as they stand in a table of names. Source: the headers
// of each: jemalloc.h, tcmalloc.h, mimalloc.h.
static const struct beside {
    const char *library;  // what its name begins with
    const char *names[8]; // each after the NUL of the one before it
} allocators[] = {
    {"libjemalloc", {"mallocx", "rallocx", "dallocx", "sdallocx"}},
    {"libtcmalloc",
     {"tc_malloc", "tc_calloc", "tc_realloc", "tc_memalign", "tc_posix_memalign", "tc_new", "tc_free",
      "tc_delete"}},
    {"libmimalloc", {"mi_malloc", "mi_calloc", "mi_zalloc", "mi_realloc", "mi_new", "mi_heap_", "mi_free"}},
};

static const char *base_name(const struct seep_memory_area *mapping) {
    const char *slash = strrchr(mapping->path, '/');
    return slash && mapping->file_off == 0 && !mapping->shared ? slash + 1 : "";
}

// Where the names of dynamic symbols are. Source: ELF, "Dynamic Section"; glibc writes addresses over the
// offsets that a file has there, musl does not.
static bool find_names(const struct seep_memory *memory, uint64_t start, uint64_t *ret_names,
                       uint64_t *ret_bytes) {
    Elf64_Ehdr header;
    Elf64_Phdr segments[SEGMENTS_MAX];
    if (!seep_memory_read(memory, start, &header, sizeof(header)) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof(*segments) || header.e_phnum > SEGMENTS_MAX ||
        !seep_memory_read(memory, start + header.e_phoff, segments, header.e_phnum * sizeof(*segments)))
        return false;
    uint64_t bias = header.e_type == ET_DYN ? start : 0;
    *ret_names = *ret_bytes = 0;
    for (size_t i = 0; i < header.e_phnum; i++) {
        for (size_t k = 0; segments[i].p_type == PT_DYNAMIC && k < ENTRIES_MAX; k++) {
            Elf64_Dyn entry;
            if (!seep_memory_read(memory, bias + segments[i].p_vaddr + k * sizeof(entry), &entry,
                                  sizeof(entry)) ||
                entry.d_tag == DT_NULL)
                break;
            if (entry.d_tag == DT_STRTAB)
                *ret_names = entry.d_un.d_ptr < start ? bias + entry.d_un.d_ptr : entry.d_un.d_ptr;
            else if (entry.d_tag == DT_STRSZ)
                *ret_bytes = SEEP_MIN(entry.d_un.d_val, NAMES_MAX);
        }
    }
    return *ret_names && *ret_bytes;
}

// Those that only ask begin as those that allocate: tc_malloc_size, mi_malloc_usable_size.
static bool only_asks(const char *rest, size_t nr_bytes) {
    static const char *const ends[] = {"_size", "_usable_size", "_good_size", "_stats"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(ends); i++) {
        size_t length = strlen(ends[i]) + 1;
        if (nr_bytes >= length && memcmp(rest, ends[i], length) == 0)
            return true;
    }
    return false;
}

// What begins behind PIECE_BYTES is whole in the next piece.
static bool is_named(const struct beside *beside, const char *piece, size_t nr_bytes) {
    const char *end = piece + nr_bytes;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(beside->names) && beside->names[i]; i++) {
        size_t length = strlen(beside->names[i]);
        for (const char *at = piece; (at = memmem(at, (size_t)(end - at), beside->names[i], length)); at++)
            if (at > piece && at - piece <= (ptrdiff_t)PIECE_BYTES && !at[-1] &&
                !only_asks(at + length, (size_t)(end - at) - length))
                return true;
    }
    return false;
}

static bool names_it(const struct seep_memory *memory, const struct seep_memory_area *mapping,
                     const struct beside *beside) {
    uint64_t names, nr_bytes;
    if (!find_names(memory, mapping->start, &names, &nr_bytes))
        return false;
    char piece[PIECE_BYTES + NAME_BYTES];
    for (uint64_t at = 0; at < nr_bytes; at += PIECE_BYTES) {
        size_t nr = (size_t)SEEP_MIN(nr_bytes - at, sizeof(piece));
        if (!seep_memory_read(memory, names + at, piece, nr))
            return false;
        if (is_named(beside, piece, nr))
            return true;
    }
    return false;
}

static bool is_of(const struct beside *beside, const char *name) {
    return strncmp(name, beside->library, strlen(beside->library)) == 0;
}

bool seep_is_beside_malloc(const struct seep_memory *memory) {
    const struct beside *beside = NULL;
    for (size_t i = 0; i < memory->nr_mappings && !beside; i++)
        for (size_t k = 0; k < SEEP_ARRAY_SIZE(allocators) && !beside; k++)
            if (is_of(&allocators[k], base_name(&memory->mappings[i])))
                beside = &allocators[k];
    for (size_t i = 0; beside && i < memory->nr_mappings; i++) {
        const struct seep_memory_area *mapping = &memory->mappings[i];
        const char *name = base_name(mapping);
        if (*name && !is_of(beside, name) && names_it(memory, mapping, beside))
            return true;
    }
    return false;
}
