// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

        #include <pthread.h>
        #include <stdlib.h>
        static pthread_barrier_t barrier;
        static void *work(void *unused) {
            pthread_barrier_wait(&barrier);
            for (int i = 0; i < 100; i++)
                free(malloc(100));
            pthread_barrier_wait(&barrier);
            return unused;
        }
        int main(void) {
            pthread_t threads[300];
            pthread_barrier_init(&barrier, NULL, 300);
            for (int i = 0; i < 300; i++)
                if (pthread_create(&threads[i], NULL, work, NULL))
                    return 1;
            for (int i = 0; i < 300; i++)
                pthread_join(threads[i], NULL);
            return 0;
        }