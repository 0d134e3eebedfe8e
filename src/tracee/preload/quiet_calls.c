// SPDX-License-Identifier: BSD-2-Clause
//
// Functions of an allocator that call others of the family by name: musl's calloc calls malloc, a linked
// allocator's realloc calls malloc and free. These calls reach our hooks, which must record nothing, because
// the outer hook records the block. That costs the hooks no instruction: while the real function runs, the
// guard of its thread is set, as in a thread inside a hook.
//
// Relocations tell which functions do so: a module that calls a function by name has a relocation with that
// name. An allocator that finds functions by dlsym has a relocation named dlsym: then each of its functions
// may do so.
#include <elf.h>
#include <stddef.h>

#include "preload/loader_lists.h"
#include "preload/proc_maps.h"
#include "preload/quiet_calls.h"

static struct seep_real inner;

SEEP_NOINLINE struct seep_thread *seep_quiet_begin(uint64_t frame) {
    struct seep_thread *thread = seep_self();
    if (!SEEP_GUARD_IS_IDLE(thread->guard))
        thread = seep_thread_slow(frame);
    if (!thread)
        return NULL;
    SEEP_PUT(thread->guard, frame);
    atomic_signal_fence(memory_order_seq_cst);
    thread->quiet = frame;
    // With these fields set, hooks count without a look at the guard.
    thread->outer.sample_at = thread->sample_at;
    thread->outer.filter = thread->filter;
    thread->outer.called = thread->called;
    thread->sample_at = 0;
    thread->filter = NULL;
    thread->called = NULL;
    return thread;
}

void seep_quiet_recover(struct seep_thread *thread) {
    if (!thread->quiet)
        return;
    thread->quiet = 0;
    thread->sample_at = thread->outer.sample_at;
    thread->filter = thread->outer.filter;
    thread->called = thread->outer.called;
}

SEEP_NOINLINE void seep_quiet_end(struct seep_thread *thread) {
    if (!thread)
        return;
    seep_quiet_recover(thread);
    thread_leave(thread);
}

#define QUIETLY(type, call)                                                                                  \
    do {                                                                                                     \
        struct seep_thread *thread_ = seep_quiet_begin(CPU_FRAME());                                         \
        type result_ = (call);                                                                               \
        seep_quiet_end(thread_);                                                                             \
        return result_;                                                                                      \
    } while (0)

static void *quiet_malloc(size_t size) {
    QUIETLY(void *, inner.malloc(size));
}

static void quiet_free(void *block) {
    struct seep_thread *thread = seep_quiet_begin(CPU_FRAME());
    inner.free(block);
    seep_quiet_end(thread);
}

static void *quiet_calloc(size_t count, size_t size) {
    QUIETLY(void *, inner.calloc(count, size));
}

static void *quiet_realloc(void *block, size_t size) {
    QUIETLY(void *, inner.realloc(block, size));
}

static int quiet_posix_memalign(void **ret_block, size_t alignment, size_t size) {
    QUIETLY(int, inner.posix_memalign(ret_block, alignment, size));
}

static void *quiet_aligned_alloc(size_t alignment, size_t size) {
    QUIETLY(void *, inner.aligned_alloc(alignment, size));
}

static void *quiet_memalign(size_t alignment, size_t size) {
    QUIETLY(void *, inner.memalign(alignment, size));
}

static void *quiet_valloc(size_t size) {
    QUIETLY(void *, inner.valloc(size));
}

static void *quiet_pvalloc(size_t size) {
    QUIETLY(void *, inner.pvalloc(size));
}

#define LIBC_PREFIX "__libc_" // of names of glibc's own, which are hooks, too

#define MEMBER(name) offsetof(struct seep_real, name)

static const struct {
    uint8_t at;
    bool in_musl; // calls other functions in musl
    char name[16];
    void (*quiet)(void);
} functions[] = {
    {MEMBER(malloc), false, "malloc", (void (*)(void))quiet_malloc},
    {MEMBER(free), false, "free", (void (*)(void))quiet_free},
    {MEMBER(calloc), true, "calloc", (void (*)(void))quiet_calloc},
    {MEMBER(realloc), false, "realloc", (void (*)(void))quiet_realloc},
    {MEMBER(posix_memalign), true, "posix_memalign", (void (*)(void))quiet_posix_memalign},
    {MEMBER(aligned_alloc), true, "aligned_alloc", (void (*)(void))quiet_aligned_alloc},
    {MEMBER(memalign), true, "memalign", (void (*)(void))quiet_memalign},
    {MEMBER(valloc), true, "valloc", (void (*)(void))quiet_valloc},
    {MEMBER(pvalloc), false, "pvalloc", (void (*)(void))quiet_pvalloc},
};

static bool is_of_libc(const char *name) {
    return __builtin_strncmp(name, LIBC_PREFIX, sizeof(LIBC_PREFIX) - 1) == 0;
}

static bool is_of_family(const char *name) {
    name += is_of_libc(name) ? sizeof(LIBC_PREFIX) - 1 : 0;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(functions); i++)
        if (__builtin_strcmp(functions[i].name, name) == 0)
            return true;
    return false;
}

// malloc and free are called most, so they are quiet only if the module calls functions that they may be
// built on. jemalloc's operators call malloc, free and aligned_alloc by name; its malloc and free call no
// function by name.
static bool may_make_malloc(const char *name) {
    return is_of_family(name) && __builtin_strcmp(name, "malloc") != 0 &&
           __builtin_strcmp(name, "free") != 0 && __builtin_strcmp(name, "aligned_alloc") != 0;
}

static bool is_libc_family(const char *name) {
    return is_of_libc(name) && is_of_family(name);
}

static bool may_make_free(const char *name) {
    return __builtin_strcmp(name, "realloc") == 0 || is_libc_family(name);
}

static bool is_look_up(const char *name) {
    return __builtin_strcmp(name, "dlsym") == 0;
}

static bool has_defined(const struct link_map *map, const char *name, const void *address) {
    const ElfW(Sym) *symbol = seep_loader_symbol(map, name);
    return symbol && symbol->st_shndx != SHN_UNDEF &&
           (!address || map->l_addr + symbol->st_value == (uintptr_t)address);
}

bool seep_calls_libc(const struct link_map *map) {
    return seep_loader_binds(map, is_libc_family);
}

// Whether any module calls glibc's allocator by names of its own: another module's malloc may be built on it.
static bool libc_is_called(void) {
    for (const struct link_map *map = seep_loader_first(); map; map = map->l_next)
        if (!has_defined(map, "_exit", NULL) && seep_calls_libc(map))
            return true;
    return false;
}

// Whether the module of this function calls functions of the family by name, or may find them by dlsym. The C
// library does not; jemalloc, the module with mallctl, finds other functions by dlsym.
static bool is_in_caller(const char *name, const void *function) {
    const struct link_map *map = seep_loader_first();
    while (map && !has_defined(map, name, function))
        map = map->l_next;
    return map && !has_defined(map, "_exit", NULL) &&
           (seep_loader_binds(map, __builtin_strcmp(name, "malloc") == 0 ? may_make_malloc
                                   : __builtin_strcmp(name, "free") == 0 ? may_make_free
                                                                         : is_of_family) ||
            libc_is_called() || (seep_loader_binds(map, is_look_up) && !has_defined(map, "mallctl", NULL)));
}

// With musl the loader's lists are not known, so an allocator other than musl's may call any of its
// functions.
static bool is_not_of_musl(const void *function) {
    const struct seep_maps_module *libc = seep_maps_module((uintptr_t)inner.exit_now);
    return libc && (uintptr_t)function - libc->start >= libc->end - libc->start &&
           !seep_is_own_code((uintptr_t)function);
}

void seep_quiet_calls(struct seep_real *real) {
    inner = *real;
    bool is_musl = !seep_loader_first();
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(functions); i++) {
        void *place = (unsigned char *)real + functions[i].at, *function;
        __builtin_memcpy(&function, place, sizeof(function));
        if (is_musl ? functions[i].in_musl || is_not_of_musl(function)
                    : is_in_caller(functions[i].name, function))
            __builtin_memcpy(place, &functions[i].quiet, sizeof(function));
    }
}
