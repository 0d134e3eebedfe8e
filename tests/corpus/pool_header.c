// SPDX-License-Identifier: BSD-2-Clause
// Allocators of programs that put a header in front of what they give out: 16 bytes of their own; a word
// with the length, which is known as a habit and counts as the start; three bytes, as short strings have.
#include "corpus.h"

char *of_16, *of_length, *of_3;

static NOINLINE char *with_16(size_t size) {
    uint64_t *block = (uint64_t *)make(size + 16);
    block[0] = 0x1234567812345678;
    block[1] = 100003;
    return (char *)(block + 2);
}

static NOINLINE char *with_length(size_t size) {
    size_t *block = (size_t *)make(size + sizeof(*block));
    block[0] = size;
    return (char *)(block + 1);
}

static NOINLINE char *with_3(size_t size) {
    char *block = (char *)make(size + 3);
    memcpy(block, "\1\1\1", 3);
    return block + 3;
}

static void held(void) {
    of_16 = with_16(100);         // EXPECT: possible
    of_length = with_length(100); // EXPECT: reachable
    of_3 = with_3(45);            // EXPECT: possible
}

static void dropped(void) {
    KEEP(with_16(120));     // EXPECT: lost
    KEEP(with_length(120)); // EXPECT: lost
    KEEP(with_3(50));       // EXPECT: lost
}

int main(void) {
    play(held);
    play(dropped);
    park();
}
