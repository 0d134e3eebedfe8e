// SPDX-License-Identifier: BSD-2-Clause
// Several base classes: a pointer to the second one leads into the object, to another vtable.
#include "corpus.h"

struct First {
    virtual ~First() {
    }
    long first = 1;
};

struct Second {
    virtual ~Second() {
    }
    long second = 2;
};

struct Both : First, Second {
    long own[7] = {};
    struct node *part = nullptr;
};

struct Bare1 {
    long number = 100003; // divides nothing: else it looks like the cookie of new[]
};

struct Bare2 {
    long number = 2;
};

struct BothBare : Bare1, Bare2 {
    long own[9] = {};
};

Second *second;
Bare2 *bare;

static void held() {
    auto *both = new Both; // EXPECT: reachable
    both->part = make(40); // EXPECT: reachable
    second = both;
    bare = new BothBare; // EXPECT: possible
}

static void dropped() {
    auto *both = new Both; // EXPECT: lost
    both->part = make(48); // EXPECT: indirect
    KEEP(static_cast<Second *>(both));
}

int main() {
    play(held);
    play(dropped);
    park();
}
