// SPDX-License-Identifier: BSD-2-Clause
// Functions beside malloc, see jemalloc_own.h.
#include <elf.h>
#include <string.h>

#include "process/beside_malloc.h"
#include "scan/jemalloc_own.h"

#define SEGMENTS_MAX 64
#define ENTRIES_MAX  128
#define NAMES_MAX    ((uint64_t)8 << 20)  // of one module's names
#define READ_MAX     ((uint64_t)64 << 20) // of all modules; a read counts as READ_LEAST at least
#define READ_LEAST   64u
#define PIECE_BYTES  4096u
#define NAME_BYTES   32u // more than any of the names

// The allocators whose library begins with this mapping.
static unsigned allocators_of(const struct seep_memory_area *mapping) {
    return mapping->file_off == 0 && !mapping->shared ? seep_beside_of_path(mapping->path) : 0;
}

// What is read, and how much still may be. A process may have a module in each of its mappings.
struct reader {
    const struct seep_memory *memory;
    uint64_t budget_bytes;
    bool is_exhausted;
};

static bool take(struct reader *reader, uint64_t address, void *ret_bytes, size_t nr_bytes) {
    uint64_t cost = SEEP_MAX(nr_bytes, (size_t)READ_LEAST);
    reader->is_exhausted |= cost > reader->budget_bytes;
    if (reader->is_exhausted)
        return false;
    reader->budget_bytes -= cost;
    return seep_memory_read(reader->memory, address, ret_bytes, nr_bytes);
}

// Where the names of dynamic symbols are. Source: ELF, "Dynamic Section"; glibc writes addresses over the
// offsets that a file has there, musl does not.
static bool find_names(struct reader *reader, uint64_t start, uint64_t *ret_names, uint64_t *ret_bytes) {
    Elf64_Ehdr header;
    Elf64_Phdr segments[SEGMENTS_MAX];
    if (!take(reader, start, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(*segments) ||
        header.e_phnum > SEGMENTS_MAX ||
        !take(reader, start + header.e_phoff, segments, header.e_phnum * sizeof(*segments)))
        return false;
    uint64_t bias = header.e_type == ET_DYN ? start : 0;
    *ret_names = *ret_bytes = 0;
    for (size_t i = 0; i < header.e_phnum; i++) {
        for (size_t k = 0; segments[i].p_type == PT_DYNAMIC && k < ENTRIES_MAX; k++) {
            Elf64_Dyn entry;
            if (!take(reader, bias + segments[i].p_vaddr + k * sizeof(entry), &entry, sizeof(entry)) ||
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

// What begins behind PIECE_BYTES is whole in the next piece.
static bool is_named(const struct seep_beside *beside, const char *piece, size_t nr_bytes) {
    const char *end = piece + nr_bytes;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(beside->names) && beside->names[i]; i++) {
        size_t length = strlen(beside->names[i]);
        for (const char *at = piece; (at = memmem(at, (size_t)(end - at), beside->names[i], length)); at++)
            if (at > piece && at - piece <= (ptrdiff_t)PIECE_BYTES && !at[-1] &&
                !seep_beside_only_asks(beside->names[i], at + length, (size_t)(end - at) - length))
                return true;
    }
    return false;
}

static bool names_it(struct reader *reader, const struct seep_memory_area *mapping,
                     const struct seep_beside *beside) {
    uint64_t names, nr_bytes;
    if (!find_names(reader, mapping->start, &names, &nr_bytes))
        return false;
    char piece[PIECE_BYTES + NAME_BYTES];
    for (uint64_t at = 0; at < nr_bytes; at += PIECE_BYTES) {
        size_t nr = (size_t)SEEP_MIN(nr_bytes - at, sizeof(piece));
        if (!take(reader, names + at, piece, nr))
            return false;
        if (is_named(beside, piece, nr))
            return true;
    }
    return false;
}

bool seep_is_beside_malloc(const struct seep_memory *memory) {
    struct reader reader = {memory, READ_MAX, false};
    unsigned loaded = 0;
    for (size_t i = 0; i < memory->nr_mappings; i++)
        loaded |= allocators_of(&memory->mappings[i]);
    for (size_t i = 0; loaded && i < memory->nr_mappings; i++) {
        const struct seep_memory_area *mapping = &memory->mappings[i];
        if (mapping->file_off || mapping->shared || *mapping->path != '/')
            continue;
        unsigned others = loaded & ~allocators_of(mapping);
        for (unsigned k = 0; k < SEEP_BESIDE_NR; k++)
            if (others & 1u << k && (names_it(&reader, mapping, &seep_besides[k]) || reader.is_exhausted))
                return true;
    }
    return false;
}
