// SPDX-License-Identifier: BSD-2-Clause
// Stops and resumes with ptrace, see stop.h. Rounds over /proc/PID/task until one finds no thread
// that is not stopped: only stopped threads are left then, and they cannot make new ones.
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "process/gone.h"
#include "process/proc_fields.h"
#include "process/rights.h"
#include "scan/futex_wait.h"
#include "scan/stop.h"
#include "scan/stopped_registers.h"

#define NS_PER_MS          INT64_C(1000000)
#define NS_PER_US          INT64_C(1000)
#define WAIT_MAX_MS        3000 // from the first thread to the last: those that stopped first are held that long
#define WAIT_THREAD_US     200   // the same once more for each thread that has stopped
#define OTHER_SEEP_MAX_MS  10000 // how long another seep may go on to read the process
#define SLEEP_MAX_MS       100   // in which threads that were woken, or timed out, wait again
#define DISK_TRIES         20    // a call that first reads a disk and then waits
#define EXEC_TRIES         10    // a thread that executes a program or ends is over by then
#define EPERM_TRIES        10    // a tracer may let go between its refusal and our asking who it was
#define PARKED_STACK_BYTES ((uint64_t)64 << 10) // that libseep.so takes to park: much more than it does

struct thread_stat { // of /proc/PID/task/TID/stat
    char state;      // 'X': there is none
    bool leaves;     // it is in the kernel's exit code, or SIGKILL waits for it
};

static struct thread_stat read_stat(pid_t pid, pid_t tid) {
    enum { PF_EXITING = 4 }; // include/linux/sched.h
    struct seep_stat stat;
    if (!seep_stat_read(pid, tid, &stat))
        return (struct thread_stat){'X', true};
    uint64_t flags = seep_stat_number(&stat, SEEP_STAT_FLAGS);
    uint64_t signals = seep_stat_number(&stat, SEEP_STAT_SIGNALS);
    bool leaves = flags & PF_EXITING || signals & UINT64_C(1) << (SIGKILL - 1);
    return (struct thread_stat){seep_stat_state(&stat), leaves};
}

static char state_of(pid_t pid, pid_t tid) {
    return read_stat(pid, tid).state;
}

static bool has_ended(pid_t pid, pid_t tid) {
    char state = state_of(pid, tid);
    return state == 'Z' || state == 'X' || state == 'x';
}

static bool is_known(const struct seep_stopped *stopped, pid_t tid) {
    for (size_t i = stopped->nr_threads; i > 0; i--)
        if (stopped->threads[i - 1].tid == tid)
            return true;
    return false;
}

// The very program that we are, or one of that name: another version of it.
static bool is_seep(pid_t pid) {
    char path[64], name[32] = "";
    struct stat own, other;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    if (stat("/proc/self/exe", &own) == 0 && stat(path, &other) == 0)
        return own.st_dev == other.st_dev && own.st_ino == other.st_ino;
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    FILE *file = fopen(path, "re");
    if (file && !fgets(name, sizeof(name), file))
        name[0] = 0;
    if (file)
        fclose(file);
    return strcmp(name, "seep\n") == 0;
}

static void pause_us(long us) {
    struct timespec time = {0, us * NS_PER_US};
    nanosleep(&time, NULL);
}

static void pause_ms(long ms) {
    pause_us(ms * 1000);
}

// Whether this process traces the thread because the thread asked for that (PTRACE_TRACEME): the kernel
// interrupts seized threads only. A thread that executes a program or ends cannot be interrupted for a
// moment.
static bool has_asked(pid_t tid) {
    for (int i = 0; i < EXEC_TRIES; i++) {
        if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0 || errno != EIO)
            return false;
        pause_ms(1);
    }
    return true;
}

// `tracer`: who held the thread when it was refused, or 0. *ret_other: the seep that did; one that has ended
// since has let go.
static struct seep_error *seize_error(pid_t pid, pid_t tid, long tracer, int trouble, pid_t *ret_other) {
    // A thread that was seized and has executed a program meanwhile has not asked: another try succeeds.
    if (tracer == getpid() && has_asked(tid))
        return seep_error_hint(
            seep_error_create(
                SEEP_E_PERMISSION,
                "process %d cannot be read: its tracer is its parent, this seep (PTRACE_TRACEME)", (int)pid),
            "run it without the option that makes it call ptrace; such options keep debuggers out");
    if (tracer > 0 && (is_seep((pid_t)tracer) || has_ended((pid_t)tracer, (pid_t)tracer))) {
        *ret_other = (pid_t)tracer;
        return seep_error_hint(seep_error_create(SEEP_E_PERMISSION,
                                                 "process %d is being read by another seep (process %ld)",
                                                 (int)pid, tracer),
                               "try again when that one is done");
    }
    if (tracer > 0 && tracer == seep_status_number(pid, 0, "PPid:"))
        return seep_error_hint(seep_error_create(SEEP_E_PERMISSION,
                                                 "process %d is traced by its parent (process %ld)", (int)pid,
                                                 tracer),
                               "a process has one tracer: let its parent detach, or not trace it");
    if (tracer > 0)
        return seep_error_hint(seep_error_create(SEEP_E_PERMISSION,
                                                 "process %d is held by a debugger (process %ld)", (int)pid,
                                                 tracer),
                               "end it, or let it detach");
    if (trouble == EPERM || trouble == EACCES)
        return seep_right_to_debug(
            seep_error_create(SEEP_E_PERMISSION, "process %d may not be stopped and read", (int)pid), pid);
    if (trouble == ETIMEDOUT)
        return seep_error_hint(
            seep_error_create(SEEP_E_IO, "a thread of process %d hangs in execve", (int)pid),
            "it waits in the kernel for a disk, or for the tracer of another thread: try again");
    return seep_error_system(trouble, "process %d cannot be stopped", (int)pid);
}

// ---- stopping ----

static bool is_ours(pid_t pid, pid_t tid) {
    return seep_status_number(pid, tid, "TracerPid:") == (long)syscall(SYS_gettid);
}

#define BURY_MAX_MS 10000 // a killed process gives its memory back before it counts as ended

// Reaps a thread that we traced and that has ended, because the kernel tells its parent only after that; or
// detaches a thread that has stopped meanwhile. The end of our own child (`seep run`) is left to the code
// that waits for children. false: the thread has neither ended nor stopped yet.
static bool let_go(pid_t pid, pid_t tid) {
    siginfo_t info = {.si_pid = 0};
    bool is_child = tid == pid && seep_status_number(pid, tid, "PPid:") == (long)getpid();
    if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | (is_child ? 0 : WEXITED) | WNOHANG | __WALL) != 0)
        return true;
    if (info.si_pid != tid)
        return is_child && (has_ended(pid, tid) || !is_ours(pid, tid));
    if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
        return true;
    struct seep_stopped_thread thread = {.tid = tid};
    int signal = info.si_status & 0xff;
    bool of_ptrace = info.si_status >> 8 == PTRACE_EVENT_STOP;
    (void)seep_stopped_read_registers(&thread, of_ptrace && signal == SIGTRAP);
    free(thread.words);
    ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)(of_ptrace ? 0 : signal));
    return true;
}

static bool bury(pid_t pid, pid_t tid) {
    return (tid == pid && seep_status_number(pid, tid, "PPid:") == (long)getpid()) || let_go(pid, tid);
}

static bool is_buried(pid_t pid, pid_t tid) {
    return bury(pid, tid) || !read_stat(pid, tid).leaves;
}

// A thread that executes a program ends the other threads, and waits in the kernel until their tracer has
// reaped them. PTRACE_SEIZE of any thread waits for the thread that executes. So while PTRACE_SEIZE takes
// long, a timer's signal waits for the threads that ended. Source: ptrace(2); kernel/ptrace.c
// (cred_guard_mutex) and fs/exec.c (de_thread) of Linux.
#define SEIZE_LONG_MS 20
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif
#ifndef SYS_timer_settime
#define SYS_timer_settime SYS_timer_settime32 // musl's name on 32-bit CPUs
#endif

static _Thread_local struct seep_stopped *volatile seizing; // NULL: not in PTRACE_SEIZE
static _Thread_local int64_t seize_end_ns;
static _Thread_local sigjmp_buf seize_too_long;

static bool reap_ended(pid_t tid) {
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)tid, &info, WEXITED | WNOHANG | __WALL) == 0 && info.si_pid == tid;
}

// Reaps all ended threads except the first, because an executing thread takes its number, and `awaited`,
// because the caller waits for its stop.
static void reap_all_ended(struct seep_stopped *stopped, pid_t awaited) {
    for (size_t i = 0; i < stopped->nr_threads; i++) {
        const struct seep_stopped_thread *thread = &stopped->threads[i];
        if (!thread->left_asleep && thread->tid != stopped->pid && thread->tid != awaited)
            stopped->is_replaced |= reap_ended(thread->tid);
    }
    for (size_t i = 0; i < stopped->nr_unburied; i++)
        if (stopped->unburied[i] != stopped->pid)
            (void)reap_ended(stopped->unburied[i]);
}

static void at_long_seize(int signal) {
    int trouble = errno;
    if (seizing)
        reap_all_ended(seizing, 0);
    if (seizing && seep_monotonic_ns() > seize_end_ns) {
        seizing = NULL;
        sigset_t this_one;
        sigemptyset(&this_one);
        sigaddset(&this_one, signal);
        sigprocmask(SIG_UNBLOCK, &this_one, NULL);
        siglongjmp(seize_too_long, 1);
    }
    errno = trouble;
}

// Uses system calls, because libc's timers bring much code into seep-agent. false: there is no timer, and a
// thread that executes a program may block this tool until one of the two is killed.
static bool start_timer(int *ret_timer) {
    const struct sigaction action = {.sa_handler = at_long_seize, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    const struct {
        long interval_s, interval_ns, value_s, value_ns; // struct itimerspec of the call without _time64
    } every = {0, SEIZE_LONG_MS * NS_PER_MS, 0, SEIZE_LONG_MS * NS_PER_MS};
    return sigaction(SIGALRM, &action, NULL) == 0 &&
           syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, ret_timer) == 0 &&
           syscall(SYS_timer_settime, *ret_timer, 0, &every, NULL) == 0;
}

// How long the next thread is waited for.
static int64_t end_of_wait(const struct seep_stopped *stopped, int64_t first_ns) {
    return first_ns + WAIT_MAX_MS * NS_PER_MS + (int64_t)stopped->nr_threads * WAIT_THREAD_US * NS_PER_US;
}

// Waits for a thread that was seized and interrupted. *ret_there is false where it ended instead.
static struct seep_error *wait_stop(struct seep_stopped *stopped, struct seep_stopped_thread *thread,
                                    int64_t end_ns, bool *ret_there) {
    enum { ASKED_EVERY = 4, LONGEST_US = 1000 };
    pid_t pid = stopped->pid;
    long next_us = 0;
    for (long waited = 0; seep_monotonic_ns() < end_ns; waited++) {
        siginfo_t info = {.si_pid = 0};
        int failed = waitid(P_PID, (id_t)thread->tid, &info, WSTOPPED | WNOHANG | __WALL);
        if (failed) {
            *ret_there = false;
            return NULL;
        }
        if (info.si_pid == thread->tid) {
            int signal = info.si_status & 0xff;
            bool of_ptrace = info.si_status >> 8 == PTRACE_EVENT_STOP;
            thread->signal = of_ptrace ? 0 : signal;
            *ret_there = seep_stopped_read_registers(thread, of_ptrace && signal == SIGTRAP);
            return NULL;
        }
        // The kernel never reports a leader that ended before its threads. Asking takes longer than most
        // threads take to stop.
        if (waited % ASKED_EVERY == ASKED_EVERY - 1 && has_ended(pid, thread->tid)) {
            *ret_there = false;
            return NULL;
        }
        if (next_us >= LONGEST_US)
            reap_all_ended(stopped, thread->tid); // it may be the one that executes a program
        // On a busy machine the thread needs a processor first, and each look at it takes one.
        pause_us(next_us);
        next_us = waited < ASKED_EVERY ? 0 : SEEP_MIN(next_us * 2 + 50, (long)LONGEST_US);
    }
    return seep_error_hint(seep_error_create(SEEP_E_IO, "thread %d of process %d does not stop (state %c)",
                                             (int)thread->tid, (int)pid, state_of(pid, thread->tid)),
                           "it waits in the kernel, for a disk or a child of vfork: try again");
}

// ETIMEDOUT: another thread executes a program, and waits for one whose tracer does not reap it. The kernel
// begins an interrupted PTRACE_SEIZE anew, so only a jump ends it.
static int seize_once(struct seep_stopped *stopped, pid_t tid) {
    seize_end_ns = end_of_wait(stopped, stopped->first_ns ? stopped->first_ns : seep_monotonic_ns());
    if (sigsetjmp(seize_too_long, 0))
        return is_ours(stopped->pid, tid) ? 0 : ETIMEDOUT;
    seizing = stopped;
    int trouble = ptrace(PTRACE_SEIZE, tid, NULL, NULL) ? errno : 0;
    seizing = NULL;
    return trouble;
}

static int seize(struct seep_stopped *stopped, pid_t tid, long *ret_tracer) {
    pid_t pid = stopped->pid;
    *ret_tracer = 0;
    int trouble;
    for (int i = 1; (trouble = seize_once(stopped, tid)) != 0; i++) {
        if (trouble == EPERM)
            *ret_tracer = seep_status_number(pid, tid, "TracerPid:");
        if (trouble != EPERM || i == EPERM_TRIES || *ret_tracer > 0)
            return trouble;
        pause_ms(1);
    }
    return 0;
}

static long nr_sleeps(pid_t pid, pid_t tid) {
    return seep_status_number(pid, tid, "voluntary_ctxt_switches:");
}

// Its stack pointer and the arguments of its call are all that is known of its registers.
static struct seep_error *leave_asleep(struct seep_stopped *stopped, pid_t tid,
                                       const struct seep_futex_wait *wait) {
    struct seep_stopped_thread thread = {
        .tid = tid, .left_asleep = true, .in_system_call = true, .sp = wait->sp_rt, .pc = wait->pc_rt};
    thread.nr_sleeps = nr_sleeps(stopped->pid, tid);
    thread.stack_from_rt = seep_stack_used_from(thread.sp);
    thread.tls = seep_thread_pointer_find(stopped->pid, thread.sp);
    thread.words = malloc(sizeof(wait->arguments));
    if (!thread.words)
        return seep_error_no_memory();
    memcpy(thread.words, wait->arguments, sizeof(wait->arguments));
    thread.nr_words = thread.nr_general_words = SEEP_ARRAY_SIZE(wait->arguments);
    stopped->threads[stopped->nr_threads++] = thread;
    return NULL;
}

// A thread that is on its way out, and ours: its parent waits for it until we have.
static struct seep_error *keep_unburied(struct seep_stopped *stopped, pid_t tid) {
    if (!seep_grow(&stopped->unburied, &stopped->unburied_capacity, stopped->nr_unburied + 1,
                   sizeof(*stopped->unburied)))
        return seep_error_no_memory();
    stopped->unburied[stopped->nr_unburied++] = tid;
    return NULL;
}

// `sleeps`: in a call that goes on after the stop.
static struct seep_error *stop_it(struct seep_stopped *stopped, pid_t tid, bool sleeps) {
    if (!seep_grow(&stopped->threads, &stopped->capacity, stopped->nr_threads + 1, sizeof(*stopped->threads)))
        return seep_error_no_memory();
    long tracer;
    int trouble = seize(stopped, tid, &tracer);
    if (trouble == ESRCH || (trouble && has_ended(stopped->pid, tid)))
        return NULL;
    if (trouble)
        return seize_error(stopped->pid, tid, tracer, trouble, &stopped->other_seep);
    if (!stopped->first_ns)
        stopped->first_ns = seep_monotonic_ns();
    int64_t end_ns = end_of_wait(stopped, stopped->first_ns);
    struct seep_stopped_thread *thread = &stopped->threads[stopped->nr_threads++];
    *thread = (struct seep_stopped_thread){.tid = tid, .sleeps = sleeps};
    bool there = false;
    struct seep_error *err = NULL;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0)
        err = wait_stop(stopped, thread, end_ns, &there);
    if (!err && !there) {
        stopped->nr_threads--;
        if (!bury(stopped->pid, tid))
            err = keep_unburied(stopped, tid);
        // A thread that executes a program has the number of the first thread from then on.
        else if (!is_known(stopped, stopped->pid) && is_ours(stopped->pid, stopped->pid))
            err = keep_unburied(stopped, stopped->pid);
    }
    return err;
}

static struct seep_error *stop_thread(struct seep_stopped *stopped, pid_t tid) {
    if (has_ended(stopped->pid, tid))
        return NULL;
    if (!seep_grow(&stopped->threads, &stopped->capacity, stopped->nr_threads + 1, sizeof(*stopped->threads)))
        return seep_error_no_memory();
    struct seep_futex_wait wait = {.stop_ends_it = false};
    bool sleeps = stopped->leaving && seep_futex_wait_find(stopped->pid, tid, &wait);
    // A write to a disk is not interrupted, and is over soon; sendfile(2) goes on to wait for its peer.
    for (int i = 0; i < DISK_TRIES && sleeps && wait.stop_ends_it && state_of(stopped->pid, tid) == 'D';
         i++) {
        pause_ms(1);
        sleeps = seep_futex_wait_find(stopped->pid, tid, &wait);
    }
    if (sleeps && wait.stop_ends_it && state_of(stopped->pid, tid) != 'D')
        return leave_asleep(stopped, tid, &wait);
    return stop_it(stopped, tid, sleeps && !wait.stop_ends_it);
}

// One look at all threads; *ret_new: there was one that had to be stopped.
static struct seep_error *stop_round(struct seep_stopped *stopped, bool *ret_new) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)stopped->pid);
    DIR *folder;
    // While a thread executes a program, its process has no folder for a moment.
    for (int i = 0;
         !(folder = opendir(path)) && errno == ENOENT && i < EXEC_TRIES && kill(stopped->pid, 0) == 0; i++)
        pause_ms(1);
    if (!folder && (errno == ENOENT || errno == ESRCH))
        return seep_process_gone(stopped->pid, "name a running process");
    if (!folder)
        return seep_error_system(errno, "the threads of process %d cannot be listed", (int)stopped->pid);
    struct seep_error *err = NULL;
    *ret_new = false;
    for (struct dirent *entry; !err && (entry = readdir(folder));) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (!isdigit((unsigned char)entry->d_name[0]) || is_known(stopped, tid))
            continue;
        size_t before = stopped->nr_threads;
        err = stop_thread(stopped, tid);
        *ret_new |= stopped->nr_threads > before;
    }
    closedir(folder);
    return err;
}

// All others are stopped: what sleeps now is woken by no thread of the process. *ret_new: one was awake after
// all, and is stopped like the others in the next round.
static void check_sleepers(struct seep_stopped *stopped, bool *ret_new) {
    for (size_t i = stopped->nr_threads; i-- > 0;) {
        struct seep_stopped_thread *thread = &stopped->threads[i];
        struct seep_futex_wait wait;
        if (!thread->left_asleep || (seep_futex_wait_find(stopped->pid, thread->tid, &wait) &&
                                     wait.stop_ends_it && wait.sp_rt == thread->sp))
            continue;
        free(thread->words);
        *thread = stopped->threads[--stopped->nr_threads];
        *ret_new = true;
    }
}

// Whether another program runs in the process since the first of its threads were stopped.
static bool is_replaced(const struct seep_stopped *stopped) {
    pid_t pid = stopped->pid;
    if (stopped->is_replaced)
        return true;
    if (!stopped->nr_threads) // while one executes, the first thread has ended, but not the process
        return !has_ended(pid, pid) || seep_status_number(pid, pid, "Threads:") > 1;
    return !stopped->leaving && is_known(stopped, pid) && state_of(pid, pid) != 't';
}

static struct seep_error *stop_rounds(struct seep_stopped *stopped) {
    int timer;
    bool has_timer = start_timer(&timer);
    sigset_t late, before;
    sigemptyset(&late);
    sigaddset(&late, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &late, &before); // on Linux: of this thread
    bool found_new = true;
    struct seep_error *err = NULL;
    while (!err && found_new) {
        err = stop_round(stopped, &found_new);
        if (!err && !found_new)
            check_sleepers(stopped, &found_new);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (has_timer)
        syscall(SYS_timer_delete, timer);
    return err;
}

// Whether the process has its first thread only. The kernel counts the threads as links of the folder.
// Source: proc_task_getattr() of Linux.
static bool is_single(pid_t pid) {
    char path[64];
    struct stat folder;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    return stat(path, &folder) == 0 && folder.st_nlink == 3;
}

// Only a process in a PID namespace of its own has threads with other numbers.
static void find_own_tids(struct seep_stopped *stopped) {
    bool is_same = seep_own_id(stopped->pid) == (unsigned long)stopped->pid;
    for (size_t i = 0; i < stopped->nr_threads; i++) {
        struct seep_stopped_thread *thread = &stopped->threads[i];
        thread->own_tid = is_same ? thread->tid : (pid_t)seep_own_id(thread->tid);
    }
}

// If a process that leaves has one thread, that thread waits for us. Before it stops, only a signal handler
// can make another thread.
static struct seep_error *stop_all(struct seep_stopped *stopped) {
    bool single = stopped->leaving && is_single(stopped->pid);
    struct seep_error *err = single ? stop_it(stopped, stopped->pid, false) : NULL;
    if (!err && !(single && is_single(stopped->pid)))
        err = stop_rounds(stopped);
    if (err)
        return err;
    find_own_tids(stopped);
    stopped->is_replaced = is_replaced(stopped);
    if (stopped->is_replaced)
        return seep_error_hint(seep_error_create(SEEP_E_IO,
                                                 "process %d executed a program while it was being stopped",
                                                 (int)stopped->pid),
                               "try again");
    return stopped->nr_threads ? NULL : seep_process_gone(stopped->pid, "name a running process");
}

// *ret_again: it is worth another try: another seep has it, or it has just executed a program.
static struct seep_error *stop_once(pid_t pid, bool leaving, struct seep_stopped **ret_stopped,
                                    bool *ret_again) {
    *ret_again = false;
    if (!seep_proc_is_ours()) // another process would be read than the one that is stopped
        return seep_error_hint(
            seep_error_create(SEEP_E_IO, "/proc is of another PID namespace: process %d cannot be read",
                              (int)pid),
            "mount one: 'unshare --mount-proc', or 'mount -t proc proc /proc'");
    struct seep_stopped *stopped = calloc(1, sizeof(*stopped));
    if (!stopped)
        return seep_error_no_memory();
    stopped->pid = pid;
    stopped->leaving = leaving;
    (void)seep_stop_holds();
    struct seep_error *err = stop_all(stopped);
    if (err) {
        *ret_again = stopped->other_seep || stopped->is_replaced;
        seep_resume_process(stopped);
        return err;
    }
    *ret_stopped = stopped;
    return NULL;
}

struct seep_error *seep_stop_process_now(pid_t pid, struct seep_stopped **ret_stopped) {
    bool again;
    return stop_once(pid, false, ret_stopped, &again);
}

// Of two that have some threads each, both detach what they have; they come again at different times.
static struct seep_error *stop_patiently(pid_t pid, bool leaving, struct seep_stopped **ret_stopped) {
    const long between_ms = 10 + (long)getpid() % 13;
    const int64_t start = seep_monotonic_ns();
    for (;;) {
        bool again = false;
        struct seep_stopped *stopped;
        int64_t waited_ns = seep_monotonic_ns() - start;
        struct seep_error *err = stop_once(pid, leaving, &stopped, &again);
        if (!err) {
            stopped->waited_ns = waited_ns;
            *ret_stopped = stopped;
            return NULL;
        }
        if (!again || waited_ns >= OTHER_SEEP_MAX_MS * INT64_C(1000000))
            return err;
        seep_error_destroy(err);
        pause_ms(between_ms);
    }
}

struct seep_error *seep_stop_process(pid_t pid, struct seep_stopped **ret_stopped) {
    return stop_patiently(pid, false, ret_stopped);
}

struct seep_error *seep_stop_leaving(pid_t pid, struct seep_stopped **ret_stopped) {
    return stop_patiently(pid, true, ret_stopped);
}

void seep_stopped_parked(struct seep_stopped *stopped, uint64_t sp_rt) {
    struct seep_stopped_thread *parked = NULL;
    for (size_t i = 0; i < stopped->nr_threads; i++) {
        struct seep_stopped_thread *thread = &stopped->threads[i];
        if (thread->sp < sp_rt && sp_rt - thread->sp < PARKED_STACK_BYTES &&
            (!parked || thread->sp > parked->sp))
            parked = thread;
    }
    if (parked) {
        parked->stack_from_rt = sp_rt & ~UINT64_C(7);
        parked->nr_words = 0;
    }
}

// Reaps the threads of a killed process: the kernel reports the leader last. A thread that was not killed and
// has not stopped yet is left to seep_stop_holds().
static void bury_all(const struct seep_stopped *stopped) {
    for (int64_t end_ns = seep_monotonic_ns() + BURY_MAX_MS * NS_PER_MS; seep_monotonic_ns() < end_ns;) {
        bool all = true;
        for (size_t i = 0; i < stopped->nr_threads; i++)
            all &= !stopped->threads[i].lost || is_buried(stopped->pid, stopped->threads[i].tid);
        for (size_t i = 0; i < stopped->nr_unburied; i++)
            all &= is_buried(stopped->pid, stopped->unburied[i]);
        if (all)
            return;
        pause_ms(1);
    }
}

// Fails only for a thread that is gone (killed meanwhile), or that did not stop: the kernel gives that one
// back when the tool ends.
static void detach(struct seep_stopped *stopped, struct seep_stopped_thread *thread) {
    thread->lost = ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(long)thread->signal) != 0;
    stopped->was_killed |= thread->lost;
}

// Threads that wait on futexes begin that anew, and compare the word: nothing may write it before they have.
static void put_to_sleep(struct seep_stopped *stopped) {
    for (size_t i = 0; i < stopped->nr_threads; i++)
        if (stopped->threads[i].sleeps)
            detach(stopped, &stopped->threads[i]);
    int64_t end_ns = seep_monotonic_ns() + SLEEP_MAX_MS * NS_PER_MS;
    for (size_t i = 0; i < stopped->nr_threads; i++, end_ns += WAIT_THREAD_US * NS_PER_US) {
        const struct seep_stopped_thread *thread = &stopped->threads[i];
        struct seep_futex_wait wait;
        for (long waited = 0; thread->sleeps && !thread->lost && seep_monotonic_ns() < end_ns &&
                              !seep_futex_wait_find(stopped->pid, thread->tid, &wait);
             waited++)
            pause_ms(waited < 20 ? 0 : 1);
    }
}

// A peer of theirs, in another process, may have let them go on.
static bool has_woken(const struct seep_stopped *stopped) {
    bool has = false;
    for (size_t i = 0; i < stopped->nr_threads; i++) {
        const struct seep_stopped_thread *thread = &stopped->threads[i];
        has |= thread->left_asleep && nr_sleeps(stopped->pid, thread->tid) != thread->nr_sleeps;
    }
    return has;
}

void seep_stopped_release(struct seep_stopped *stopped) {
    if (stopped->released)
        return;
    stopped->one_woke = has_woken(stopped);
    put_to_sleep(stopped);
    for (size_t i = 0; i < stopped->nr_threads; i++) {
        struct seep_stopped_thread *thread = &stopped->threads[i];
        if (!thread->left_asleep && !thread->sleeps)
            detach(stopped, thread);
    }
    if (stopped->was_killed || stopped->nr_unburied)
        bury_all(stopped);
    stopped->released = true;
}

// ---- threads that did not stop in time ----------------------------------------------------------------

// A thread that waits in the kernel was seized and did not stop. This tracer keeps it until it returns from
// the kernel or ends. Then this tracer must detach or reap it. Otherwise the thread stays stopped, or its
// process never ends.
static _Thread_local struct held {
    pid_t pid;
    pid_t tid;
} * held;
static _Thread_local size_t nr_held, held_capacity;

static bool is_held(pid_t tid) {
    for (size_t i = 0; i < nr_held; i++)
        if (held[i].tid == tid)
            return true;
    return false;
}

// A thread that has executed a program has the number of the first thread from then on.
static void keep_held(pid_t pid, pid_t tid) {
    if (!is_ours(pid, tid))
        tid = pid;
    if (!is_held(tid) && is_ours(pid, tid) && seep_grow(&held, &held_capacity, nr_held + 1, sizeof(*held)))
        held[nr_held++] = (struct held){pid, tid};
}

bool seep_stop_holds(void) {
    for (size_t i = nr_held; i-- > 0;) {
        struct held one = held[i];
        if (!let_go(one.pid, one.tid))
            continue;
        held[i] = held[--nr_held];
        if (one.tid != one.pid)
            keep_held(one.pid, one.pid);
    }
    return nr_held != 0;
}

void seep_resume_process(struct seep_stopped *stopped) {
    if (!stopped)
        return;
    seep_stopped_release(stopped);
    for (size_t i = 0; i < stopped->nr_threads; i++)
        if (stopped->threads[i].lost)
            keep_held(stopped->pid, stopped->threads[i].tid);
    for (size_t i = 0; i < stopped->nr_unburied; i++)
        keep_held(stopped->pid, stopped->unburied[i]);
    for (size_t i = 0; i < stopped->nr_threads; i++)
        free(stopped->threads[i].words);
    free(stopped->threads);
    free(stopped->unburied);
    free(stopped);
}
