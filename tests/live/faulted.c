// SPDX-License-Identifier: BSD-2-Clause
//
// Does what makes the library do system calls, step by step, and prints a line for each step. A handler of SIGUSR1 may come
// at any time. It does what the first argument says: "allocate"; "small": the same on a signal stack of 8 KiB; "jump"
// out of the call of malloc that it interrupts; "fork" (a raw clone, where there is one thread); "leave" by _exit(3).
// "beside": it allocates, and the program does nothing but fork beside a thread that allocates. With "short" as a second
// argument it only starts threads.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Beside what the kernel needs: 8 KiB in all where that has the largest registers of x86-64, AVX-512.
enum { HANDLER_BYTES = 4800 };

extern char **environ;
static const char *what = "allocate";
static bool is_alone = true;
static volatile bool goes_on;
static __thread sigjmp_buf place;
static __thread volatile bool may_jump;

static void say(const char *text) {
    if (write(1, text, strlen(text)) < 0)
        _exit(9);
}

__attribute__((noinline)) static void on_signal(int number) {
    (void)number;
    if (strcmp(what, "leave") == 0)
        _exit(3);
    if (strcmp(what, "jump") == 0) {
        if (may_jump)
            siglongjmp(place, 1);
        return;
    }
    if (strcmp(what, "fork") == 0 && is_alone) {
        long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0) {
            free(malloc(77));
            _exit(0);
        }
        while (child > 0 && waitpid((pid_t)child, NULL, 0) < 0)
            continue;
    }
    free(malloc(77));
}

// What a jump out of it leaves is lost to the program, as the block may be.
static void guarded(void (*function)(unsigned), unsigned size) {
    if (sigsetjmp(place, 1) == 0) {
        may_jump = true;
        function(size);
    }
    may_jump = false;
}

static __thread void *volatile sink;

__attribute__((noinline)) static void once(unsigned size) {
    sink = malloc(size);
    free((void *)sink);
}

__attribute__((noinline)) static void deep(unsigned size) {
    if (size > 1000)
        deep(size - 1);
    else
        once(size);
    __asm__ volatile("");
}

__attribute__((noinline)) static void kept(unsigned size) {
    sink = malloc(size);
    sink = NULL;
}

__attribute__((noinline)) static void resized(unsigned size) {
    void *block = malloc(size);
    block = realloc(block, 3 * size);
    block = realloc(block, 900000);
    sink = block;
    free((void *)sink);
}

static void some(void) {
    for (unsigned i = 0; i < 40; i++) {
        guarded(once, 10 + i);
        guarded(deep, 1000 + 8 * i);
        guarded(resized, 20 + i);
    }
    guarded(kept, 31);
}

static void *in_thread(void *unused) {
    stack_t small = {.ss_size = getauxval(AT_MINSIGSTKSZ) + HANDLER_BYTES};
    small.ss_sp = __builtin_alloca(small.ss_size);
    if (strcmp(what, "small") == 0)
        sigaltstack(&small, NULL);
    some();
    small.ss_flags = SS_DISABLE;
    if (strcmp(what, "small") == 0)
        sigaltstack(&small, NULL);
    return unused;
}

static void *until_told(void *unused) {
    while (goes_on)
        guarded(once, 17);
    return unused;
}

static void threads(void) {
    pthread_t thread[3];
    is_alone = false;
    for (int i = 0; i < 3; i++)
        if (pthread_create(&thread[i], NULL, in_thread, NULL) != 0)
            say("no thread\n");
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    is_alone = true;
}

static void wait_for(pid_t child) {
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0)
        continue;
    bool left = WIFEXITED(status) && WEXITSTATUS(status) == 3 && strcmp(what, "leave") == 0;
    say(left || status == 7 << 8 ? "child left\n" : "child died\n");
}

static void forks(void) {
    pid_t child = fork();
    if (child == 0) {
        some();
        pid_t grandchild = fork();
        if (grandchild == 0) {
            some();
            _exit(7);
        }
        wait_for(grandchild);
        _exit(7);
    }
    wait_for(child);
}

static void forks_beside_a_thread(void) {
    pthread_t thread;
    is_alone = false;
    goes_on = true;
    if (pthread_create(&thread, NULL, until_told, NULL) != 0)
        say("no thread\n");
    for (int i = 0; i < 3; i++)
        forks();
    goes_on = false;
    pthread_join(thread, NULL);
    is_alone = true;
}

static void executes(const char *program) {
    char *arguments[] = {(char *)program, (char *)what, (char *)"again", NULL};
    pid_t child;
    if (posix_spawn(&child, program, NULL, NULL, arguments, environ) != 0)
        say("not executed\n");
    else
        wait_for(child);
}

static void maps(void) {
    for (int i = 0; i < 4; i++) {
        void *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memory = mremap(memory, 1 << 20, 3 << 20, MREMAP_MAYMOVE);
        munmap(memory, 3 << 20);
    }
}

int main(int argc, char **argv) {
    static char room[65536];
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    if (argc > 1)
        what = argv[1];
    if (strcmp(what, "small") == 0) {
        stack_t small = {.ss_sp = room, .ss_size = getauxval(AT_MINSIGSTKSZ) + HANDLER_BYTES};
        action.sa_flags |= SA_ONSTACK;
        sigaltstack(&small, NULL);
    }
    sigaction(SIGUSR1, &action, NULL);
    some();
    if (argc > 2 && strcmp(argv[2], "again") == 0)
        _exit(7);
    if (strcmp(what, "beside") == 0) {
        forks_beside_a_thread();
        return 4;
    }
    say("threads\n");
    threads();
    if (argc > 2)
        return 4;
    say("forks\n");
    forks();
    say("executes\n");
    executes("/proc/self/exe");
    say("maps\n");
    maps();
    say("end\n");
    return 4;
}
