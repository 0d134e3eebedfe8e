// SPDX-License-Identifier: BSD-2-Clause
//
// A storm of 2,000 short threads, at most 20 at a time: slots are reused and nothing is lost. Half of them
// allocate once more in the destructor of thread-specific data, when the thread is nearly gone.
// EXPECT:
// {
//   "sites": [
//     {"in": "short_life", "via": "malloc", "allocations": 6000, "frees": 4000, "live_blocks": 2000,
//      "live_bytes": 48000},
//     {"in": "last_words", "via": "malloc", "allocations": 1000, "frees": 0, "live_blocks": 1000,
//      "live_bytes": 9000}
//   ]
// }
#include "program.h"
#include <pthread.h>

static pthread_key_t key;

APART static void last_words(void *arg) {
    free(arg);
    keep(malloc(9));
}

APART static void *short_life(void *arg) {
    void *p = keep(malloc(100)), *q = keep(malloc(200));
    keep(malloc(24));
    free(p);
    if ((uintptr_t)arg % 2)
        pthread_setspecific(key, q);
    else
        free(q);
    return NULL;
}

int main(void) {
    pthread_key_create(&key, last_words);
    for (uintptr_t i = 0; i < 2000;) {
        pthread_t threads[20];
        for (int k = 0; k < 20; k++)
            CHECK(pthread_create(&threads[k], NULL, short_life, (void *)i++) == 0);
        for (int k = 0; k < 20; k++)
            pthread_join(threads[k], NULL);
    }
    return 0;
}
