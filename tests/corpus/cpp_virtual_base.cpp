// SPDX-License-Identifier: BSD-2-Clause
// A virtual base class lies at the end of the object, with a vtable of its own.
#include "corpus.h"

struct Base {
    virtual ~Base() {
    }
    long base = 1;
};

struct Left : virtual Base {
    long left = 2;
};

struct Right : virtual Base {
    long right = 3;
};

struct Whole : Left, Right {
    struct node *part = nullptr;
};

Base *base;
Right *right;

static void held() {
    auto *whole = new Whole; // EXPECT: reachable
    whole->part = make(40);  // EXPECT: reachable
    base = whole;
    right = new Whole; // EXPECT: reachable
}

static void dropped() {
    auto *whole = new Whole; // EXPECT: lost
    whole->part = make(48);  // EXPECT: indirect
    KEEP(whole);
}

int main() {
    play(held);
    play(dropped);
    park();
}
