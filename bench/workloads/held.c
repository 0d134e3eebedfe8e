// SPDX-License-Identifier: BSD-2-Clause
// held SITES DEPTH: allocates a block at each of SITES stacks of DEPTH frames, in a list that a global holds.
// Every tenth block is lost. Then the program waits for the end of its input.
#include "bench.h"

struct held {
    struct held *next;
};

static struct held *volatile list;

static void hold(uint64_t number) {
    struct held *block = malloc(sizeof(*block) + number % 64);
    if (!block)
        bench_die("malloc");
    if (number % 10 == 0)
        return;
    block->next = list;
    list = block;
}

static void go_left(uint64_t number, unsigned bits, unsigned levels);

static BENCH_NOINLINE void go_right(uint64_t number, unsigned bits, unsigned levels) {
    if (levels == 0)
        hold(number);
    else if (levels <= bits && number >> (levels - 1) & 1)
        go_right(number, bits, levels - 1);
    else
        go_left(number, bits, levels - 1);
    BENCH_NO_TAIL_CALL();
}

static BENCH_NOINLINE void go_left(uint64_t number, unsigned bits, unsigned levels) {
    if (levels == 0)
        hold(number);
    else if (levels <= bits && number >> (levels - 1) & 1)
        go_right(number, bits, levels - 1);
    else
        go_left(number, bits, levels - 1);
    BENCH_NO_TAIL_CALL();
}

int main(int argc, char **argv) {
    uint64_t nr = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    unsigned levels = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 80;
    for (uint64_t number = 0; number < nr; number++)
        go_left(number, 20, levels);
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
