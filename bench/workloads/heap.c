// SPDX-License-Identifier: BSD-2-Clause
// A heap to be scanned; when it stands, the program waits for the end of its input.
//   heap N EVERY        N blocks of 32 to 64 bytes, a binary tree held by a global. Each block points to an
//                       earlier neighbour as well, and every EVERYth to any block at all, so that who
//                       dominates whom has to be found out.
//   heap N buffers SIZE N blocks of that size with text in them
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct node *children[2];
    struct node *other;
    uint64_t value;
};

struct node *root;
char **buffers;
static uint64_t state = 1;

static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void build_nodes(size_t nr, size_t every) {
    struct node **all = malloc(nr * sizeof(*all));
    for (size_t i = 0; i < nr; i++) {
        all[i] = calloc(1, sizeof(struct node) + next_random() % 5 * 8);
        if (i)
            all[(i - 1) / 2]->children[(i - 1) % 2] = all[i];
        size_t back = next_random() % 8;
        all[i]->other = i % every == 0 ? all[next_random() % (i + 1)] : all[i - (back < i ? back : i)];
    }
    root = all[0];
    free(all);
}

static void build_buffers(size_t nr, size_t size) {
    buffers = malloc(nr * sizeof(*buffers));
    for (size_t i = 0; i < nr; i++) {
        buffers[i] = malloc(size);
        memset(buffers[i], 0x5a, size);
    }
}

int main(int argc, char **argv) {
    size_t nr = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    const char *what = argc > 2 ? argv[2] : "10";
    if (strcmp(what, "buffers") == 0)
        build_buffers(nr, argc > 3 ? strtoull(argv[3], NULL, 10) : 4096);
    else
        build_nodes(nr, strtoull(what, NULL, 10));
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
