// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// With an argument: executes 20 copies of itself, each a file of its own (NAME.0 to NAME.19), four at a time. Without one:
// allocates while two threads change the mappings, so that the kernel often cannot look up a mapping.

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COPIES = 20, AT_ONCE = 4, BYTES = 1 << 20 };
static atomic_int stop;

static void *change(void *unused) {
    while (!stop) {
        void *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        mprotect(at, 4096, PROT_READ);
        munmap(at, BYTES);
    }
    return unused;
}

__attribute__((noinline)) static void *allocate(size_t size) {
    void *volatile block = malloc(size);
    return block;
}

static void start_copy(const char *name, int number) {
    char path[4096];
    snprintf(path, sizeof(path), "%s.%d", name, number);
    if (fork() == 0) {
        execl(path, path, NULL);
        _exit(9);
    }
}

static int await_all(void) {
    int status, bad = 0;
    while (wait(&status) > 0)
        bad |= status;
    return bad;
}

int main(int argc, char **argv) {
    int bad = 0;
    if (argc > 1) {
        for (int i = 0; i < COPIES; i++) {
            start_copy(argv[0], i);
            if (i % AT_ONCE == AT_ONCE - 1)
                bad |= await_all();
        }
        return bad != 0;
    }
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, change, NULL);
    for (size_t i = 0; i < 2000; i++) {
        void *volatile block = allocate(100 + i);
        (void)block;
    }
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
