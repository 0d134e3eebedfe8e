// SPDX-License-Identifier: BSD-2-Clause
// ROUNDS [plant]: so many processes, one after the other, whose threads hand blocks on, move them and free all of them;
// or all but one.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, SLOTS = 32, TURNS = 300 };
static _Atomic(void *) slots[SLOTS];
static int planted;

__attribute__((noinline)) static void plant(void) {
    void *volatile block = malloc(77);
    block = NULL;
    (void)block;
}

static void *work(void *arg) {
    uint64_t x = ((uintptr_t)arg + 1) * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < TURNS; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        void *mine = malloc(16 + x % 200);
        if (x % 3 == 0)
            mine = realloc(mine, 16 + (x >> 20) % 500);
        free(atomic_exchange(&slots[(x >> 32) % SLOTS], mine));
    }
    if (planted && arg == NULL)
        plant();
    return NULL;
}

static void run_threads(void) {
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i))
            exit(1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < SLOTS; i++)
        free(atomic_exchange(&slots[i], NULL));
}

int main(int argc, char **argv) {
    int status = 0;
    planted = argc == 3;
    for (int i = 0; argc > 1 && i < atoi(argv[1]); i++) {
        pid_t child = fork();
        if (child == 0) {
            run_threads();
            exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status)
            return 1;
    }
    return 0;
}
