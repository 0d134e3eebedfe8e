// SPDX-License-Identifier: BSD-2-Clause
// System calls that a stopped thread is made to do, see process_copy.h.
#include <errno.h>
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/live_thread.h"
#include "process/gone.h"
#include "process/proc_fields.h"
#include "scan/memory.h"
#include "scan/process_copy.h"

#if defined(__x86_64__)

#define CODE_BYTES  ((uint64_t)4 << 20) // of a module that are searched for the instruction
#define NO_STACK    8u                  // where nothing can be mapped
#define STOPS_MAX   64                  // on the way through one call
#define EVENT_OF(s) ((s) >> 16)

// Of 32-bit programs. Source: arch/x86/entry/syscalls/syscall_32.tbl of Linux.
enum { NARROW_WAIT4 = 114, NARROW_CLONE = 120 };

enum { END_EVERY_NS = 20000000, END_TRIES = 500 }; // ten seconds and more

// Of Linux 5.13, and of older headers unknown; rseq_cs is a field of struct rseq, <linux/rseq.h>.
enum { PTRACE_GET_RSEQ_CONFIGURATION_ = 0x420f, RSEQ_CS = 8 };

// ---- where the process can make a call ----

// syscall; ret. In a 32-bit program: int $0x80
static uint64_t find_call(const unsigned char *code, size_t nr_bytes, bool narrow) {
    static const unsigned char call[] = {0x0f, 0x05, 0xc3}, narrow_call[] = {0xcd, 0x80};
    const unsigned char *found = narrow ? memmem(code, nr_bytes, narrow_call, sizeof(narrow_call))
                                        : memmem(code, nr_bytes, call, sizeof(call));
    return found ? (uint64_t)(found - code) : UINT64_MAX;
}

static struct seep_error *find_call_in(const struct seep_memory *memory, bool narrow, uint64_t *ret_call_rt) {
    unsigned char *code = malloc((size_t)CODE_BYTES);
    if (!code)
        return seep_error_no_memory();
    *ret_call_rt = 0;
    for (size_t i = memory->nr_mappings; !*ret_call_rt && i-- > 0;) { // the vdso and libc stand behind
        const struct seep_memory_area *mapping = &memory->mappings[i];
        size_t nr_bytes = (size_t)SEEP_MIN(mapping->end - mapping->start, CODE_BYTES);
        if (!mapping->executable || !mapping->readable || mapping->writable ||
            strcmp(mapping->path, "[vsyscall]") == 0 ||
            !seep_memory_read(memory, mapping->start, code, nr_bytes))
            continue;
        uint64_t off = find_call(code, nr_bytes, narrow);
        *ret_call_rt = off == UINT64_MAX ? 0 : mapping->start + off;
    }
    free(code);
    return NULL;
}

// System calls of 32-bit programs have other numbers, and other registers.
static bool is_narrow(pid_t pid) {
    char path[64];
    Elf32_Ehdr header = {.e_machine = EM_NONE};
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool narrow =
        fd >= 0 && pread(fd, &header, sizeof(header), 0) == sizeof(header) && header.e_machine == EM_386;
    if (fd >= 0)
        close(fd);
    return narrow;
}

// Why its own state speaks against it; NULL: nothing does.
static const char *obstacle(pid_t pid) {
    const char *found = NULL;
    struct seep_stat stat;
    pid_t thread = seep_live_thread(pid);
    if (seep_stat_read(thread, 0, &stat) && seep_stat_state(&stat) == 'T')
        found = "it is stopped, and has to stay so";
    if (seep_status_number(thread, 0, "Seccomp:") > 0)
        found = "its seccomp filter decides which system calls it may make";
    return found;
}

static struct seep_error *refused(pid_t pid, const char *why) {
    return seep_error_hint(
        seep_error_create(SEEP_E_UNSUPPORTED, "process %d cannot be copied: %s", (int)pid, why),
        "scan it without --cow");
}

struct seep_error *seep_process_copy_prepare(pid_t pid, struct seep_process_copy *ret_copy) {
    struct seep_memory *memory = NULL;
    *ret_copy = (struct seep_process_copy){.of = pid};
    const char *why = obstacle(pid);
    if (why)
        return refused(pid, why);
    struct seep_error *err = seep_memory_open(pid, &memory);
    if (!err) {
        ret_copy->narrow = is_narrow(pid);
        err = find_call_in(memory, ret_copy->narrow, &ret_copy->call_rt);
    }
    if (!err && !ret_copy->call_rt)
        err = refused(pid, "no code to make a system call with was found in it");
    seep_memory_close(memory);
    return err;
}

// ---- making one ----

// The wait has a limit: when a process is killed, the kernel reports its first thread only after its tracer
// has waited for the others. seep_stopped_release() waits for all of them.
static bool wait_for(pid_t tid, int *ret_status) {
    static const struct timespec pause = {.tv_nsec = 50000};
    pid_t got;
    while ((got = waitpid(tid, ret_status, __WALL | WNOHANG)) == 0 && !seep_process_is_zombie(tid))
        nanosleep(&pause, NULL);
    return got == tid && WIFSTOPPED(*ret_status);
}

struct injection {
    pid_t tid;
    bool narrow; // it runs a 32-bit program
    struct user_regs_struct before;
    uint64_t mask_before;
    int64_t result;
    pid_t child; // that the call made; 0: none
};

static bool start_call(struct injection *injection, uint64_t call_rt, const uint64_t arguments[5]) {
    uint64_t all = UINT64_MAX;
    pid_t tid = injection->tid;
    if (ptrace(PTRACE_GETREGS, tid, NULL, &injection->before) != 0 ||
        ptrace(PTRACE_GETSIGMASK, tid, sizeof(all), &injection->mask_before) != 0)
        return false;
    struct user_regs_struct regs = injection->before;
    regs.rip = call_rt;
    regs.orig_rax = UINT64_MAX; // it is in no call: nothing is to begin again
    regs.rax = arguments[0];
    if (injection->narrow) {
        regs.rbx = arguments[1];
        regs.rcx = arguments[2];
        regs.rdx = arguments[3];
        regs.rsi = arguments[4];
        regs.rdi = 0;
    } else {
        regs.rdi = arguments[1];
        regs.rsi = arguments[2];
        regs.rdx = arguments[3];
        regs.r10 = arguments[4];
        regs.r8 = 0;
    }
    return ptrace(PTRACE_SETOPTIONS, tid, NULL,
                  (void *)(long)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE)) == 0 &&
           ptrace(PTRACE_SETSIGMASK, tid, sizeof(all), &all) == 0 &&
           ptrace(PTRACE_SETREGS, tid, NULL, &regs) == 0;
}

// Into the call, through it, and out of it. Signals that are not to be blocked do not stop it here.
static bool go_through(struct injection *injection) {
    int nr_syscall_stops = 0;
    for (int i = 0; i < STOPS_MAX && nr_syscall_stops < 2; i++) {
        int status;
        if (ptrace(PTRACE_SYSCALL, injection->tid, NULL, NULL) != 0 || !wait_for(injection->tid, &status))
            return false;
        if (WSTOPSIG(status) == (SIGTRAP | 0x80))
            nr_syscall_stops++;
        unsigned long child;
        if (EVENT_OF(status) == PTRACE_EVENT_CLONE &&
            ptrace(PTRACE_GETEVENTMSG, injection->tid, NULL, &child) == 0) {
            injection->child = (pid_t)child;
            int born;
            if (wait_for(injection->child, &born))
                ptrace(PTRACE_SETOPTIONS, injection->child, NULL, (void *)(long)PTRACE_O_EXITKILL);
        }
    }
    struct user_regs_struct regs;
    if (nr_syscall_stops < 2 || ptrace(PTRACE_GETREGS, injection->tid, NULL, &regs) != 0)
        return false;
    injection->result = injection->narrow ? (int32_t)regs.rax : (int64_t)regs.rax;
    return true;
}

// Back to a stop of the kind it was in before the call. There, and only there, the kernel makes the call
// begin again that the thread was in at first.
static bool go_back(struct injection *injection) {
    pid_t tid = injection->tid;
    int status = 0;
    bool stopped = ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0;
    for (int i = 0; stopped && i < STOPS_MAX; i++) {
        stopped = ptrace(PTRACE_CONT, tid, NULL, NULL) == 0 && wait_for(tid, &status);
        if (stopped && EVENT_OF(status) == PTRACE_EVENT_STOP)
            break;
    }
    // Also where the call failed half-way: whatever it is in, it gets its own registers again.
    bool restored = ptrace(PTRACE_SETREGS, tid, NULL, &injection->before) == 0;
    restored &= ptrace(PTRACE_SETSIGMASK, tid, sizeof(injection->mask_before), &injection->mask_before) == 0;
    restored &= ptrace(PTRACE_SETOPTIONS, tid, NULL, NULL) == 0;
    return stopped && restored;
}

static bool call(struct injection *injection, uint64_t call_rt, const uint64_t arguments[5]) {
    bool done = start_call(injection, call_rt, arguments) && go_through(injection);
    return go_back(injection) && done;
}

static void end_child(pid_t child) {
    int status;
    kill(child, SIGKILL);
    while (waitpid(child, &status, __WALL) >= 0 && !WIFEXITED(status) && !WIFSIGNALED(status))
        continue;
}

// The process takes the child out of the table of processes.
static void reap(pid_t tid, const struct seep_process_copy *copied) {
    const uint64_t wait_arguments[5] = {copied->narrow ? NARROW_WAIT4 : SYS_wait4, (uint64_t)copied->own_pid,
                                        0, __WALL | WNOHANG, 0};
    struct injection injection = {.tid = tid, .narrow = copied->narrow};
    (void)!call(&injection, copied->call_rt, wait_arguments);
}

// A thread that is led out of a restartable sequence would be told of it no more when it is back. Source:
// rseq(2): a thread that leaves a sequence in another way than by its end finds its descriptor cleared.
static bool may_be_in_sequence(pid_t tid) {
    struct {
        uint64_t address;
        uint32_t size, signature, flags, pad;
    } config;
    if (ptrace((enum __ptrace_request)PTRACE_GET_RSEQ_CONFIGURATION_, tid, sizeof(config), &config) < 0 ||
        !config.address)
        return false;
    errno = 0;
    long sequence = ptrace(PTRACE_PEEKDATA, tid, (void *)(uintptr_t)(config.address + RSEQ_CS), NULL);
    return sequence != 0 || errno;
}

// One that waits for no signal of ours to be given on.
static const struct seep_stopped_thread *choose_thread(const struct seep_stopped *stopped) {
    for (size_t i = 0; i < stopped->nr_threads; i++)
        if (!stopped->threads[i].signal && !may_be_in_sequence(stopped->threads[i].tid))
            return &stopped->threads[i];
    return NULL;
}

static struct seep_error *make_copy(struct seep_process_copy *copied, const struct seep_stopped *stopped) {
    const uint64_t clone_arguments[5] = {copied->narrow ? NARROW_CLONE : SYS_clone, 0, NO_STACK, 0,
                                         0}; // no signal at its end
    const struct seep_stopped_thread *thread = choose_thread(stopped);
    if (!thread)
        return refused(copied->of,
                       "each of its threads is about to take a signal, or in a restartable sequence");
    struct injection injection = {.tid = thread->tid, .narrow = copied->narrow};
    bool done = call(&injection, copied->call_rt, clone_arguments);
    copied->own_pid = injection.result;
    if (done && injection.child && injection.result > 0) {
        copied->pid = injection.child;
        return NULL;
    }
    if (injection.child) {
        end_child(injection.child);
        reap(injection.tid, copied);
    }
    return done && injection.result < 0
               ? refused(copied->of, strerror((int)-injection.result))
               : seep_error_create(SEEP_E_IO, "process %d cannot be copied: it ended meanwhile",
                                   (int)copied->of);
}

static bool is_there(pid_t pid) {
    return kill(pid, 0) == 0 || errno == EPERM;
}

// *ret_pause_ns: how long the process waited to take its child out of the table. Not at once where another
// tracer has the process (a scan that came after one that was killed), or where no thread may be taken.
static void end_copy(struct seep_process_copy *copied, int64_t *ret_pause_ns) {
    const struct timespec between = {.tv_nsec = END_EVERY_NS};
    end_child(copied->pid);
    *ret_pause_ns = 0;
    for (int i = 0; i < END_TRIES && is_there(copied->of) && is_there(copied->pid); i++) {
        if (i > 0)
            nanosleep(&between, NULL);
        int64_t start = seep_monotonic_ns();
        struct seep_stopped *stopped = NULL;
        struct seep_error *err = seep_stop_process_now(copied->of, &stopped);
        const struct seep_stopped_thread *thread = err ? NULL : choose_thread(stopped);
        if (thread)
            reap(thread->tid, copied);
        seep_resume_process(stopped);
        *ret_pause_ns += err ? 0 : seep_monotonic_ns() - start;
        seep_error_destroy(err);
    }
}

// ---- what the guard and we tell one another ----

static bool send_all(int fd, const void *bytes, size_t nr_bytes) {
    for (const char *at = bytes; nr_bytes > 0;) {
        ssize_t sent = send(fd, at, nr_bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        nr_bytes -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int fd, void *ret_bytes, size_t nr_bytes) {
    for (char *at = ret_bytes; nr_bytes > 0;) {
        ssize_t got = recv(fd, at, nr_bytes, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        nr_bytes -= (size_t)got;
    }
    return true;
}

struct answer {
    uint32_t failed; // a text follows, and a hint
    uint32_t code;
    uint32_t nr_message;
    uint32_t nr_hint;
    uint64_t nr_threads; // they follow
    struct seep_process_copy copied;
    int64_t pause_ns;
};

static bool send_error(int fd, const struct seep_error *err) {
    const char *hint = err->hint ? err->hint : "";
    struct answer answer = {.failed = 1,
                            .code = (uint32_t)err->code,
                            .nr_message = (uint32_t)strlen(err->message),
                            .nr_hint = (uint32_t)strlen(hint)};
    return send_all(fd, &answer, sizeof(answer)) && send_all(fd, err->message, answer.nr_message) &&
           send_all(fd, hint, answer.nr_hint);
}

static struct seep_error *no_guard(const struct seep_process_copy *copied) {
    return seep_error_create(SEEP_E_IO, "process %d cannot be copied: our helper has ended", (int)copied->of);
}

static struct seep_error *receive_error(const struct seep_process_copy *copied, const struct answer *answer) {
    char *message = calloc(1, (size_t)answer->nr_message + 1), *hint = calloc(1, (size_t)answer->nr_hint + 1);
    struct seep_error *err = NULL;
    if (!message || !hint)
        err = seep_error_no_memory();
    else if (!receive_all(copied->fd, message, answer->nr_message) ||
             !receive_all(copied->fd, hint, answer->nr_hint))
        err = no_guard(copied);
    else
        err = seep_error_create((enum seep_error_code)answer->code, "%s", message);
    if (message && hint && *hint)
        err = seep_error_hint(err, "%s", hint);
    free(message);
    free(hint);
    return err;
}

static struct seep_error *receive_answer(const struct seep_process_copy *copied, struct answer *ret_answer) {
    if (!receive_all(copied->fd, ret_answer, sizeof(*ret_answer)))
        return no_guard(copied);
    return ret_answer->failed ? receive_error(copied, ret_answer) : NULL;
}

static bool send_threads(int fd, const struct seep_stopped *stopped) {
    struct answer answer = {.nr_threads = stopped->nr_threads};
    bool sent = send_all(fd, &answer, sizeof(answer));
    for (size_t i = 0; sent && i < stopped->nr_threads; i++)
        sent = send_all(fd, &stopped->threads[i], sizeof(stopped->threads[i])) &&
               send_all(fd, stopped->threads[i].words, stopped->threads[i].nr_words * sizeof(uint64_t));
    return sent;
}

static bool receive_thread(int fd, struct seep_stopped_thread *ret_thread) {
    if (!receive_all(fd, ret_thread, sizeof(*ret_thread)))
        return false;
    ret_thread->words = calloc(SEEP_MAX(ret_thread->nr_words, (size_t)1), sizeof(uint64_t));
    return ret_thread->words && receive_all(fd, ret_thread->words, ret_thread->nr_words * sizeof(uint64_t));
}

// ---- the guard ----

// Stops the process, makes the copy when it is told to, and ends it when it is told to or when we are gone.
// Nothing that is meant for us reaches it.
static void guard(struct seep_process_copy copied) {
    char word;
    struct seep_stopped *stopped = NULL;
    int64_t start = seep_monotonic_ns();
    struct seep_error *err = seep_stop_process(copied.of, &stopped);
    if (!err && send_threads(copied.fd, stopped) && receive_all(copied.fd, &word, 1))
        err = make_copy(&copied, stopped);
    if (stopped)
        seep_stopped_release(stopped);
    int64_t waited_ns = stopped ? stopped->waited_ns : 0;
    struct answer answer = {.copied = copied, .pause_ns = seep_monotonic_ns() - start - waited_ns};
    bool told = err ? send_error(copied.fd, err) : send_all(copied.fd, &answer, sizeof(answer));
    if (told && copied.pid)
        told = receive_all(copied.fd, &word, 1);
    if (copied.pid)
        end_copy(&copied, &answer.pause_ns);
    if (told)
        (void)!send_all(copied.fd, &answer, sizeof(answer));
}

struct seep_error *seep_process_copy_stop(struct seep_process_copy *copied,
                                          struct seep_stopped **ret_stopped) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return seep_error_system(errno, "cannot make a pair of sockets");
    copied->guard = fork();
    if (copied->guard == 0) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        setsid();
        close(ends[0]);
        copied->fd = ends[1];
        guard(*copied);
        _exit(0);
    }
    int trouble = errno;
    close(ends[1]);
    copied->fd = ends[0];
    if (copied->guard < 0) {
        close(ends[0]);
        return seep_error_system(trouble, "cannot start a process");
    }
    struct answer answer;
    struct seep_error *err = receive_answer(copied, &answer);
    struct seep_stopped *stopped = err ? NULL : calloc(1, sizeof(*stopped));
    if (!err && stopped) {
        stopped->pid = copied->of;
        stopped->released = true; // they are the guard's
        stopped->threads = calloc(SEEP_MAX((size_t)answer.nr_threads, (size_t)1), sizeof(*stopped->threads));
    }
    if (!err && (!stopped || !stopped->threads))
        err = seep_error_no_memory();
    while (!err && stopped->nr_threads < answer.nr_threads)
        if (!receive_thread(copied->fd, &stopped->threads[stopped->nr_threads++]))
            err = no_guard(copied);
    if (err) {
        seep_resume_process(stopped);
        return err;
    }
    *ret_stopped = stopped;
    return NULL;
}

struct seep_error *seep_process_copy_take(struct seep_process_copy *copied, int64_t *ret_pause_ns) {
    struct answer answer;
    if (!send_all(copied->fd, "g", 1))
        return no_guard(copied);
    struct seep_error *err = receive_answer(copied, &answer);
    if (err)
        return err;
    copied->pid = answer.copied.pid;
    *ret_pause_ns = answer.pause_ns;
    return NULL;
}

void seep_process_copy_drop(struct seep_process_copy *copied, int64_t *ret_pause_ns) {
    struct answer answer;
    *ret_pause_ns = 0;
    if (copied->guard <= 0)
        return;
    if (copied->pid && send_all(copied->fd, "e", 1) && receive_all(copied->fd, &answer, sizeof(answer)))
        *ret_pause_ns = answer.pause_ns;
    close(copied->fd);
    while (waitpid(copied->guard, NULL, 0) < 0 && errno == EINTR)
        continue;
    copied->guard = 0;
    copied->pid = 0;
}

#else

struct seep_error *seep_process_copy_prepare(pid_t pid, struct seep_process_copy *ret_copy) {
    *ret_copy = (struct seep_process_copy){.of = pid};
    return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                             "--cow is not there for this CPU: process %d cannot be copied",
                                             (int)pid),
                           "scan it without --cow");
}

struct seep_error *seep_process_copy_stop(struct seep_process_copy *copied,
                                          struct seep_stopped **ret_stopped) {
    (void)ret_stopped;
    return seep_error_create(SEEP_E_UNSUPPORTED, "process %d cannot be copied", (int)copied->of);
}

struct seep_error *seep_process_copy_take(struct seep_process_copy *copied, int64_t *ret_pause_ns) {
    (void)ret_pause_ns;
    return seep_error_create(SEEP_E_UNSUPPORTED, "process %d cannot be copied", (int)copied->of);
}

void seep_process_copy_drop(struct seep_process_copy *copied, int64_t *ret_pause_ns) {
    (void)copied;
    *ret_pause_ns = 0;
}

#endif
