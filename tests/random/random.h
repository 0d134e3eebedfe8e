// SPDX-License-Identifier: BSD-2-Clause
//
// What generated programs share. Their own functions are called pN_...; those here are passed over in stacks.
#ifndef RANDOM_H
#define RANDOM_H

#include "corpus.h"
#include "program.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <grp.h>
#include <iconv.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <locale.h>
#include <malloc.h>
#include <netdb.h>
#include <obstack.h>
#include <pthread.h>
#include <regex.h>
#include <sched.h>
#include <search.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <wchar.h>
#include <wordexp.h>

#ifdef __cplusplus
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
#ifdef __cpp_impl_coroutine
#include <coroutine>
#endif
#endif

// Names of glibc that no header has.
#ifdef __cplusplus
extern "C" {
#endif
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
#ifdef __cplusplus
}
#endif

static const char *program_path;
static char library_path[4096];
static volatile int pausing;

static inline void say(const char *text) {
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(97);
}

// A block that has nothing in it which looks like a pointer.
APART static void *clear(void *block, size_t size) {
    CHECK(block != NULL);
    memset(block, 0, size);
    return keep(block);
}

static char text_of_letters[2001];

__attribute__((constructor)) static void fill_letters(void) { // before there are threads
    memset(text_of_letters, 'x', sizeof(text_of_letters) - 1);
}

static inline const char *letters(void) {
    return text_of_letters;
}

__attribute__((used)) static int compare_numbers(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

__attribute__((used)) static void leave_alone(void *unused) {
    (void)unused;
}

APART static void pause_here(void) {
    char c;
    if (!pausing)
        return;
    pausing = 0;
    say_ready();
    while (read(STDIN_FILENO, &c, 1) < 0 && errno == EINTR)
        ;
}

APART static void leave_by(void (*volatile leave)(int), int code) {
    leave(code);
    for (;;)
        pause();
}

// ---- threads ----

// The numbers of threads are addresses of their stacks, where blocks may lie when those are unmapped.
APART static void forget(void *where, size_t bytes) {
    memset(keep(where), 0, bytes);
    keep(where);
}

APART static void start_thread(pthread_t *thread, void *(*function)(void *)) {
    CHECK(pthread_create(thread, NULL, function, NULL) == 0);
}

APART static void run_threads(void *(*function)(void *), int count) {
    pthread_t threads[16];
    for (int i = 0; i < count; i++)
        start_thread(&threads[i], function);
    for (int i = 0; i < count; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    forget(threads, sizeof(threads));
}

// With its stack in memory of the program.
APART static void start_thread_on(pthread_t *thread, void *(*function)(void *), void *stack, size_t size) {
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, size) == 0);
    CHECK(pthread_create(thread, &attributes, function, NULL) == 0);
    CHECK(pthread_attr_destroy(&attributes) == 0);
}

static inline void run_thread(void *(*function)(void *)) {
    run_threads(function, 1);
}

static inline void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0)
        CHECK(errno == EINTR);
}

APART static void cancel_thread(void *(*function)(void *), sem_t *here) {
    pthread_t thread;
    void *result = NULL;
    start_thread(&thread, function);
    wait_for(here);
    CHECK(pthread_cancel(thread) == 0);
    CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
}

// Until the kernel has no such thread, which is not joined.
APART static void wait_ended(volatile pid_t *tid) {
    while (!*tid || syscall(SYS_tgkill, getpid(), *tid, 0) == 0)
        usleep(200);
}

// ---- processes ----

APART static int wait_child(pid_t child) {
    int status = -1;
    CHECK(child > 0);
    while (waitpid(child, &status, 0) != child)
        CHECK(errno == EINTR);
    return status;
}

APART static int run_child(void (*function)(void)) {
    pid_t child = fork();
    if (child == 0) {
        function();
        _exit(96);
    }
    return wait_child(child);
}

APART static void run_daemon(void (*function)(void)) {
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0)
            function();
        _exit(0);
    }
    int status = wait_child(child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

extern char **environ;

static inline void name_number(char *text, int number) {
    snprintf(text, 12, "%d", number);
}

APART static int fork_and_exec(int number) {
    char text[12];
    name_number(text, number);
    pid_t child = fork();
    if (child == 0) {
        execl(program_path, program_path, text, (char *)NULL);
        _exit(95);
    }
    return wait_child(child);
}

APART static int vfork_and_exec(int number) {
    char text[12];
    name_number(text, number);
    pid_t child = vfork();
    if (child == 0) {
        execl(program_path, program_path, text, (char *)NULL);
        _exit(95);
    }
    return wait_child(child);
}

APART static int spawn(int number) {
    char text[12];
    name_number(text, number);
    char *arguments[] = {(char *)program_path, text, NULL};
    pid_t child = -1;
    CHECK(posix_spawn(&child, program_path, NULL, NULL, arguments, environ) == 0);
    return wait_child(child);
}

// The started program has fewer descriptors, or others, than this one.
APART static int spawn_with_actions(int number) {
    char text[12];
    name_number(text, number);
    char *arguments[] = {(char *)program_path, text, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    CHECK(posix_spawn_file_actions_addopen(&actions, 40, "/dev/null", O_RDWR, 0) == 0);
    CHECK(posix_spawn_file_actions_adddup2(&actions, 40, STDIN_FILENO) == 0);
    CHECK(posix_spawn_file_actions_addclosefrom_np(&actions, 3) == 0);
    CHECK(posix_spawn(&child, program_path, &actions, NULL, arguments, environ) == 0);
    CHECK(posix_spawn_file_actions_destroy(&actions) == 0);
    return wait_child(child);
}

APART static int spawn_with_attributes(int number) {
    char text[12];
    name_number(text, number);
    char *arguments[] = {(char *)program_path, text, NULL};
    posix_spawnattr_t attributes;
    sigset_t all, none;
    pid_t child = -1;
    sigfillset(&all);
    sigemptyset(&none);
    CHECK(posix_spawnattr_init(&attributes) == 0);
    CHECK(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSCHEDULER |
                                                    POSIX_SPAWN_RESETIDS) == 0);
    CHECK(posix_spawnattr_setsigdefault(&attributes, &all) == 0);
    CHECK(posix_spawnattr_setsigmask(&attributes, &none) == 0);
    CHECK(posix_spawn(&child, program_path, NULL, &attributes, arguments, environ) == 0);
    CHECK(posix_spawnattr_destroy(&attributes) == 0);
    return wait_child(child);
}

// By execvpe and posix_spawnp of a name, which try each folder of PATH.
APART static int spawn_by_path(int number) {
    char text[12], path[sizeof(library_path) + 100];
    name_number(text, number);
    const char *name = strrchr(program_path, '/') + 1;
    char *arguments[] = {(char *)program_path, text, NULL};
    pid_t child = -1;
    char *before = strdup(getenv("PATH"));
    snprintf(path, sizeof(path), "/nonexistent:/dev/null:%.*s", (int)(name - program_path), program_path);
    CHECK(setenv("PATH", path, 1) == 0);
    CHECK(posix_spawnp(&child, "nonexistent program", NULL, NULL, arguments, environ) == ENOENT);
    int result = posix_spawnp(&child, name, NULL, NULL, arguments, environ);
    CHECK(setenv("PATH", before, 1) == 0 && result == 0);
    free(before);
    return wait_child(child);
}

APART static void vfork_and_leave(const char *path, int code) {
    volatile int failed = 0;
    pid_t child = vfork();
    if (child == 0) {
        execl(path, path, (char *)NULL);
        failed = errno;
        _exit(code);
    }
    int status = wait_child(child);
    CHECK(failed == (strcmp(path, "/nonexistent/program") ? EACCES : ENOENT));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == code);
}

// From a file that has no name.
APART static int fork_and_fexecve(int number) {
    char text[12];
    name_number(text, number);
    char *arguments[] = {(char *)program_path, text, NULL};
    pid_t child = fork();
    if (child == 0) {
        static char piece[65536];
        int from = open(program_path, O_RDONLY), file = memfd_create("batch", MFD_CLOEXEC);
        for (ssize_t nr; (nr = read(from, piece, sizeof(piece))) > 0;)
            CHECK(write(file, piece, (size_t)nr) == nr);
        fexecve(file, arguments, environ);
        _exit(95);
    }
    return wait_child(child);
}

// A process that shares this one's memory. It runs on a stack of its own.
APART static void run_in_same_memory(int (*function)(void *), int flags) {
    size_t size = 256 * 1024;
    char *stack = (char *)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED);
    int status = wait_child(clone(function, stack + size, CLONE_VM | SIGCHLD | flags, NULL));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(munmap(stack, size) == 0);
}

// With other traits of the kernel's (personality), without standard input and errors, or with a large environment.
APART static int fork_and_exec_with(int number, unsigned long traits, bool closes, int nr_more) {
    static char text[12], more[1000][200], *all[4000];
    name_number(text, number);
    pid_t child = fork();
    if (child == 0) {
        char *arguments[] = {(char *)program_path, text, NULL}, **next = all;
        for (int i = 0; i < nr_more; i++) {
            snprintf(more[i], sizeof(more[i]), "VARIABLE_%d=%150d", i, i);
            *next++ = more[i];
        }
        for (int i = 0; environ[i] && i < 2000; i++)
            *next++ = environ[i];
        CHECK(personality(traits) != -1);
        if (closes)
            CHECK(close(STDIN_FILENO) == 0 && close(STDERR_FILENO) == 0);
        execve(program_path, arguments, all);
        _exit(95);
    }
    return wait_child(child);
}

// "exec", because a shell that waits tells a signal by another status.
APART static void run_command(char *text, size_t size, int number) {
    snprintf(text, size, "exec '%s' %d", program_path, number);
}

APART static int run_by_shell(int number) {
    char text[sizeof(library_path) + 32];
    run_command(text, sizeof(text), number);
    return system(text);
}

// What the program prints comes through a pipe.
APART static int run_and_read(int number) {
    char text[sizeof(library_path) + 32];
    run_command(text, sizeof(text), number);
    FILE *from = popen(text, "re");
    CHECK(from != NULL);
    while (fgets(text, sizeof(text), from))
        say(text);
    return pclose(from);
}

// As the first process of a new namespace of processes, to which no signal comes that it does not handle.
APART static int run_in_namespace(void (*function)(void), int flags) {
    pid_t child = fork();
    if (child == 0) {
        CHECK(unshare(flags) == 0);
        pid_t first = fork();
        if (first == 0) {
            CHECK(getpid() == 1);
            function();
        }
        int status = wait_child(first);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 94);
    }
    return wait_child(child);
}

APART static void drop_rights(void) {
    CHECK(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
}

APART static void enter_root(const char *path) {
    CHECK(chroot(path) == 0 && chdir("/") == 0);
}

APART static void exec_in_place(int number) {
    char text[12];
    name_number(text, number);
    struct itimerval never;
    memset(&never, 0, sizeof(never));
    setitimer(ITIMER_REAL, &never, NULL); // it would go on in the other program
    execl(program_path, program_path, text, (char *)NULL);
    _exit(95);
}

// ---- signals ----

APART static void set_handler(int number, void (*handler)(int), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    action.sa_flags = flags;
    CHECK(sigaction(number, &action, NULL) == 0);
}

APART static void raise_here(int number, void (*handler)(int)) {
    set_handler(number, handler, SA_NODEFER);
    raise(number);
}

APART static void raise_on_own_stack(int number, void (*handler)(int)) {
    stack_t stack, old;
    memset(&stack, 0, sizeof(stack));
    stack.ss_size = 256 * 1024;
    stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack.ss_sp != MAP_FAILED);
    bool is_new = sigaltstack(&stack, &old) == 0; // else we are on one already
    CHECK(is_new || errno == EPERM);
    set_handler(number, handler, SA_ONSTACK | SA_NODEFER);
    raise(number);
    CHECK((!is_new || sigaltstack(&old, NULL) == 0) && munmap(stack.ss_sp, stack.ss_size) == 0);
}

APART static void tick(void (*handler)(int), int us) {
    struct itimerval every = {{0, us}, {0, us}};
    set_handler(SIGALRM, handler, SA_RESTART);
    CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
}

// Where the innermost handler jumps.
static __thread sigjmp_buf *volatile jump_target;

APART static void jump_back(void) {
    siglongjmp(*jump_target, 1);
}

APART static void fault_and_jump(void (*handler)(int)) {
    sigjmp_buf here, *volatile before = jump_target;
    jump_target = &here;
    set_handler(SIGSEGV, handler, SA_NODEFER);
    if (sigsetjmp(here, 1) == 0)
        *(volatile int *)hide(8) = 1;
    set_handler(SIGSEGV, SIG_DFL, 0);
    jump_target = before;
}

APART static void raise_and_jump(void (*handler)(int)) {
    sigjmp_buf here, *volatile before = jump_target;
    jump_target = &here;
    set_handler(SIGUSR1, handler, SA_NODEFER);
    if (sigsetjmp(here, 1) == 0)
        raise(SIGUSR1);
    jump_target = before;
}

// ---- coroutines ----

struct coroutine {
    ucontext_t here, back;
    void (*function)(void);
};

enum { COROUTINE_STACK = 512 * 1024 };

APART static void start_coroutine(struct coroutine *coroutine, void (*function)(void)) {
    CHECK(getcontext(&coroutine->here) == 0);
    coroutine->here.uc_stack.ss_size = COROUTINE_STACK;
    coroutine->here.uc_stack.ss_sp =
        mmap(NULL, COROUTINE_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(coroutine->here.uc_stack.ss_sp != MAP_FAILED);
    coroutine->here.uc_link = &coroutine->back;
    makecontext(&coroutine->here, function, 0);
    CHECK(swapcontext(&coroutine->back, &coroutine->here) == 0);
}

// As scrub(), on a stack that has less room.
APART static void scrub_little(void) {
    volatile char room[16384];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0;
    scrub_registers();
}

// Its stack is in `memory`; it is left for good.
APART static void start_coroutine_on(struct coroutine *coroutine, void (*function)(void), void *memory,
                                     size_t size) {
    CHECK(getcontext(&coroutine->here) == 0);
    coroutine->here.uc_stack.ss_size = size;
    coroutine->here.uc_stack.ss_sp = memory;
    coroutine->here.uc_link = &coroutine->back;
    makecontext(&coroutine->here, function, 0);
    CHECK(swapcontext(&coroutine->back, &coroutine->here) == 0);
}

APART static void leave_coroutine(struct coroutine *coroutine) {
    CHECK(swapcontext(&coroutine->here, &coroutine->back) == 0);
}

// To its end.
APART static void resume_coroutine(struct coroutine *coroutine) {
    CHECK(swapcontext(&coroutine->back, &coroutine->here) == 0);
    CHECK(munmap(coroutine->here.uc_stack.ss_sp, COROUTINE_STACK) == 0);
}

APART static void run_coroutine(void (*function)(void)) {
    struct coroutine coroutine;
    start_coroutine(&coroutine, function);
    CHECK(munmap(coroutine.here.uc_stack.ss_sp, COROUTINE_STACK) == 0);
}

#ifdef __x86_64__
// Switches as libraries of coroutines do: without system calls, and without rows for an unwinder.
struct bare {
    void *here, *back; // stack pointers
};

// Not a naked function: -fstack-protector-all would write into its caller's frame.
#ifdef __cplusplus
extern "C"
#endif
    __attribute__((visibility("hidden"))) void
    bare_switch(void **from, void **to);
__asm__(".pushsection .text\n"
        ".type bare_switch, @function\n"
        "bare_switch:\n"
        "push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
        "mov %rsp, (%rdi); mov (%rsi), %rsp\n"
        "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret\n"
        ".size bare_switch, . - bare_switch\n"
        ".popsection");

APART static void *bare_stack(struct bare *bare, void (*function)(void)) {
    char *stack = (char *)mmap(NULL, 1 << 19, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED);
    void **top = (void **)(stack + (1 << 19)) - 1; // as at the entry of a function
    top[0] = NULL;                                 // the function never returns
    *--top = (void *)function;
    bare->here = top - 6;
    return stack;
}
#endif

// ---- limits and filters ----

APART static void set_limit(int which, size_t value) {
    struct rlimit limit = {value, value};
    CHECK(setrlimit((__rlimit_resource_t)which, &limit) == 0);
}

APART static size_t own_size(void) {
    char text[64] = "";
    int file = open("/proc/self/statm", O_RDONLY);
    CHECK(file >= 0 && read(file, text, sizeof(text) - 1) > 0);
    close(file);
    return strtoul(text, NULL, 10) * 4096;
}

APART static void install_filter(void) {
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

// All that an allocator needs, and what _exit() and abort() need; libc can do without a file. Else the process is killed.
APART static void install_narrow_filter(bool by_own_call) {
    static const unsigned allowed[] = {SYS_write,          SYS_brk,          SYS_mmap,     SYS_munmap,
                                       SYS_mremap,         SYS_madvise,      SYS_mprotect, SYS_futex,
                                       SYS_exit_group,     SYS_getpid,       SYS_gettid,   SYS_tgkill,
                                       SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_getrandom};
    enum { NR = sizeof(allowed) / sizeof(allowed[0]) };
    struct sock_filter code[NR + 5], *next = code;
    *next++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
    for (int i = 0; i < NR; i++)
        *next++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i],
                                               (unsigned char)(NR + 2 - i), 0);
    *next++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0);
    *next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    *next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES);
    *next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {NR + 5, code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(by_own_call ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0
                      : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

// ---- code made at run time ----

#ifdef __x86_64__
// Keeps a frame pointer, as compilers at run time do, and calls what it is given.
APART static void run_made_code(void (*function)(void)) {
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    memcpy((char *)page + 64, code, sizeof(code));
    CHECK(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
    ((void (*)(void (*)(void)))(uintptr_t)((char *)page + 64))(function);
    CHECK(munmap(page, 4096) == 0);
}
#endif

// ---- what the kernel has ----

// A ring of io_uring; its memory is mapped, and never unmapped.
struct uring {
    int file;
    unsigned char *ring;
    struct io_uring_sqe *requests;
    struct io_uring_params parameters;
};

APART static void open_uring(struct uring *uring) {
    memset(uring, 0, sizeof(*uring));
    uring->file = (int)syscall(SYS_io_uring_setup, 4, &uring->parameters);
    CHECK(uring->file >= 0);
    size_t size = uring->parameters.cq_off.cqes + uring->parameters.cq_entries * sizeof(struct io_uring_cqe);
    uring->ring = (unsigned char *)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                                        uring->file, IORING_OFF_SQ_RING);
    uring->requests =
        (struct io_uring_sqe *)mmap(NULL, 4 * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_POPULATE, uring->file, IORING_OFF_SQES);
    CHECK(uring->ring != MAP_FAILED && uring->requests != MAP_FAILED);
}

// A request that does nothing; `data` comes back with its completion.
APART static void submit_nothing(struct uring *uring, void *data) {
    unsigned *tail = (unsigned *)(uring->ring + uring->parameters.sq_off.tail);
    unsigned *array = (unsigned *)(uring->ring + uring->parameters.sq_off.array);
    memset(&uring->requests[0], 0, sizeof(uring->requests[0]));
    uring->requests[0].opcode = IORING_OP_NOP;
    uring->requests[0].user_data = (uintptr_t)data;
    array[*tail & 3] = 0;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    CHECK(syscall(SYS_io_uring_enter, uring->file, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
    memset(&uring->requests[0], 0, sizeof(uring->requests[0]));
}

// The data of the completion, which is then gone from the ring.
APART static void *take_completion(struct uring *uring) {
    unsigned *head = (unsigned *)(uring->ring + uring->parameters.cq_off.head);
    unsigned mask = *(unsigned *)(uring->ring + uring->parameters.cq_off.ring_mask);
    struct io_uring_cqe *completion =
        (struct io_uring_cqe *)(uring->ring + uring->parameters.cq_off.cqes) + (*head & mask);
    void *data = (void *)(uintptr_t)completion->user_data;
    completion->user_data = 0;
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    return data;
}

// ---- main ----

static inline int begin(int argc, char **argv) {
    CHECK(argc >= 2);
    program_path = argv[0];
    snprintf(library_path, sizeof(library_path), "%s.so", argv[0]);
    pausing = argc > 2;
    return atoi(argv[1]);
}

#endif
