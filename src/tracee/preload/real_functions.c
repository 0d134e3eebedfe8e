// SPDX-License-Identifier: BSD-2-Clause
//
// The functions that the hooks stand in front of. Runs once, when the library starts.
// Invariant: until all are found, those of the boot allocator are called.
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "preload/boot_allocator.h"
#include "preload/loader_lists.h"

#include "preload/preload.h"
#include "preload/proc_maps.h"
#include "preload/quiet_calls.h"
#include "preload/settings.h"

// Functions of glibc that musl lacks: the library is built for glibc and runs with both.
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso)
    __attribute__((weak));

static void *next(const char *name) {
    return seep_loader_dlsym(RTLD_NEXT, name);
}

// Functions of LeakSanitizer, not ours; NULL except in a program built with it.
extern void __lsan_do_leak_check(void) __attribute__((weak));

// SEEP_ALLOCATOR, for the library alone: `seep run --allocator` preloads the allocator instead, which is
// found by RTLD_NEXT. The allocator gets no namespace of its own, because it shares libc's threads with the
// program.
static void *chosen_allocator(void) {
    static const char *const known[][2] = {
        {"glibc", "libc.so.6"},
        {"jemalloc", "libjemalloc.so.2"},
        {"mimalloc", "libmimalloc.so.3"},
        {"mimalloc", "libmimalloc.so.2"},
        {"mimalloc", "libmimalloc.so.2.0"},
        {"tcmalloc", "libtcmalloc_minimal.so.4"},
        {"tcmalloc", "libtcmalloc.so.4"},
    };
    const char *name = seep_setting("SEEP_ALLOCATOR");
    if (!name || !*name || __builtin_strcmp(name, "next") == 0)
        return NULL;
    void *library = NULL;
    bool is_known = false;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(known) && !library; i++) {
        if (__builtin_strcmp(name, known[i][0]) != 0)
            continue;
        is_known = true;
        library = seep_g.real.dlopen(known[i][1], RTLD_NOW | RTLD_LOCAL);
    }
    if (!is_known)
        library = seep_g.real.dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library && seep_loader_dlsym(library, "malloc") && seep_loader_dlsym(library, "free"))
        return library;
    seep_setting_complain(
        "SEEP_ALLOCATOR",
        "an allocator that can be loaded late is wanted; any other: LD_PRELOAD=libseep.so:ALLOCATOR");
    return NULL;
}

// The module that defines `function`; NULL: none. Valid until the mappings are read again.
static const char *module_name_of(const void *function) {
    struct seep_loader_object object;
    if (function && seep_g.find_object && seep_g.find_object((void *)(uintptr_t)function, &object) == 0 &&
        object.link_map && *object.link_map->l_name)
        return object.link_map->l_name;
    const struct seep_maps_module *module = function ? seep_maps_module((uintptr_t)function) : NULL;
    return module ? module->path : NULL;
}

bool seep_path_contains(const char *path, const char *word) {
    if (!path)
        return false;
    for (; *path; path++) {
        size_t i = 0;
        while (word[i] && path[i] == word[i])
            i++;
        if (!word[i])
            return true;
    }
    return false;
}

// If a program with fixed addresses takes the address of a library's function, musl's look-ups give the
// address of the program's own jump to it. The library's lock is not needed yet.
static bool may_be_jump(const void *function) {
    const struct seep_maps_module *module =
        seep_loader_first() ? NULL : seep_maps_module((uintptr_t)function);
    return module && ((const ElfW(Ehdr) *)module->start)->e_type == ET_EXEC; // its own malloc may be one
}

// The module whose malloc the program calls instead of ours; NULL: ours is the first. The address of our
// malloc does not tell, because the loader fills in that of the other one.
static const char *preempting_module(void) {
    static char kept[sizeof(((struct seep_maps_module *)0)->path)];
    const void *first = seep_loader_in_front("malloc");
    if (!first || may_be_jump(first))
        return NULL;
    const char *name = module_name_of(first);
    for (size_t i = 0; name && name[i] && i < sizeof(kept) - 1; i++)
        kept[i] = name[i];
    return kept;
}

// Calls that only we define (reallocarray, operator new) must reach it as well, because the program frees its
// blocks there, whether it is an allocator or hands calls on to us.
static void find_front(void) {
    seep_g.preempted_by = preempting_module();
    if (!seep_g.preempted_by)
        return;
    void *functions[] = {seep_loader_dlsym(RTLD_DEFAULT, "realloc"), seep_loader_dlsym(RTLD_DEFAULT, "free")};
    if (!functions[0] || !functions[1])
        return;
    __builtin_memcpy(&seep_g.front_realloc, &functions[0], sizeof(functions[0]));
    __builtin_memcpy(&seep_g.front_free, &functions[1], sizeof(functions[1]));
}

// First, because the look-ups of the others open libraries, too.
static void find_loader(void) {
    void *functions[] = {next("dlopen"), next("dlmopen")};
    __builtin_memcpy(&seep_g.real.dlopen, &functions[0], sizeof(functions[0]));
    __builtin_memcpy(&seep_g.real.dlmopen, &functions[1], sizeof(functions[1]));
}

#ifdef SEEP_NARROW_LIBC
#define NARROW_FUNCTIONS(X)                                                                                  \
    X(mmap64, "mmap64")                                                                                      \
    X(setrlimit64, "setrlimit64")                                                                            \
    X(prlimit64, "prlimit64")
#else
#define NARROW_FUNCTIONS(X)
#endif
#if SEEP_ARCH_WORD == 8
#define WIDE_FUNCTIONS(X) X(madvise, "madvise")
#else
#define WIDE_FUNCTIONS(X)
#endif

// The real functions: those of the allocator first, those of LeakSanitizer last.
#define REAL_FUNCTIONS(X)                                                                                    \
    X(malloc, "malloc")                                                                                      \
    X(free, "free")                                                                                          \
    X(calloc, "calloc")                                                                                      \
    X(realloc, "realloc")                                                                                    \
    X(posix_memalign, "posix_memalign")                                                                      \
    X(aligned_alloc, "aligned_alloc")                                                                        \
    X(memalign, "memalign")                                                                                  \
    X(valloc, "valloc")                                                                                      \
    X(pvalloc, "pvalloc")                                                                                    \
    X(usable_size, "malloc_usable_size")                                                                     \
    X(libc.malloc, "__libc_malloc")                                                                          \
    X(libc.free, "__libc_free")                                                                              \
    X(libc.calloc, "__libc_calloc")                                                                          \
    X(libc.realloc, "__libc_realloc")                                                                        \
    X(libc.memalign, "__libc_memalign")                                                                      \
    X(libc.valloc, "__libc_valloc")                                                                          \
    X(libc.pvalloc, "__libc_pvalloc")                                                                        \
    X(dlclose, "dlclose")                                                                                    \
    X(exit_now, "_exit")                                                                                     \
    X(exit, "exit")                                                                                          \
    X(quick_exit, "quick_exit")                                                                              \
    X(abort, "abort")                                                                                        \
    X(execv, "execv")                                                                                        \
    X(execve, "execve")                                                                                      \
    X(execvp, "execvp")                                                                                      \
    X(execvpe, "execvpe")                                                                                    \
    X(fexecve, "fexecve")                                                                                    \
    X(execveat, "execveat")                                                                                  \
    X(posix_spawn, "posix_spawn")                                                                            \
    X(posix_spawnp, "posix_spawnp")                                                                          \
    X(mmap, "mmap")                                                                                          \
    NARROW_FUNCTIONS(X)                                                                                      \
    WIDE_FUNCTIONS(X)                                                                                        \
    X(munmap, "munmap")                                                                                      \
    X(mprotect, "mprotect")                                                                                  \
    X(mremap, "mremap")                                                                                      \
    X(brk, "brk")                                                                                            \
    X(sbrk, "sbrk")                                                                                          \
    X(setrlimit, "setrlimit")                                                                                \
    X(prlimit, "prlimit")                                                                                    \
    X(mlockall, "mlockall")                                                                                  \
    X(sigaltstack, "sigaltstack")                                                                            \
    X(prctl, "prctl")                                                                                        \
    X(syscall, "syscall")                                                                                    \
    X(lsan.disable, "__lsan_disable")                                                                        \
    X(lsan.enable, "__lsan_enable")                                                                          \
    X(lsan.ignore_object, "__lsan_ignore_object")                                                            \
    X(lsan.root_add, "__lsan_register_root_region")                                                          \
    X(lsan.root_remove, "__lsan_unregister_root_region")
#define OFFSET_OF(member, name) offsetof(struct seep_real, member) / sizeof(void *),
#define NAME_OF(member, name)   name "\0"
enum { NR_OF_ALLOCATOR = 10, NR_OF_LSAN = 5 };

static void find_all(struct seep_real *real, void *chosen) {
    static const uint8_t offsets[] = {REAL_FUNCTIONS(OFFSET_OF)};
    const char *name = REAL_FUNCTIONS(NAME_OF);
    // A look-up that can fail is not possible here: the loader would allocate a message by another malloc,
    // which may precede ours and be in the middle of its own start. A later look-up is not possible either,
    // because LeakSanitizer calls these from within dlsym.
    size_t nr = SEEP_ARRAY_SIZE(offsets) - (__lsan_do_leak_check ? 0 : NR_OF_LSAN);
    for (size_t i = 0; i < nr; i++, name += __builtin_strlen(name) + 1) {
        void *function = chosen && i < NR_OF_ALLOCATOR ? seep_loader_dlsym(chosen, name) : next(name);
        if (function)
            __builtin_memcpy((void **)real + offsets[i], &function, sizeof(function));
    }
    // Names of glibc's own lead to the chosen allocator, too, so that its free gets none of glibc's blocks.
    // One that is built on them needs glibc's. The handle is the module's link_map. Source: glibc,
    // dlfcn/dlopen.c.
    if (chosen && real->libc.malloc && !seep_calls_libc(chosen))
        __builtin_memset(&real->libc, 0, sizeof(real->libc));
}

void seep_real_find(void) {
    struct seep_real *real = &seep_g.real;
    // malloc last: while any of these look-ups allocates, malloc must still be the boot allocator's,
    // and free must cope with both.
    void *find_object = seep_loader_find("_dl_find_object");
    __builtin_memcpy(&seep_g.find_object, &find_object, sizeof(find_object));
    find_loader();
    struct seep_real found = *real;
    void *chosen = chosen_allocator();
    find_front();
    find_all(&found, chosen);
    void *real_malloc;
    __builtin_memcpy(&real_malloc, &found.malloc, sizeof(real_malloc));
    const char *allocator = module_name_of(real_malloc);
    // glibc's blocks are at least 32 bytes apart (MINSIZE on 64-bit); of others we know 8.
    seep_g.granule_shift =
        seep_path_contains(allocator, "/libc.so.6") || seep_path_contains(allocator, "/libc-2.")
            ? SEEP_SUB_GRANULE_SHIFT
            : SEEP_SUB_GRANULE_SHIFT - 1;
    seep_g.sub_mask = seep_g.granule_shift == SEEP_SUB_GRANULE_SHIFT;
    void *operator_new = next(SEEP_CXX_NEW);
    void *operator_delete = next("_ZdlPv");
    const char *of_new = module_name_of(operator_new);
    const char *of_delete = module_name_of(operator_delete);
    seep_g.new_is_malloc =
        !operator_new || seep_path_contains(of_new, "libstdc++") || seep_path_contains(of_new, "libc++");
    seep_g.delete_is_free = !operator_delete || seep_path_contains(of_delete, "libstdc++") ||
                            seep_path_contains(of_delete, "libc++");
    if (seep_g.front_free) // its operators are called, and call the malloc and free of the program
        seep_g.new_is_malloc = seep_g.delete_is_free = false;
    seep_g.operators_replaced = seep_operators_replaced && seep_operators_replaced(allocator);
    if (seep_g.operators_replaced)
        seep_g.new_is_malloc = seep_g.delete_is_free = false;
    seep_g.found_malloc = real_malloc;
    if (found.malloc != seep_boot_malloc)
        seep_quiet_calls(&found);
    // The program's first dlerror() must not report a failure from above. A successful look-up clears it.
    // dlerror() itself would translate the message under the lock of the locale. Our caller may hold that
    // lock: newlocale() calls malloc with it, and would find it released. Source: glibc, dlfcn/dlerror.c
    // (_dlerror_run) and locale/newlocale.c.
    next("malloc");
    *real = found;
}
