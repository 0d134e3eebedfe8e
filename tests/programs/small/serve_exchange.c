// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// Loaded into the server: the trace that it opens has become a pipe (SEEP_TEST_PIPE) since it was looked at.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int opened(int (*real)(int, const char *, int, ...), int folder, const char *name, int flags, int mode) {
    if (strcmp(name, "one.seep") == 0)
        renameat(AT_FDCWD, getenv("SEEP_TEST_PIPE"), folder, name);
    return real(folder, name, flags, mode);
}

#define HOOK(function)                                                                                       \
    int function(int folder, const char *name, int flags, ...) {                                             \
        va_list more;                                                                                        \
        va_start(more, flags);                                                                               \
        int mode = flags & O_CREAT ? va_arg(more, int) : 0;                                                  \
        va_end(more);                                                                                        \
        return opened((int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, #function), folder, name, flags, mode); \
    }
HOOK(openat)
HOOK(openat64)
