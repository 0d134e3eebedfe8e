// SPDX-License-Identifier: BSD-2-Clause
// std::shared_ptr in a circle: nobody frees them, and nobody outside points to them.
#include "corpus.h"
#include <memory>

struct Part {
    std::shared_ptr<Part> other;
    long data[5] = {};
};

std::shared_ptr<Part> held_part;

static void held() {
    held_part = std::make_shared<Part>();        // EXPECT: reachable
    held_part->other = std::make_shared<Part>(); // EXPECT: reachable
    held_part->other->other = held_part;
}

static void circle() {
    auto one = std::make_shared<Part>(); // EXPECT: lost
    // LSAN: indirect: of a ring of lost blocks it calls all indirect, for each has one that points to it
    one->other = std::make_shared<Part>(); // EXPECT: indirect
    one->other->other = one;
}

static void itself() {
    std::shared_ptr<Part> one(new Part); // EXPECT: 1 lost, 1 indirect
    // LSAN: 2 indirect: of a ring of lost blocks it calls all indirect, for each has one that points to it
    one->other = one;
}

int main() {
    play(held);
    play(circle);
    play(itself);
    park();
}
