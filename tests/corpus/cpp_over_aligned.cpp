// SPDX-License-Identifier: BSD-2-Clause
// Classes with a large alignment, alone, in arrays, in arrays with a cookie.
#include "corpus.h"

struct alignas(64) Line {
    long data[8] = {};
};

struct alignas(128) Counted {
    ~Counted() {
        data[0] = 1;
    }
    long data[16] = {};
};

Line *line, *lines;
Counted *counted;

static void held() {
    line = new Line;          // EXPECT: reachable
    lines = new Line[5];      // EXPECT: reachable
    counted = new Counted[3]; // EXPECT: possible
}

static void dropped() {
    KEEP(new Line);       // EXPECT: lost
    KEEP(new Counted[2]); // EXPECT: lost
}

int main() {
    play(held);
    play(dropped);
    park();
}
