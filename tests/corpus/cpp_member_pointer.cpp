// SPDX-License-Identifier: BSD-2-Clause
// Pointers to a member: an observer that lies inside of the object it belongs to.
#include "corpus.h"

struct Observer {
    long events = 0;
    virtual void notify() {
        events++;
    }
};

struct Plain {
    long number = 100003;
};

struct Widget {
    long header[3] = {100003, -1, 7};
    Plain plain;
    Observer observer;
    long more[10] = {};
};

Observer *observers[2];
Plain *plain;

static void build() {
    auto *widget = new Widget; // EXPECT: possible
    observers[0] = &widget->observer;
    auto *another = new Widget; // EXPECT: possible
    plain = &another->plain;
    KEEP(new Widget); // EXPECT: lost
}

int main() {
    play(build);
    park();
}
