// SPDX-License-Identifier: BSD-2-Clause
// A pointer one past the end of a block does not hold it; begin, end and capacity together do.
#include "corpus.h"

char *end;
struct {
    char *begin, *end, *capacity;
} list;

static void end_only(void) {
    end = (char *)make(40) + 40; // EXPECT: lost
}

static void all_three(void) {
    list.begin = (char *)make(64); // EXPECT: reachable
    list.end = list.begin + 48;
    list.capacity = list.begin + 64;
}

static void last_byte(void) {
    end = (char *)make(72) + 71; // EXPECT: possible
}

int main(void) {
    play(end_only);
    play(all_three);
    play(last_byte);
    park();
}
