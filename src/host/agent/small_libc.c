// SPDX-License-Identifier: BSD-2-Clause
// Functions of libc in a tenth of the size of musl's. The agent needs only a part of what musl's functions
// do.
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef __GLIBC__
void *memmem(const void *in, size_t nr_in, const void *what, size_t nr) {
    const char *at = in, *end = at + nr_in;
    for (; (size_t)(end - at) >= nr; at++)
        if (memcmp(at, what, nr) == 0)
            return (void *)at;
    return NULL;
}

char *strstr(const char *in, const char *what) {
    size_t nr = strlen(what);
    for (; strncmp(in, what, nr) != 0; in++)
        if (!*in)
            return NULL;
    return (char *)in;
}

static void exchange(unsigned char *a, unsigned char *b, size_t nr_bytes) {
    for (; nr_bytes; nr_bytes--, a++, b++) {
        unsigned char kept = *a;
        *a = *b;
        *b = kept;
    }
}

// Shellsort, because it moves nothing where the items are sorted already, which is the usual case.
void qsort_r(void *items, size_t nr, size_t bytes, int (*compare)(const void *, const void *, void *),
             void *context) {
    size_t gap = 1;
    while (gap < nr / 9 * 4)
        gap = gap * 9 / 4 + 1;
    for (; nr > 1 && gap; gap = gap == 1 ? 0 : gap * 4 / 9 + !(gap * 4 / 9))
        for (size_t i = gap; i < nr; i++) {
            unsigned char *at = (unsigned char *)items + i * bytes;
            for (size_t k = i; k >= gap && compare(at - gap * bytes, at, context) > 0; k -= gap) {
                exchange(at - gap * bytes, at, bytes);
                at -= gap * bytes;
            }
        }
}

static int without_context(const void *a, const void *b, void *compare) {
    return (*(int (**)(const void *, const void *))compare)(a, b);
}

void qsort(void *items, size_t nr, size_t bytes, int (*compare)(const void *, const void *)) {
    qsort_r(items, nr, bytes, without_context, &compare);
}

long sysconf(int name) {
    struct sysinfo info;
    struct rlimit limit;
    switch (name) {
    case _SC_PAGESIZE:
        return (long)getauxval(AT_PAGESZ);
    case _SC_CLK_TCK:
        return (long)getauxval(AT_CLKTCK);
    case _SC_OPEN_MAX:
        return getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 65536 ? 65536 : (long)limit.rlim_cur;
    case _SC_PHYS_PAGES:
        sysinfo(&info);
        return (long)((uint64_t)info.totalram * info.mem_unit / getauxval(AT_PAGESZ));
    default:
        errno = EINVAL;
        return -1;
    }
}

int faccessat(int folder, const char *path, int rights, int flags) {
    long failed = syscall(SYS_faccessat2, folder, path, rights, flags);
    if (failed && errno == ENOSYS)
        failed = syscall(SYS_faccessat, folder, path, rights);
    return (int)failed;
}

static unsigned long long number(const char *text, char **ret_end, int base, unsigned long long most,
                                 bool has_sign) {
    const char *at = text + strspn(text, " \t\n\v\f\r"), *end = text;
    bool negative = *at == '-', is_over = false;
    unsigned long long value = 0;
    at += negative || *at == '+';
    bool hex = at[0] == '0' && (at[1] | 0x20) == 'x' && isxdigit((unsigned char)at[2]);
    if ((base == 0 || base == 16) && hex)
        base = 16, at += 2;
    else if (base == 0)
        base = *at == '0' ? 8 : 10;
    most += has_sign && negative;
    for (;; end = ++at) {
        int digit = isdigit((unsigned char)*at)   ? *at - '0'
                    : isalpha((unsigned char)*at) ? (*at | 0x20) - 'a' + 10
                                                  : 99;
        if (digit >= base)
            break;
        is_over |= value > (most - (unsigned)digit) / (unsigned)base;
        value = value * (unsigned)base + (unsigned)digit;
    }
    if (ret_end)
        *ret_end = (char *)end;
    if (is_over) {
        errno = ERANGE;
        return negative && has_sign ? -most : most;
    }
    return negative ? -value : value;
}

long strtol(const char *text, char **ret_end, int base) {
    return (long)number(text, ret_end, base, LONG_MAX, true);
}

unsigned long strtoul(const char *text, char **ret_end, int base) {
    return (unsigned long)number(text, ret_end, base, ULONG_MAX, false);
}

unsigned long long strtoull(const char *text, char **ret_end, int base) {
    return number(text, ret_end, base, ULLONG_MAX, false);
}

// The kernel tells the path of an open file.
char *realpath(const char *path, char *room) {
    char name[32], real[4096];
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    ssize_t nr = readlink(name, real, sizeof(real) - 1);
    close(fd);
    if (nr < 0)
        return NULL;
    real[nr] = 0;
    return room ? strcpy(room, real) : strdup(real);
}

// musl's also converts old requests to sound and video devices, which the agent does not make.
int ioctl(int fd, int request, ...) {
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return (int)syscall(SYS_ioctl, fd, request, argument);
}

// The agent has one thread.
int pthread_mutex_lock(pthread_mutex_t *mutex) {
    (void)mutex;
    return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    (void)mutex;
    return 0;
}

// musl's make all threads take them over.
#ifdef SYS_setgroups32
#define IDS(name) SYS_##name##32
#else
#define IDS(name) SYS_##name
#endif
int setgroups(size_t nr, const gid_t *groups) {
    return (int)syscall(IDS(setgroups), nr, groups);
}

int setresgid(gid_t real, gid_t effective, gid_t saved) {
    return (int)syscall(IDS(setresgid), real, effective, saved);
}

int setresuid(uid_t real, uid_t effective, uid_t saved) {
    return (int)syscall(IDS(setresuid), real, effective, saved);
}

int setrlimit(int which, const struct rlimit *limit) {
    return (int)syscall(SYS_prlimit64, 0, which, limit, NULL);
}

int getrlimit(int which, struct rlimit *ret_limit) {
    return (int)syscall(SYS_prlimit64, 0, which, NULL, ret_limit);
}

int fstatfs(int fd, struct statfs *ret_status) {
#ifdef SYS_fstatfs64
    return (int)syscall(SYS_fstatfs64, fd, sizeof(*ret_status), ret_status);
#else
    return (int)syscall(SYS_fstatfs, fd, ret_status);
#endif
}

ssize_t getdelim(char **line, size_t *room, int end, FILE *file) {
    size_t nr = 0;
    for (int c = 0; c != end && (c = getc(file)) != EOF;) {
        if (!*line || nr + 2 > *room) {
            char *larger = realloc(*line, 2 * nr + 128);
            if (!larger)
                return -1;
            *line = larger;
            *room = 2 * nr + 128;
        }
        (*line)[nr++] = (char)c;
        (*line)[nr] = 0;
    }
    return nr ? (ssize_t)nr : -1;
}

ssize_t getline(char **line, size_t *room, FILE *file) {
    return getdelim(line, room, '\n', file);
}

#if defined(__arm__) && defined(__VFP_FP__) && !defined(__SOFTFP__)
// What the compiler calls to convert. That of libgcc is one object with sums in software.
__attribute__((pcs("aapcs"))) double __aeabi_ul2d(uint64_t value);

__attribute__((used)) double __aeabi_ul2d(uint64_t value) {
    return (double)(uint32_t)(value >> 32) * 4294967296.0 + (double)(uint32_t)value;
}
#endif
#endif
