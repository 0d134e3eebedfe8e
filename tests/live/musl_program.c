// SPDX-License-Identifier: BSD-2-Clause
//
// Linked with musl by its test: blocks of known number at known stacks, in threads, in a child of fork, in a
// comparison that libc calls, in a library opened late, and in a program that is become by exec.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept[1000];
static int nr_kept;

static __attribute__((noinline)) void leak(int nr, size_t size) {
    for (int i = 0; i < nr; i++)
        kept[nr_kept++] = malloc(size);
}

static __attribute__((noinline)) void churn(int nr) {
    for (int i = 0; i < nr; i++) {
        void *volatile block = calloc(1, 64);
        block = realloc(block, 128);
        free(block);
    }
}

static __attribute__((noinline)) void deep(int depth) {
    if (depth)
        deep(depth - 1);
    else
        leak(7, 70);
    __asm__ volatile("");
}

static void *in_thread(void *unused) {
    churn(500);
    return unused;
}

static int compare(const void *a, const void *b) {
    void *volatile block = malloc(5);
    free(block);
    return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "again") == 0) {
        leak(3, 30);
        puts("again");
        return 4;
    }
    leak(10, 100);
    deep(20);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, in_thread, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    int numbers[64];
    for (int i = 0; i < 64; i++)
        numbers[i] = i * 37 % 64;
    qsort(numbers, 64, sizeof(int), compare);
    if (argc > 1) {
        void *library = dlopen(argv[1], RTLD_NOW);
        void (*late)(void) = library ? (void (*)(void))dlsym(library, "late") : NULL;
        if (!late)
            return 9;
        late();
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        free(kept[0]);
        leak(2, 20);
        _exit(3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    fflush(stdout);
    if (argc > 2) {
        pid_t other = fork();
        if (other == 0) {
            execl(argv[2], argv[2], "again", (char *)NULL);
            _exit(8);
        }
        waitpid(other, &status, 0);
        printf("other %d\n", WEXITSTATUS(status));
    }
    return 5;
}
