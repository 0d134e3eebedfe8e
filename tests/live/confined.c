// SPDX-License-Identifier: BSD-2-Clause
//
// confined CASE...: allocates, confines itself in the ways that are named, and goes on allocating, also in
// a thread and in a child of fork where the case allows. Prints what it could do. Every allocation of
// before() and after() is known to the test: 100 blocks of 50 bytes, of which 40 stay, and 1000 of 700
// bytes, of which 300 stay.
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALLOW(nr)                                                                                            \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void *volatile kept[2000];
static int nr_kept;

static __attribute__((noinline)) void before(void) {
    for (int i = 0; i < 100; i++) {
        void *block = malloc(50);
        if (i < 40)
            kept[nr_kept++] = block;
        else
            free(block);
    }
}

static __attribute__((noinline)) void after(void) {
    for (int i = 0; i < 1000; i++) {
        void *block = malloc(700);
        if (!block)
            exit(9);
        memset(block, 1, 700);
        if (i < 300)
            kept[nr_kept++] = block;
        else
            free(block);
    }
}

static __attribute__((noinline)) void *in_thread(void *unused) {
    for (int i = 0; i < 200; i++) {
        void *volatile block = malloc(3000);
        free(block);
    }
    return unused;
}

static void say(const char *what, int result) {
    printf("%s: %d%s%s\n", what, result, result < 0 ? " " : "", result < 0 ? strerror(errno) : "");
    fflush(stdout);
}

static void limit(const char *name, int resource, rlim_t value) {
    struct rlimit limit = {value, value};
    say(name, setrlimit((unsigned)resource, &limit));
}

// Whatever is not what an allocator, a thread or stdio needs kills the process.
static int filter(int how) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_brk),
        ALLOW(SYS_mmap),
        ALLOW(SYS_munmap),
        ALLOW(SYS_mprotect),
        ALLOW(SYS_madvise),
        ALLOW(SYS_write),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_clone),
        ALLOW(SYS_clone3),
        ALLOW(SYS_set_robust_list),
        ALLOW(SYS_rseq),
        ALLOW(SYS_futex),
        ALLOW(SYS_gettid),
        ALLOW(SYS_getpid),
        ALLOW(SYS_rt_sigprocmask),
        ALLOW(SYS_wait4),
        ALLOW(SYS_newfstatat),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_sched_getaffinity),
        ALLOW(SYS_rt_sigaction),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog all = {.len = sizeof(program) / sizeof(program[0]), .filter = program};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return how ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &all)
               : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all);
}

// One system call kills, and the program that comes by exec inherits that.
static int kill_on(long nr) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = {.len = sizeof(program) / sizeof(program[0]), .filter = program};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all);
}

static void locked_bytes(void) {
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof(line), status))
        if (strncmp(line, "VmLck", 5) == 0)
            puts(atoi(line + 6) > 1000 ? "the program is locked" : "NOT LOCKED");
    fclose(status);
}

static void map_bytes(size_t mib) {
    void *at = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("%zu MiB more: %s\n", mib, at == MAP_FAILED ? strerror(errno) : "yes");
    if (at != MAP_FAILED)
        munmap(at, mib << 20);
}

// What a program may do that is to take no more than so much beyond what it has.
static void limit_beyond_own_size(void) {
    char line[256];
    unsigned long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof(line), status))
        if (strncmp(line, "VmSize:", 7) == 0)
            kib = strtoul(line + 7, NULL, 10);
    fclose(status);
    printf("size below 1 GiB: %s\n", kib < 1 << 20 ? "yes" : "NO");
    limit("as", RLIMIT_AS, ((rlim_t)kib << 10) + (64 << 20));
    map_bytes(50);
    map_bytes(65);
}

static int no_thread, no_fork;

static void confine(const char *how, char **argv) {
    if (strcmp(how, "memlock") == 0) {
        limit(how, RLIMIT_MEMLOCK, 64 << 20);
        if (setuid(65534))
            exit(8);
        say("mlockall", mlockall(MCL_CURRENT | MCL_FUTURE));
        locked_bytes();
    } else if (strcmp(how, "memlock-small") == 0) {
        limit(how, RLIMIT_MEMLOCK, 64 << 10);
        if (setuid(65534))
            exit(8);
        say("mlockall", mlockall(MCL_CURRENT | MCL_FUTURE));
        say("mlockall(0)", mlockall(0));
        say("mlockall(1 << 20)", mlockall(1 << 20));
    } else if (strcmp(how, "mlock-on-fault") == 0) {
        say("mlockall", mlockall(MCL_CURRENT | MCL_ONFAULT));
        say("munlockall", munlockall());
    } else if (strcmp(how, "as") == 0) {
        limit(how, RLIMIT_AS, (rlim_t)500 << 20);
        map_bytes(150);
        map_bytes(600);
    } else if (strcmp(how, "as-by-syscall") == 0 || strcmp(how, "as-by-another") == 0) {
        struct rlimit limit = {(rlim_t)500 << 20, (rlim_t)500 << 20};
        pid_t pid = getpid();
        int another = strcmp(how, "as-by-another") == 0; // its library does not see it
        if (!another || fork() == 0) {
            long result = syscall(SYS_prlimit64, another ? pid : 0, RLIMIT_AS, &limit, 0);
            if (another)
                _exit(result != 0);
            say(how, (int)result);
        } else {
            int status = -1;
            wait(&status);
            say(how, status);
        }
        map_bytes(150);
    } else if (strcmp(how, "as-own-size") == 0) {
        limit_beyond_own_size();
    } else if (strcmp(how, "as-small") == 0) {
        limit(how, RLIMIT_AS, (rlim_t)100 << 20);
        map_bytes(20);
    } else if (strcmp(how, "fsize") == 0) {
        limit(how, RLIMIT_FSIZE, 0);
    } else if (strcmp(how, "nofile") == 0) {
        limit(how, RLIMIT_NOFILE, 3);
    } else if (strcmp(how, "data") == 0) {
        limit(how, RLIMIT_DATA, 64 << 20);
        map_bytes(10);
    } else if (strcmp(how, "close") == 0) {
        say(how, close_range(3, ~0u, 0));
        int fd = open("/dev/null", O_RDONLY);
        say("next descriptor", fd);
        close(fd);
    } else if (strcmp(how, "chroot") == 0) {
        mkdir("root", 0755);
        say(how, chroot("root") || chdir("/") ? -1 : 0);
    } else if (strcmp(how, "drop") == 0) {
        say(how, setgid(65534) || setuid(65534) ? -1 : 0);
    } else if (strcmp(how, "namespaces") == 0) {
        say(how, unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID));
        no_thread = 1; // a process may have no new threads when its children are of another pid namespace
    } else if (strcmp(how, "user-namespace") == 0) {
        say(how, unshare(CLONE_NEWUSER | CLONE_NEWNET));
    } else if (strcmp(how, "filter") == 0 || strcmp(how, "filter-by-syscall") == 0) {
        say(how, filter(how[6] != 0));
    } else if (strcmp(how, "strict") == 0) {
        say(how, prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
        void *volatile block = malloc(100); // of what the allocator has
        free(block);
        syscall(SYS_exit, 5);
    } else if (strncmp(how, "exec-kill-", 10) == 0) {
        say(how, kill_on(how[10] == 'm' ? SYS_memfd_create : how[10] == 's' ? SYS_socket : SYS_acct));
        argv[1] = (char *)"none";
        execv("/proc/self/exe", argv);
    } else if (strcmp(how, "no-fork") == 0) {
        no_fork = 1;
    } else if (strcmp(how, "none") != 0) {
        exit(7);
    }
}

static sem_t is_first;

static __attribute__((noinline)) void beside(void) {
    for (int i = 0; i < 300000; i++) {
        void *volatile block = malloc(60);
        free(block);
    }
}

static void *leaves_stack(void *unused) {
    return unused;
}

static void *comes_first(void *unused) {
    free(malloc(50));
    sem_post(&is_first);
    beside();
    return unused;
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "launch") == 0) { // whatever it is, in a sandbox
        kill_on(SYS_acct);
        execv(argv[2], argv + 2);
        return 9;
    }
    if (argc > 1 && strcmp(argv[1], "child-limits-itself") == 0) { // before it allocates anything
        int status = -1;
        struct rlimit limit = {1 << 30, 1 << 30};
        before();
        pid_t pid = fork();
        if (pid == 0) {
            if (setrlimit(RLIMIT_AS, &limit))
                _exit(8);
            void *volatile large = malloc(20 << 20);
            _exit(large ? (after(), 6) : 7);
        }
        waitpid(pid, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 10;
    }
    if (argc > 1 && strcmp(argv[1], "child-limits-itself-with-threads") == 0) {
        struct rlimit limit = {3, 3};
        int status = -1;
        pthread_t thread;
        before();
        // Its stack is used again in the child, so that there the new thread is the first to allocate.
        if (pthread_create(&thread, NULL, leaves_stack, NULL) || pthread_join(thread, NULL))
            return 8;
        pid_t pid = fork();
        if (pid == 0) {
            if (setrlimit(RLIMIT_NOFILE, &limit) || sem_init(&is_first, 0, 0) ||
                pthread_create(&thread, NULL, comes_first, NULL) || sem_wait(&is_first))
                _exit(8);
            beside();
            _exit(pthread_join(thread, NULL) ? 8 : 6);
        }
        waitpid(pid, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 10;
    }
    before();
    say("pages", getpagesize());
    for (int i = 1; i < argc; i++)
        confine(argv[i], argv);
    after();
    if (!no_thread) {
        pthread_t thread;
        int error = pthread_create(&thread, NULL, in_thread, NULL);
        printf("thread: %s\n", error ? strerror(error) : "yes");
        if (!error)
            pthread_join(thread, NULL);
    }
    fflush(stdout);
    if (!no_fork) {
        pid_t child = fork();
        if (child == 0) {
            free(kept[0]);
            free(kept[50]);
            after();
            _exit(3);
        }
        int status = -1;
        pid_t waited = waitpid(child, &status, 0);
        printf("child: %s %d\n", waited == child && child > 0 ? "ended with" : "none", WEXITSTATUS(status));
    }
    return 6;
}
