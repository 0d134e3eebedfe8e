// SPDX-License-Identifier: BSD-2-Clause
// Finds allocators inside programs and libraries, see own_allocator.h.
#include <stdlib.h>
#include <string.h>

#include "capture/own_allocator.h"

#define CONSTANTS_BYTES_MAX (8u << 20)

struct known {
    const char *allocator;
    const char *prefix;  // of "malloc"
    const char *message; // in constants of every build, whatever it is configured to; or NULL
};

// Source: the sources of each; Rust's jemalloc is tikv-jemalloc-sys.
static const struct known known_ones[] = {
    {"jemalloc", "je_", "<jemalloc>: "},
    {"jemalloc", "_rjem_", NULL},
    {"jemalloc", "__rjem_", NULL},
    {"mimalloc", "mi_", "mimalloc: "},
    {"tcmalloc", "tc_", "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES"},
    {"rpmalloc", "rp", NULL},
    {"snmalloc", "sn_", NULL},
    {"Hoard", "xx", NULL},
    {"dlmalloc", "dl", NULL},
    {"scudo", "scudo_", NULL},
};

struct search {
    bool malloc_here; // in a table of symbols
    bool free_here;
    const struct known *named;
};

static bool look_at(void *context, const char *name, uint64_t address, uint64_t nr_bytes) {
    (void)address;
    (void)nr_bytes;
    static const char wanted[] = "malloc";
    struct search *search = context;
    search->malloc_here |= strcmp(name, wanted) == 0;
    search->free_here |= strcmp(name, "free") == 0;
    size_t length = strlen(name);
    if (search->named || length < sizeof(wanted) || strcmp(name + length - sizeof(wanted) + 1, wanted) != 0)
        return true;
    size_t prefix_bytes = length - (sizeof(wanted) - 1);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(known_ones) && !search->named; i++)
        if (strlen(known_ones[i].prefix) == prefix_bytes &&
            strncmp(name, known_ones[i].prefix, prefix_bytes) == 0)
            search->named = &known_ones[i];
    return true;
}

// Stops there: that of glibc stands among three thousand.
static bool look_for_malloc(void *context, const char *name, uint64_t address, uint64_t nr_bytes) {
    (void)address;
    (void)nr_bytes;
    bool *found = context;
    *found = name[0] == 'm' && strcmp(name, "malloc") == 0;
    return !*found;
}

// What is exported is called through us, or is called instead of us, which the library says itself.
static bool exports_malloc(const struct seep_elf_file *elf, struct seep_error **ret_err) {
    bool found = false;
    *ret_err = seep_elf_functions_of(elf, SHT_DYNSYM, look_for_malloc, &found);
    return found;
}

static const struct known *find_message(const struct seep_elf_file *elf) {
    const Elf64_Shdr *section = seep_elf_section(elf, ".rodata");
    if (!section || section->sh_size > CONSTANTS_BYTES_MAX)
        return NULL;
    unsigned char *constants = seep_elf_read_section(elf, section);
    const struct known *found = NULL;
    for (size_t i = 0; constants && i < SEEP_ARRAY_SIZE(known_ones) && !found; i++)
        if (known_ones[i].message &&
            memmem(constants, section->sh_size, known_ones[i].message, strlen(known_ones[i].message)))
            found = &known_ones[i];
    free(constants);
    return found;
}

static bool has_symbols(const struct seep_elf_file *elf) {
    for (uint32_t i = 0; i < elf->nr_sections; i++)
        if (elf->sections[i].sh_type == SHT_SYMTAB)
            return true;
    return false;
}

struct seep_error *seep_own_allocator_find(const struct seep_elf_file *elf,
                                           struct seep_own_allocator *ret_own) {
    *ret_own = (struct seep_own_allocator){.kind = SEEP_OWN_NONE};
    if (seep_elf_section(elf, ".gopclntab") || seep_elf_section(elf, ".go.buildinfo")) {
        *ret_own = (struct seep_own_allocator){.kind = SEEP_OWN_GO, .allocator = "Go"};
        return NULL;
    }
    struct seep_error *err = NULL;
    if (exports_malloc(elf, &err) || err)
        return err;
    struct search search = {.named = NULL};
    err = seep_elf_functions(elf, look_at, &search);
    if (err)
        return err;
    if (search.named)
        *ret_own = (struct seep_own_allocator){SEEP_OWN_NAMED, search.named->allocator, search.named->prefix};
    else if (search.malloc_here && search.free_here)
        *ret_own = (struct seep_own_allocator){.kind = SEEP_OWN_MALLOC};
    const struct known *message = has_symbols(elf) || search.named ? NULL : find_message(elf);
    if (message)
        *ret_own = (struct seep_own_allocator){.kind = SEEP_OWN_MESSAGE, .allocator = message->allocator};
    return NULL;
}
