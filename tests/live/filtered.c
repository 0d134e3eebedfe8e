// SPDX-License-Identifier: BSD-2-Clause
//
// filtered HOW CALLS WORK...: installs a filter of system calls in the way that HOW says, under which nothing but CALLS
// (numbers, by commas) lives, and then works. HOW: none; prctl, seccomp or syscall-prctl by the functions of these names;
// asm by instructions of its own, asm-first before it allocates; strict; exec, which goes on as `none` in a program that inherits the filter; child, a
// child of fork that installs it (by prctl) before it allocates.
// Where a filter begins, or would, close(-77) is called, so that a recording shows what comes after it.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_CALLS = 400 };
static struct sock_filter code[2 * MAX_CALLS + 2];
static unsigned nr_code;

static long by_instruction(long nr, long a, long b, long c) {
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = 0;
    register long r8 __asm__("r8") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = 0;
    register long x4 __asm__("x4") = 0;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    return x0;
#endif
}

static void make_code(char *calls) {
    code[nr_code++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (char *at = strtok(calls, ","); at && nr_code < 2 * MAX_CALLS; at = strtok(NULL, ",")) {
        code[nr_code++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(at), 0, 1);
        code[nr_code++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[nr_code++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
}

static int confine(const char *how) {
    struct sock_fprog program = {(unsigned short)nr_code, code};
    if (!strcmp(how, "none"))
        return 0;
    if (!strcmp(how, "strict"))
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    if (!strcmp(how, "asm"))
        return by_instruction(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0) ||
               by_instruction(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&program);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -1;
    if (!strcmp(how, "seccomp"))
        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    if (!strcmp(how, "syscall-prctl"))
        return (int)syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void *volatile kept[4000];

// Each turn is further down the stack, on pages that nobody has looked at.
static __attribute__((noinline)) long deeper(int turns) {
    volatile char room[3000];
    room[0] = room[2999] = (char)turns;
    kept[turns] = malloc(40);
    long below = turns ? deeper(turns - 1) : 0;
    free(kept[turns]);
    kept[turns] = NULL;
    return below + room[0] + room[2999];
}

// More call sites and stacks than tables have room for at first.
static __attribute__((noinline)) void stacks(int bits, int turns) {
    if (!turns)
        free(malloc(24));
    else if (bits & 1)
        stacks(bits >> 1, turns - 1);
    else
        stacks(bits >> 1, turns - 1), (void)0;
    __asm__ volatile("");
}

static void *work(void *blocks) {
    for (long i = 0; i < (long)blocks; i++) {
        kept[i] = malloc(900);
        kept[i] = realloc(kept[i], 1500);
        if (i % 3)
            free(kept[i]), kept[i] = NULL;
    }
    free(calloc(40, 25));
    return (void *)deeper(100);
}

static int in_threads(void) {
    pthread_t threads[4];
    for (int turn = 0; turn < 5; turn++)
        for (int i = 0; i < 4; i++)
            if (pthread_create(&threads[i], NULL, work, (void *)20L) || pthread_join(threads[i], NULL))
                return 1;
    return 0;
}

static int in_child(void) {
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        free(malloc(1000));
        _exit(3);
    }
    return waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 3;
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 64;
    const char *how = argv[1];
    if (!strcmp(how, "asm-first")) {
        make_code(argv[2]);
        if (confine("asm"))
            return 65;
        work((void *)20L);
        return 7;
    }
    char *calls = strdup(argv[2]);
    make_code(calls);
    free(malloc(500000)); // the heap has room
    free(malloc(300));
    setvbuf(stdout, NULL, _IOFBF, 0);
    printf("before\n");
    fflush(stdout);
    if (!strcmp(how, "child")) {
        int status = -1;
        pid_t pid = fork();
        if (pid)
            return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 66;
        how = "prctl";
    }
    if (confine(how))
        return 65;
    if (strcmp(how, "strict"))
        by_instruction(SYS_close, -77, 0, 0);
    if (!strcmp(how, "exec")) {
        argv[1] = "none";
        execv(argv[0], argv);
        return 66;
    }
    int bad = 0;
    for (int i = 3; i < argc; i++) {
        if (!strcmp(argv[i], "large"))
            for (int turn = 0; turn < 20; turn++)
                free(kept[0] = malloc(120000)), free(malloc(400000));
        if (!strcmp(argv[i], "abort"))
            abort();
        if (!strcmp(argv[i], "heap"))
            work((void *)3000L);
        else if (!strcmp(argv[i], "little"))
            work((void *)20L);
        else if (!strcmp(argv[i], "stacks"))
            for (int bits = 0; bits < 4096; bits++)
                stacks(bits, 12);
        else if (!strcmp(argv[i], "many"))
            for (int turn = 0; turn < 150000; turn++) {
                kept[0] = malloc(24);
                free(kept[0]);
            }
        else if (!strcmp(argv[i], "threads"))
            bad |= in_threads();
        else if (!strcmp(argv[i], "fork"))
            bad |= in_child();
    }
    char line[] = "after 0\n";
    line[6] = (char)('0' + bad);
    if (write(1, line, 8) != 8)
        bad = 1;
    if (!strcmp(how, "strict"))
        by_instruction(SYS_exit, 7, 0, 0);
    return 7 + bad;
}
