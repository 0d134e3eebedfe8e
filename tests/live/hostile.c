// SPDX-License-Identifier: BSD-2-Clause
//
// Programs that are rough with their process: many threads that fork, children that share memory, descriptors
// that are closed and taken again, limits, timers, endings of all kinds. What they print is the same in every
// run. One part each, by name; test_hostile.py.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/sched.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile sink;
static volatile int stop;

static void churn(int nr) {
    void *kept[64] = {NULL};
    for (int i = 0; i < nr; i++) {
        free(kept[i % 64]);
        kept[i % 64] = sink = malloc(16 + i * 37 % 2000);
        if (kept[i % 64])
            memset(kept[i % 64], 1, 16);
    }
    for (int i = 0; i < 64; i++)
        free(kept[i]);
}

static int reap(pid_t pid) {
    int status = -1;
    while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
        continue;
    return status;
}

static void *allocate(void *data) {
    while (!stop)
        churn(100);
    return data;
}

// ---- threads, fork, exec and raw ends at once ----

static void *forks(void *data) {
    long bad = 0;
    for (int i = 0; i < 12; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            churn(50);
            if (i % 3 == 0)
                execl("/bin/true", "true", NULL);
            if (i % 3 == 1)
                _exit(0);
            syscall(SYS_exit_group, 0);
        }
        churn(50);
        bad += reap(pid) != 0;
    }
    return (void *)bad;
}

static void mix(void) {
    pthread_t threads[6];
    long all = 0;
    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, i < 2 ? allocate : forks, NULL);
    for (int i = 5; i >= 0; i--) {
        void *bad;
        stop = i < 2;
        pthread_join(threads[i], &bad);
        all += (long)bad;
    }
    printf("bad ends: %ld\n", all);
}

// ---- children that share memory ----

static void vfork_children(void) {
    pthread_t threads[2];
    int bad = 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, allocate, NULL);
    for (int i = 0; i < 100; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            free(sink = realloc(sink = malloc(100), 5000));
            if (i % 2)
                execl("/bin/true", "true", NULL);
            _exit(0);
        }
        bad += reap(pid) != 0;
    }
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("bad ends: %d\n", bad);
}

static int cloned(void *data) {
    (void)data;
    churn(200);
    return 0;
}

static void clones(void) {
    int bad = 0;
    for (int i = 0; i < 40; i++) {
        size_t bytes = 1 << 18;
        char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int flags = CLONE_VM | SIGCHLD | (i % 2 ? CLONE_FILES | CLONE_FS : 0);
        bad += reap(clone(cloned, stack + bytes, flags, NULL)) != 0;
        munmap(stack, bytes);
    }
    int group = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 10; i++) {
        struct clone_args args = {.exit_signal = SIGCHLD};
        if (i % 2 && group >= 0) {
            args.flags = CLONE_INTO_CGROUP;
            args.cgroup = (uint64_t)group;
        }
        long pid = syscall(SYS_clone3, &args, sizeof(args));
        if (pid == 0) {
            churn(100);
            syscall(SYS_exit_group, 0);
        }
        bad += pid > 0 && reap((pid_t)pid) != 0; // who is not root may not be let into that group
    }
    printf("bad ends: %d\n", bad);
}

// ---- descriptors ----

// Ours are closed, and the program's files take their numbers: seep neither writes to them nor moves them.
static void descriptors(void) {
    enum { NR = 100 };
    int files[NR], moved = 0;
    close_range(3, ~0u, 0);
    churn(1000);
    for (int i = 0; i < NR; i++) {
        files[i] = memfd_create("of the program", 0);
        if (write(files[i], "0123456789", 10) != 10 || lseek(files[i], 7, SEEK_SET) != 7)
            moved++;
    }
    printf("first: %d\n", files[0]);
    for (int i = 0; i < 5; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            churn(100);
            close_range(0, ~0u, 0);
            churn(100);
            _exit(0);
        }
        churn(100);
        moved += reap(pid) != 0;
    }
    for (int i = 0; i < NR; i++)
        moved += lseek(files[i], 0, SEEK_CUR) != 7 || lseek(files[i], 0, SEEK_END) != 10;
    printf("moved: %d\n", moved);
}

static void standard_descriptors(void) {
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    churn(100);
    int fd = open("/dev/null", O_RDWR);
    pid_t pid = fork();
    if (pid == 0) {
        churn(100);
        _exit(0);
    }
    exit(fd == 0 && reap(pid) == 0 ? 4 : 8);
}

// ---- signals and cancellation ----

static volatile sig_atomic_t nr_ticks;

static void tick(int number) {
    (void)number;
    int before = errno;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page, 4096);
    nr_ticks++;
    errno = before;
}

static void *work(void *data) {
    for (int i = 0; i < 200; i++) {
        churn(500);
        free(sink = aligned_alloc(4096, 8192));
    }
    return data;
}

static void timer(void) {
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    struct itimerval fast = {{0, 100}, {0, 100}}, off = {{0, 0}, {0, 0}};
    pthread_t threads[6];
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &fast, NULL);
    while (!nr_ticks)
        churn(100);
    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    setitimer(ITIMER_PROF, &off, NULL);
    printf("done\n");
}

static void *spin(void *data) {
    volatile long turns = 0;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    while (!data)
        turns++;
    return NULL;
}

static void *deferred(void *data) {
    while (!data) {
        churn(100);
        pthread_testcancel();
    }
    return NULL;
}

static void cancel(void) {
    int nr = 0;
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        void *how;
        pthread_create(&thread, NULL, i % 2 ? spin : deferred, NULL);
        if (i % 3 == 0)
            sched_yield();
        pthread_cancel(thread);
        pthread_join(thread, &how);
        nr += how == PTHREAD_CANCELED;
    }
    churn(1000);
    printf("cancelled: %d\n", nr);
}

// ---- sizes ----

static void sizes(void) {
    const size_t huge[] = {PTRDIFF_MAX, SIZE_MAX, (size_t)1 << 46, (size_t)PTRDIFF_MAX + 1};
    for (int i = 0; i < 4; i++) {
        errno = 0;
        sink = malloc(huge[i]);
        printf("malloc %d %d", sink != NULL, errno);
        free(sink);
        errno = 0;
        sink = calloc(huge[i], 2);
        printf(" calloc %d %d", sink != NULL, errno);
        free(sink);
        void *block = malloc(10);
        errno = 0;
        void *larger = realloc(block, huge[i]);
        printf(" realloc %d %d\n", larger != NULL, errno);
        free(larger ? larger : block);
    }
    sink = malloc((size_t)1 << 40); // as the system wants
    free(sink);
    for (size_t align = 8; align <= (size_t)1 << 30; align *= 2) {
        void *block = NULL;
        int failed = posix_memalign(&block, align, 100);
        printf("%zu %d %d\n", align, failed, (uintptr_t)block % align == 0);
        free(block);
        free(sink = memalign(align, align));
    }
}

// ---- many threads, many libraries ----

static pthread_barrier_t together;

static void *hold(void *data) {
    void *volatile block = malloc(100);
    pthread_barrier_wait(&together);
    free(block);
    return data;
}

static void crowd(void) {
    enum { NR = 1500 };
    static pthread_t threads[NR];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&together, NULL, NR + 1);
    for (int i = 0; i < NR; i++)
        if (pthread_create(&threads[i], &small, hold, NULL)) {
            printf("no room for threads\n");
            _exit(3);
        }
    pthread_barrier_wait(&together);
    for (int i = 0; i < NR; i++)
        pthread_join(threads[i], NULL);
    printf("joined\n");
}

static void libraries(void) {
    static const char *const names[] = {"libz.so.1", "libm.so.6", "libstdc++.so.6", "libelf.so.1",
                                        "libzstd.so.1"};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, allocate, NULL);
    for (int i = 0; i < 200; i++) {
        void *library = dlopen(names[i % 5], i % 2 ? RTLD_NOW : RTLD_LAZY);
        if (library) {
            dlsym(library, "there is none");
            dlclose(library);
        }
    }
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("closed\n");
}

// The first page of a library, with its ELF header, is taken away before anything is allocated from it.
static void rights(void) {
    void *library = dlopen("libzstd.so.1", RTLD_NOW);
    void *(*create)(void) = (void *(*)(void))dlsym(library, "ZSTD_createCCtx");
    size_t (*destroy)(void *) = (size_t(*)(void *))dlsym(library, "ZSTD_freeCCtx");
    struct link_map *map;
    dlinfo(library, RTLD_DI_LINKMAP, &map);
    printf("protected %d\n", mprotect((void *)map->l_addr, sysconf(_SC_PAGESIZE), PROT_NONE));
    void *made = create();
    printf("made %d\n", made != NULL);
    destroy(made);
}

// ---- two processes in one memory, at work at the same time ----

static volatile int begun;

static __attribute__((noinline)) void deep(int n) {
    if (n)
        deep(n - 1);
    else
        free(sink = malloc(32));
    __asm__ volatile(""); // no tail call
}

static int other_process(void *unused) {
    begun = 1;
    for (int i = 0; !stop; i++)
        deep(i % 40);
    syscall(SYS_exit, 7);
    return 0;
}

// Not threads of one another, but each with thread-local variables of its own.
static void shared(void) {
    int status = 7 << 8;
#ifdef __x86_64__
    size_t bytes = 1 << 20;
    void *(*allocate_tls)(void *) = (void *(*)(void *))dlsym(RTLD_DEFAULT, "_dl_allocate_tls");
    char *block = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void **descriptor = (void **)(block + bytes / 2), **own;
    __asm__("mov %%fs:0, %0" : "=r"(own));
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_SETTLS | SIGCHLD;
    if (allocate_tls && allocate_tls(descriptor)) {
        descriptor[0] = descriptor[2] = descriptor;
        descriptor[5] = own[5]; // the guards of stacks and pointers
        descriptor[6] = own[6];
        int pid = clone(other_process, block + 2 * bytes, flags, NULL, NULL, descriptor, NULL);
        while (!begun)
            sched_yield();
        for (int i = 0; i < 500000; i++)
            deep(i % 37);
        stop = 1;
        status = reap(pid);
    }
#endif
    printf("ends with %x\n", status);
}

// ---- pointers that are not good ----

// An environment that is not aligned and ends where its memory does: the kernel says EFAULT.
static void pointers(void) {
    size_t page = sysconf(_SC_PAGESIZE);
    char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(two + page, page);
    char *argv[] = {"none", NULL};
    for (size_t off = 0; off < 2 * sizeof(void *); off++) {
        int result = execve("/nonexistent", argv, (char **)(two + page - off));
        printf("%zu: %d, %s\n", off, result, errno == EFAULT || errno == ENOENT ? "as the kernel says" : "?");
    }
}

// ---- limits, all at once ----

static void limits(void) {
    static const struct {
        int what;
        rlim_t most;
    } low[] = {{RLIMIT_FSIZE, 4096}, {RLIMIT_NOFILE, 4}, {RLIMIT_MEMLOCK, 0},
               {RLIMIT_CORE, 0},     {RLIMIT_NPROC, 0},  {RLIMIT_STACK, 1 << 20}};
    for (int i = 0; i < 6; i++)
        setrlimit(low[i].what, &(struct rlimit){low[i].most, low[i].most});
    churn(5000);
    pid_t pid = fork(); // root is not held by RLIMIT_NPROC
    if (pid == 0) {
        churn(1000);
        _exit(0);
    }
    int status = pid > 0 ? reap(pid) : 0;
    setrlimit(RLIMIT_AS, &(struct rlimit){400 << 20, 400 << 20});
    churn(5000);
    sink = malloc(16 << 20);
    printf("child %d, block %d\n", status, sink != NULL);
    free(sink);
}

// ---- starts and ends ----

static void bare(void) {
    char *nothing[] = {NULL}, *name[] = {(char *)"true", NULL}, *empty[] = {(char *)"", NULL};
    char *odd[] = {(char *)"LD_PRELOAD", (char *)"=", (char *)"SEEP_SOCKET", (char *)"LD_PRELOAD=", NULL};
    char *const *const args[] = {nothing, name, empty};
    char *const *const environments[] = {nothing, NULL, odd};
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            execve("/bin/true", args[i], environments[i]);
            _exit(9);
        }
        printf("ends with %x\n", reap(pid));
    }
}

static void ends(void) {
    int killed = 0, failed = 0;
    for (int i = 0; i < 60; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            churn(i % 7);
            if (i % 5 == 0)
                raise(SIGKILL);
            if (i % 5 == 1)
                abort();
            if (i % 5 == 2)
                exit(0);
            if (i % 5 == 3)
                syscall(SYS_exit_group, 1);
            _exit(0);
        }
        int status = reap(pid);
        killed += WIFSIGNALED(status);
        failed += WIFEXITED(status) && WEXITSTATUS(status) == 1;
    }
    printf("killed %d, failed %d\n", killed, failed);
}

static void generations(void) {
    for (int i = 0; i < 40; i++) {
        pid_t pid = fork();
        sink = malloc(64);
        if (pid == 0)
            continue;
        int status = reap(pid);
        if (i == 0)
            printf("ends with %x\n", status);
        fflush(stdout);
        _exit(status != 0);
    }
    _exit(0);
}

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {{"mix", mix},
             {"vfork", vfork_children},
             {"clones", clones},
             {"descriptors", descriptors},
             {"standard", standard_descriptors},
             {"timer", timer},
             {"cancel", cancel},
             {"sizes", sizes},
             {"crowd", crowd},
             {"libraries", libraries},
             {"rights", rights},
             {"pointers", pointers},
             {"shared", shared},
             {"limits", limits},
             {"bare", bare},
             {"ends", ends},
             {"generations", generations}};

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; argc > 1 && i < sizeof(parts) / sizeof(*parts); i++) {
        if (strcmp(argv[1], parts[i].name) != 0)
            continue;
        parts[i].run();
        return 0;
    }
    return 2;
}
