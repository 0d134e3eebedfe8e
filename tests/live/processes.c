// SPDX-License-Identifier: BSD-2-Clause
//
// Processes that become more, one way for each first argument; test_processes.py says what must come
// of it. Every child that matters allocates in own(), one block of a size that tells which child it is.
#include <seep.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noipa))
#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                          \
            _Exit(99);                                                                                       \
        }                                                                                                    \
    } while (0)

static void *keep(void *p) {
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

APART static void own(size_t size) {
    keep(malloc(size));
}

static void *held[4096];

APART static void hold(int nr) {
    for (int i = 0; i < nr; i++)
        held[i] = keep(malloc(100));
}

static int wait_for(pid_t pid) {
    int status;
    CHECK(waitpid(pid, &status, __WALL) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

// ---- heirs: children, and theirs, of a parent that has freed most of what it had ------------------

APART static void before(void) {
    for (int i = 0; i < 1000; i++) {
        held[i] = keep(malloc(3000));
        if (i % 4)
            free(held[i]);
    }
}

APART static void come_and_go(void) {
    for (int i = 0; i < 10; i++)
        free(keep(malloc(70)));
}

static int heirs(void) {
    before();
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            come_and_go();
            own(70);
            pid_t next = fork();
            if (next == 0) {
                come_and_go();
                own(70);
            }
            exit(next ? wait_for(next) : 0);
        }
        wait_for(pid);
    }
    return 0;
}

// ---- late: a child that has waited before it allocates ---------------------------------------------------

static int late(int between) {
    int gate[2];
    CHECK(pipe(gate) == 0);
    hold(4);
    free(held[0]);
    free(held[1]);
    CHECK(mmap(NULL, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    held[0] = NULL;
    seep_mark("before");
    pid_t pid = fork();
    if (pid == 0 && between) { // a child that does nothing but to fork, when its parent has done some of it
        usleep(100000);
        pid_t next = fork();
        if (next != 0)
            _exit(wait_for(next));
    }
    if (pid == 0) {
        char c;
        CHECK(read(gate[0], &c, 1) == 1);
        free(keep(malloc(277)));
        _exit(0);
    }
    free(keep(malloc(50000000 - 200)));
    for (int i = 0; i < 10; i++)
        free(keep(malloc(9)));
    keep(malloc((size_t)-1 >> 1));
    CHECK(mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    seep_mark("after");
    usleep(250000);
    CHECK(write(gate[1], "x", 1) == 1);
    return wait_for(pid);
}

// ---- pending: many children at once that have no image yet, while the parent goes on -----------------

APART static void *grow(void) {
    return keep(malloc(1000));
}

static int pending(int nr) {
    int gate[2];
    CHECK(pipe(gate) == 0);
    hold(50);
    void **grown = calloc((size_t)nr, sizeof(*grown));
    pid_t *pids = calloc((size_t)nr, sizeof(*pids));
    for (int i = 0; i < nr; i++) {
        grown[i] = grow();
        pids[i] = fork();
        if (pids[i] == 0) {
            char c;
            CHECK(read(gate[0], &c, 1) == 1);
            own((size_t)i + 1);
            _exit(0);
        }
    }
    for (int i = 0; i < nr; i++)
        free(grown[i]);
    for (int i = 0; i < 50; i += 2)
        free(held[i]);
    for (int i = 0; i < nr; i++)
        CHECK(write(gate[1], "x", 1) == 1);
    for (int i = 0; i < nr; i++)
        CHECK(wait_for(pids[i]) == 0);
    return 0;
}

// ---- busy: fork while other threads allocate ---------------------------------------------------------

static _Atomic int stop;

static void *work(void *unused) {
    void *mine[16] = {NULL};
    for (unsigned i = 0; !atomic_load(&stop); i++) {
        free(mine[i % 16]);
        mine[i % 16] = keep(malloc(32 + i % 64));
    }
    for (int i = 0; i < 16; i++)
        free(mine[i]);
    return unused;
}

static int busy(int nr) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < nr; i++) {
        held[i] = grow();
        pid_t pid = fork();
        if (pid == 0) {
            free(held[0]);
            own((size_t)i + 1);
            _exit(0);
        }
        CHECK(wait_for(pid) == 0);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

// ---- clones: system calls that no handler of libc sees -----------------------------------------------

struct clone3_args { // of the kernel: linux/sched.h, its first version and set_tid
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size,
        cgroup;
};

static const struct {
    unsigned long flags;
    int privileged;
} clones[] = {
    {0, 0},
    {CLONE_FILES, 0},
    {CLONE_FS, 0},
    {CLONE_IO, 0},
    {CLONE_PARENT, 0},
    {CLONE_SYSVSEM, 0},
    {CLONE_VFORK, 0},
    {CLONE_FILES | CLONE_FS | CLONE_IO | CLONE_SYSVSEM, 0},
    {CLONE_NEWUTS | CLONE_NEWIPC, 1},
    {CLONE_NEWNS, 1},
    {CLONE_NEWNET, 1},
    {CLONE_NEWPID, 1},
    {CLONE_NEWUSER, 1},
};

static void in_clone(size_t id) {
    own(id);
    syscall(SYS_exit_group, 0);
}

static int clones_of(int way) {
    hold(20);
    for (size_t i = 0; i < sizeof(clones) / sizeof(clones[0]); i++) {
        // A child of our parent is not ours to wait for: it tells us by a pipe that closes.
        int done[2];
        CHECK(pipe(done) == 0);
        unsigned long flags = clones[i].flags;
        long pid;
        if (way == 3) {
            struct clone3_args args = {.flags = flags, .exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD};
            pid = syscall(SYS_clone3, &args, sizeof(args));
        } else {
            pid = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
        }
        if (pid == 0)
            in_clone(i + 1);
        CHECK(pid > 0 || clones[i].privileged);
        if (!(flags & CLONE_FILES))
            close(done[1]);
        char c;
        if (flags & CLONE_PARENT)
            CHECK(read(done[0], &c, 1) == 0);
        else if (pid > 0)
            CHECK(wait_for((pid_t)pid) == 0);
        close(done[0]);
        if (flags & CLONE_FILES)
            close(done[1]);
        printf("%s%zu", i ? " " : "", pid > 0 ? i + 1 : 0);
    }
    printf("\n");
    return 0;
}

// ---- daemon: parent and child are gone, the grandchild serves ----------------------------------------

// The fork of a large process takes long. This handler is there before that of libseep.so, and so it runs behind that one.
static bool fork_is_slow;

static void before_fork(void) {
    struct timespec time = {.tv_nsec = 50000000};
    while (fork_is_slow && nanosleep(&time, &time) != 0)
        continue;
}

static void register_early(void) {
    pthread_atfork(before_fork, NULL, NULL);
}
__attribute__((section(".preinit_array"), used)) static void (*const early)(void) = register_early;

extern char **environ;

static int daemonize(const char *how) {
    hold(10);
    fork_is_slow = strcmp(how, "slow") == 0;
    bool titled = strcmp(how, "titled") == 0; // as a server does that writes its title over its environment
    for (char **item = environ; titled && *item; item++)
        memset(*item, 0, strlen(*item));
    int ready[2];
    CHECK(pipe(ready) == 0);
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            if (!titled && strcmp(how, "idle") != 0)
                own(77);
            char text[16]; // printf would allocate
            snprintf(text, sizeof(text), "%d\n", (int)getpid());
            CHECK(write(1, text, strlen(text)) == (ssize_t)strlen(text));
            close(1); // who reads these to their end waits for us no longer
            close(2);
            CHECK(write(ready[1], "x", 1) == 1);
            close(ready[1]);
            char line[16];
            while (read(0, line, sizeof(line)) > 0)
                if (line[0] == 'a')
                    own(78);
            _exit(0);
        }
        _exit(0);
    }
    close(ready[1]);
    char c;
    CHECK(read(ready[0], &c, 1) == 1);
    return 3;
}

// ---- thread: exec from a thread that is not the first ------------------------------------------------

static void *exec_it(void *argv) {
    own(5);
    execv(((char **)argv)[0], argv);
    return NULL;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int nr = argc > 2 ? atoi(argv[2]) : 0;
    if (strcmp(what, "pending") == 0)
        return pending(nr);
    if (strcmp(what, "busy") == 0)
        return busy(nr);
    if (strcmp(what, "clone") == 0)
        return clones_of(0);
    if (strcmp(what, "clone3") == 0)
        return clones_of(3);
    if (strcmp(what, "late") == 0)
        return late(argc > 2);
    if (strcmp(what, "heirs") == 0)
        return heirs();
    if (strcmp(what, "daemon") == 0)
        return daemonize(argc > 2 ? argv[2] : "");
    if (strcmp(what, "thread") == 0) {
        char *args[] = {argv[0], "own", "9", NULL};
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, exec_it, args) == 0);
        pthread_join(thread, NULL);
        return 98;
    }
    if (strcmp(what, "own") == 0) {
        own((size_t)nr);
        return 0;
    }
    if (strcmp(what, "idle") == 0) { // a child that runs on and never allocates
        if (fork() == 0) {
            close(1);
            close(2);
            sleep((unsigned)nr);
            _exit(0);
        }
        own(1);
    }
    return 0;
}
