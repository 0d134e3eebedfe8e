// SPDX-License-Identifier: BSD-2-Clause
// A server: each request leaves a session that is never closed, and a cache grows to what it may have.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct session {
    struct session *next;
    char room[3992];
};
static struct session *sessions;
static char *cache[64];

static void session_open(void) {
    struct session *session = calloc(1, sizeof(*session));
    session->next = sessions;
    sessions = session;
}

static void cache_fill(unsigned i) {
    if (!cache[i % 64])
        cache[i % 64] = malloc(4096);
}

int main(void) {
    for (unsigned i = 0;; i++) {
        if (i == 100) { // the cache is full
            puts("ready");
            fflush(stdout);
        }
        session_open();
        cache_fill(i);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}
