// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

    #include <pthread.h>
    #include <stdatomic.h>
    #include <stdint.h>
    #include <stdlib.h>
    enum { THREADS = 64, SLOTS = 256, ROUNDS = 800 };
    static _Atomic(void *) slots[SLOTS];
    static void *work(void *arg) {
        uint64_t x = (uintptr_t)arg * 0x9e3779b97f4a7c15u | 1;
        for (int i = 0; i < ROUNDS; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            void *mine = malloc(16 + x % 200);
            if (x % 7 == 0)
                mine = realloc(mine, 16 + (x >> 20) % 500);
            free(atomic_exchange(&slots[(x >> 32) % SLOTS], mine));
        }
        return NULL;
    }
    int main(void) {
        pthread_t threads[THREADS];
        for (uintptr_t i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)))
                return 1;
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < SLOTS; i++)
            free(slots[i]);
        return 0;
    }