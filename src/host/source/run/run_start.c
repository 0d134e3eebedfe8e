// SPDX-License-Identifier: BSD-2-Clause
// Starts the program with the signal settings that it would have without us. See run_parts.h.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

#include "base/clock.h"
#include "source/run/environment.h"
#include "source/run/program.h"
#include "source/run/run_parts.h"

// SIGINT and SIGQUIT come from the terminal to the program as well: it decides; and a reader that stops
// reading reports must not end the trace. The others are for us to hand on.
static const int watched[SEEP_RUN_NR_SIGNALS] = {SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGHUP, SIGCHLD};
enum { NR_IGNORED = 3 };

// ---- signals --------------------------------------------------------------------------------------

struct seep_error *seep_run_signals_init(struct seep_run_signals *ret_signals) {
    sigset_t mask;
    sigemptyset(&mask);
    for (size_t i = NR_IGNORED; i < SEEP_ARRAY_SIZE(watched); i++)
        sigaddset(&mask, watched[i]);
    int fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return seep_error_system(errno, "cannot watch for signals");
    ret_signals->fd = fd;
    sigprocmask(SIG_BLOCK, &mask, &ret_signals->mask_before);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(watched); i++) {
        struct sigaction action = {.sa_handler = i < NR_IGNORED ? SIG_IGN : SIG_DFL};
        sigaction(watched[i], &action, &ret_signals->before[i]);
    }
    return NULL;
}

static bool is_order_to_end(int number) {
    return number == SIGTERM || number == SIGHUP;
}

void seep_run_signals_took(struct seep_run_signals *signals, int number) {
    signals->told_to_end |= is_order_to_end(number);
}

void seep_run_signals_restore(const struct seep_run_signals *signals) {
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(watched); i++)
        sigaction(watched[i],
                  signals->told_to_end && is_order_to_end(watched[i]) ? &ignore : &signals->before[i], NULL);
    sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
}

// ---- starting -------------------------------------------------------------------------------------

// Async-signal-safe, see SEEP_ENVIRONMENT_IGNORE.
static void write_own_pid(char *const *environment) {
    static const char name[] = SEEP_ENVIRONMENT_IGNORE;
    for (; *environment; environment++) {
        if (strncmp(*environment, name, sizeof(name) - 1) != 0)
            continue;
        unsigned pid = (unsigned)getpid();
        for (char *digit = *environment + strlen(*environment); digit > *environment + sizeof(name) - 1;
             pid /= 10)
            *--digit = (char)('0' + pid % 10);
    }
}

// Runs in the parent's memory, which waits meanwhile (vfork): a copy of it would be made for nothing, page by
// page. The child leaves two changes there: the number in `environment`, and errno. Under qemu-user vfork is
// fork, so why the program cannot be run goes through a pipe, which execve closes. AddressSanitizer would
// keep the frame poisoned in the parent, because execve does not return.
__attribute__((no_sanitize("address"))) static _Noreturn void child_exec(
    const struct seep_run_signals *signals, const char *path, char *const *argv, char *const *environment,
    bool ignore_children, int trouble_fd) {
    seep_run_signals_restore(signals);
    if (ignore_children)
        write_own_pid(environment);
    execve(path, argv, environment);
    int trouble = errno;
    (void)!write(trouble_fd, &trouble, sizeof(trouble));
    _exit(SEEP_EXIT_NOT_EXECUTABLE);
}

#if SEEP_WITH_ASAN
// AddressSanitizer's own cleans the thread's stack from where it is called; we may be on another, see
// command/own_stack.c.
extern pid_t __vfork(void) __attribute__((returns_twice));
#define vfork __vfork
#endif

struct seep_error *seep_run_start(struct seep_run_supervisor *supervisor, const char *path, char *const *argv,
                                  char *const *environment, int *ret_trouble) {
    int pipe_fds[2], trouble = 0;
    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        return seep_error_system(errno, "cannot start a process");
    if (!supervisor->ignore_children)
        seep_run_idle_begin(supervisor->run);
    supervisor->run->start_realtime_ns = seep_clock_ns(CLOCK_REALTIME);
    supervisor->run->start_ns = seep_monotonic_ns();
    pid_t pid = vfork();
    if (pid == 0)
        child_exec(&supervisor->signals, path, argv, environment, supervisor->ignore_children, pipe_fds[1]);
    int why_none = errno;
    close(pipe_fds[1]);
    while (pid > 0 && read(pipe_fds[0], &trouble, sizeof(trouble)) < 0 && errno == EINTR)
        continue;
    close(pipe_fds[0]);
    if (pid < 0)
        return seep_error_system(why_none, "cannot start a process");
    supervisor->run->main_pid = pid;
    *ret_trouble = trouble;
    if (trouble)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    return NULL;
}

void seep_run_raise_own_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}
