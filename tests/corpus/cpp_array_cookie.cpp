// SPDX-License-Identifier: BSD-2-Clause
// new[] of a class with a destructor puts the number of elements in front, and returns what follows.
#include "corpus.h"

struct Counted {
    ~Counted() {
        data[0] = 1;
    }
    char data[56] = {};
};

struct Plain {
    char data[56];
};

struct Holder {
    Counted *array = nullptr;
    ~Holder() {
        KEEP(array);
    }
};

Counted *counted;
Plain *plain;
Holder *holders;
Counted *empty;

static void held() {
    counted = new Counted[10]; // EXPECT: reachable
    plain = new Plain[10];     // EXPECT: reachable
    holders = new Holder[3];   // EXPECT: reachable
    for (int i = 0; i < 3; i++)
        holders[i].array = new Counted[5]; // EXPECT: 3 reachable
    empty = new Counted[0];                // EXPECT: reachable
    // VALGRIND: lost: it does not know that the count in front is the whole block, so the pointer is past its end
}

static void second_element() {
    static Counted *second;
    second = new Counted[4] + 1; // EXPECT: possible
    KEEP(&second);
}

static void dropped() {
    KEEP(new Counted[7]);           // EXPECT: lost
    auto *lost = new Holder[2];     // EXPECT: lost
    lost[1].array = new Counted[3]; // EXPECT: indirect
    KEEP(lost);
}

int main() {
    play(held);
    play(second_element);
    play(dropped);
    park();
}
