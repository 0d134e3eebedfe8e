// SPDX-License-Identifier: BSD-2-Clause
//
// The exec family and posix_spawn, hooked for two reasons: a fork child that becomes another program
// needs its fork's undo log no longer (fork_undo.h), and its parent can stop writing it; and the tool is
// told what will be executed, so that it can say so where that cannot be traced. Nothing else is
// changed; errno and results are the real functions'. libc's own callers (system, popen) are not
// seen: they execute a shell, and a log that is not ended fills up and ends by itself.
#include <spawn.h>
#include <stdarg.h>
#include <unistd.h>

#include "image/hello.h"
#include "preload/hooks.h"
#include "preload/fork_undo.h"
#include "preload/proc_path.h"

static void begin(void) {
    seep_start(); // or there are no real functions yet
    seep_fork_end_left();
}

// `path` NULL: it cannot be named.
#define BECOME(call, flags, path, environment)                                                               \
    do {                                                                                                     \
        begin();                                                                                             \
        seep_undo_leave();                                                                                   \
        bool counted_ = seep_handshake_notice((flags), 0, (path), (environment));                            \
        uint32_t filters_ = seep_filter_leaves();                                                            \
        int result_ = (call);                                                                                \
        seep_filter_stays(filters_);                                                                         \
        if (counted_)                                                                                        \
            seep_handshake_take_back();                                                                      \
        else                                                                                                 \
            seep_handshake_notice(SEEP_NOTICE_FAILED, 0, NULL, NULL);                                        \
        seep_undo_need_again();                                                                              \
        return result_;                                                                                      \
    } while (0)

SEEP_EXPORT int execv(const char *path, char *const argv[]) {
    BECOME(seep_g.real.execv(path, argv), 0, path, environ);
}

SEEP_EXPORT int execve(const char *path, char *const argv[], char *const envp[]) {
    BECOME(seep_g.real.execve(path, argv, envp), 0, path, envp);
}

SEEP_EXPORT int execvp(const char *file, char *const argv[]) {
    BECOME(seep_g.real.execvp(file, argv), SEEP_NOTICE_SEARCHED, file, environ);
}

SEEP_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[]) {
    BECOME(seep_g.real.execvpe(file, argv, envp), SEEP_NOTICE_SEARCHED, file, envp);
}

// The program that a descriptor stands for, for people. NULL: it cannot be named.
static const char *name_of(int fd, char *ret_text, size_t room) {
    if (fd < 0 || !seep_g.header || !seep_calls_seem_free())
        return NULL;
    struct seep_proc_path link = seep_proc_path("/proc/self/fd/", (uint32_t)fd, "");
    long length = sys6(SYS_readlinkat, AT_FDCWD, (long)link.text, (long)ret_text, (long)room - 1, 0, 0);
    if (length <= 0)
        return NULL;
    ret_text[length] = 0;
    return ret_text;
}

SEEP_EXPORT int fexecve(int fd, char *const argv[], char *const envp[]) {
    char name[sizeof(((struct seep_notice *)0)->path)];
    BECOME(seep_g.real.fexecve(fd, argv, envp), 0, name_of(fd, name, sizeof(name)), envp);
}

SEEP_EXPORT int execveat(int dirfd, const char *path, char *const argv[], char *const envp[], int flags) {
    char name[sizeof(((struct seep_notice *)0)->path)];
    BECOME(seep_g.real.execveat(dirfd, path, argv, envp, flags), 0,
           flags & AT_EMPTY_PATH ? name_of(dirfd, name, sizeof(name)) : path, envp);
}

static int spawned(int result, pid_t pid, pid_t *ret_pid, uint32_t flags, const char *path,
                   char *const *environment) {
    if (result == 0) {
        seep_handshake_notice(flags | SEEP_NOTICE_SPAWNED, (uint32_t)pid, path, environment);
        if (ret_pid)
            *ret_pid = pid;
    }
    return result;
}

SEEP_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
    pid_t child = 0;
    begin();
    int result = seep_g.real.posix_spawn(&child, path, actions, attributes, argv, envp);
    return spawned(result, child, pid, 0, path, envp);
}

SEEP_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
    pid_t child = 0;
    begin();
    int result = seep_g.real.posix_spawnp(&child, file, actions, attributes, argv, envp);
    return spawned(result, child, pid, SEEP_NOTICE_SEARCHED, file, envp);
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
    BECOME(seep_g.real.execv(path, argv), 0, path, environ);
}

SEEP_EXPORT int execlp(const char *file, const char *first, ...) {
    VECTOR(first, argv, args);
    va_end(args);
    BECOME(seep_g.real.execvp(file, argv), SEEP_NOTICE_SEARCHED, file, environ);
}

SEEP_EXPORT int execle(const char *path, const char *first, ...) {
    VECTOR(first, argv, args);
    char *const *envp = va_arg(args, char *const *);
    va_end(args);
    BECOME(seep_g.real.execve(path, argv, envp), 0, path, envp);
}
