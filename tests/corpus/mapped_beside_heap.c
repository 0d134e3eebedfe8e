// SPDX-License-Identifier: BSD-2-Clause
// Where the break cannot move, glibc's first arena goes on in mappings, which the kernel joins with those of
// the program: what the program mapped holds, what is free in between does not.
#include "corpus.h"
#include <sys/mman.h>

struct node *kept[4000];

static NOINLINE struct node **map(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        _exit(3);
    return (struct node **)memory;
}

static void stop_the_break(void) {
    uintptr_t end = ((uintptr_t)sbrk(0) + 4095) & ~(uintptr_t)4095;
    mmap((void *)end, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

static void in_turns(void) {
    for (size_t i = 0; i < 4; i++) {
        map(1 << 20)[10] = make(40); // EXPECT: 4 reachable
        // LSAN: 4 lost: it takes no mapping of the program as a root unless told to
        for (size_t j = 0; j < 1000; j++)
            kept[i * 1000 + j] = make(900); // EXPECT: any reachable
    }
}

static void left_between(void) {
    for (size_t i = 100; i < 4000; i += 100) {
        kept[i][20].a = make(56); // EXPECT: any lost
        free(kept[i]);
        kept[i] = NULL;
    }
}

static void left_behind(void) {
    struct node *last = make(60000);
    last[3000].a = make(72); // EXPECT: lost
    free(last);
}

int main(void) {
    play(stop_the_break);
    play(in_turns);
    play(left_between);
    play(left_behind);
    park();
}
