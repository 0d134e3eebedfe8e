// SPDX-License-Identifier: BSD-2-Clause
// Loading and unloading of libraries, as far as it changes what we see: code that goes away, and
// libraries whose calls of malloc go past us, which are said.
//
// dlopen and dlmopen look for a library from where their caller lies ($ORIGIN, RUNPATH, its namespace), and
// they know the caller by their return address. So ours end in a jump to the real ones, which see the
// program's call as if we were not there; what becomes of it we cannot know. A library that is named by a
// path is found from anywhere: with RTLD_DEEPBIND it is opened by a call of ours, see deep_bind.h. Proof:
// tests/lint/test_libseep.py, tests/live/test_loading.py.
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "preload/deep_bind.h"
#include "preload/hooks.h"

#if __has_attribute(musttail)
#define MUST_TAIL __attribute__((musttail))
#else
#define MUST_TAIL
#endif

static bool is_recorded(void) {
    return atomic_load_explicit(&seep_g.entry, memory_order_acquire) == SEEP_ENTRY_READY &&
           atomic_load_explicit(seep_g.alive, memory_order_acquire) == 1;
}

// Counts one more; the name is that of the first.
static __attribute__((noinline)) void note_unseen(const char *path, uint32_t *count, uint64_t *name_off) {
    if (is_recorded() && path && __atomic_fetch_add(count, 1, __ATOMIC_RELAXED) == 0)
        *name_off = seep_string(path, __builtin_strlen(path));
}

static void note_deep(const char *path) {
    note_unseen(path, &seep_g.header->nr_deep_bound, &seep_g.header->deep_bound_off);
}

static __attribute__((noinline)) void *open_deep(const char *path, int mode,
                                                 const struct seep_deep_bind *loaded) {
    void *library = seep_g.real.dlopen(path, mode);
    int kept = errno;
    if (library && !seep_deep_bind_end(loaded))
        note_deep(path);
    errno = kept;
    return library;
}

// Code that opens libc by name looks up functions in it, perhaps malloc.
static void note_libc(const char *path) {
    const char *name = path;
    for (; path && *path; path++)
        if (*path == '/')
            name = path + 1;
    seep_g.libc_opened |= name && strncmp(name, "libc.so", 7) == 0;
}

SEEP_EXPORT void *dlopen(const char *path, int mode) {
    if (!seep_g.real.dlopen)
        seep_start(); // or there is no real function yet
    note_libc(path);
#ifdef RTLD_DEEPBIND
    if (mode & RTLD_DEEPBIND && is_recorded()) {
        struct seep_deep_bind loaded;
        if (seep_deep_bind_begin(path, &loaded))
            return open_deep(path, mode, &loaded);
        note_deep(path);
    }
#endif
    MUST_TAIL return seep_g.real.dlopen(path, mode);
}

// musl has none.
SEEP_EXPORT void *dlmopen(long space, const char *path, int mode) {
    if (!seep_g.real.dlmopen)
        seep_start();
    if (!seep_g.real.dlmopen)
        return NULL;
    if (space != 0 /* LM_ID_BASE */ && is_recorded())
        note_unseen(path, &seep_g.header->nr_namespaces, &seep_g.header->namespace_off);
#ifdef RTLD_DEEPBIND
    if (space == 0 && mode & RTLD_DEEPBIND && is_recorded())
        note_deep(path);
#endif
    MUST_TAIL return seep_g.real.dlmopen(space, path, mode);
}

SEEP_EXPORT int dlclose(void *handle) {
    seep_start(); // if nothing has been allocated yet, there is no real dlclose yet
    int result = seep_g.real.dlclose(handle);
    if (seep_operators_closed)
        seep_operators_closed();
    if (result == 0 && is_recorded())
        seep_modules_check();
    return result;
}
