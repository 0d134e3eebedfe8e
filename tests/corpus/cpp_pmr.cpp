// SPDX-License-Identifier: BSD-2-Clause
// std::pmr: a resource that hands out of large blocks keeps them in a list;
// what is first in such a block lies at its start.
#include "corpus.h"
#include <memory_resource>
#include <vector>

std::pmr::monotonic_buffer_resource *resource;
std::pmr::vector<struct node *> *numbers;

static void held() {
    resource = new std::pmr::monotonic_buffer_resource;      // EXPECT: reachable
    numbers = new std::pmr::vector<struct node *>(resource); // EXPECT: reachable
    numbers->resize(500);                                    // EXPECT: reachable
    (*numbers)[70] = make(40);                               // EXPECT: reachable
}

static void dropped() {
    auto *lost = new std::pmr::monotonic_buffer_resource; // EXPECT: lost
    KEEP(lost->allocate(200));                            // EXPECT: indirect
    KEEP(lost);
}

int main() {
    play(held);
    play(dropped);
    park();
}
