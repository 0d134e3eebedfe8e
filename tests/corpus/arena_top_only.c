// SPDX-License-Identifier: BSD-2-Clause
// An arena that keeps only its next free place: a pointer into the middle.
#include "corpus.h"

char *next_free;

static void build(void) {
    char *base = (char *)make(8192); // EXPECT: possible
    next_free = base + 64;
    ((struct node *)base)->a = make(40); // EXPECT: possible
}

int main(void) {
    play(build);
    park();
}
