// SPDX-License-Identifier: BSD-2-Clause
// A program that does one thing, for what a report answers first: leak, both, hold, peak, two, churn, pairs, short,
// rounds, clean, crowd, slowly, deep, server. Its allocations go through wrappers, which are nobody's answer.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUT __attribute__((noinline)) static

static void *volatile kept[20000];
static char *volatile seen;

OUT void *xmalloc(size_t size) {
    void *block = malloc(size);
    if (!block)
        abort();
    return memset(block, 0, size);
}

OUT char *my_strdup(const char *text) {
    char *copy = xmalloc(strlen(text) + 1);
    return strcpy(copy, text);
}

OUT void place_leak(void) {
    seen = my_strdup("nobody has its address");
    seen = NULL;
}

OUT char *one_caller(void) {
    place_leak();
    return seen;
}

OUT char *another_caller(void) {
    place_leak();
    return seen;
}

OUT void place_hold(int i) {
    kept[i] = xmalloc(1000);
}

// Only pointers into the middle lead to them.
OUT void place_middle(int i) {
    kept[i] = (char *)xmalloc(1000) + 100;
}

OUT void place_peak(void) {
    seen = xmalloc(10 << 20);
    free(seen);
    seen = NULL;
}

OUT void place_two(void) {
    void *half = xmalloc(5 << 20);
    place_peak();
    free(half);
}

// Half of the blocks outlive the allocation that comes after them.
OUT void place_pairs(void) {
    void *first = xmalloc(100);
    void *second = xmalloc(100);
    free(second);
    free(first);
}

OUT void place_churn(void) {
    seen = xmalloc(100);
    free(seen);
    seen = NULL;
}

OUT void *place_short(void) {
    return xmalloc(100);
}

// Neither is freed at once.
OUT void two_short_ones(void) {
    void *volatile pair[2];
    for (int i = 0; i < 2; i++)
        pair[i] = place_short();
    for (int i = 0; i < 2; i++)
        free(pair[i]);
}

OUT void place_round(int round) {
    for (int i = 0; i < 10; i++) {
        void *before = kept[i];
        kept[i] = xmalloc(100);
        if (round)
            free(before);
    }
}

// Calls itself: each depth is a stack of its own.
OUT void place_deep(int depth) {
    kept[depth] = xmalloc(1000);
    if (depth < 199)
        place_deep(depth + 1);
    seen = kept[depth]; // after the call, which is no jump then
}

OUT void wipe(void) {
    volatile char room[4096];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IONBF, 0);
    for (int i = 0; strstr(how, "hold") && i < 100; i++)
        place_hold(i);
    for (int i = 0; strstr(how, "leak") && i < 50; i++)
        place_leak();
    for (int i = 0; strstr(how, "middle") && i < 100; i++)
        place_middle(i);
    for (int i = 0; strstr(how, "both") && i < 25; i++)
        one_caller(), another_caller();
    if (strstr(how, "peak"))
        place_peak();
    if (strstr(how, "two"))
        place_two();
    for (int i = 0; strstr(how, "pairs") && i < 5000; i++)
        place_pairs();
    for (int i = 0; strstr(how, "churn") && i < 5000; i++)
        place_churn();
    for (int i = 0; strstr(how, "short") && i < 10000; i++)
        two_short_ones();
    for (int i = 0; strstr(how, "rounds") && i < 1500; i++)
        place_round(i);
    for (int i = 0; strstr(how, "deep") && i < 60; i++) {
        place_deep(0);
        for (int depth = 0; depth < 200 && i < 59; depth++)
            free(kept[depth]);
    }
    if (strstr(how, "clean"))
        free(xmalloc(10));
    for (int i = 0; strstr(how, "crowd") && i < 20000; i++)
        place_hold(i);
    for (int i = 0; strstr(how, "slowly") && i < 100; i++) {
        place_hold(i);
        usleep(10000);
    }
    wipe();
    if (strstr(how, "server")) { // which somebody ends
        usleep(1100000);
        raise(SIGTERM);
    }
    return 0;
}
