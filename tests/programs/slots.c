// SPDX-License-Identifier: BSD-2-Clause
//
// As many threads at once as the argument says, so that the image has that many thread slots and one: the
// last slot may begin in one page and end in another that is all zero. Each thread leaks 10 blocks.
// EXPECT:
// {
//   "sites": [],
//   "runs": [
//     {"args": ["4"], "sites": [{"in": "holder", "live_blocks": 40, "live_bytes": 240}]},
//     {"args": ["5"], "sites": [{"in": "holder", "live_blocks": 50, "live_bytes": 300}]},
//     {"args": ["6"], "sites": [{"in": "holder", "live_blocks": 60, "live_bytes": 360}]},
//     {"args": ["10"], "sites": [{"in": "holder", "live_blocks": 100, "live_bytes": 600}]},
//     {"args": ["11"], "sites": [{"in": "holder", "live_blocks": 110, "live_bytes": 660}]},
//     {"args": ["16"], "sites": [{"in": "holder", "live_blocks": 160, "live_bytes": 960}]}
//   ]
// }
#include "program.h"
#include <pthread.h>

static pthread_barrier_t all_are_here;

APART static void *holder(void *arg) {
    for (int i = 0; i < 10; i++)
        keep(malloc(6));
    pthread_barrier_wait(&all_are_here);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[64];
    int nr = argc == 2 ? atoi(argv[1]) : 0;
    CHECK(nr > 0 && nr < 64);
    pthread_barrier_init(&all_are_here, NULL, (unsigned)nr);
    for (int i = 0; i < nr; i++)
        CHECK(pthread_create(&threads[i], NULL, holder, NULL) == 0);
    for (int i = 0; i < nr; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
