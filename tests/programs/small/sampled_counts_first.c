// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

        #include <pthread.h>
        #include <stdlib.h>
        static void *volatile kept;
        static void *work(void *unused) { kept = malloc(32); return unused; }
        int main(void) {
            for (int i = 0; i < 200; i++) {
                pthread_t thread;
                if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
                    return 1;
            }
            return 0;
        }