// SPDX-License-Identifier: BSD-2-Clause
// Finds allocators inside programs and libraries, see own_allocator.h.
#include <stdlib.h>
#include <string.h>

#include "process/beside_malloc.h"
#include "process/own_allocator.h"

#define CONSTANTS_BYTES_MAX (8u << 20)
#define PIECE_BYTES         ((size_t)256 << 10)
#define MESSAGE_BYTES_MAX   64u
#define NAME_BYTES_MAX      64u // of any malloc

struct known {
    const char *allocator;
    const char *prefix;                  // of "malloc"
    char message[MESSAGE_BYTES_MAX + 1]; // in constants of every build, whatever it is configured to; or ""
};

// Source: the sources of each; Rust's jemalloc is tikv-jemalloc-sys.
static const struct known known_ones[] = {
    {"jemalloc", "je_", "<jemalloc>: "},
    {"jemalloc", "_rjem_", ""},
    {"jemalloc", "__rjem_", ""},
    {"mimalloc", "mi_", "mimalloc: "},
    {"tcmalloc", "tc_", "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES"},
    {"rpmalloc", "rp", ""},
    {"snmalloc", "sn_", ""},
    {"Hoard", "xx", ""},
    {"dlmalloc", "dl", ""},
    {"scudo", "scudo_", ""},
};

struct search {
    bool malloc_here; // in a table of symbols
    bool free_here;
    bool is_python;
    bool is_free_threaded; // Python without its global lock
    const struct known *named;
    unsigned calls; // of other modules, see beside_malloc.h
    struct seep_imports imports;
};

static bool look_at(void *context, const char *name, uint64_t address, uint64_t nr_bytes) {
    (void)address;
    (void)nr_bytes;
    struct search *search = context;
    size_t length = strnlen(name, NAME_BYTES_MAX + 1); // one that never ends is no name
    if (length > NAME_BYTES_MAX)
        return true;
    search->free_here |= length == 4 && memcmp(name, "free", 4) == 0;
    if (length < 6 || memcmp(name + length - 6, "malloc", 6) != 0)
        return true;
    size_t prefix_bytes = length - 6;
    search->malloc_here |= !prefix_bytes;
    if (search->named || !prefix_bytes)
        return true;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(known_ones) && !search->named; i++)
        if (strlen(known_ones[i].prefix) == prefix_bytes &&
            strncmp(name, known_ones[i].prefix, prefix_bytes) == 0)
            search->named = &known_ones[i];
    return true;
}

// What is exported is called through us, or is called instead of us, which the library says itself: then
// nothing else of the table matters. That of glibc stands among three thousand.
static bool look_at_exported(void *context, const char *name, uint64_t address, uint64_t nr_bytes) {
    struct search *search = context;
    look_at(context, name, address, nr_bytes);
    search->is_python |= strcmp(name, "PyObject_Malloc") == 0;
    search->is_free_threaded |= strcmp(name, "_Py_MergeZeroLocalRefcount") == 0;
    return !search->malloc_here;
}

static void look_at_called(void *context, const char *name) {
    struct search *search = context;
    search->calls |= seep_beside_of_name(name);
    seep_imports_note(&search->imports, name);
}

// As memmem, which takes four times as long: the first characters of the messages are not frequent.
static bool has_text(const unsigned char *bytes, size_t nr_bytes, const char *text) {
    size_t length = strlen(text);
    const unsigned char *end = bytes + nr_bytes;
    for (; (size_t)(end - bytes) >= length; bytes++) {
        bytes = memchr(bytes, text[0], (size_t)(end - bytes) - length + 1);
        if (!bytes)
            return false;
        if (memcmp(bytes, text, length) == 0)
            return true;
    }
    return false;
}

// The first known one before `first` whose message is among the constants, else that.
static size_t find_in_piece(const unsigned char *bytes, size_t nr_bytes, size_t first) {
    for (size_t i = 0; i < first; i++)
        if (*known_ones[i].message && has_text(bytes, nr_bytes, known_ones[i].message))
            return i;
    return first;
}

// In pieces that overlap: the constants of a large library are megabytes, and they are not needed in one.
// *ret_known NULL: there is none.
static struct seep_error *find_message(const struct seep_elf_file *elf, const struct known **ret_known) {
    const Elf64_Shdr *section = seep_elf_section(elf, ".rodata");
    *ret_known = NULL;
    if (!section || section->sh_size > CONSTANTS_BYTES_MAX)
        return NULL;
    unsigned char *piece = malloc(PIECE_BYTES);
    if (!piece)
        return seep_error_no_memory();
    size_t found = SEEP_ARRAY_SIZE(known_ones);
    for (uint64_t at = 0; at < section->sh_size; at += PIECE_BYTES - MESSAGE_BYTES_MAX) {
        size_t nr_bytes = (size_t)SEEP_MIN(section->sh_size - at, (uint64_t)PIECE_BYTES);
        if (!seep_elf_read(elf, section->sh_offset + at, piece, nr_bytes)) {
            found = SEEP_ARRAY_SIZE(known_ones);
            break;
        }
        found = find_in_piece(piece, nr_bytes, found);
    }
    free(piece);
    if (found < SEEP_ARRAY_SIZE(known_ones))
        *ret_known = &known_ones[found];
    return NULL;
}

static bool has_symbols(const struct seep_elf_file *elf) {
    for (uint32_t i = 0; i < elf->nr_sections; i++)
        if (elf->sections[i].sh_type == SHT_SYMTAB)
            return true;
    return false;
}

struct seep_error *seep_own_allocator_find(const struct seep_elf_file *elf,
                                           struct seep_own_allocator *ret_own,
                                           struct seep_imports *ret_imports) {
    *ret_own = (struct seep_own_allocator){.kind = SEEP_OWN_NONE};
    *ret_imports = (struct seep_imports){false};
    if (seep_elf_section(elf, ".gopclntab") || seep_elf_section(elf, ".go.buildinfo")) {
        *ret_own = (struct seep_own_allocator){.kind = SEEP_OWN_GO, .allocator = "Go"};
        return NULL;
    }
    struct search exported = {.named = NULL}, search = {.named = NULL};
    struct seep_error *err = seep_elf_dynamic(elf, look_at_exported, look_at_called, &exported);
    ret_own->calls = exported.calls;
    *ret_imports = exported.imports;
    ret_imports->is_known = !err;
    ret_imports->exports_malloc = exported.malloc_here;
    if (err || exported.malloc_here)
        return err;
    err = seep_elf_functions_of(elf, SHT_SYMTAB, look_at, &search);
    if (err)
        return err;
    search.named = search.named ? search.named : exported.named;
    search.free_here |= exported.free_here;
    if (search.named)
        *ret_own = (struct seep_own_allocator){SEEP_OWN_NAMED, search.named->allocator, search.named->prefix,
                                               exported.calls};
    else if (search.malloc_here && search.free_here)
        ret_own->kind = SEEP_OWN_MALLOC;
    const struct known *message = NULL;
    if (!has_symbols(elf) && !search.named)
        err = find_message(elf, &message);
    if (message)
        *ret_own = (struct seep_own_allocator){
            .kind = SEEP_OWN_MESSAGE, .allocator = message->allocator, .calls = exported.calls};
    // Python has mimalloc inside from 3.13 on, and allocates with it where it is free-threaded; else with
    // pymalloc.
    if (exported.is_python && !exported.is_free_threaded && ret_own->allocator &&
        strcmp(ret_own->allocator, "mimalloc") == 0)
        *ret_own = (struct seep_own_allocator){.kind = SEEP_OWN_NONE, .calls = exported.calls};
    return err;
}

// As the index of one that is known: the texts are ours.
void seep_own_allocator_put(struct seep_put *put, const struct seep_own_allocator *own) {
    size_t i = 0;
    bool is_known = own->kind == SEEP_OWN_NAMED || own->kind == SEEP_OWN_MESSAGE;
    while (is_known && i < SEEP_ARRAY_SIZE(known_ones) &&
           (strcmp(known_ones[i].allocator, own->allocator) != 0 ||
            (own->prefix && strcmp(known_ones[i].prefix, own->prefix) != 0)))
        i++;
    seep_put_leb(put, own->kind);
    seep_put_leb(put, i);
    seep_put_leb(put, own->calls);
}

bool seep_own_allocator_take(struct seep_take *take, struct seep_own_allocator *ret_own) {
    uint64_t kind = seep_take_leb(take), i = seep_take_leb(take), calls = seep_take_leb(take);
    *ret_own = (struct seep_own_allocator){.kind = SEEP_OWN_NONE};
    if (take->failed || seep_take_left(take) || kind > SEEP_OWN_GO || i >= SEEP_ARRAY_SIZE(known_ones) ||
        calls >> SEEP_BESIDE_NR)
        return false;
    ret_own->kind = (enum seep_own_kind)kind;
    ret_own->calls = (unsigned)calls;
    if (kind == SEEP_OWN_GO)
        ret_own->allocator = "Go";
    if (kind == SEEP_OWN_NAMED || kind == SEEP_OWN_MESSAGE)
        ret_own->allocator = known_ones[i].allocator;
    if (kind == SEEP_OWN_NAMED)
        ret_own->prefix = known_ones[i].prefix;
    return true;
}
