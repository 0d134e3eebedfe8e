// SPDX-License-Identifier: BSD-2-Clause
//
// Finds the functions of an allocator in a file, see allocator_file.h.
//
// operator new throws: a return probe on it would end a program that runs out of memory, so it has none.
// Where it calls malloc it needs none, and its frame becomes the name of the call. Where it does not (the
// allocator brings its own), its nothrow forms are probed and the rest is said not to be covered.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "capture/allocator_file.h"
#include "capture/prologue.h"
#include "image/bpf_events.h"

#define FUNCTION_BYTES_MAX 65536u

struct function {
    const char *name;
    uint8_t kind; // enum seep_probe_kind
    uint8_t via;
    uint8_t shape;
};

static const struct function c_functions[] = {
    {"malloc", SEEP_PROBE_ALLOC, SEEP_VIA_MALLOC, SEEP_BPF_SIZE_1},
    {"calloc", SEEP_PROBE_ALLOC, SEEP_VIA_CALLOC, SEEP_BPF_PRODUCT},
    {"realloc", SEEP_PROBE_ALLOC, SEEP_VIA_REALLOC, SEEP_BPF_REALLOC},
    {"reallocarray", SEEP_PROBE_ALLOC, SEEP_VIA_REALLOCARRAY, SEEP_BPF_REALLOC_PRODUCT},
    {"posix_memalign", SEEP_PROBE_ALLOC, SEEP_VIA_POSIX_MEMALIGN, SEEP_BPF_OUT},
    {"aligned_alloc", SEEP_PROBE_ALLOC, SEEP_VIA_ALIGNED_ALLOC, SEEP_BPF_SIZE_2},
    {"memalign", SEEP_PROBE_ALLOC, SEEP_VIA_MEMALIGN, SEEP_BPF_SIZE_2},
    {"valloc", SEEP_PROBE_ALLOC, SEEP_VIA_VALLOC, SEEP_BPF_SIZE_1},
    {"pvalloc", SEEP_PROBE_ALLOC, SEEP_VIA_PVALLOC, SEEP_BPF_SIZE_1},
    {"free", SEEP_PROBE_FREE, SEEP_RELEASE_FREE, 0},
    {"cfree", SEEP_PROBE_FREE, SEEP_RELEASE_FREE, 0},
    {"free_sized", SEEP_PROBE_FREE, SEEP_RELEASE_FREE, 0},
    {"free_aligned_sized", SEEP_PROBE_FREE, SEEP_RELEASE_FREE, 0},
};

// Of an allocator that has operators of its own.
static const struct function operators[] = {
    {"_ZnwmRKSt9nothrow_t", SEEP_PROBE_ALLOC, SEEP_VIA_NEW, SEEP_BPF_SIZE_1},
    {"_ZnamRKSt9nothrow_t", SEEP_PROBE_ALLOC, SEEP_VIA_NEW_ARRAY, SEEP_BPF_SIZE_1},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", SEEP_PROBE_ALLOC, SEEP_VIA_NEW, SEEP_BPF_SIZE_1},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", SEEP_PROBE_ALLOC, SEEP_VIA_NEW_ARRAY, SEEP_BPF_SIZE_1},
    {"_ZdlPv", SEEP_PROBE_FREE, SEEP_RELEASE_DELETE, 0},
    {"_ZdaPv", SEEP_PROBE_FREE, SEEP_RELEASE_DELETE_ARRAY, 0},
    {"_ZdlPvm", SEEP_PROBE_FREE, SEEP_RELEASE_DELETE, 0},
    {"_ZdaPvm", SEEP_PROBE_FREE, SEEP_RELEASE_DELETE_ARRAY, 0},
    {"_ZdlPvRKSt9nothrow_t", SEEP_PROBE_FREE, SEEP_RELEASE_DELETE, 0},
    {"_ZdaPvRKSt9nothrow_t", SEEP_PROBE_FREE, SEEP_RELEASE_DELETE_ARRAY, 0},
    {"_ZdlPvSt11align_val_t", SEEP_PROBE_FREE, SEEP_RELEASE_DELETE, 0},
    {"_ZdaPvSt11align_val_t", SEEP_PROBE_FREE, SEEP_RELEASE_DELETE_ARRAY, 0},
    {"_ZdlPvmSt11align_val_t", SEEP_PROBE_FREE, SEEP_RELEASE_DELETE, 0},
    {"_ZdaPvmSt11align_val_t", SEEP_PROBE_FREE, SEEP_RELEASE_DELETE_ARRAY, 0},
};

static const struct function loader = {"_dl_debug_state", SEEP_PROBE_MODULES, 0, 0};

struct found {
    const struct function *function;
    uint64_t address;
    uint64_t nr_bytes;
};

struct search {
    const char *prefix;
    size_t prefix_bytes;
    struct seep_allocator_file *file;
    struct found *found;
    size_t nr_found;
    size_t capacity;
    bool out_of_memory;
};

static const struct function *known(const struct function *table, size_t nr, const char *name) {
    for (size_t i = 0; i < nr; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

static void add_operator(struct search *search, const char *name, uint64_t address, uint64_t nr_bytes) {
    struct seep_allocator_file *file = search->file;
    if (!seep_grow(&file->operators, &file->operators_capacity, file->nr_operators + 1,
                   sizeof(*file->operators))) {
        search->out_of_memory = true;
        return;
    }
    file->operators[file->nr_operators++] = (struct seep_traced_operator){
        address, address + nr_bytes, name[3] == 'a' ? SEEP_VIA_NEW_ARRAY : SEEP_VIA_NEW};
}

static bool look_at(void *context, const char *name, uint64_t address, uint64_t nr_bytes) {
    struct search *search = context;
    const struct function *function = NULL;
    if (strncmp(name, "_Znwm", 5) == 0 || strncmp(name, "_Znam", 5) == 0)
        add_operator(search, name, address, nr_bytes);
    if (strcmp(name, loader.name) == 0)
        function = &loader;
    else if (strncmp(name, search->prefix, search->prefix_bytes) == 0)
        function = known(c_functions, SEEP_ARRAY_SIZE(c_functions), name + search->prefix_bytes);
    if (!function)
        function = known(operators, SEEP_ARRAY_SIZE(operators), name);
    if (!function)
        return !search->out_of_memory;
    if (!seep_grow(&search->found, &search->capacity, search->nr_found + 1, sizeof(*search->found))) {
        search->out_of_memory = true;
        return false;
    }
    search->found[search->nr_found++] = (struct found){function, address, nr_bytes};
    search->file->has_malloc |= function == &c_functions[0];
    return true;
}

static struct seep_error *add_place(const struct seep_elf_file *elf, const struct found *found,
                                    struct seep_probe_places *places) {
    uint64_t file_off;
    if (!seep_elf_file_off(elf, found->address, &file_off) || file_off >= elf->file_bytes)
        return NULL;
    uint64_t nr_bytes = SEEP_MIN(found->nr_bytes, (uint64_t)FUNCTION_BYTES_MAX);
    unsigned char *code = malloc(nr_bytes + 1);
    if (!code)
        return seep_error_no_memory();
    if (seep_elf_read(elf, file_off, code, nr_bytes))
        file_off += seep_prologue_site(code, nr_bytes);
    free(code);
    for (size_t i = 0; i < places->nr; i++)
        if (places->offsets[i] == file_off)
            return NULL;
    if (!seep_grow(&places->offsets, &places->offsets_capacity, places->nr + 1, sizeof(*places->offsets)) ||
        !seep_grow(&places->cookies, &places->cookies_capacity, places->nr + 1, sizeof(*places->cookies)))
        return seep_error_no_memory();
    places->offsets[places->nr] = file_off;
    places->cookies[places->nr++] = SEEP_BPF_COOKIE(found->function->via, found->function->shape);
    return NULL;
}

static bool is_operator(const struct function *function) {
    return function >= operators && function < operators + SEEP_ARRAY_SIZE(operators);
}

// Whether the code in [start, end) calls or jumps to one of the allocator's functions in C: any bytes that
// read so.
static bool calls_c_function(const struct seep_elf_file *elf, const struct search *search, uint64_t start,
                             uint64_t end) {
    uint64_t file_off, nr_bytes = SEEP_MIN(end - start, (uint64_t)FUNCTION_BYTES_MAX);
    unsigned char *code = seep_elf_file_off(elf, start, &file_off) ? malloc(nr_bytes + 1) : NULL;
    bool calls = false;
    if (code && !seep_elf_read(elf, file_off, code, nr_bytes))
        nr_bytes = 0;
    for (uint64_t at = 0; code && at + 5 <= nr_bytes && !calls; at++) {
        int32_t distance;
        memcpy(&distance, code + at + 1, sizeof(distance));
        uint64_t target = start + at + 5 + (uint64_t)(int64_t)distance;
        for (size_t i = 0; (code[at] == 0xe8 || code[at] == 0xe9) && i < search->nr_found; i++)
            calls |= !is_operator(search->found[i].function) && search->found[i].address == target;
    }
    free(code);
    return calls;
}

// A static program has the operators of libstdc++, which call malloc, beside that malloc; an allocator
// library has its own, which do not.
static bool has_own_operators(const struct seep_elf_file *elf, const struct search *search) {
    for (size_t i = 0; i < search->file->nr_operators; i++)
        if (calls_c_function(elf, search, search->file->operators[i].start, search->file->operators[i].end))
            return false;
    return search->file->has_malloc && search->file->nr_operators;
}

struct seep_error *seep_allocator_file_init(const struct seep_elf_file *elf, const char *prefix,
                                            struct seep_allocator_file *ret_file) {
    struct seep_allocator_file file = {.has_malloc = false};
    struct search search = {.prefix = prefix ? prefix : "", .file = &file};
    search.prefix_bytes = strlen(search.prefix);
    struct seep_error *err = seep_elf_functions(elf, look_at, &search);
    if (!err && search.out_of_memory)
        err = seep_error_no_memory();
    file.throws_uncovered = !err && has_own_operators(elf, &search);
    for (size_t i = 0; i < search.nr_found && !err; i++) {
        const struct found *found = &search.found[i];
        bool wanted = found->function == &loader || file.has_malloc;
        if (is_operator(found->function))
            wanted = file.throws_uncovered;
        if (wanted)
            err = add_place(elf, found, &file.places[found->function->kind]);
    }
    free(search.found);
    if (err) {
        seep_allocator_file_deinit(&file);
        return err;
    }
    *ret_file = file;
    return NULL;
}

void seep_allocator_file_deinit(struct seep_allocator_file *file) {
    for (size_t i = 0; i < SEEP_PROBE_NR; i++) {
        free(file->places[i].offsets);
        free(file->places[i].cookies);
    }
    free(file->operators);
    *file = (struct seep_allocator_file){.has_malloc = false};
}
