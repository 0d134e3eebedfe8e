// SPDX-License-Identifier: BSD-2-Clause
//
// The exec family, hooked for one reason: a fork child that becomes another program needs its fork's
// undo log no longer (undo.h), and its parent can stop writing it. Nothing else is changed; errno and
// results are the real functions'. libc's own callers (system, posix_spawn) are not seen: a log that
// nobody ends fills up and ends by itself.
#include <stdarg.h>
#include <unistd.h>

#include "preload/hooks.h"
#include "preload/undo.h"

#define BECOME(call)                                                                                         \
    do {                                                                                                     \
        seep_start(); /* or there are no real functions yet */                                               \
        seep_undo_leave();                                                                                   \
        int result_ = (call);                                                                                \
        seep_undo_need_again();                                                                              \
        return result_;                                                                                      \
    } while (0)

SEEP_EXPORT int execv(const char *path, char *const argv[]) {
    BECOME(seep_g.real.execv(path, argv));
}

SEEP_EXPORT int execve(const char *path, char *const argv[], char *const envp[]) {
    BECOME(seep_g.real.execve(path, argv, envp));
}

SEEP_EXPORT int execvp(const char *file, char *const argv[]) {
    BECOME(seep_g.real.execvp(file, argv));
}

SEEP_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[]) {
    BECOME(seep_g.real.execvpe(file, argv, envp));
}

SEEP_EXPORT int fexecve(int fd, char *const argv[], char *const envp[]) {
    BECOME(seep_g.real.fexecve(fd, argv, envp));
}

SEEP_EXPORT int execveat(int dirfd, const char *path, char *const argv[], char *const envp[], int flags) {
    BECOME(seep_g.real.execveat(dirfd, path, argv, envp, flags));
}

// How many arguments follow, the terminating NULL included.
#define COUNT_ARGUMENTS(first, ret_count)                                                                    \
    do {                                                                                                     \
        va_list count_args_;                                                                                 \
        va_start(count_args_, first);                                                                        \
        (ret_count) = 1;                                                                                     \
        while (va_arg(count_args_, const char *))                                                            \
            (ret_count)++;                                                                                   \
        va_end(count_args_);                                                                                 \
    } while (0)

// execl and friends run in children of vfork too, so the vector is on the stack, as libc has it.
static void fill(char **argv, const char *first, va_list args) {
    *argv = (char *)first;
    while (*argv++)
        *argv = va_arg(args, char *); // stops at the NULL, which is in the vector then
}

// Declares `argv`, the vector of all arguments, and `args`, which stands behind them.
#define VECTOR(first, argv, args)                                                                            \
    size_t count_;                                                                                           \
    COUNT_ARGUMENTS(first, count_);                                                                          \
    char **argv = __builtin_alloca((count_ + 1) * sizeof(*argv));                                            \
    va_list args;                                                                                            \
    va_start(args, first);                                                                                   \
    fill(argv, first, args)

SEEP_EXPORT int execl(const char *path, const char *first, ...) {
    VECTOR(first, argv, args);
    va_end(args);
    BECOME(seep_g.real.execv(path, argv));
}

SEEP_EXPORT int execlp(const char *file, const char *first, ...) {
    VECTOR(first, argv, args);
    va_end(args);
    BECOME(seep_g.real.execvp(file, argv));
}

SEEP_EXPORT int execle(const char *path, const char *first, ...) {
    VECTOR(first, argv, args);
    char *const *envp = va_arg(args, char *const *);
    va_end(args);
    BECOME(seep_g.real.execve(path, argv, envp));
}
