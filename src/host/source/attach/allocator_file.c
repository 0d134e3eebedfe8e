// SPDX-License-Identifier: BSD-2-Clause
//
// Finds the functions of an allocator in a file, see allocator_file.h.
//
// operator new throws: a return probe on it would end a program that runs out of memory, so it has none.
// Where it calls malloc it needs none, and its frame becomes the name of the call. Where it does not (the
// allocator brings its own), its nothrow forms are probed as malloc is, and those that throw at the entry and
// where they return to (attach_landings.c).
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "source/attach/allocator_file.h"
#include "source/attach/prologue.h"
#include "image/bpf_events.h"

#define FUNCTION_BYTES_MAX 65536u
#define FOUND_MAX          256u // functions of an allocator, in all versions that a file may have of them
#define OPERATORS_MAX      4096u

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
    {"mmap", SEEP_PROBE_ALLOC, SEEP_VIA_MMAP, SEEP_BPF_MMAP},
    {"mmap64", SEEP_PROBE_ALLOC, SEEP_VIA_MMAP, SEEP_BPF_MMAP},
    {"mremap", SEEP_PROBE_ALLOC, SEEP_VIA_MREMAP, SEEP_BPF_MREMAP},
    {"brk", SEEP_PROBE_ALLOC, SEEP_VIA_BRK, SEEP_BPF_BRK},
    {"sbrk", SEEP_PROBE_ALLOC, SEEP_VIA_SBRK, SEEP_BPF_BRK},
    {"munmap", SEEP_PROBE_FREE, 0, SEEP_BPF_MUNMAP},
    {"free", SEEP_PROBE_FREE, SEEP_RELEASE_FREE, 0},
    {"cfree", SEEP_PROBE_FREE, SEEP_RELEASE_FREE, 0},
    {"free_sized", SEEP_PROBE_FREE, SEEP_RELEASE_FREE, 0},
    {"free_aligned_sized", SEEP_PROBE_FREE, SEEP_RELEASE_FREE, 0},
    // Source: jemalloc(3), under "Non-standard API". A prefix stands before these names as well.
    {"mallocx", SEEP_PROBE_ALLOC, SEEP_VIA_MALLOC, SEEP_BPF_SIZE_1},
    {"rallocx", SEEP_PROBE_ALLOC, SEEP_VIA_REALLOC, SEEP_BPF_REALLOC},
    {"dallocx", SEEP_PROBE_FREE, SEEP_RELEASE_FREE, 0},
    {"sdallocx", SEEP_PROBE_FREE, SEEP_RELEASE_FREE, 0},
};

// Of mimalloc beside those, behind "mi_", which is the prefix or its end. Source: mimalloc.h. Those that take
// a heap are left out: mi_heap_destroy frees the blocks of a heap without a call for each, so they would stay
// live.
static const struct function mimalloc_functions[] = {
    {"zalloc", SEEP_PROBE_ALLOC, SEEP_VIA_CALLOC, SEEP_BPF_SIZE_1},
    {"malloc_small", SEEP_PROBE_ALLOC, SEEP_VIA_MALLOC, SEEP_BPF_SIZE_1},
    {"zalloc_small", SEEP_PROBE_ALLOC, SEEP_VIA_CALLOC, SEEP_BPF_SIZE_1},
    {"mallocn", SEEP_PROBE_ALLOC, SEEP_VIA_MALLOC, SEEP_BPF_PRODUCT},
    {"reallocn", SEEP_PROBE_ALLOC, SEEP_VIA_REALLOC, SEEP_BPF_REALLOC_PRODUCT},
    {"rezalloc", SEEP_PROBE_ALLOC, SEEP_VIA_REALLOC, SEEP_BPF_REALLOC},
    {"recalloc", SEEP_PROBE_ALLOC, SEEP_VIA_REALLOCARRAY, SEEP_BPF_REALLOC_PRODUCT},
    {"malloc_aligned", SEEP_PROBE_ALLOC, SEEP_VIA_ALIGNED_ALLOC, SEEP_BPF_SIZE_1},
    {"zalloc_aligned", SEEP_PROBE_ALLOC, SEEP_VIA_ALIGNED_ALLOC, SEEP_BPF_SIZE_1},
    {"calloc_aligned", SEEP_PROBE_ALLOC, SEEP_VIA_ALIGNED_ALLOC, SEEP_BPF_PRODUCT},
    {"realloc_aligned", SEEP_PROBE_ALLOC, SEEP_VIA_REALLOC, SEEP_BPF_REALLOC},
    {"free_size", SEEP_PROBE_FREE, SEEP_RELEASE_FREE, 0},
    {"free_aligned", SEEP_PROBE_FREE, SEEP_RELEASE_FREE, 0},
    {"free_size_aligned", SEEP_PROBE_FREE, SEEP_RELEASE_FREE, 0},
};

// Of an allocator that has operators of its own.
static const struct function operators[] = {
    {"_Znwm", SEEP_PROBE_NEW, SEEP_VIA_NEW, SEEP_BPF_SIZE_1},
    {"_Znam", SEEP_PROBE_NEW, SEEP_VIA_NEW_ARRAY, SEEP_BPF_SIZE_1},
    {"_ZnwmSt11align_val_t", SEEP_PROBE_NEW, SEEP_VIA_NEW, SEEP_BPF_SIZE_1},
    {"_ZnamSt11align_val_t", SEEP_PROBE_NEW, SEEP_VIA_NEW_ARRAY, SEEP_BPF_SIZE_1},
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
    bool is_glibc;
    bool out_of_memory;
};

static const struct function *known(const struct function *table, size_t nr, const char *name) {
    for (size_t i = 0; i < nr; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

static void add_code(struct search *search, uint32_t via, uint64_t address, uint64_t nr_bytes) {
    struct seep_allocator_file *file = search->file;
    if (file->nr_operators == OPERATORS_MAX)
        return;
    if (!seep_grow(&file->operators, &file->operators_capacity, file->nr_operators + 1,
                   sizeof(*file->operators))) {
        search->out_of_memory = true;
        return;
    }
    file->operators[file->nr_operators++] =
        (struct seep_heap_operator){address, address + nr_bytes, via, via == SEEP_VIA_NONE};
}

static bool is_c_function(const struct function *function) {
    return (function >= c_functions && function < c_functions + SEEP_ARRAY_SIZE(c_functions)) ||
           (function >= mimalloc_functions &&
            function < mimalloc_functions + SEEP_ARRAY_SIZE(mimalloc_functions));
}

static const struct function *known_behind_prefix(const struct search *search, const char *name) {
    static const char mi[] = "mi_";
    size_t length = strlen(mi);
    if (strncmp(name, search->prefix, search->prefix_bytes) != 0)
        return NULL;
    const char *rest = name + search->prefix_bytes;
    const struct function *function = known(c_functions, SEEP_ARRAY_SIZE(c_functions), rest);
    bool is_mi = search->prefix_bytes >= length && strncmp(rest - length, mi, length) == 0;
    if (!search->prefix_bytes && strncmp(name, mi, length) == 0) {
        is_mi = true;
        rest += length;
    }
    return function || !is_mi ? function
                              : known(mimalloc_functions, SEEP_ARRAY_SIZE(mimalloc_functions), rest);
}

static bool look_at(void *context, const char *name, uint64_t address, uint64_t nr_bytes) {
    struct search *search = context;
    const struct function *function = NULL;
    search->is_glibc |= strcmp(name, "gnu_get_libc_version") == 0;
    if (strncmp(name, "_Znwm", 5) == 0 || strncmp(name, "_Znam", 5) == 0)
        add_code(search, name[3] == 'a' ? SEEP_VIA_NEW_ARRAY : SEEP_VIA_NEW, address, nr_bytes);
    if (strcmp(name, loader.name) == 0)
        function = &loader;
    else
        function = known_behind_prefix(search, name);
    if (!function)
        function = known(operators, SEEP_ARRAY_SIZE(operators), name);
    if (!function || search->nr_found == FOUND_MAX)
        return !search->out_of_memory;
    if (!seep_grow(&search->found, &search->capacity, search->nr_found + 1, sizeof(*search->found))) {
        search->out_of_memory = true;
        return false;
    }
    if (is_c_function(function) && function->shape < SEEP_BPF_MMAP)
        add_code(search, SEEP_VIA_NONE, address, nr_bytes);
    search->found[search->nr_found++] = (struct found){function, address, nr_bytes};
    search->file->has_malloc |= function == &c_functions[0];
    return true;
}

static bool is_shared_glibc(const struct seep_elf_file *elf, const struct search *search) {
    return search->is_glibc && seep_elf_section(elf, ".gnu.version_d");
}

static struct seep_error *add_place(const struct seep_elf_file *elf, const struct search *search,
                                    const struct found *found, struct seep_probe_places *places) {
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
    uint32_t shape = found->function->shape;
    if (strcmp(found->function->name, "free") == 0 && is_shared_glibc(elf, search))
        shape = SEEP_BPF_FREE_OF_GLIBC;
    places->cookies[places->nr++] = SEEP_BPF_COOKIE(found->function->via, shape);
    return NULL;
}

static bool is_operator(const struct function *function) {
    return function >= operators && function < operators + SEEP_ARRAY_SIZE(operators);
}

// Allocates from it, or frees to it: calls of the same kind may be made within one another.
static bool is_of_kind(const struct function *function, bool frees) {
    return function->shape < SEEP_BPF_MMAP && function->kind != SEEP_PROBE_MODULES &&
           (function->kind == SEEP_PROBE_FREE) == frees;
}

// Whether the operator calls or jumps to another function that is probed for the same: any bytes that read
// so. Then nothing is to be done for it. Those of libstdc++ in a static program do, and some of an
// allocator's own.
static bool calls_another(const struct seep_elf_file *elf, const struct search *search,
                          const struct found *operator) {
    bool frees = operator->function->kind == SEEP_PROBE_FREE;
    uint64_t file_off, nr_bytes = SEEP_MIN(operator->nr_bytes, (uint64_t)FUNCTION_BYTES_MAX);
    unsigned char *code = seep_elf_file_off(elf, operator->address, &file_off) ? malloc(nr_bytes + 1) : NULL;
    bool calls = false;
    if (code && !seep_elf_read(elf, file_off, code, nr_bytes))
        nr_bytes = 0;
    for (uint64_t at = 0; code && at + 5 <= nr_bytes && !calls; at++) {
        int32_t distance;
        if (code[at] != 0xe8 && code[at] != 0xe9)
            continue;
        memcpy(&distance, code + at + 1, sizeof(distance));
        uint64_t target = operator->address + at + 5 +(uint64_t)(int64_t) distance;
        for (size_t i = 0; i < search->nr_found; i++)
            calls |= search->found[i].address == target &&
                     target != operator->address && is_of_kind(search->found[i].function, frees);
    }
    free(code);
    return calls;
}

static bool is_program(const struct seep_elf_file *elf) {
    for (uint32_t i = 0; i < elf->nr_segments; i++)
        if (elf->segments[i].p_type == PT_INTERP)
            return true;
    return elf->header.e_type == ET_EXEC;
}

struct seep_error *seep_allocator_file_init(const struct seep_elf_file *elf, const char *prefix,
                                            struct seep_allocator_file *ret_file) {
    struct seep_allocator_file file = {.has_malloc = false};
    struct search search = {.prefix = prefix ? prefix : "", .file = &file};
    search.prefix_bytes = strlen(search.prefix);
    struct seep_error *err = seep_elf_functions(elf, look_at, &search);
    if (!err && search.out_of_memory)
        err = seep_error_no_memory();
    for (size_t i = 0; i < file.nr_operators; i++)
        file.operators[i].is_heap |= file.has_malloc;
    for (size_t i = 0; i < search.nr_found && !err; i++) {
        const struct found *found = &search.found[i];
        bool wanted = found->function == &loader || file.has_malloc;
        if (wanted && is_operator(found->function))
            wanted = !calls_another(elf, &search, found);
        file.throws_itself |= wanted && found->function->kind == SEEP_PROBE_NEW;
        if (wanted)
            err = add_place(elf, &search, found, &file.places[found->function->kind]);
    }
    // A library that is nothing but an allocator: all of it, its inner functions have no names.
    if (!err && file.throws_itself && !is_program(elf)) {
        add_code(&search, SEEP_VIA_NONE, 0, UINT64_MAX);
        err = search.out_of_memory ? seep_error_no_memory() : NULL;
    }
    free(search.found);
    if (!err)
        err = seep_allocator_file_add_otel(elf, &file);
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
        free(file->places[i].semaphores);
    }
    free(file->operators);
    free(file->usdt);
    free(file->otel_refused);
    *file = (struct seep_allocator_file){.has_malloc = false};
}
