// SPDX-License-Identifier: BSD-2-Clause
//
// The witness: a second, very plain interposer that counts allocations and frees by the definition
// in the manual ("What counts"), loaded *behind* libseep.so (LD_PRELOAD=libseep.so:libcountshim.so)
// so that both see the same calls. It shares no code with seep and knows no stacks.
//
// The counters live in one page that is a shared mapping of the file $COUNT_SHIM_OUT.<pid>.<n>, so
// they are complete to the last call whatever way the process ends; n is the first that is free, so
// an exec makes a new file. Calls before the constructor are counted in the page before it is
// mapped. A fork child gets a page of its own that starts with the parent's figures, and keeps a
// copy of them as "inherited". It defines no operator new: those call malloc of the next library.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096
#define API  __attribute__((visibility("default")))

enum { BY_MALLOC, BY_CALLOC, BY_REALLOC, BY_REALLOCARRAY, BY_MEMALIGN, BY_NR };

// The reader is read_witness() in harness.py: keep the two in step.
struct figures {
    _Atomic uint64_t allocations, bytes, frees, failed;
    _Atomic uint64_t by[BY_NR];
};
struct page {
    uint64_t magic, pid;
    struct figures now, inherited;
    char exe[512];
};
static union {
    struct page page;
    char bytes[PAGE];
} shared __attribute__((aligned(PAGE)));
static struct figures at_fork; // written in the fork parent by one thread at a time (libc's fork lock)

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_memalign)(size_t, size_t);
static int (*next_posix_memalign)(void **, size_t, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);
static void *(*next_valloc)(size_t);
static void *(*next_pvalloc)(size_t);
static void (*next_free)(void *);

// Serves calls made while dlsym looks for the next functions; 16 bytes of size go before a block.
static char boot[16384] __attribute__((aligned(16)));
static _Atomic size_t boot_used;
static _Atomic int resolving;

static int is_boot(const void *p) {
    return (const char *)p >= boot && (const char *)p < boot + sizeof(boot);
}

static void *boot_alloc(size_t size) {
    if (size > sizeof(boot))
        return NULL;
    size_t need = (size + 31) & ~(size_t)15, at = atomic_fetch_add(&boot_used, need);
    if (at + need > sizeof(boot))
        return NULL;
    memcpy(boot + at, &size, sizeof(size));
    return boot + at + 16;
}

// Returns 0 while the next functions are not known and the boot buffer must serve.
static int ready(void) {
    if (__builtin_expect(next_free != NULL, 1))
        return 1;
    if (atomic_exchange(&resolving, 1))
        return 0;
    next_malloc = dlsym(RTLD_NEXT, "malloc");
    next_calloc = dlsym(RTLD_NEXT, "calloc");
    next_realloc = dlsym(RTLD_NEXT, "realloc");
    next_memalign = dlsym(RTLD_NEXT, "memalign");
    next_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
    next_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
    next_valloc = dlsym(RTLD_NEXT, "valloc");
    next_pvalloc = dlsym(RTLD_NEXT, "pvalloc");
    next_free = dlsym(RTLD_NEXT, "free");
    return next_free != NULL;
}

static void *count(void *p, size_t size, int by) {
    if (p) {
        atomic_fetch_add(&shared.page.now.allocations, 1);
        atomic_fetch_add(&shared.page.now.bytes, size);
        atomic_fetch_add(&shared.page.now.by[by], 1);
    } else {
        atomic_fetch_add(&shared.page.now.failed, 1);
    }
    return p;
}

API void *malloc(size_t size) {
    return count(ready() ? next_malloc(size) : boot_alloc(size), size, BY_MALLOC);
}

API void *calloc(size_t nr, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(nr, size, &bytes))
        bytes = SIZE_MAX; // libc refuses it too
    return count(ready() ? next_calloc(nr, size) : boot_alloc(bytes), bytes, BY_CALLOC);
}

static void *resize(void *p, size_t size, int by) {
    void *q;
    if (!ready() || is_boot(p)) {
        q = ready() ? next_malloc(size) : boot_alloc(size);
        if (q && p) {
            size_t old;
            memcpy(&old, (char *)p - 16, sizeof(old));
            memcpy(q, p, old < size ? old : size);
        }
    } else {
        q = next_realloc(p, size);
    }
    if (p && (q || size == 0))
        atomic_fetch_add(&shared.page.now.frees, 1);
    if (p && !q && size == 0)
        return NULL; // a free, not a failure
    return count(q, size, by);
}

API void *realloc(void *p, size_t size) {
    return resize(p, size, BY_REALLOC);
}

// Not passed on: libc's calls realloc, which would come back through libseep.so and here.
API void *reallocarray(void *p, size_t nr, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(nr, size, &bytes)) {
        errno = ENOMEM;
        return count(NULL, 0, BY_REALLOCARRAY);
    }
    return resize(p, bytes, BY_REALLOCARRAY);
}

API void *memalign(size_t alignment, size_t size) {
    return count(ready() ? next_memalign(alignment, size) : NULL, size, BY_MEMALIGN);
}

API void *aligned_alloc(size_t alignment, size_t size) {
    return count(ready() ? next_aligned_alloc(alignment, size) : NULL, size, BY_MEMALIGN);
}

API void *valloc(size_t size) {
    return count(ready() ? next_valloc(size) : NULL, size, BY_MEMALIGN);
}

API void *pvalloc(size_t size) {
    return count(ready() ? next_pvalloc(size) : NULL, size, BY_MEMALIGN);
}

API int posix_memalign(void **ret_p, size_t alignment, size_t size) {
    int rc = ready() ? next_posix_memalign(ret_p, alignment, size) : ENOMEM;
    count(rc == 0 ? *ret_p : NULL, size, BY_MEMALIGN);
    return rc;
}

API void free(void *p) {
    if (!p)
        return;
    atomic_fetch_add(&shared.page.now.frees, 1);
    if (!is_boot(p) && ready())
        next_free(p);
}

// Puts a mapping of a new file, with the page's present content, in the place of the page.
static void map_page(void) {
    const char *prefix = getenv("COUNT_SHIM_OUT");
    if (!prefix)
        return;
    char path[512];
    int fd = -1;
    for (int n = 0; n < 64 && fd < 0; n++) {
        snprintf(path, sizeof(path), "%s.%d.%d", prefix, (int)getpid(), n);
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
    if (fd < 0)
        return; // the test misses the file and says so
    ssize_t got = readlink("/proc/self/exe", shared.page.exe, sizeof(shared.page.exe) - 1);
    shared.page.exe[got < 0 ? 0 : got] = '\0';
    shared.page.pid = (uint64_t)getpid();
    shared.page.magic = UINT64_C(0x315353454e544957); // "WITNESS1"
    if (write(fd, &shared, sizeof(shared)) == sizeof(shared))
        mmap(&shared, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    close(fd);
}

static void before_fork(void) {
    memcpy(&at_fork, &shared.page.now, sizeof(at_fork));
}

static void in_child(void) {
    // The parent's page is left alone: anonymous memory goes in its place first.
    mmap(&shared, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memcpy(&shared.page.now, &at_fork, sizeof(at_fork));
    memcpy(&shared.page.inherited, &at_fork, sizeof(at_fork));
    map_page();
}

__attribute__((constructor)) static void start(void) {
    ready();
    map_page();
    pthread_atfork(before_fork, NULL, in_child);
}
